// What a node's annotation says of slices: the card's own table, and those that could not be made.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "snug/codec/inventory_codec.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::inventory_mig_test {
namespace {

model::NodeInventory read(const std::string& gpu, const std::string& more = "") {
  model::NodeFacts node;
  node.name = "n1";
  node.annotations["snug.dev/inventory"] =
      R"({"version":1,"dynamicMig":true,"gpus":[{"index":0,"uuid":"GPU-a","memoryMiB":40960,)" +
      gpu + "}]" + more + "}";
  return codec::read_inventory(node, base::Limits{});
}

std::string profile(const std::string& name, int size, const std::string& starts) {
  return R"({"profile":")" + name + R"(","memoryMiB":1,"size":)" + std::to_string(size) +
         R"(,"starts":[)" + starts + "]}";
}

std::string with_profiles(const std::string& profiles) {
  return R"("model":"A100","mig":true,"migProfiles":[)" + profiles + "]";
}

std::string many_profiles(int count) {
  std::string profiles;
  for (int i = 1; i <= count; ++i) {
    profiles += profile("1g." + std::to_string(i) + "gb", 1, std::to_string(i % 64));
    if (i < count) profiles += ',';
  }
  return with_profiles(profiles);
}

TEST(InventoryMigTest, ACardsOwnTableMayHaveAnyAxisUpTo64) {
  struct Row {
    std::string gpu;
    int axis;
    int compute;
    std::size_t profiles;
  };
  for (const Row& row : std::vector<Row>{
           {with_profiles(profile("1g.24gb", 3, "0,3,6,9") + "," + profile("2g.48gb", 6, "0,6") +
                          "," + profile("4g.96gb+gfx", 12, "0")),
            12, 4, 3},
           {with_profiles(profile("1g.5gb", 64, "0")), 64, 1, 1},
           {with_profiles(profile("1g.5gb", 1, "63,0")), 64, 1, 1},
           {with_profiles(profile("3c.3g.20gb", 4, "4,0")), 8, 3, 1},
           {with_profiles(profile("1g.5gb", 1, "0") + "," + profile("7g.40gb", 8, "")), 1, 7, 2},
           {many_profiles(64), 64, 1, 64}}) {
    const model::NodeInventory inventory = read(row.gpu);
    ASSERT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
    const model::MigTableRef& table = inventory.gpus[0].mig_table;
    ASSERT_TRUE(table) << row.gpu;
    EXPECT_EQ(table->memory_slices, row.axis) << row.gpu;
    EXPECT_EQ(table->compute_slices, row.compute) << row.gpu;
    EXPECT_EQ(table->profiles.size(), row.profiles) << row.gpu;
  }
}

TEST(InventoryMigTest, ACardsOwnTableWinsOverTheBuiltInOne) {
  const auto table_of = [](const std::string& gpu) { return read(gpu).gpus.at(0).mig_table; };
  const std::string a100 = R"("model":"NVIDIA-A100-SXM4-40GB")";
  EXPECT_EQ(table_of(a100 + R"(,"mig":true)"),
            model::MigTableRef(mig::find_mig_card("A100-SXM4-40GB", {40960})->table));
  EXPECT_FALSE(table_of(a100)) << "it takes no slices";
  EXPECT_FALSE(table_of(R"("model":"Tesla-T4","mig":true)")) << "no card that is known";
  EXPECT_FALSE(table_of(R"("model":"NVIDIA-A100-SXM4-80GB","mig":true)")) << "it has 40960 MiB";
  const model::MigTableRef own =
      table_of(a100 + R"(,"mig":true,"migProfiles":[)" + profile("1g.5gb", 1, "0") + "]");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->memory_slices, 1);
}

struct Malformed {
  std::string gpu;
  std::string why;  // a part of closed_message
};

void PrintTo(const Malformed& row, std::ostream* out) { *out << row.gpu.substr(0, 120); }

class InventoryMigMalformedTest : public testing::TestWithParam<Malformed> {};

TEST_P(InventoryMigMalformedTest, ClosesTheNodeAndSaysWhy) {
  const model::NodeInventory inventory = read(GetParam().gpu);
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory);
  EXPECT_TRUE(inventory.gpus.empty());
  EXPECT_NE(inventory.closed_message.find(GetParam().why), std::string::npos)
      << inventory.closed_message;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, InventoryMigMalformedTest,
    testing::Values(
        Malformed{with_profiles(""),
                  "gpus[0].migProfiles must have at least one profile with a start"},
        Malformed{with_profiles(profile("1g.5gb", 1, "")),
                  "gpus[0].migProfiles must have at least one profile with a start"},
        Malformed{with_profiles(profile("", 1, "0")), "migProfiles[0].profile must not be empty"},
        Malformed{with_profiles(profile("small", 1, "0")),
                  "migProfiles[0].profile must be a profile's name, such as 2g.10gb or 1g.5gb+me"},
        Malformed{with_profiles(profile("1c.3g.20gb", 4, "0")), "must be a profile's name"},
        Malformed{with_profiles(profile("1g.5gb.me", 1, "0")), "must be a profile's name"},
        Malformed{with_profiles(profile("1g.5gb", 1, "0") + "," + profile("1g.5gb", 2, "0")),
                  "migProfiles[1].profile is a duplicate"},
        Malformed{with_profiles(profile("3g.20gb", 4, "0") + "," + profile("3c.3g.20gb", 4, "0")),
                  "and each profile under one name only"},
        Malformed{with_profiles(profile("1g.5gb", 0, "0")),
                  "migProfiles[0].size must be an integer from 1 to 64"},
        Malformed{with_profiles(profile("1g.5gb", 65, "0")), "must be an integer from 1 to 64"},
        Malformed{with_profiles(profile("1g.5gb", 1, "64")),
                  "migProfiles[0].starts[0] must be an integer from 0 to 63"},
        Malformed{with_profiles(profile("1g.5gb", 1, "0,-1")),
                  "migProfiles[0].starts[1] must be an integer from 0 to 63"},
        Malformed{with_profiles(profile("1g.5gb", 2, "0,63")),
                  "starts[1] plus the size of the profile must be at most 64, the most memory "
                  "slices that a GPU may have"},
        Malformed{with_profiles(profile("1g.5gb", 64, "1")),
                  "starts[0] plus the size of the profile must be at most"},
        Malformed{with_profiles(profile("1g.5gb", 1, "3,0,3")), "starts[2] is a duplicate"},
        Malformed{many_profiles(65), "gpus[0].migProfiles must have at most 64 entries"},
        Malformed{R"("model":"A","migProfiles":{})", "gpus[0].migProfiles must be a list"},
        Malformed{R"("model":"A","migInstances":[{"profile":"1g.5gb","start":64,"size":1}])",
                  "migInstances[0].start must be an integer from 0 to 63"},
        Malformed{R"("model":"A","migInstances":[{"profile":"1g.5gb","start":0,"size":65}])",
                  "migInstances[0].size must be an integer from 1 to 64"}));

model::NodeInventory with_failures(const std::string& failures) {
  return read(with_profiles(profile("1g.5gb", 1, "0,1,6") + "," + profile("3c.3g.20gb", 4, "0,4")),
              R"(,"migFailures":[)" + failures + "]");
}

std::string failure(const std::string& gpu, const std::string& profile, int start) {
  return R"({"gpu":")" + gpu + R"(","profile":")" + profile + R"(","start":)" +
         std::to_string(start) + R"(,"pod":"u-1"})";
}

TEST(InventoryMigTest, WhereASliceCouldNotBeMadeItsRangeIsClosed) {
  struct Row {
    std::string failures;
    model::AxisMask closed;
  };
  for (const Row& row :
       std::vector<Row>{{"", 0},
                        {failure("GPU-a", "1g.5gb", 6), 0b0100'0000},
                        {failure("GPU-a", "3g.20gb", 4), 0b1111'0000},
                        {failure("GPU-a", "3c.3g.20gb", 0), 0b0000'1111},
                        {failure("GPU-a", "1g.5gb", 1) + "," + failure("GPU-a", "1g.5gb", 0), 0b11},
                        {failure("GPU-b", "1g.5gb", 1), 0},
                        {failure("GPU-a", "2g.10gb", 0), 0},
                        {failure("GPU-a", "x", 0), 0},
                        {failure("GPU-a", "1g.5gb", 2), 0},
                        {failure("GPU-a", "3g.20gb", 1), 0},
                        {failure("GPU-a", "3g.20gb", 63), 0},
                        {R"({"gpu":"GPU-a","profile":"1g.5gb","start":0})", 0b1}}) {
    const model::NodeInventory inventory = with_failures(row.failures);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
    ASSERT_EQ(inventory.gpus.size(), 1U);
    EXPECT_EQ(inventory.gpus[0].failed_memory_slices, row.closed) << row.failures;
  }
}

TEST(InventoryMigTest, AFailureOnACardWithoutATableClosesNothing) {
  const model::NodeInventory inventory =
      read(R"("model":"Tesla-T4","mig":true)",
           R"(,"migFailures":[)" + failure("GPU-a", "1g.5gb", 0) + "]");
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
  EXPECT_EQ(inventory.gpus.at(0).failed_memory_slices, 0U);
}

TEST(InventoryMigTest, AMalformedFailureClosesTheNode) {
  for (const auto& [failures, why] : std::vector<std::pair<std::string, std::string>>{
           {"7", "migFailures[0] must be an object"},
           {R"({"profile":"1g.5gb","start":0})", "migFailures[0].gpu is missing"},
           {R"({"gpu":"GPU-a","start":0})", "migFailures[0].profile is missing"},
           {R"({"gpu":"GPU-a","profile":"1g.5gb"})", "migFailures[0].start is missing"},
           {failure("GPU-a", "1g.5gb", 64), "migFailures[0].start must be an integer from 0 to 63"},
           {failure("GPU-z", "1g.5gb", -1), "migFailures[0].start must be"},
           {R"({"gpu":"GPU-a","profile":"1g.5gb","start":0,"pod":""})",
            "migFailures[0].pod must not be empty"}}) {
    const model::NodeInventory inventory = with_failures(failures);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory) << failures;
    EXPECT_NE(inventory.closed_message.find(why), std::string::npos) << inventory.closed_message;
  }
}

TEST(InventoryMigTest, AnInstanceThatItsCardCannotHaveClosesTheNode) {
  struct Row {
    std::string instance;
    std::string why;  // empty: it is one
    bool dynamic = true;
    bool mig = true;
  };
  const std::string uuid = R"(,"uuid":"MIG-a"})";
  for (const Row& row : std::vector<Row>{
           {R"({"profile":"foo","start":0,"size":1})",
            "migInstances[0].profile must be a profile's"},
           {R"({"profile":"1g.5gb.me","start":0,"size":1})", "such as 2g.10gb or 1g.5gb+me"},
           {R"({"profile":"1g.5gb","start":0,"size":2})",
            "migInstances[0] must have the size of its profile, which is 1"},
           {R"({"profile":"2g.10gb","start":3,"size":2})",
            "migInstances[0] must have a start that its profile allows, which is 0, 2 or 4"},
           {R"({"profile":"7g.40gb","start":1,"size":8})", "which is 0"},
           {R"({"profile":"9g.99gb","start":1,"size":3})", ""},
           {R"({"profile":"1g.5gb","start":6,"size":1})", ""},
           {R"({"profile":"1g.5gb","start":6,"size":1})", "migInstances[0] must have a uuid",
            false},
           {R"({"profile":"1g.5gb","start":6,"size":1)" + uuid, "", false},
           {R"({"profile":"1g.5gb","start":7,"size":1})", "", false, false}}) {
    model::NodeFacts node;
    node.name = "n1";
    node.annotations["snug.dev/inventory"] =
        std::string(R"({"version":1,"dynamicMig":)") + (row.dynamic ? "true" : "false") +
        R"(,"gpus":[{"index":0,"model":"A100","memoryMiB":40960,"mig":)" +
        (row.mig ? "true" : "false") + R"(,"migInstances":[)" + row.instance + "]}]}";
    const model::NodeInventory inventory = codec::read_inventory(node, base::Limits{});
    EXPECT_EQ(inventory.closed_to_all,
              row.why.empty() ? model::ReasonCode::kNone : model::ReasonCode::kBadInventory)
        << row.instance << inventory.closed_message;
    EXPECT_NE(inventory.closed_message.find(row.why), std::string::npos)
        << inventory.closed_message;
  }
}

TEST(InventoryMigTest, AnInstanceIsNamedAsItsTableNamesIt) {
  const model::NodeInventory inventory =
      read(R"("model":"A100","migInstances":[{"profile":"3c.3g.20gb","start":0,"size":4},)"
           R"({"profile":"5g.99gb","start":4,"size":4}])");
  ASSERT_EQ(inventory.gpus.size(), 1U) << inventory.closed_message;
  EXPECT_EQ(inventory.gpus[0].mig_instances,
            (std::vector<model::Slice>{{"3g.20gb", 0, 4, ""}, {"5g.99gb", 4, 4, ""}}));
}

}  // namespace
}  // namespace snug::inventory_mig_test

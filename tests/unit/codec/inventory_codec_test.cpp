#include "snug/codec/inventory_codec.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "snug/mig/card_catalog.hpp"

namespace snug::inventory_test {
namespace {

model::NodeFacts annotated(std::string inventory) {
  model::NodeFacts node;
  node.name = "n1";
  node.boot_id = "boot-1";
  node.annotations["snug.dev/inventory"] = std::move(inventory);
  return node;
}

std::string with_gpus(const std::string& gpus, const std::string& more = "") {
  return R"({"version":1,"gpus":[)" + gpus + "]" + more + "}";
}

std::string with_gpu(const std::string& more) {
  return with_gpus(R"({"index":0,"model":"A100","memoryMiB":40960)" + more + "}");
}

std::string with_model(const std::string& model) {
  return with_gpus(R"({"index":0,"model":")" + model + R"(","memoryMiB":40960})");
}

model::NodeInventory read(const model::NodeFacts& node) {
  return codec::read_inventory(node, base::Limits{});
}

TEST(InventoryTest, TheContractsExampleIsRead) {
  const model::NodeInventory inventory = read(annotated(
      R"({"version":1,"bootID":"boot-1","dynamicMig":true,"gpus":[)"
      R"({"index":1,"uuid":"GPU-b","model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960,"healthy":false,)"
      R"("numa":-1,"modes":["mps"],"mig":true,"later":[1]},)"
      R"({"index":0,"uuid":"GPU-a","model":"NVIDIA-A100-SXM4-40GB","memoryMiB":40960,"healthy":true,)"
      R"("numa":0,"modes":["whole","time-slicing","mps"],"mig":false,)"
      R"("migInstances":[{"profile":"1g.5gb","start":4,"size":1,"uuid":"MIG-1"}],)"
      R"("migProfiles":[{"profile":"1g.5gb","size":1,"memoryMiB":4864,"starts":[0,1,2]}]}],)"
      R"("links":[[0,12],[12,0]]})"));
  EXPECT_EQ(inventory.name, "n1");
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
  EXPECT_EQ(inventory.closed_to_annotated, model::ReasonCode::kNone);
  EXPECT_TRUE(inventory.dynamic_mig);
  ASSERT_EQ(inventory.gpus.size(), 2U);
  model::GpuInfo first;
  first.index = 0;
  first.uuid = "GPU-a";
  first.model = "NVIDIA-A100-SXM4-40GB";
  first.memory = {40960};
  first.numa_node = 0;
  first.allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing,
                         model::GpuMode::kMps};
  first.mig_instances = {{"1g.5gb", 4, 1, "MIG-1"}};
  first.mig_table = mig::build_mig_table(
      {model::MigProfile{.name = "1g.5gb", .size = 1, .memory = {4864}, .starts = {0, 1, 2}}});
  EXPECT_EQ(inventory.gpus[0], first);
  EXPECT_EQ(inventory.gpus[1].uuid, "GPU-b");
  EXPECT_FALSE(inventory.gpus[1].healthy);
  EXPECT_TRUE(inventory.gpus[1].mig_enabled);
  EXPECT_EQ(inventory.gpus[1].numa_node, -1);
  EXPECT_EQ(inventory.nvlinks, (std::vector<std::vector<int>>{{0, 12}, {12, 0}}));
  EXPECT_EQ(inventory.kubelet_allocatable.at("nvidia.com/gpu"), 1);
}

TEST(InventoryTest, WhatIsNotSaidHasDefaults) {
  const model::NodeInventory inventory = read(annotated(with_gpu("")));
  ASSERT_EQ(inventory.gpus.size(), 1U);
  const model::GpuInfo& gpu = inventory.gpus[0];
  EXPECT_TRUE(gpu.healthy);
  EXPECT_FALSE(gpu.mig_enabled);
  EXPECT_EQ(gpu.numa_node, -1);
  EXPECT_EQ(gpu.uuid, "");
  EXPECT_EQ(gpu.allowed_modes,
            (std::vector<model::GpuMode>{model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}));
  EXPECT_TRUE(inventory.nvlinks.empty());
}

TEST(InventoryTest, AModelHasUpTo128PrintableCharacters) {
  for (const std::string& model : {std::string("A"), std::string(128, 'A'),
                                   std::string("NVIDIA RTX PRO 6000 (Max-Q) ~ 96GB")}) {
    const model::NodeInventory inventory = read(annotated(with_model(model)));
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNone) << inventory.closed_message;
    EXPECT_EQ(inventory.gpus.at(0).model, model);
  }
}

struct Malformed {
  std::string annotation;
  std::string why;  // a part of closed_message
};

void PrintTo(const Malformed& row, std::ostream* out) { *out << row.annotation.substr(0, 120); }

class InventoryMalformedTest : public testing::TestWithParam<Malformed> {};

TEST_P(InventoryMalformedTest, ClosesTheNodeAndSaysWhy) {
  const model::NodeInventory inventory = read(annotated(GetParam().annotation));
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory);
  EXPECT_TRUE(inventory.gpus.empty());
  EXPECT_TRUE(inventory.nvlinks.empty());
  EXPECT_TRUE(inventory.kubelet_allocatable.empty());
  EXPECT_NE(inventory.closed_message.find("the annotation snug.dev/inventory is malformed: "),
            std::string::npos);
  EXPECT_NE(inventory.closed_message.find(GetParam().why), std::string::npos)
      << inventory.closed_message;
}

constexpr const char* kGpu0 = R"({"index":0,"uuid":"GPU-a","model":"A","memoryMiB":1})";
constexpr const char* kGpu1 = R"({"index":1,"uuid":"GPU-b","model":"A","memoryMiB":1})";

INSTANTIATE_TEST_SUITE_P(
    Rows, InventoryMalformedTest,
    testing::Values(
        Malformed{"", "it is not valid JSON at byte 1"},
        Malformed{R"({"version":1,"x":1e400,"gpus":[]})", "a number that is too large"},
        Malformed{R"({"version":1e400,"gpus":[]})", "a number that is too large"},
        Malformed{"-1e999", "a number that is too large"},
        Malformed{R"({"version":1,"gpus":[)", "it is not valid JSON at byte 22"},
        Malformed{R"({"version":1,"gpus":[]} x)", "it is not valid JSON"},
        Malformed{"[]", "the text must be an object"},
        Malformed{R"({"gpus":[]})", "version is missing"},
        Malformed{R"({"version":2,"gpus":[]})", "version must be an integer from 1 to 1"},
        Malformed{R"({"version":"1","gpus":[]})", "version must be an integer"},
        Malformed{R"({"version":1})", "gpus is missing"},
        Malformed{R"({"version":1,"gpus":{}})", "gpus must be a list"},
        Malformed{R"({"version":1,"gpus":[],"gpus":[]})", R"(has the key "gpus" twice)"},
        Malformed{R"({"version":1,"bootID":7,"gpus":[]})", "bootID must be a string"},
        Malformed{R"({"version":1,"dynamicMig":1,"gpus":[]})", "dynamicMig must be true or false"},
        Malformed{with_gpus("7"), "gpus[0] must be an object"},
        Malformed{with_gpus(R"({"model":"A","memoryMiB":1})"), "gpus[0].index is missing"},
        Malformed{with_gpus(R"({"index":-1,"model":"A","memoryMiB":1})"), "gpus[0].index must be"},
        Malformed{with_gpus(R"({"index":1.0,"model":"A","memoryMiB":1})"), "gpus[0].index must be"},
        Malformed{with_gpus(R"({"index":18446744073709551615,"model":"A","memoryMiB":1})"),
                  "gpus[0].index must be"},
        Malformed{with_gpus(R"({"index":0,"memoryMiB":1})"), "gpus[0].model is missing"},
        Malformed{with_gpus(R"({"index":0,"model":"","memoryMiB":1})"),
                  "gpus[0].model must have 1 to 128 printable ASCII characters"},
        Malformed{with_model(std::string(129, 'A')), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_model(std::string(200'000, 'a')), "gpus[0].model must have 1 to 128"},
        Malformed{with_model(R"(A\n100)"), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_model(R"(A\u0000)"), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_model(R"(\u001b[31mA100)"), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_model(R"(A100\u007f)"), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_model("A\u00e9"), "gpus[0].model must have 1 to 128 printable"},
        Malformed{with_gpus(R"({"index":0,"model":"A"})"), "gpus[0].memoryMiB is missing"},
        Malformed{with_gpus(R"({"index":0,"model":"A","memoryMiB":0})"),
                  "gpus[0].memoryMiB must be an integer from 1 to 1000000000"},
        Malformed{with_gpus(R"({"index":0,"model":"A","memoryMiB":99999999999999999999})"),
                  "gpus[0].memoryMiB must be"},
        Malformed{with_gpus(std::string(kGpu0) + "," + kGpu0), "gpus[1].index is a duplicate"},
        Malformed{with_gpus(std::string(kGpu0) +
                            R"(,{"index":1,"uuid":"GPU-a","model":"A","memoryMiB":1})"),
                  "gpus[1].uuid is a duplicate"},
        Malformed{with_gpu(R"(,"uuid":"")"), "gpus[0].uuid must not be empty"},
        Malformed{with_gpu(R"(,"uuid":null)"), "gpus[0].uuid must be a string"},
        Malformed{with_gpu(R"(,"uuid":"all")"), "gpus[0].uuid must be a uuid, not `all`, `none`"},
        Malformed{with_gpu(R"(,"uuid":"1")"), "gpus[0].uuid must be a uuid, not `all`, `none`"},
        Malformed{with_gpu(R"(,"uuid":"GPU-a,GPU-b")"), "gpus[0].uuid must have at most 64 char"},
        Malformed{with_gpu(R"(,"uuid":")" + std::string(65, 'a') + "\""),
                  "gpus[0].uuid must have at most 64 characters"},
        Malformed{with_gpu(R"(,"healthy":"yes")"), "gpus[0].healthy must be true or false"},
        Malformed{with_gpu(R"(,"mig":0)"), "gpus[0].mig must be true or false"},
        Malformed{with_gpu(R"(,"numa":"0")"), "gpus[0].numa must be an integer from -1"},
        Malformed{with_gpu(R"(,"modes":"whole")"), "gpus[0].modes must be a list"},
        Malformed{with_gpu(R"(,"modes":["mig"])"), "gpus[0].modes[0] must be whole, time-slicing"},
        Malformed{with_gpu(R"(,"modes":["whole","shared"])"), "gpus[0].modes[1] must be whole"},
        Malformed{with_gpu(R"(,"modes":["mps","mps"])"), "gpus[0].modes[1] is a duplicate"},
        Malformed{with_gpu(R"(,"migInstances":[{"profile":"1g.5gb","start":0}])"),
                  "gpus[0].migInstances[0].size is missing"},
        Malformed{with_gpu(R"(,"migInstances":[{"profile":"2g.10gb","start":0,"size":2},)"
                           R"({"profile":"1g.5gb","start":1,"size":1}])"),
                  "gpus[0].migInstances[1] overlaps another instance"},
        Malformed{with_gpu(R"(,"migProfiles":[{"profile":"1g.5gb","size":1,"memoryMiB":1}])"),
                  "gpus[0].migProfiles[0].starts is missing"},
        Malformed{"{\"version\":1,\"x\":" + std::string(70, '[') + std::string(70, ']') + "}",
                  "nested too deeply; at most 64"},
        Malformed{std::string(100'000, '['), "nested too deeply"}));

TEST(InventoryTest, SizeAndNumberOfGpusHaveLimits) {
  base::Limits limits;
  limits.max_gpus_per_node = 1;
  const auto node = annotated(with_gpus(std::string(kGpu0) + "," + kGpu1));
  EXPECT_NE(
      codec::read_inventory(node, limits).closed_message.find("gpus must have at most 1 entries"),
      std::string::npos);
  limits = base::Limits{};
  limits.max_inventory_bytes = 64;
  EXPECT_NE(codec::read_inventory(node, limits).closed_message.find("more than 64 bytes"),
            std::string::npos);
}

TEST(InventoryTest, AnotherBootIdIsStaleAndKeepsTheGpus) {
  const std::string text = with_gpus(kGpu0, R"(,"bootID":"boot-0")");
  model::NodeFacts node = annotated(text);
  model::NodeInventory inventory = read(node);
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory);
  EXPECT_NE(inventory.closed_message.find("is stale"), std::string::npos);
  EXPECT_EQ(inventory.gpus.size(), 1U);

  node.boot_id = "";
  EXPECT_EQ(read(node).closed_to_all, model::ReasonCode::kNone);
  EXPECT_EQ(read(annotated(with_gpus(kGpu0))).closed_to_all, model::ReasonCode::kNone);
}

TEST(InventoryTest, ANodeWithoutGpusIsClosedWithoutComplaint) {
  model::NodeFacts node;
  node.name = "cpu";
  for (const model::NodeFacts& each : {node, annotated(with_gpus(""))}) {
    const model::NodeInventory inventory = read(each);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNoGpu);
    EXPECT_EQ(inventory.closed_message, "");
    EXPECT_TRUE(inventory.kubelet_allocatable.empty());
  }
}

TEST(InventoryTest, AnAnnotationWinsOverLabels) {
  model::NodeFacts node = annotated(with_gpu(""));
  node.labels = {{"nvidia.com/gpu.product", "T4"},
                 {"nvidia.com/gpu.count", "4"},
                 {"nvidia.com/gpu.memory", "16384"}};
  EXPECT_EQ(read(node).gpus.size(), 1U);
  node.annotations["snug.dev/inventory"] = "x";
  EXPECT_EQ(read(node).closed_to_all, model::ReasonCode::kBadInventory);
}

TEST(InventoryTest, ThePoolLabelHasThreeValues) {
  model::NodeFacts node = annotated(with_gpu(""));
  EXPECT_EQ(read(node).pool, model::Pool::kAuto);
  for (const auto& [text, pool] :
       {std::pair{"auto", model::Pool::kAuto}, std::pair{"shares", model::Pool::kShares},
        std::pair{"whole", model::Pool::kWhole}}) {
    node.labels["snug.dev/pool"] = text;
    EXPECT_EQ(read(node).pool, pool);
    EXPECT_EQ(read(node).closed_to_all, model::ReasonCode::kNone);
  }
  for (const char* text : {"", "Shares", "both"}) {
    node.labels["snug.dev/pool"] = text;
    const model::NodeInventory inventory = read(node);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory) << text;
    EXPECT_NE(inventory.closed_message.find("expected shares, whole or auto"), std::string::npos);
    EXPECT_EQ(inventory.gpus.size(), 1U) << "what is held there stays counted";
  }
}

TEST(InventoryTest, KubeletUnitsAreAllocatableElseCapacityElseGpus) {
  model::NodeFacts node = annotated(with_gpus(
      std::string(kGpu0) + "," + kGpu1 +
      R"(,{"index":2,"model":"A","memoryMiB":1,"mig":true},{"index":3,"model":"A","memoryMiB":1,"healthy":false})"));
  EXPECT_EQ(read(node).kubelet_allocatable.at("nvidia.com/gpu"), 2);
  EXPECT_EQ(read(node).kubelet_capacity.at("nvidia.com/gpu"), 3) << "the unhealthy one may return";
  node.capacity = {{"nvidia.com/gpu", "8"}, {"nvidia.com/mig-1g.5gb", "7"}};
  EXPECT_EQ(read(node).kubelet_allocatable.at("nvidia.com/gpu"), 8);
  node.allocatable = {{"nvidia.com/gpu", "1k"}};
  const auto units = read(node).kubelet_allocatable;
  EXPECT_EQ(units.at("nvidia.com/gpu"), 1000);
  EXPECT_EQ(units.at("nvidia.com/mig-1g.5gb"), 7);
  EXPECT_EQ(read(node).kubelet_capacity.at("nvidia.com/gpu"), 1000) << "never below what there is";
  node.allocatable = {{"nvidia.com/gpu", "5"}};
  EXPECT_EQ(read(node).kubelet_allocatable.at("nvidia.com/gpu"), 5);
  EXPECT_EQ(read(node).kubelet_capacity.at("nvidia.com/gpu"), 8);
  EXPECT_EQ(read(node).closed_to_annotated, model::ReasonCode::kNone)
      << "the annotation says who is ill";
  for (const char* text : {"-1", "1.5", "8Gi", "", "x"}) {
    node.allocatable["nvidia.com/gpu"] = text;
    EXPECT_EQ(read(node).closed_to_all, model::ReasonCode::kBadInventory) << text;
  }
}

struct Labelled {
  std::string name;
  model::StringMap labels;  // added to a T4 node's, `-` removes
  model::StringMap capacity;
  model::StringMap allocatable;
  std::size_t gpus = 0;
  model::ReasonCode closed_to_all = model::ReasonCode::kNone;
  model::ReasonCode closed_to_annotated = model::ReasonCode::kNone;
  std::string because;  // a part
};

void PrintTo(const Labelled& row, std::ostream* out) { *out << row.name; }

class GfdLabelsTest : public testing::TestWithParam<Labelled> {};

TEST_P(GfdLabelsTest, GiveTheInventory) {
  const Labelled& row = GetParam();
  model::NodeFacts node;
  node.name = "n1";
  node.labels = {{"nvidia.com/gpu.product", "Tesla-T4"},
                 {"nvidia.com/gpu.count", "4"},
                 {"nvidia.com/gpu.memory", "16384"}};
  for (const auto& [key, value] : row.labels) {
    if (value == "-") {
      node.labels.erase("nvidia.com/" + key);
    } else {
      node.labels["nvidia.com/" + key] = value;
    }
  }
  for (const auto& [key, value] : row.capacity) node.capacity["nvidia.com/" + key] = value;
  for (const auto& [key, value] : row.allocatable) node.allocatable["nvidia.com/" + key] = value;
  const model::NodeInventory inventory = read(node);
  EXPECT_EQ(inventory.gpus.size(), row.gpus);
  EXPECT_EQ(inventory.closed_to_all, row.closed_to_all) << inventory.closed_message;
  EXPECT_EQ(inventory.closed_to_annotated, row.closed_to_annotated) << inventory.closed_message;
  EXPECT_EQ(inventory.closed_message.empty(), row.because.empty()) << inventory.closed_message;
  EXPECT_NE(inventory.closed_message.find(row.because), std::string::npos)
      << inventory.closed_message;
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    EXPECT_EQ(inventory.gpus[i].index, static_cast<int>(i));
    EXPECT_EQ(inventory.gpus[i].uuid, "");
    EXPECT_EQ(inventory.gpus[i].model, "Tesla-T4");
    EXPECT_EQ(inventory.gpus[i].memory, base::MebiBytes{16384});
    EXPECT_EQ(inventory.gpus[i].allowed_modes,
              (std::vector<model::GpuMode>{model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}));
  }
}

constexpr model::ReasonCode kOpen = model::ReasonCode::kNone;
constexpr model::ReasonCode kBad = model::ReasonCode::kBadInventory;

INSTANTIATE_TEST_SUITE_P(
    Rows, GfdLabelsTest,
    testing::Values(
        Labelled{"plain", {}, {}, {}, 4, kOpen, kOpen, ""},
        Labelled{"with capacity", {}, {{"gpu", "4"}}, {{"gpu", "4"}}, 4, kOpen, kOpen, ""},
        Labelled{"replicas",
                 {{"gpu.replicas", "4"}, {"gpu.product", "Tesla-T4-SHARED"}},
                 {{"gpu", "16"}},
                 {{"gpu", "16"}},
                 4,
                 kOpen,
                 model::ReasonCode::kWrongMode,
                 "several replicas"},
        Labelled{"renamed replicas",
                 {{"gpu.replicas", "4"}},
                 {{"gpu.shared", "16"}},
                 {{"gpu.shared", "16"}},
                 4,
                 kOpen,
                 model::ReasonCode::kWrongMode,
                 "several replicas"},
        Labelled{"renamed replicas beside a resource that is left at 0",
                 {{"gpu.replicas", "4"}, {"gpu.sharing-strategy", "time-slicing"}},
                 {{"gpu", "0"}, {"gpu.shared", "16"}},
                 {{"gpu", "0"}, {"gpu.shared", "16"}},
                 4,
                 kOpen,
                 model::ReasonCode::kWrongMode,
                 "several replicas"},
        Labelled{"no longer renamed",
                 {{"gpu.replicas", "4"}, {"gpu.product", "Tesla-T4-SHARED"}},
                 {{"gpu", "16"}, {"gpu.shared", "0"}},
                 {{"gpu", "16"}, {"gpu.shared", "0"}},
                 4,
                 kOpen,
                 model::ReasonCode::kWrongMode,
                 "several replicas"},
        Labelled{"renamed, one unhealthy",
                 {{"gpu.replicas", "4"}},
                 {{"gpu", "0"}, {"gpu.shared", "16"}},
                 {{"gpu", "0"}, {"gpu.shared", "12"}},
                 4,
                 kOpen,
                 model::ReasonCode::kWrongMode,
                 "several replicas"},
        Labelled{"renamed, another number",
                 {{"gpu.replicas", "4"}},
                 {{"gpu", "0"}, {"gpu.shared", "8"}},
                 {},
                 0,
                 kBad,
                 model::ReasonCode::kWrongMode,
                 "capacity has 8 nvidia.com/gpu.shared, but its labels say 4 GPUs with replicas 4"},
        Labelled{"under both names",
                 {{"gpu.replicas", "4"}},
                 {{"gpu", "8"}, {"gpu.shared", "8"}},
                 {},
                 0,
                 kBad,
                 model::ReasonCode::kWrongMode,
                 "offers only one of the two"},
        Labelled{"nothing under either name",
                 {},
                 {{"gpu", "0"}, {"gpu.shared", "0"}},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "capacity has 0 nvidia.com/gpu,"},
        Labelled{"no replicas", {{"gpu.replicas", "0"}}, {{"gpu", "4"}}, {}, 4, kOpen, kOpen, ""},
        Labelled{"replicas no number",
                 {{"gpu.replicas", "x"}},
                 {},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "nvidia.com/gpu.replicas is \"x\""},
        Labelled{"capacity other",
                 {},
                 {{"gpu", "3"}},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "capacity has 3 nvidia.com/gpu, but its labels say 4 GPUs"},
        Labelled{"capacity without its replicas",
                 {{"gpu.replicas", "2"}},
                 {{"gpu", "4"}},
                 {},
                 0,
                 kBad,
                 model::ReasonCode::kWrongMode,
                 "with replicas 2"},
        Labelled{"capacity nonsense", {}, {{"gpu", "x"}}, {}, 0, kBad, kOpen, "must be a whole"},
        Labelled{"one unhealthy",
                 {},
                 {{"gpu", "4"}},
                 {{"gpu", "3"}},
                 4,
                 kOpen,
                 model::ReasonCode::kUnhealthy,
                 "a GPU is unhealthy"},
        Labelled{"a model too long",
                 {{"gpu.product", std::string(129, 'T')}},
                 {},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "a model name has 1 to 128 printable ASCII characters"},
        Labelled{"a model that is no text",
                 {{"gpu.product", "Tesla\x1b[31m"}},
                 {},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "the label nvidia.com/gpu.product is \"Tesla?[31m\"; a model name has"},
        Labelled{"no product", {{"gpu.product", "-"}}, {}, {}, 0, kBad, kOpen, "gpu.product is"},
        Labelled{"no count", {{"gpu.count", "-"}}, {}, {}, 0, kBad, kOpen, "gpu.count is missing;"},
        Labelled{"count 0", {{"gpu.count", "0"}}, {}, {}, 0, kBad, kOpen, "from 1 to 64"},
        Labelled{"count 65", {{"gpu.count", "65"}}, {}, {}, 0, kBad, kOpen, "from 1 to 64"},
        Labelled{"count 4.0", {{"gpu.count", "4.0"}}, {}, {}, 0, kBad, kOpen, "gpu.count is"},
        Labelled{"no memory",
                 {{"gpu.memory", "-"}},
                 {},
                 {},
                 0,
                 kBad,
                 kOpen,
                 "the label nvidia.com/gpu.memory is missing; it must be an integer from 1 to"},
        Labelled{"empty memory", {{"gpu.memory", ""}}, {}, {}, 0, kBad, kOpen, "memory is \"\";"},
        Labelled{"memory 0", {{"gpu.memory", "0"}}, {}, {}, 0, kBad, kOpen, "gpu.memory is \"0\""},
        Labelled{"single without MIG",
                 {{"mig.strategy", "single"}},
                 {{"gpu", "4"}},
                 {},
                 4,
                 kOpen,
                 kOpen,
                 ""},
        Labelled{"mixed without slices",
                 {{"mig.strategy", "mixed"}},
                 {{"gpu", "4"}},
                 {},
                 4,
                 kOpen,
                 kOpen,
                 ""}));

TEST(InventoryTest, ANodeThatOnlyOffersUnitsIsNamedAsSuch) {
  model::NodeFacts node;
  node.name = "n1";
  node.capacity["nvidia.com/gpu"] = "8";
  const model::NodeInventory inventory = read(node);
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNoGpu);
  EXPECT_NE(inventory.closed_message.find("neither the annotation"), std::string::npos);
}

TEST(InventoryTest, ANodeIsEnforcedByItsLabelAndHasItsHost) {
  model::NodeFacts node = annotated(with_gpu(""));
  node.host = {{8'000, 1'024}, 110, true};
  EXPECT_EQ(read(node).host, node.host);
  EXPECT_FALSE(read(node).enforces_shares);
  for (const char* value : {"true", "True", "", "false"}) {
    node.labels["snug.dev/enforced"] = value;
    EXPECT_EQ(read(node).enforces_shares, value == std::string("true")) << value;
  }
}

}  // namespace
}  // namespace snug::inventory_test

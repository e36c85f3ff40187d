// The amounts of containers in tests/contract/mirrored_amounts.json, which the end-to-end tests
// compare with the policies' CEL, and the capacity of nodes.
#include "snug/admission/mirrored_resources.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "snug/request/pod_request_parser.hpp"
#include "support/node_states.hpp"
#include "support/source_file.hpp"

namespace snug::mirrored_resources_test {
namespace {

using nlohmann::json;

constexpr admission::CardRange kCards{.smallest = {16384}, .largest = {81920}};

json read_rows() {
  std::ifstream file(source_file("tests/contract/mirrored_amounts.json"));
  return json::parse(file);
}

model::PodFacts pod_with(const json& annotations) {
  model::PodFacts pod = make_pod("p");
  pod.containers = {{.name = "setup", .type = model::ContainerType::kInit},
                    {.name = "proxy", .type = model::ContainerType::kSidecar},
                    {.name = "main"},
                    {.name = "second"}};
  for (const auto& [key, value] : annotations.items()) {
    pod.annotations.emplace(key, value.get<std::string>());
  }
  return pod;
}

TEST(ContainerAmounts, AreThoseOfTheRows) {
  const json file = read_rows();
  EXPECT_EQ(file["cards"]["smallestMib"], kCards.smallest.value);
  EXPECT_EQ(file["cards"]["largestMib"], kCards.largest.value);
  ASSERT_GT(file["rows"].size(), 30U);
  for (const json& row : file["rows"]) {
    const auto request = request::parse_request(pod_with(row["annotations"]));
    ASSERT_TRUE(request) << row.dump() << message(request.error());
    json amounts = json::object();
    for (const model::ContainerRequest& container : request->containers) {
      const auto each = admission::container_amounts(container, kCards);
      amounts[container.container] = {each.milli.value, each.memory.value};
    }
    EXPECT_EQ(amounts, row["amounts"]) << row.dump();
  }
}

TEST(ContainerAmounts, AreZeroIfTheKubeletAssignsTheDevices) {
  const model::GpuRequest request = make_units(2);
  EXPECT_EQ(admission::container_amounts(request.containers.front(), kCards),
            model::MirroredAmounts{});
}

model::MirroredAmounts capacity(std::string_view node,
                                std::vector<model::HoldingPtr> holdings = {}) {
  return admission::node_amounts(*make_state(node, std::move(holdings)), kCards);
}

model::MirroredAmounts amounts(std::int64_t milli, std::int64_t memory) {
  return {.milli = {milli}, .memory = {memory}};
}

TEST(NodeAmounts, OfCardsInTheRangeAreExact) {
  EXPECT_EQ(capacity("n1: A100-80 81920 x2, T4 16384"), amounts(3000, 180224));
  EXPECT_EQ(capacity("n1:"), amounts(0, 0));
}

TEST(NodeAmounts, OfCardsOutsideOfTheRangeAreGenerous) {
  EXPECT_EQ(capacity("n1: H200 143360"), amounts(3502, 143360));
  EXPECT_EQ(capacity("n1: P4 8192"), amounts(1000, 32768));
}

TEST(NodeAmounts, OfCardsInMigModeHoldAnyLayout) {
  // 4g.20gb, 2g.10gb and 1g.10gb, of which the last may serve a fraction of 0.25.
  EXPECT_EQ(capacity("n1: NVIDIA-A100-SXM4-40GB 40960 mig | dynamic"), amounts(1106, 40192));
}

TEST(NodeAmounts, ClosedGpusCountWhilePodsHoldThem) {
  EXPECT_EQ(capacity("n1: T4 16384, T4 16384 unhealthy"), amounts(1000, 16384));
  EXPECT_EQ(capacity("n1: T4 16384, T4 16384 unhealthy",
                     {make_holding("p", "n1", {make_share(1, 4096, 250)})}),
            amounts(2000, 32768));
  // GPU 3 has vanished from the inventory.
  EXPECT_EQ(capacity("n1: T4 16384", {make_holding("p", "n1", {make_share(3, 4096, 250)})}),
            amounts(2000, 16384 + 32768));
}

}  // namespace
}  // namespace snug::mirrored_resources_test

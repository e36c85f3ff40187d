// The node annotation snug.dev/usage.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "snug/codec/inventory_codec.hpp"

namespace snug::usage_annotation_test {
namespace {

model::NodeFacts node_with_usage(std::string usage) {
  model::NodeFacts node;
  node.name = "n1";
  node.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[{"index":0,"uuid":"GPU-a","model":"A","memoryMiB":40960},)"
      R"({"index":1,"uuid":"GPU-b","model":"A","memoryMiB":40960},)"
      R"({"index":2,"model":"A","memoryMiB":40960}]})";
  node.annotations["snug.dev/usage"] = std::move(usage);
  return node;
}

std::string with_gpus(const std::string& gpus) { return R"({"version":1,"gpus":[)" + gpus + "]}"; }

/// The loads of the node's GPUs as `memory/compute`, and `-` for none.
std::string loads(const std::string& usage, const base::Limits& limits = {}) {
  const model::NodeInventory node = codec::read_inventory(node_with_usage(usage), limits);
  EXPECT_EQ(node.closed_to_all, model::ReasonCode::kNone) << node.closed_message;
  EXPECT_EQ(node.closed_to_annotated, model::ReasonCode::kNone) << node.closed_message;
  EXPECT_EQ(node.closed_message, "");
  EXPECT_EQ(node.gpus.size(), 3U);
  std::string text;
  for (const model::GpuInfo& gpu : node.gpus) {
    text += (text.empty() ? "" : " ");
    text += gpu.load ? std::to_string(gpu.load->memory_percent) + "/" +
                           std::to_string(gpu.load->compute_percent)
                     : "-";
  }
  return text;
}

constexpr const char* kA = R"({"uuid":"GPU-a","memoryPercent":40,"computePercent":10})";
constexpr const char* kB = R"({"uuid":"GPU-b","memoryPercent":100,"computePercent":0})";

TEST(UsageAnnotationTest, GivesTheGpusThatItNamesTheirLoads) {
  const std::string a = kA;
  EXPECT_EQ(loads(with_gpus(a)), "40/10 - -");
  EXPECT_EQ(loads(with_gpus(a + "," + kB)), "40/10 100/0 -");
  EXPECT_EQ(loads(with_gpus("")), "- - -");
  EXPECT_EQ(loads(with_gpus(R"({"uuid":"GPU-x","memoryPercent":40,"computePercent":10},)" + a)),
            "40/10 - -")
      << "an unknown GPU";
  EXPECT_EQ(loads(R"({"version":1,"later":{},"gpus":[{"uuid":"GPU-a","memoryPercent":40,)"
                  R"("computePercent":10,"later":1}]})"),
            "40/10 - -")
      << "unknown keys";
}

TEST(UsageAnnotationTest, IsIgnoredAsAWholeIfItIsMalformed) {
  const std::string a = kA;
  for (const std::string& usage : std::vector<std::string>{
           "", "{", "[]", "{}", R"({"version":2,"gpus":[]})", R"({"version":1})",
           R"({"version":1,"gpus":{}})", with_gpus(a + "," + a), with_gpus(a + ",1"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":40})"),
           with_gpus(a + R"(,{"memoryPercent":40,"computePercent":0})"),
           with_gpus(a + R"(,{"uuid":"","memoryPercent":40,"computePercent":0})"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":45,"computePercent":0})"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":0,"computePercent":110})"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":-10,"computePercent":0})"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":"40","computePercent":0})"),
           with_gpus(a + R"(,{"uuid":"GPU-b","memoryPercent":40.5,"computePercent":0})")}) {
    EXPECT_EQ(loads(usage), "- - -") << usage;
  }
}

TEST(UsageAnnotationTest, IsIgnoredIfItIsTooLarge) {
  base::Limits limits;
  limits.max_gpus_per_node = 3;
  std::string gpus = kA;
  for (int i = 0; i < 2; ++i) {
    gpus += R"(,{"uuid":"GPU-x)" + std::to_string(i) + R"(","memoryPercent":0,"computePercent":0})";
  }
  EXPECT_EQ(loads(with_gpus(gpus), limits), "40/10 - -");
  EXPECT_EQ(loads(with_gpus(gpus + "," + kB), limits), "- - -") << "more GPUs than a node may have";
  const std::string full = with_gpus(kA);
  const auto padded = [&](std::size_t bytes) {
    return full + std::string(bytes - full.size(), ' ');
  };
  const auto most_bytes = static_cast<std::size_t>(base::Limits{}.max_inventory_bytes);
  EXPECT_EQ(loads(padded(most_bytes)), "40/10 - -");
  EXPECT_EQ(loads(padded(most_bytes + 1)), "- - -");
}

TEST(UsageAnnotationTest, OpensNoNodeWithoutInventory) {
  model::NodeFacts node = node_with_usage(with_gpus(kA));
  node.annotations.erase("snug.dev/inventory");
  const model::NodeInventory inventory = codec::read_inventory(node, base::Limits{});
  EXPECT_TRUE(inventory.gpus.empty());
  EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kNoGpu);
}

}  // namespace
}  // namespace snug::usage_annotation_test

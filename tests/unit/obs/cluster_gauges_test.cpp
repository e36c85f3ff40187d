#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snug/adapters/obs/metrics.hpp"
#include "support/node_states.hpp"

namespace snug::cluster_gauges_test {
namespace {

/// The value of the series written `name{labels}`; nothing: there is no such series.
std::optional<double> value(const std::string& text, const std::string& series) {
  const auto found = ("\n" + text).find("\n" + series + " ");
  if (found == std::string::npos) return std::nullopt;
  return std::stod(text.substr(found + series.size() + 1));
}

std::string scrape(const obs::ClusterGauges& gauges, const obs::MetricsOptions& options = {}) {
  return obs::make_prometheus_metrics(options)->exposition(gauges);
}

/// The values of a label of a metric.
std::set<std::string> labels_of(const std::string& text, const std::string& name,
                                const std::string& label) {
  std::set<std::string> values;
  const std::string start = "\n" + name + "{";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::size_t from = text.find(label + "=\"", at) + label.size() + 2;
    values.insert(text.substr(from, text.find('"', from) - from));
  }
  return values;
}

TEST(ClusterGaugesTest, ThoseOfTheReplicaAreWhatTheyAreGiven) {
  obs::ClusterGauges gauges;
  gauges.ready = true;
  gauges.streams[service::Resource::kPods] = {std::chrono::milliseconds(1500), "77"};
  gauges.streams[service::Resource::kNodes] = {std::chrono::milliseconds(0), "not-a-number"};
  gauges.policy_generation = 3;
  const std::string text = scrape(gauges, {.version = "1.2.3"});
  EXPECT_EQ(value(text, R"(snug_build_info{version="1.2.3"})"), 1);
  EXPECT_EQ(value(text, "snug_ready"), 1);
  EXPECT_EQ(value(text, "snug_leader"), 0);
  EXPECT_EQ(value(text, "snug_policy_generation"), 3);
  EXPECT_EQ(value(text, R"(snug_watch_age_seconds{resource="pods"})"), 1.5);
  EXPECT_EQ(value(text, R"(snug_watch_resource_version{resource="pods"})"), 77);
  EXPECT_EQ(value(text, R"(snug_watch_resource_version{resource="nodes"})"), std::nullopt);
}

TEST(ClusterGaugesTest, AConflictNamesTheHolderOfTheLeaseNow) {
  EXPECT_EQ(value(scrape({}), R"(snug_lease_conflict{holder=""})"), 0);
  obs::ClusterGauges gauges;
  gauges.in_conflict = true;
  gauges.lease_holder = "other \"one\"";
  const std::string text = scrape(gauges);
  EXPECT_EQ(value(text, R"(snug_lease_conflict{holder="other \"one\""})"), 1);
  EXPECT_EQ(value(text, R"(snug_lease_conflict{holder=""})"), std::nullopt);
}

TEST(ClusterGaugesTest, ThoseOfTheClusterAreInBaseUnits) {
  obs::ClusterGauges gauges;
  gauges.usage.nodes = 5;
  gauges.usage.nodes_in_conflict = 2;
  gauges.usage.gpus = 40;
  gauges.usage.closed_gpus = {{model::GpuClosure::kVanished, 2}};
  gauges.usage.free = {1500};
  gauges.usage.fragmented = {250};
  gauges.usage.largest_free_share =
      usage::FreeShare{.compute = {750}, .memory = {1}, .node = "n", .gpu = 0};
  gauges.usage.pending = {{model::ReasonCode::kCapReached, 4}, {model::ReasonCode::kNone, 1}};
  gauges.holdings = {{ledger::HoldingState::kBound, 7}};
  gauges.pending_pods = 9;
  const std::string text = scrape(gauges);
  EXPECT_EQ(value(text, "snug_nodes"), 5);
  EXPECT_EQ(value(text, "snug_nodes_in_conflict"), 2);
  EXPECT_EQ(value(text, "snug_gpus"), 40);
  EXPECT_EQ(value(text, R"(snug_gpus_closed{reason="vanished"})"), 2);
  EXPECT_EQ(value(text, R"(snug_gpus_closed{reason="suspect"})"), 0);
  EXPECT_EQ(value(text, R"(snug_gpus_closed{reason="open"})"), std::nullopt);
  EXPECT_EQ(value(text, "snug_free_gpus"), 1.5);
  EXPECT_EQ(value(text, "snug_fragmented_gpus"), 0.25);
  EXPECT_EQ(value(text, "snug_largest_free_share_gpus"), 0.75);
  EXPECT_EQ(value(text, R"(snug_pending_gpu_pods{reason="CapReached"})"), 4);
  EXPECT_EQ(value(text, R"(snug_pending_gpu_pods{reason="none"})"), 1);
  EXPECT_EQ(value(text, R"(snug_pending_gpu_pods{reason="Unhealthy"})"), 0);
  EXPECT_EQ(value(text, R"(snug_holdings{state="bound"})"), 7);
  EXPECT_EQ(value(text, R"(snug_holdings{state="reserved"})"), 0);
  EXPECT_EQ(value(text, "snug_pending_pods"), 9);
}

TEST(ClusterGaugesTest, ThoseOfModelsAndNamespacesEndWithWhatTheyAreAbout) {
  obs::ClusterGauges gauges;
  gauges.usage.models = {{.model = "A100",
                          .gpus = 2,
                          .memory = {2048},
                          .memory_held = {512},
                          .compute_held = {250},
                          .free_whole_gpus = 1}};
  gauges.usage.namespaces = {
      {.name_space = "ml", .pods = 3, .memory = {1024}, .compute = {1500}, .cap = {{4000}}},
      {.name_space = "web", .pods = 1, .memory = {1}, .compute = {1}, .cap = std::nullopt}};
  const auto metrics = obs::make_prometheus_metrics();
  const std::string text = metrics->exposition(gauges);
  constexpr double kMebibyte = 1024.0 * 1024;
  EXPECT_EQ(value(text, R"(snug_memory_capacity_bytes{model="A100"})"), 2048 * kMebibyte);
  EXPECT_EQ(value(text, R"(snug_memory_reserved_bytes{model="A100"})"), 512 * kMebibyte);
  EXPECT_EQ(value(text, R"(snug_compute_capacity_gpus{model="A100"})"), 2);
  EXPECT_EQ(value(text, R"(snug_compute_reserved_gpus{model="A100"})"), 0.25);
  EXPECT_EQ(value(text, R"(snug_whole_gpus_free{model="A100"})"), 1);
  EXPECT_EQ(value(text, R"(snug_namespace_pods{namespace="ml"})"), 3);
  EXPECT_EQ(value(text, R"(snug_namespace_memory_reserved_bytes{namespace="ml"})"),
            1024 * kMebibyte);
  EXPECT_EQ(value(text, R"(snug_namespace_compute_reserved_gpus{namespace="ml"})"), 1.5);
  EXPECT_EQ(value(text, R"(snug_namespace_compute_cap_gpus{namespace="ml"})"), 4);
  EXPECT_EQ(value(text, R"(snug_namespace_pods{namespace="web"})"), 1);
  EXPECT_EQ(value(text, R"(snug_namespace_compute_cap_gpus{namespace="web"})"), std::nullopt);
  const std::string later = metrics->exposition({});
  EXPECT_EQ(later.find("A100"), std::string::npos);
  EXPECT_EQ(later.find("namespace="), std::string::npos);
}

class GpuSeriesTest : public testing::Test {
 protected:
  GpuSeriesTest() {
    auto snapshot = std::make_shared<model::Snapshot>();
    snapshot->nodes = model::NodeTable(
        {make_state("b: T4 16384 x2 unhealthy"),
         make_state("a: A100 40960 x2", {make_holding("p", "a", {make_share(1, 10240, 250)}),
                                         make_holding("q", "a", {make_share(1, 10240, 250)})})});
    gauges.snapshot = snapshot;
    gauges.usage.gpus = 4;
  }
  obs::ClusterGauges gauges;
};

TEST_F(GpuSeriesTest, EachGpuHasSixSeries) {
  const std::string text = scrape(gauges);
  constexpr double kMebibyte = 1024.0 * 1024;
  const std::string labels = R"({node="a",gpu="1",model="A100"})";
  EXPECT_EQ(value(text, "snug_gpu_open" + labels), 1);
  EXPECT_EQ(value(text, "snug_gpu_memory_capacity_bytes" + labels), 40960 * kMebibyte);
  EXPECT_EQ(value(text, "snug_gpu_memory_reserved_bytes" + labels), 20480 * kMebibyte);
  EXPECT_EQ(value(text, "snug_gpu_compute_reserved_ratio" + labels), 0.5);
  EXPECT_EQ(value(text, "snug_gpu_pods" + labels), 2);
  EXPECT_EQ(value(text, R"(snug_gpu_open{node="b",gpu="0",model="T4"})"), 0);
  EXPECT_EQ(
      value(
          text,
          R"(snug_gpu_info{node="a",gpu="1",model="A100",uuid="GPU-a-1",mode="time-slicing",closed=""})"),
      1);
  EXPECT_EQ(
      value(
          text,
          R"(snug_gpu_info{node="b",gpu="1",model="T4",uuid="GPU-b-1",mode="none",closed="unhealthy"})"),
      1);
  EXPECT_EQ(value(text, "snug_gpus_without_series"), 0);
}

TEST_F(GpuSeriesTest, TextsAreEscaped) {
  auto snapshot = std::make_shared<model::Snapshot>();
  model::NodeInventory inventory = make_node("a: A 1");
  inventory.gpus[0].model = "back\\slash \"quote\"\nline";
  snapshot->nodes = model::NodeTable({fit::build_node_state(
      std::make_shared<const model::NodeInventory>(std::move(inventory)), {})});
  gauges.snapshot = snapshot;
  EXPECT_EQ(value(scrape(gauges),
                  R"(snug_gpu_open{node="a",gpu="0",model="back\\slash \"quote\"\nline"})"),
            1);
}

TEST_F(GpuSeriesTest, TheirNumberIsBounded) {
  const std::string text = scrape(gauges, {.max_gpus = 3});
  EXPECT_EQ(labels_of(text, "snug_gpu_pods", "node"), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(value(text, R"(snug_gpu_pods{node="b",gpu="1",model="T4"})"), std::nullopt);
  EXPECT_EQ(value(text, "snug_gpus_without_series"), 1);
}

TEST_F(GpuSeriesTest, TheyCanBeSwitchedOff) {
  const std::string text = scrape(gauges, {.gpu_series = false});
  EXPECT_TRUE(labels_of(text, "snug_gpu_pods", "node").empty());
  EXPECT_EQ(value(text, "snug_gpus_without_series"), 4);
  EXPECT_EQ(value(text, "snug_gpus"), 4);
}

TEST(BoundedSeriesTest, TooManyNamespacesAndModelsAreSummedUp) {
  obs::ClusterGauges gauges;
  for (int i = 100; i < 300; ++i) {
    gauges.usage.namespaces.push_back(
        {.name_space = "n" + std::to_string(i), .pods = 1, .compute = {i}, .cap = std::nullopt});
    gauges.usage.models.push_back({.model = "m" + std::to_string(i), .gpus = 1});
  }
  const std::string text = scrape(gauges, {.max_namespaces = 20});
  EXPECT_EQ(labels_of(text, "snug_namespace_pods", "namespace").size(), 21U);
  EXPECT_EQ(value(text, R"(snug_namespace_pods{namespace="n299"})"), 1);
  EXPECT_EQ(value(text, R"(snug_namespace_pods{namespace="_others"})"), 180);
  EXPECT_EQ(labels_of(text, "snug_compute_capacity_gpus", "model").size(), model::kMaxModels + 1);
  EXPECT_EQ(value(text, R"(snug_compute_capacity_gpus{model="_others"})"),
            200.0 - model::kMaxModels);
}

}  // namespace
}  // namespace snug::cluster_gauges_test

#include "snug/adapters/obs/metrics.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>

namespace snug::metrics_test {
namespace {

/// The value of the series written `name{labels}`; nothing: there is no such series.
std::optional<double> value(const obs::PrometheusMetrics& metrics, const std::string& series,
                            const obs::ClusterGauges& gauges = {}) {
  const std::string text = "\n" + metrics.exposition(gauges);
  const auto found = text.find("\n" + series + " ");
  if (found == std::string::npos) return std::nullopt;
  return std::stod(text.substr(found + series.size() + 2));
}

class MetricsTest : public testing::Test {
 protected:
  const std::unique_ptr<obs::PrometheusMetrics> owned_ = obs::make_prometheus_metrics();
  obs::PrometheusMetrics& metrics = *owned_;
};

TEST_F(MetricsTest, EverySeriesExistsFromTheStartWithZero) {
  for (const char* series : {R"(snug_verb_total{result="ok",verb="filter"})",
                             R"(snug_verb_total{result="error",verb="prioritize"})",
                             R"(snug_verb_total{result="ok",verb="preempt"})",
                             R"(snug_verb_total{result="ok",verb="bind"})",
                             R"(snug_verb_duration_seconds_count{verb="bind"})",
                             R"(snug_verb_duration_seconds_bucket{verb="bind",le="0.001"})",
                             R"(snug_bind_total{end="bound"})",
                             R"(snug_bind_total{end="repeated"})",
                             R"(snug_bind_total{end="lost_race"})",
                             R"(snug_bind_total{end="refused"})",
                             R"(snug_bind_total{end="unknown"})",
                             R"(snug_bind_total{end="unavailable"})",
                             R"(snug_api_requests_total{result="error",what="bind"})",
                             R"(snug_watch_restarts_total{resource="pods",why="expired"})",
                             "snug_room_touches_total",
                             "snug_events_dropped_total",
                             R"(snug_reservation_problems_total{kind="reservation"})",
                             R"(snug_policy_reloads_total{result="loaded"})",
                             R"(snug_webhook_reviews_total{end="denied"})",
                             R"(snug_policy_reloads_total{result="refused"})",
                             "snug_ready",
                             "snug_nodes",
                             "snug_nodes_in_conflict",
                             "snug_gpus",
                             R"(snug_gpus_closed{reason="over_committed"})",
                             R"(snug_holdings{state="unsettled"})",
                             R"(snug_api_request_duration_seconds_count{what="bind"})",
                             R"(snug_refusals_total{reason="NoRoom"})",
                             R"(snug_refusals_total{reason="TooLarge"})",
                             R"(snug_pending_gpu_pods{reason="none"})",
                             R"(snug_pending_gpu_pods{reason="NoRoom"})",
                             "snug_free_gpus",
                             "snug_fragmented_gpus",
                             "snug_largest_free_share_gpus",
                             "snug_gpus_without_series",
                             "snug_pending_pods"}) {
    EXPECT_EQ(value(metrics, series), 0) << series;
  }
  EXPECT_EQ(value(metrics, R"(snug_gpus_closed{reason="open"})"), std::nullopt);
  EXPECT_EQ(value(metrics, R"(snug_verb_total{result="ok",verb="mutate"})"), std::nullopt);
}

TEST_F(MetricsTest, WhatHappensIsCounted) {
  metrics.verb_done(service::Verb::kFilter, true, 700);
  metrics.verb_done(service::Verb::kFilter, true, 3'000);
  metrics.verb_done(service::Verb::kBind, false, 1);
  metrics.bind_ended(service::BindOutcome::kPlaceTaken);
  metrics.bind_ended(service::BindOutcome::kUnavailable);
  metrics.api_request(service::ApiCall::kBind, true, 700);
  metrics.api_request(service::ApiCall::kListOneNode, false, 30'000);
  metrics.pod_refused(model::ReasonCode::kCapReached);
  metrics.pod_refused(model::ReasonCode::kCapReached);
  metrics.pod_refused(model::ReasonCode::kNone);
  metrics.watch_restarted(service::WatchedResource::kNodes, service::WatchEnd::kExpired);
  metrics.pods_woken();
  metrics.event_dropped();
  metrics.review_answered(service::ReviewOutcome::kPatched);
  metrics.reservation_problem(service::ReservationProblem::kGpuClosed);
  EXPECT_EQ(value(metrics, R"(snug_verb_total{result="ok",verb="filter"})"), 2);
  EXPECT_EQ(value(metrics, R"(snug_verb_total{result="error",verb="bind"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_verb_duration_seconds_count{verb="filter"})"), 2);
  EXPECT_DOUBLE_EQ(*value(metrics, R"(snug_verb_duration_seconds_sum{verb="filter"})"), 0.0037);
  EXPECT_EQ(value(metrics, R"(snug_verb_duration_seconds_bucket{verb="filter",le="0.001"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_verb_duration_seconds_bucket{verb="filter",le="0.005"})"), 2);
  EXPECT_EQ(value(metrics, R"(snug_bind_total{end="lost_race"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_bind_total{end="unavailable"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_bind_total{end="bound"})"), 0);
  EXPECT_EQ(value(metrics, R"(snug_api_requests_total{result="ok",what="bind"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_api_requests_total{result="error",what="list_one_node"})"), 1);
  const std::string listing =
      R"(snug_api_request_duration_seconds_bucket{what="list_one_node",le=)";
  EXPECT_EQ(value(metrics, listing + R"("0.025"})"), 0);
  EXPECT_EQ(value(metrics, listing + R"("0.05"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_refusals_total{reason="CapReached"})"), 2);
  EXPECT_EQ(value(metrics, R"(snug_watch_restarts_total{resource="nodes",why="expired"})"), 1);
  EXPECT_EQ(value(metrics, "snug_room_touches_total"), 1);
  EXPECT_EQ(value(metrics, "snug_events_dropped_total"), 1);
  EXPECT_EQ(value(metrics, R"(snug_webhook_reviews_total{end="patched"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_reservation_problems_total{kind="gpu_closed"})"), 1);
}

TEST_F(MetricsTest, APolicyIsUpToDateUntilOneIsRefused) {
  EXPECT_EQ(value(metrics, "snug_policy_up_to_date"), 1);
  metrics.policy_reloaded(false);
  EXPECT_EQ(value(metrics, "snug_policy_up_to_date"), 0);
  metrics.policy_reloaded(false);
  metrics.policy_reloaded(true);
  EXPECT_EQ(value(metrics, "snug_policy_up_to_date"), 1);
  EXPECT_EQ(value(metrics, R"(snug_policy_reloads_total{result="loaded"})"), 1);
  EXPECT_EQ(value(metrics, R"(snug_policy_reloads_total{result="refused"})"), 2);
}

TEST_F(MetricsTest, TheWebhookHasGaugesOnlyWhereThereIsOne) {
  EXPECT_EQ(value(metrics, "snug_webhook_healthy"), std::nullopt);
  EXPECT_EQ(value(metrics, "snug_webhook_certificate_expiry_timestamp_seconds"), std::nullopt);
  metrics.webhook_checked(false, std::nullopt);
  EXPECT_EQ(value(metrics, "snug_webhook_healthy"), 0);
  EXPECT_EQ(value(metrics, "snug_webhook_certificate_expiry_timestamp_seconds"), 0);
  metrics.webhook_checked(true, std::chrono::sys_seconds{std::chrono::seconds{1'800'000'000}});
  EXPECT_EQ(value(metrics, "snug_webhook_healthy"), 1);
  EXPECT_EQ(value(metrics, "snug_webhook_certificate_expiry_timestamp_seconds"), 1'800'000'000);
}

TEST_F(MetricsTest, EveryLineIsOfTheTextFormat) {
  metrics.api_request(service::ApiCall::kBind, true, 700);
  std::istringstream lines(metrics.exposition({}));
  const std::regex allowed(
      R"re(# (HELP|TYPE) snug_\w+ .+|snug_\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)re");
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(std::regex_match(line, allowed)) << line;
  }
}

TEST_F(MetricsTest, ThreadsCountTogether) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        metrics.api_request(service::ApiCall::kBind, true, 700);
        metrics.verb_done(service::Verb::kBind, true, i);
        if (i % 100 == 0) (void)metrics.exposition({});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value(metrics, R"(snug_api_requests_total{result="ok",what="bind"})"), 2000);
  EXPECT_EQ(value(metrics, R"(snug_verb_total{result="ok",verb="bind"})"), 2000);
}

}  // namespace
}  // namespace snug::metrics_test

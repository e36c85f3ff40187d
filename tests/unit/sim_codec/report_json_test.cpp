#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "snug/sim_codec/report_codec.hpp"

namespace snug::report_codec_test {
namespace {

sim::SimulationReport full_report() {
  return {.policy = "tight",
          .seed = 18'446'744'073'709'551'615U,
          .nodes = 1213,
          .gpus = 6212,
          .arrivals = 10'866,
          .accepted = 10'000,
          .rejected = {.cpu = 1, .share = 2, .one = 3, .multi = 860},
          .allocation = {.at100 = 92.94, .at130 = 93.129'96},
          .final_allocation = 93.200'049,
          .fragmentation = {.at100 = 4.0, .at130 = 1.0 / 3},
          .churn = sim::ChurnReport{.allocation_mean = 90.123'45,
                                    .gpu_accepted_pct = 98.7,
                                    .rejected_pct = 0.12,
                                    .multi_rejected_pct = 13.2},
          .decision_us_p50 = 35.123'4,
          .decision_us_p99 = 120,
          .wall_s = 2.345'6,
          .curve = {{1, 2}}};
}

constexpr const char* kFull = R"({
  "policy": "tight",
  "seed": 18446744073709551615,
  "nodes": 1213,
  "gpus": 6212,
  "arrivals": 10866,
  "accepted": 10000,
  "rejected": {
    "cpu": 1,
    "share": 2,
    "one": 3,
    "multi": 860
  },
  "allocation": {
    "at100": 92.94,
    "at130": 93.13,
    "final": 93.2
  },
  "fragmentation": {
    "at100": 4.0,
    "at130": 0.3333
  },
  "churn": {
    "allocation_mean": 90.1235,
    "gpu_accepted_pct": 98.7,
    "rejected_pct": 0.12,
    "multi_rejected_pct": 13.2
  },
  "mig": null,
  "decision_us": {
    "p50": 35.123,
    "p99": 120.0
  },
  "wall_s": 2.346
}
)";

TEST(ReportCodecTest, OneReportIsAnObject) {
  const sim::SimulationReport report = full_report();
  EXPECT_EQ(sim_codec::report_json({&report, 1}), kFull);
}

TEST(ReportCodecTest, FiguresOfSlicesStandInABlockOfTheirOwn) {
  sim::SimulationReport report{.mig = sim::MigReport{.memory_slices_pct = 86.444'449,
                                                     .rejected_pct = 8.3,
                                                     .rejected_4_slices_or_more_pct = 27}};
  const auto written = [&] {
    return nlohmann::ordered_json::parse(sim_codec::report_json({&report, 1}))["mig"].dump();
  };
  EXPECT_EQ(written(), R"({"memory_slices_pct":86.4444,"rejected_pct":8.3,)"
                       R"("rejected_4_slices_or_more_pct":27.0})");
  report.mig->rejected_4_slices_or_more_pct.reset();
  EXPECT_EQ(written(), R"({"memory_slices_pct":86.4444,"rejected_pct":8.3,)"
                       R"("rejected_4_slices_or_more_pct":null})");
}

TEST(ReportCodecTest, SeveralAreAList) {
  const std::vector<sim::SimulationReport> reports{full_report(), {.policy = "other"}};
  const auto json = nlohmann::json::parse(sim_codec::report_json(reports));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0], nlohmann::json::parse(kFull));
  EXPECT_EQ(json[1]["policy"], "other");
}

TEST(ReportCodecTest, WhatARunDoesNotDefineIsNull) {
  sim::SimulationReport report{.policy = "\xFF"};
  report.allocation.at100 = std::numeric_limits<double>::infinity();
  report.churn = sim::ChurnReport{};
  auto json = nlohmann::json::parse(sim_codec::report_json({&report, 1}));
  for (const char* path : {"/seed", "/allocation/at100", "/allocation/at130", "/allocation/final",
                           "/fragmentation/at100", "/fragmentation/at130",
                           "/churn/gpu_accepted_pct", "/churn/multi_rejected_pct", "/mig"}) {
    EXPECT_TRUE(json.at(nlohmann::json::json_pointer(path)).is_null()) << path;
  }
  EXPECT_EQ(json["churn"]["rejected_pct"], 0.0);
  report.churn.reset();
  json = nlohmann::json::parse(sim_codec::report_json({&report, 1}));
  EXPECT_TRUE(json["churn"].is_null());
}

}  // namespace
}  // namespace snug::report_codec_test

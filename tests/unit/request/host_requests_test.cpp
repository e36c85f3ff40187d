#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "snug/request/pod_request_parser.hpp"

namespace snug::host_test {
namespace {

constexpr auto kApp = model::ContainerType::kApp;
constexpr auto kInit = model::ContainerType::kInit;
constexpr auto kSidecar = model::ContainerType::kSidecar;

struct Row {
  std::string name;
  std::vector<std::pair<model::ContainerType, model::HostResources>> containers;
  model::HostResources request;
  model::HostResources overhead = {};
  std::optional<std::int64_t> pod_cpu = {};
  std::optional<std::int64_t> pod_memory = {};
};

model::HostResources request_of(const Row& row) {
  model::PodFacts pod;
  for (const auto& [kind, host] : row.containers) {
    pod.containers.push_back({.type = kind, .host = host});
  }
  pod.overhead = row.overhead;
  pod.pod_level_cpu_milli = row.pod_cpu;
  pod.pod_level_memory_bytes = row.pod_memory;
  return request::host_requests_of(pod);
}

TEST(HostTest, APodAsksWhatKubeSchedulerCounts) {
  const std::vector<Row> rows = {
      {"nothing", {}, {0, 0}},
      {"one app", {{kApp, {500, 64}}}, {500, 64}},
      {"apps add up", {{kApp, {500, 64}}, {kApp, {250, 1}}}, {750, 65}},
      {"a smaller init container", {{kInit, {400, 10}}, {kApp, {500, 64}}}, {500, 64}},
      {"a larger init container", {{kInit, {900, 90}}, {kApp, {500, 64}}}, {900, 90}},
      {"the larger in each", {{kInit, {900, 10}}, {kApp, {500, 64}}}, {900, 64}},
      {"init containers run in turn",
       {{kInit, {300, 70}}, {kInit, {400, 60}}, {kApp, {100, 10}}},
       {400, 70}},
      {"a sidecar runs beside the apps", {{kSidecar, {100, 5}}, {kApp, {500, 64}}}, {600, 69}},
      {"a sidecar runs beside what comes after it",
       {{kSidecar, {100, 5}}, {kInit, {600, 60}}, {kApp, {500, 64}}},
       {700, 69}},
      {"and not beside what came before it",
       {{kInit, {650, 60}}, {kSidecar, {100, 5}}, {kApp, {500, 64}}},
       {650, 69}},
      {"sidecars add up",
       {{kSidecar, {100, 5}},
        {kInit, {500, 1}},
        {kSidecar, {200, 6}},
        {kInit, {450, 90}},
        {kApp, {10, 1}}},
       {750, 101}},
      {"sidecars alone", {{kSidecar, {100, 5}}, {kSidecar, {200, 6}}}, {300, 11}},
      {"overhead comes on top", {{kInit, {900, 90}}, {kApp, {500, 64}}}, {910, 97}, {10, 7}},
      {"overhead alone", {}, {10, 7}, {10, 7}},
      {"the pod's own request", {{kApp, {500, 64}}}, {2000, 4096}, {}, 2000, 4096},
      {"may be smaller", {{kInit, {900, 90}}, {kApp, {500, 64}}}, {100, 9}, {}, 100, 9},
      {"of cpu alone", {{kApp, {500, 64}}}, {2000, 64}, {}, 2000},
      {"of memory alone", {{kApp, {500, 64}}}, {500, 4096}, {}, {}, 4096},
      {"of nothing", {{kApp, {500, 64}}}, {0, 0}, {}, 0, 0},
      {"and the overhead on top", {{kApp, {500, 64}}}, {2010, 4103}, {10, 7}, 2000, 4096},
  };
  for (const Row& row : rows) EXPECT_EQ(request_of(row), row.request) << row.name;
}

TEST(HostTest, TheResourcesThatMirrorSharesFollowTheSameRule) {
  struct MirroredRow {
    std::string name;
    std::vector<std::pair<model::ContainerType, model::MirroredAmounts>> containers;
    model::MirroredAmounts request;
  };
  const std::vector<MirroredRow> rows = {
      {"nothing", {}, {}},
      {"apps add up", {{kApp, {{500}, {64}}}, {kApp, {{250}, {1}}}}, {{750}, {65}}},
      {"the larger in each", {{kInit, {{900}, {10}}}, {kApp, {{500}, {64}}}}, {{900}, {64}}},
      {"a sidecar runs beside what comes after it",
       {{kInit, {{650}, {60}}},
        {kSidecar, {{100}, {5}}},
        {kInit, {{600}, {1}}},
        {kApp, {{500}, {64}}}},
       {{700}, {69}}},
  };
  for (const MirroredRow& row : rows) {
    model::PodFacts pod;
    for (const auto& [kind, amounts] : row.containers) {
      pod.containers.push_back({.type = kind, .mirrored = amounts});
    }
    pod.overhead = {1'000'000, 1'000'000};
    EXPECT_EQ(request::mirrored_amounts_of(pod), row.request) << row.name;
  }
}

TEST(HostTest, SumsStopAtTheLargestNumber) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const model::HostResources all{kLargest, kLargest};
  EXPECT_EQ(request_of({"", {{kApp, all}, {kSidecar, all}, {kInit, all}}, {}, all}), all);
}

}  // namespace
}  // namespace snug::host_test

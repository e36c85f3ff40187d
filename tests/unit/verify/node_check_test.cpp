#include "snug/verify/node_check.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace snug::verify_test {
namespace {

using model::ShareLimits;
using verify::Check;
using verify::CheckVerdict;
using verify::NodeClaims;
using verify::PodEnd;
using verify::PodResult;
using verify::PodResults;

constexpr const char* kUuid = "GPU-00000001-1111-2222-3333-444444444444";
constexpr std::int64_t kShareMib = 2'048;

char letter(CheckVerdict verdict) {
  return verdict == CheckVerdict::kOk           ? 'o'
         : verdict == CheckVerdict::kFailed     ? 'F'
         : verdict == CheckVerdict::kNotChecked ? '?'
                                                : '-';
}

std::string verdicts(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) text += letter(check.verdict);
  return text;
}

/// The rows that are not as they should be, for the message of a failure.
std::string described(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks)
    text += check.what + " | " + check.expected + " | " + check.seen + "\n";
  return text;
}

PodResult share_of(model::GpuMode mode) {
  PodResult share{.end = PodEnd::kObserved, .reason = {}, .seen = {}, .reservation = {}};
  share.seen.nodes = {{.name = "nvidia-uvm"}, {.name = "nvidia1"}, {.name = "nvidiactl"}};
  share.seen.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"},
                          {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=2048M"},
                          {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "5"},
                          {"CUDA_DEVICE_MEMORY_LIMIT_0", "2048m"},
                          {"CUDA_DEVICE_SM_LIMIT", "5"}};
  share.seen.cuda = {.library = "/usr/local/nvidia/lib64/libcuda.so.1",
                     .problem = "",
                     .devices = 1,
                     .uuid = "00000001-1111-2222-3333-444444444444",
                     .total_mib = kShareMib};
  share.seen.allocation = {.wanted_mib = 2'304, .got_mib = kShareMib, .out_of_memory = true};
  model::ReservedDevice device{
      .index = 0, .uuid = kUuid, .mode = mode, .memory = {kShareMib}, .compute = {59}};
  if (mode == model::GpuMode::kMig) {
    device.slice = model::Slice{.profile = "1g.5gb", .start = 0, .size = 1, .uuid = {}};
    for (const char* name : {"nvidia-caps/nvidia-cap12", "nvidia-caps/nvidia-cap13"})
      share.seen.nodes.push_back({.name = name});
  }
  share.reservation = model::Reservation{
      .uid = "u",
      .node = "n1",
      .containers = {{.name = "observe", .request_text = "", .assigned = std::vector{device}}}};
  return share;
}

/// As on a node on which all is well.
PodResults good(model::GpuMode mode) {
  PodResults results;
  results.share = share_of(mode);
  results.greedy.end = PodEnd::kObserved;
  results.greedy.seen.variables = {{"NVIDIA_VISIBLE_DEVICES", "void"}};
  for (PodResult* pod : {&results.cdi, &results.toolkits_cdi}) {
    pod->end = PodEnd::kNotStarted;
    pod->reason = "the annotation of its pod asks for GPUs by CDI; GPUs are given only by";
  }
  return results;
}

TEST(NodeCheckTest, AGoodNodeIsOkInEachModeAndUnderEachEnforcer) {
  struct Row {
    const char* what;
    model::GpuMode mode;
    ShareLimits limits;
    const char* verdicts;  // devices, variables, libraries, CUDA, memory, [own limit], the others
  };
  using enum model::GpuMode;
  const Row rows[] = {
      {"nobody limits", kTimeSlicing, ShareLimits::kNone, "oooo-ooo"},
      {"nobody limits mps", kMps, ShareLimits::kNone, "oooo-ooo"},
      {"mps", kMps, ShareLimits::kMps, "ooooo-ooo"},
      {"HAMi-core", kTimeSlicing, ShareLimits::kHamiCore, "ooooo-ooo"},
      {"the driver", kTimeSlicing, ShareLimits::kDriver, "oooooooo"},
      {"a slice", kMig, ShareLimits::kNone, "oooooooo"},
  };
  for (const Row& row : rows) {
    const auto checks = check_pods(NodeClaims{.limits = row.limits}, good(row.mode));
    EXPECT_EQ(verdicts(checks), row.verdicts) << row.what << "\n" << described(checks);
  }
}

TEST(NodeCheckTest, WhatIsWrongIsFoundWhereItIs) {
  struct Row {
    const char* what;
    std::function<void(PodResults&)> change;
    const char* verdicts;
  };
  const Row rows[] = {
      {"a second GPU", [](auto& all) { all.share.seen.nodes.push_back({"nvidia0"}); }, "Fooooooo"},
      {"a node is denied", [](auto& all) { all.share.seen.nodes[1].denied = true; }, "Fooooooo"},
      {"no GPU", [](auto& all) { all.share.seen.nodes.erase(all.share.seen.nodes.begin() + 1); },
       "Fooooooo"},
      {"no control node", [](auto& all) { all.share.seen.nodes.pop_back(); }, "Fooooooo"},
      {"another value",
       [](auto& all) { all.share.seen.variables["NVIDIA_VISIBLE_DEVICES"] = "all"; }, "oFoooooo"},
      {"no variable", [](auto& all) { all.share.seen.variables.clear(); }, "oFoooooo"},
      {"the image's library",
       [](auto& all) { all.share.seen.cuda.library = "/usr/lib/libcuda.so.1"; }, "ooFooooo"},
      {"no library",
       [](auto& all) {
         all.share.seen.cuda = {.library = "", .problem = "cannot open"};
         all.share.seen.allocation = {};
       },
       "ooF?ooo"},
      {"CUDA fails",
       [](auto& all) {
         all.share.seen.cuda.problem = "cuInit returns 100";
         all.share.seen.allocation = {.wanted_mib = 2'304};
       },
       "oooF?ooo"},
      {"two devices", [](auto& all) { all.share.seen.cuda.devices = 2; }, "oooFoooo"},
      {"another GPU",
       [](auto& all) { all.share.seen.cuda.uuid = "00000002-1111-2222-3333-444444444444"; },
       "oooFoooo"},
      {"more than its share", [](auto& all) { all.share.seen.allocation.got_mib = 2'304; },
       "ooooFooo"},
      {"half of its share", [](auto& all) { all.share.seen.allocation.got_mib = 1'024; },
       "oooooooo"},
      {"less than half of its share", [](auto& all) { all.share.seen.allocation.got_mib = 1'023; },
       "oooo?ooo"},
      {"nothing of its share", [](auto& all) { all.share.seen.allocation.got_mib = 0; },
       "oooo?ooo"},
      {"another error", [](auto& all) { all.share.seen.allocation.out_of_memory = false; },
       "ooooFooo"},
      {"the greedy one has a GPU", [](auto& all) { all.greedy.seen.nodes = {{"nvidia0"}}; },
       "oooooFoo"},
      {"the greedy one keeps its variable",
       [](auto& all) { all.greedy.seen.variables["NVIDIA_VISIBLE_DEVICES"] = "all"; }, "oooooFoo"},
      {"the greedy one has the library",
       [](auto& all) { all.greedy.seen.cuda.library = "/usr/lib/libcuda.so.1"; }, "oooooFoo"},
      {"CDI is not refused", [](auto& all) { all.cdi.end = PodEnd::kObserved; }, "ooooooFo"},
      {"CDI is refused by another one",
       [](auto& all) { all.toolkits_cdi.reason = "unresolvable CDI devices"; }, "oooooooF"},
  };
  for (const Row& row : rows) {
    PodResults results = good(model::GpuMode::kTimeSlicing);
    row.change(results);
    const auto checks = check_pods(NodeClaims{.limits = ShareLimits::kDriver}, results);
    EXPECT_EQ(verdicts(checks), row.verdicts) << row.what << "\n" << described(checks);
  }
}

TEST(NodeCheckTest, APodThatSawNothing) {
  struct Row {
    PodEnd end;
    const char* verdicts;  // share, greedy, cdi, toolkits_cdi
  };
  const Row rows[] = {{PodEnd::kNotCreated, "????"}, {PodEnd::kDenied, "????"},
                      {PodEnd::kNotPlaced, "????"},  {PodEnd::kHindered, "????"},
                      {PodEnd::kNotStarted, "FFFF"}, {PodEnd::kRunning, "??FF"},
                      {PodEnd::kFailed, "F???"}};
  for (const Row& row : rows) {
    const PodResult pod{.end = row.end, .reason = "why", .seen = {}, .reservation = {}};
    const auto checks = verify::check_pods({}, {pod, pod, pod, pod});
    EXPECT_EQ(verdicts(checks), row.verdicts) << described(checks);
    for (const Check& check : checks) EXPECT_TRUE(check.seen.ends_with(": why")) << check.seen;
  }
}

TEST(NodeCheckTest, AShareThatSnugDidNotPlaceIsNotChecked) {
  PodResults results = good(model::GpuMode::kTimeSlicing);
  results.share.reservation.reset();
  const auto checks = verify::check_pods({}, results);
  EXPECT_EQ(verdicts(checks), "?ooo") << described(checks);
  EXPECT_TRUE(checks.front().seen.contains("--scheduler-name"));
}

TEST(NodeCheckTest, ASliceHasTwoCapabilitiesAndAShareHasNone) {
  struct Row {
    model::GpuMode mode;
    int capabilities;
    const char* verdicts;
  };
  using enum model::GpuMode;
  const Row rows[] = {{kMig, 0, "Foooo"},         {kMig, 1, "Foooo"},  {kMig, 2, "ooooo"},
                      {kMig, 4, "Foooo"},         {kMps, 0, "oooo-"},  {kMps, 2, "Fooo-"},
                      {kTimeSlicing, 2, "Fooo-"}, {kWhole, 2, "Fooo-"}};
  for (const Row& row : rows) {
    PodResults results = good(row.mode);
    std::vector<verify::SeenNode>& nodes = results.share.seen.nodes;
    std::erase_if(nodes, [](const auto& node) { return node.name.starts_with("nvidia-caps/"); });
    for (int i = 0; i < row.capabilities; ++i)
      nodes.push_back({.name = "nvidia-caps/nvidia-cap" + std::to_string(i)});
    const auto checks = check_pods({}, results);
    EXPECT_EQ(verdicts(checks), std::string(row.verdicts) + "ooo") << described(checks);
  }
}

TEST(NodeCheckTest, EachVariableThatLimitsAShareIsCompared) {
  struct Row {
    model::GpuMode mode;
    ShareLimits limits;
    const char* name;
  };
  using enum model::GpuMode;
  const Row rows[] = {{kMps, ShareLimits::kMps, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"},
                      {kMps, ShareLimits::kMps, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"},
                      {kTimeSlicing, ShareLimits::kHamiCore, "CUDA_DEVICE_MEMORY_LIMIT_0"},
                      {kTimeSlicing, ShareLimits::kHamiCore, "CUDA_DEVICE_SM_LIMIT"}};
  for (const Row& row : rows) {
    PodResults results = good(row.mode);
    results.share.seen.variables[row.name] = "100";
    auto checks = check_pods(NodeClaims{.limits = row.limits}, results);
    EXPECT_EQ(verdicts(checks), "oFooo-ooo") << row.name << "\n" << described(checks);
    results.share.seen.variables.erase(row.name);
    checks = check_pods(NodeClaims{.limits = row.limits}, results);
    EXPECT_EQ(verdicts(checks), "oFooo-ooo") << row.name << "\n" << described(checks);
    EXPECT_TRUE(checks[1].seen.contains(std::string(row.name) + " is not set")) << checks[1].seen;
  }
  PodResults results = good(kMps);  // a share of less than 1 %
  auto& assigned = results.share.reservation->containers[0].assigned;
  std::get<std::vector<model::ReservedDevice>>(assigned)[0].compute = {9};
  results.share.seen.variables["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = "1";
  EXPECT_EQ(verdicts(check_pods(NodeClaims{.limits = ShareLimits::kMps}, results)), "ooooo-ooo");
}

TEST(NodeCheckTest, ADenialProvesOnlyWhatItNames) {
  struct Row {
    const char* reason;
    const char* verdicts;  // share, greedy, cdi, toolkits_cdi
  };
  const Row rows[] = {
      {"policy 'x' denied request: no spec.nodeName", "????"},
      {"policy 'x' denied request: NVIDIA_VISIBLE_DEVICES names GPUs", "?o??"},
      {"policy 'x' denied request: annotations under cdi.k8s.io/ name devices", "??o?"},
      {"policy 'x' denied request: annotations under cdi.k8s.io/ or nvidia.cdi.k8s.io/", "??oo"}};
  for (const Row& row : rows) {
    const PodResult pod{
        .end = PodEnd::kDenied, .reason = row.reason, .seen = {}, .reservation = {}};
    const auto checks = verify::check_pods({}, {pod, pod, pod, pod});
    EXPECT_EQ(verdicts(checks), row.verdicts) << described(checks);
    for (const Check& check : checks) EXPECT_TRUE(check.seen.ends_with(row.reason)) << check.seen;
  }
}

TEST(NodeCheckTest, ASliceHasTheMemoryOfItsCardsPart) {
  PodResults results = good(model::GpuMode::kMig);
  results.share.seen.cuda.total_mib = kShareMib + 1;
  EXPECT_EQ(verdicts(check_pods({}, results)), "ooooFooo");
  results.share.seen.cuda.total_mib = 0;
  EXPECT_EQ(verdicts(check_pods({}, results)), "oooo?ooo");
}

TEST(NodeCheckTest, TheClaimsOfTheNode) {
  struct Row {
    const char* what;
    NodeClaims claims;
    const char* verdicts;  // heartbeat, fails closed, limits
  };
  const Row rows[] = {
      {"all", {true, true, true, ShareLimits::kMps}, "ooo"},
      {"nobody limits", {true, true, true, ShareLimits::kNone}, "oo-"},
      {"the agent is away", {false, true, true, ShareLimits::kMps}, "Foo"},
      {"it fails open", {true, false, false, ShareLimits::kNone}, "o--"},
      {"the label is missing", {true, true, false, ShareLimits::kDriver}, "oFo"},
      {"a label of others", {true, false, true, ShareLimits::kDriver}, "oFo"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(verdicts(check_claims(row.claims)), row.verdicts) << row.what;
}

}  // namespace
}  // namespace snug::verify_test

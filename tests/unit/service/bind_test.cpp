#include <nlohmann/json.hpp>
#include <stdexcept>

#include "snug/codec/reservation_codec.hpp"
#include "unit/service/fixture.hpp"

namespace snug::testing::bind_test {
namespace {

using BindTest = ServiceTest;

TEST_F(BindTest, OnePostCarriesNodeAndReservation) {
  start();
  list({make_node("n1", 2, 40960)});
  const model::PodFacts pod =
      arrive("a", {{"gpu-fraction", "0.25"}, {"snug.dev/visible-devices", "x"}});
  EXPECT_EQ(bind(pod, "n1"), "");
  ASSERT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(api.gets, 0);
  const model::Binding& binding = api.bindings.front();
  EXPECT_EQ(binding.uid, "uid-a");
  EXPECT_EQ(binding.node, "n1");
  const auto reservation =
      codec::read_reservation(binding.annotations.at("snug.dev/reservation"), limits);
  ASSERT_TRUE(reservation) << reservation.error().message;
  const auto& container = reservation->reservation.containers.at(0);
  EXPECT_EQ(container.request_text, "gpu-fraction=0.25");
  const auto& device = std::get<std::vector<model::ReservedDevice>>(container.assigned).at(0);
  EXPECT_EQ(device.memory, base::MebiBytes{10240});
  EXPECT_EQ(device.compute, base::MilliGpu{250});
  EXPECT_EQ(device.mode, model::GpuMode::kTimeSlicing);
  EXPECT_EQ(binding.annotations.at("snug.dev/visible-devices"), "GPU-n1-0");
  EXPECT_EQ(used("n1", 0), 250);
  EXPECT_EQ(metrics.ends[service::BindOutcome::kBound], 1);
}

TEST_F(BindTest, TheBindingHasTheKeysOfTheNodesOtherEnforcer) {
  start();
  std::vector nodes{make_node("n1", 1, 40960), make_node("n2", 1, 40960),
                    make_node("n3", 1, 40960)};
  nodes[0].labels["snug.dev/enforcer"] = "nvfractions";
  nodes[1].labels["snug.dev/enforcer"] = "koordlet";
  list(nodes);
  for (const char* node : {"n1", "n2", "n3"})
    ASSERT_EQ(bind(arrive(std::string("on-") + node, {{"gpu-fraction", "0.25"}}), node), "");
  ASSERT_EQ(api.bindings.size(), 3U);
  const auto others = [&](std::size_t binding) {
    model::StringMap keys = api.bindings[binding].annotations;
    std::erase_if(keys, [](const auto& entry) { return entry.first.starts_with("snug.dev/"); });
    return keys;
  };
  EXPECT_EQ(others(0),
            (model::StringMap{{"nvidia.com/container.main.gpus.devices", "GPU-n1-0"},
                              {"nvidia.com/container.main.gpu-memory.request", "10240Mi"},
                              {"nvidia.com/container.main.gpu-memory.limit", "10240Mi"},
                              {"nvidia.com/container.main.gpu-compute.mode", "time-slicing"},
                              {"nvidia.com/container.main.gpu-compute.portion", "0.25"}}));
  EXPECT_EQ(others(1),
            (model::StringMap{{"scheduling.koordinator.sh/device-allocated",
                               R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"25",)"
                               R"("koordinator.sh/gpu-memory":"10240Mi",)"
                               R"("koordinator.sh/gpu-memory-ratio":"25"},"id":"GPU-n2-0"}]})"}}));
  EXPECT_EQ(others(2), model::StringMap{}) << "no label";
}

TEST_F(BindTest, TheSecondBindOfABoundPodIsSuccessWithoutAnyCall) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(bind(pod, "n1"), "");
  reconciler.pod_changed(bound(pod, api.bindings.front()));
  EXPECT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(api.gets, 0);
  EXPECT_EQ(used("n1", 0), 500);
}

TEST_F(BindTest, APodThatIsBoundElsewhereIsAnError) {
  start();
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  EXPECT_THAT(bind(pod, "n2"), ::testing::HasSubstr("n1"));
  EXPECT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(used("n2", 0), 0);
}

TEST_F(BindTest, ABindThatNoLongerFitsIsRefusedWithTheReasonAndNothingIsPosted) {
  start();
  list({make_node("n1", 1, 40960)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "0.75"}}), "n1"), "");
  EXPECT_THAT(bind(arrive("b", {{"gpu-fraction", "0.5"}}), "n1"),
              ::testing::StartsWith("NoRoom: "));
  EXPECT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(metrics.ends[service::BindOutcome::kPlaceTaken], 1);
  EXPECT_EQ(used("n1", 0), 750);
}

TEST_F(BindTest, AReservationThatCouldNotBeReadBackIsNotWritten) {
  limits.max_reservation_bytes = 150;
  start();
  list({make_node("n1", 1, 40960)});
  EXPECT_THAT(bind(arrive("a", {{"gpu-fraction", "0.5"}}), "n1"),
              ::testing::HasSubstr("more than 150 bytes"));
  EXPECT_TRUE(api.bindings.empty());
  EXPECT_EQ(used("n1", 0), 0);
}

struct RefusalRow {
  base::ErrorCode code;
  service::BindOutcome end;
  std::int64_t kept;  // milli that stay reserved
};

class BindRefusalTest : public ServiceTest, public ::testing::WithParamInterface<RefusalRow> {};

TEST_P(BindRefusalTest, KeepsTheReservationOnlyWhereTheOutcomeIsUnknown) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(GetParam().code, "the API server's words"));
  EXPECT_THAT(bind(pod, "n1"), ::testing::HasSubstr("the API server's words"));
  EXPECT_EQ(metrics.ends[GetParam().end], 1);
  EXPECT_EQ(used("n1", 0), GetParam().kept);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BindRefusalTest,
    ::testing::Values(RefusalRow{base::ErrorCode::kUnavailable, service::BindOutcome::kUnavailable,
                                 0},
                      RefusalRow{base::ErrorCode::kNotFound, service::BindOutcome::kRefused, 0},
                      RefusalRow{base::ErrorCode::kInvalid, service::BindOutcome::kRefused, 0},
                      RefusalRow{base::ErrorCode::kConflict, service::BindOutcome::kRefused, 0},
                      RefusalRow{base::ErrorCode::kUnknown, service::BindOutcome::kUnknown, 500}));

TEST_F(BindTest, AnUnknownOutcomeThatWasCarriedOutIsSettledByTheReadOfTheTick) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
  api.on_bind = [&](const model::Binding& binding) { api.pods["default/a"] = bound(pod, binding); };
  ASSERT_NE(bind(pod, "n1"), "");
  clock.advance(std::chrono::seconds(2));
  reconciler.tick();
  EXPECT_EQ(ledger.find("uid-a")->state, ledger::HoldingState::kBound);
  EXPECT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(api.bindings.size(), 1U);
}

TEST_F(BindTest, AnUnknownOutcomeThatWasNotCarriedOutIsTriedAgainOnTheSameDevices) {
  start();
  list({make_node("n1", 2, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
  ASSERT_NE(bind(pod, "n1"), "");
  EXPECT_EQ(filter(pod, {"n1", "n2"})["NodeNames"], nlohmann::json({"n1"}));
  EXPECT_THAT(bind(pod, "n2"), ::testing::HasSubstr("n1"));
  EXPECT_EQ(bind(pod, "n1"), "");
  ASSERT_EQ(api.bindings.size(), 2U);
  EXPECT_EQ(api.bindings[0].annotations, api.bindings[1].annotations);
  EXPECT_EQ(used("n1", 0), 500);
  EXPECT_EQ(used("n1", 1), 0);
}

TEST_F(BindTest, AnUnknownOutcomeIsReleasedOnlyByAReadThatIsConclusive) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
  ASSERT_NE(bind(pod, "n1"), "");
  clock.advance(std::chrono::seconds(30));
  reconciler.tick();
  EXPECT_EQ(used("n1", 0), 500) << "a request of ours may still be under way";
  api.get_error = base::Error{base::ErrorCode::kUnavailable, "away"};
  clock.advance(std::chrono::hours(1));
  reconciler.tick();
  EXPECT_EQ(used("n1", 0), 500) << "no reservation ends by time alone";
  api.get_error.reset();
  clock.advance(std::chrono::seconds(2));
  reconciler.tick();
  EXPECT_EQ(used("n1", 0), 0);
}

TEST_F(BindTest, AConflictOfAPodThatIsBoundHereAlreadyIsSuccess) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kConflict, "already assigned"));
  api.on_bind = [&](const model::Binding& binding) { api.pods["default/a"] = bound(pod, binding); };
  EXPECT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(ledger.find("uid-a")->state, ledger::HoldingState::kBound);
  EXPECT_EQ(used("n1", 0), 500);
}

TEST_F(BindTest, AConflictOfAPodThatSomeoneBoundElsewhereMovesNothingHere) {
  start();
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kConflict, "already assigned"));
  api.pods["default/a"].node_name = "n2";
  EXPECT_THAT(bind(pod, "n1"), ::testing::HasSubstr("n2"));
  EXPECT_EQ(used("n1", 0), 0);
}

TEST_F(BindTest, APodThatTheWatchDoesNotKnowCostsOneGet) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = make_pod("late", {{"gpu-fraction", "0.5"}});
  EXPECT_THAT(bind(pod, "n1"), ::testing::HasSubstr("does not exist"));
  api.pods["default/late"] = pod;
  EXPECT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(api.gets, 2);
  EXPECT_EQ(api.bindings.size(), 1U);
}

TEST_F(BindTest, ThePodsOwnRequestCountsNotTheCallers) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  pod.name = "b";
  EXPECT_NE(bind(pod, "n1"), "");
  pod.name = "a";
  pod.uid = "uid-other";
  EXPECT_NE(bind(pod, "n1"), "");
  EXPECT_TRUE(api.bindings.empty());
}

TEST_F(BindTest, APodOfASchedulerThatIsNotServedIsRefused) {
  scheduler_names = {"another"};
  start();
  list({make_node("n1", 1, 40960)});
  EXPECT_THAT(bind(arrive("a", {{"gpu-fraction", "0.5"}}), "n1"),
              ::testing::HasSubstr("scheduler snug"));
  EXPECT_TRUE(api.bindings.empty());
}

TEST_F(BindTest, APodWithoutRequestIsBoundWithoutReservationAndItsSnugKeysAreBlanked) {
  start();
  list({make_node("n1", 1, 40960)});
  EXPECT_EQ(bind(arrive("plain", {{"snug.dev/reservation", "forged"}}), "elsewhere"), "");
  ASSERT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(api.bindings.front().annotations, (model::StringMap{{"snug.dev/reservation", ""}}));
  EXPECT_TRUE(ledger.gpu_entries().empty());
}

TEST_F(BindTest, APodWithoutRequestPassesWhoeverSchedulesIt) {
  scheduler_names = {"another"};
  start();
  list({make_node("n1", 1, 40960)});
  EXPECT_EQ(bind(arrive("plain", {}), "n1"), "");
  EXPECT_EQ(api.bindings.size(), 1U);
}

TEST_F(BindTest, WhatThrowsInTheMidstOfABindLeavesADoubtAndNoLeak) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.on_bind = [](const model::Binding&) { throw std::runtime_error("no memory"); };
  EXPECT_THROW(bind(pod, "n1"), std::runtime_error);
  EXPECT_EQ(ledger.find("uid-a")->state, ledger::HoldingState::kUnsettled);
  clock.advance(std::chrono::minutes(2));
  reconciler.tick();
  EXPECT_EQ(used("n1", 0), 0) << "the API server says that it is unbound";
}

TEST_F(BindTest, APodThatAsksNoMoreDoesNotFreeWhatItsEarlierBindMayTake) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
  ASSERT_NE(bind(pod, "n1"), "");
  pod.annotations.clear();
  reconciler.pod_changed(pod);
  EXPECT_THAT(bind(pod, "n1"), ::testing::HasSubstr("is not settled"));
  EXPECT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(used("n1", 0), 500);
}

TEST_F(BindTest, AFinishedPodThatTheWatchDoesNotKnowIsNotBound) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = make_pod("a", {{"gpu-fraction", "0.5"}});
  pod.finished = true;
  api.pods["default/a"] = pod;
  EXPECT_THAT(bind(pod, "n1"), ::testing::HasSubstr("has finished"));
  EXPECT_EQ(used("n1", 0), 0);
  EXPECT_TRUE(api.bindings.empty());
}

TEST_F(BindTest, OnePodThatCannotBeReadKeepsNoOtherUnsettled) {
  start();
  list({make_node("n1", 4, 40960)});
  for (const char* name : {"a", "b", "c"}) {
    const model::PodFacts pod = arrive(name, {{"gpu-fraction", "1"}});
    api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
    ASSERT_NE(bind(pod, "n1"), "");
  }
  for (const base::ErrorCode code : {base::ErrorCode::kInvalid, base::ErrorCode::kUnavailable}) {
    api.get_errors["default/b"] = base::Error{code, "b cannot be read"};
    for (int round = 0; round < 3; ++round) {
      clock.advance(std::chrono::minutes(2));
      reconciler.tick();
    }
    EXPECT_FALSE(ledger.find("uid-a")) << "it is unbound, as the API server says";
    EXPECT_TRUE(ledger.find("uid-b"));
    EXPECT_FALSE(ledger.find("uid-c"));
  }
}

TEST_F(BindTest, ADeletedPodIsNotBound) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  reconciler.pod_gone(pod);
  EXPECT_NE(bind(pod, "n1"), "");
  EXPECT_TRUE(api.bindings.empty());
  EXPECT_EQ(used("n1", 0), 0);
}

TEST_F(BindTest, NothingIsBoundBeforeTheLedgerIsRebuilt) {
  start();
  std::string body = R"({"PodName":"a","PodNamespace":"default","PodUID":"u","Node":"n1"})";
  const service::Reply reply = service->bind(body);
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(nlohmann::json::parse(reply.body).at("Error"), "");
  EXPECT_TRUE(api.bindings.empty());
}

}  // namespace
}  // namespace snug::testing::bind_test

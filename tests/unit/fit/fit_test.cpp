#include "snug/fit/fit.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/node_states.hpp"

namespace snug::fit_test {
namespace {

struct Row {
  std::string_view why;
  std::string_view node;
  std::vector<model::HoldingPtr> holdings;
  model::GpuRequest request;
  std::string_view expected;  // the GPUs of each option, or the reason
};

/// `0 1 3`: three options of one GPU each; `0+1`: one of two; `-`: one without devices.
std::string fit_text(const model::NodeState& node, const model::GpuRequest& request) {
  const auto [result, options] = fit_all(node, request);
  if (result != model::ReasonCode::kNone) {
    EXPECT_TRUE(options.empty());
    return std::string(model::reason_row(result).code);
  }
  EXPECT_FALSE(options.empty());
  std::string text;
  for (const model::Placement& option : options) {
    if (!text.empty()) text += " ";
    if (option.allocations.empty()) text += "-";
    for (std::size_t i = 0; i < option.allocations.size(); ++i) {
      text += (i > 0 ? "+" : "") + std::to_string(option.allocations[i].gpu);
    }
  }
  return text;
}

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const model::NodeStatePtr node = make_state(row.node, row.holdings);
    EXPECT_EQ(fit_text(*node, row.request), row.expected) << row.why;
  }
}

model::HoldingPtr held(int gpu, std::int64_t memory, std::int64_t compute) {
  return make_holding("h" + std::to_string(gpu), "n1", {make_share(gpu, memory, compute)});
}

model::HoldingPtr held_whole(int gpu) {
  return make_holding("w" + std::to_string(gpu), "n1", {make_whole_device(gpu, 40960)});
}

model::HoldingPtr held_in(model::GpuMode mode, int gpu) {
  model::ReservedDevice device = make_share(gpu, 1024, 25);
  device.mode = mode;
  return make_holding("m" + std::to_string(gpu), "n1", {device});
}

TEST(FitTest, AShareGoesWhereItsMemoryAndComputeFit) {
  check({{"of equals the first", "n1: A 40960 x3", {}, make_fraction(500), "0"},
         {"equals that are no neighbours",
          "n1: A 40960 x3",
          {held(1, 1024, 25)},
          make_fraction(500),
          "0 1 2"},
         {"models tell apart", "n1: A 40960, B 40960", {}, make_fraction(500), "0 1"},
         {"an exact rest", "n1: A 40960", {held(0, 30720, 750)}, make_fraction(250), "0"},
         {"a thousandth too much",
          "n1: A 40960",
          {held(0, 30720, 750)},
          make_fraction(251),
          "NoRoom"},
         {"memory is short", "n1: A 40960", {held(0, 30721, 1)}, make_fraction(250), "NoRoom"},
         {"compute is short", "n1: A 40960", {held(0, 1, 751)}, make_fraction(250), "NoRoom"},
         {"one of two", "n1: A 40960 x2", {held(0, 30721, 750)}, make_fraction(250), "1"},
         {"memory by MiB", "n1: T 16384, A 81920", {}, make_memory(20000), "1"},
         {"all of a GPU's memory", "n1: T 16384", {}, make_memory(16384), "0"},
         {"two halves of 1 MiB", "n1: X 1", {held(0, 1, 500)}, make_fraction(500), "NoRoom"},
         {"a GPU of 1 MiB", "n1: X 1", {}, make_fraction(1), "0"},
         {"mps first", "n1: A 40960 modes=mps+time-slicing", {}, make_fraction(500), "0"}});
}

TEST(FitTest, WholeGpusAreDistinctEmptyAndTheLowest) {
  check({{"one", "n1: A 40960 x3", {}, make_whole(1), "0"},
         {"two", "n1: A 40960 x3", {}, make_whole(2), "0+1"},
         {"all", "n1: A 40960 x3", {}, make_whole(3), "0+1+2"},
         {"around what is held", "n1: A 40960 x4", {held(1, 1, 1)}, make_whole(3), "0+2+3"},
         {"different sizes", "n1: T 16384, A 40960", {}, make_whole(2), "0+1"},
         {"around unhealthy", "n1: A 40960 unhealthy, A 40960", {}, make_whole(1), "1"},
         {"around MIG", "n1: A 40960 mig, A 40960", {}, make_whole(1), "1"},
         {"around sharing-only", "n1: A 40960 modes=mps, A 40960", {}, make_whole(1), "1"}});
}

TEST(FitTest, ShareAndWholeNeverMeetOnOneGpu) {
  check({{"share on whole", "n1: A 40960", {held_whole(0)}, make_fraction(1), "NoRoom"},
         {"whole on share", "n1: A 40960", {held(0, 1, 1)}, make_whole(1), "NoRoom"},
         {"whole on whole", "n1: A 40960", {held_whole(0)}, make_whole(1), "NoRoom"},
         {"beside each other", "n1: A 40960 x2", {held_whole(0)}, make_fraction(500), "1"}});
}

TEST(FitTest, AGpuHasOneModeAtATime) {
  const std::string_view all = "n1: A 40960 modes=whole+time-slicing+mps";
  const model::NodeStatePtr mps = make_state(all, {held_in(model::GpuMode::kMps, 0)});
  const FitResult kept = fit_all(*mps, make_fraction(500));
  ASSERT_EQ(kept.options.size(), 1U);
  EXPECT_EQ(kept.options[0].allocations[0].mode, model::GpuMode::kMps)
      << "it keeps the mode it has";
  const FitResult fresh = fit_all(*make_state(all), make_fraction(500));
  ASSERT_EQ(fresh.options.size(), 1U);
  EXPECT_EQ(fresh.options[0].allocations[0].mode, model::GpuMode::kTimeSlicing)
      << "the first sharing entry";
  check({{"a share beside a slice",
          all,
          {held_in(model::GpuMode::kMig, 0)},
          make_fraction(500),
          "Unhealthy"},
         {"a whole beside a slice",
          all,
          {held_in(model::GpuMode::kMig, 0)},
          make_whole(1),
          "Unhealthy"},
         {"the operator no longer allows the mode it is in",
          "n1: A 40960 modes=whole",
          {held_in(model::GpuMode::kTimeSlicing, 0)},
          make_fraction(500),
          "WrongMode"},
         {"it was switched to MIG while it was shared",
          "n1: A 40960 mig",
          {held_in(model::GpuMode::kTimeSlicing, 0)},
          make_fraction(500),
          "WrongMode"},
         {"nor another one until it is empty",
          "n1: A 40960 modes=mps",
          {held_in(model::GpuMode::kTimeSlicing, 0)},
          make_fraction(500),
          "WrongMode"}});
}

TEST(FitTest, EveryReasonIsTrueOfTheNode) {
  const model::HoldingPtr over = make_holding("o", "n1", {make_share(0, 50000, 10)});
  const model::HoldingPtr vanished = make_holding("v", "n1", {make_whole_device(7, 40960)});
  check({{"larger than the GPU", "n1: T 16384 x2", {}, make_memory(16385), "TooLarge"},
         {"larger, though held", "n1: T 16384", {held_whole(0)}, make_memory(16385), "TooLarge"},
         {"absurdly large", "n1: T 16384", {}, make_memory(std::int64_t{1} << 43), "TooLarge"},
         {"more GPUs than there are", "n1: A 40960 x2", {}, make_whole(3), "TooLarge"},
         {"999 GPUs", "n1: A 40960 x2", {}, make_whole(999), "TooLarge"},
         {"as a vanished GPU may be", "n1: A 40960", {vanished}, make_whole(2), "Unhealthy"},
         {"only MIG, share", "n1: A 40960 mig x2", {}, make_fraction(500), "WrongMode"},
         {"only MIG, whole", "n1: A 40960 mig x2", {}, make_whole(1), "WrongMode"},
         {"whole only", "n1: A 40960 modes=whole", {}, make_fraction(500), "WrongMode"},
         {"sharing only", "n1: A 40960 modes=mps", {}, make_whole(1), "WrongMode"},
         {"no mode at all", "n1: A 40960 modes=", {}, make_whole(1), "WrongMode"},
         {"unhealthy, share", "n1: A 40960 unhealthy", {}, make_fraction(500), "Unhealthy"},
         {"unhealthy, whole", "n1: A 40960 unhealthy", {}, make_whole(1), "Unhealthy"},
         {"over-committed, share", "n1: A 40960", {over}, make_fraction(1), "Unhealthy"},
         {"over-committed, whole", "n1: A 40960", {over}, make_whole(1), "Unhealthy"},
         {"only vanished ones are left of the right size",
          "n1: T 16384 mig",
          {vanished},
          make_fraction(500),
          "Unhealthy"},
         {"full", "n1: A 40960 x2", {held_whole(0), held_whole(1)}, make_fraction(1), "NoRoom"},
         {"one short", "n1: A 40960 x2", {held_whole(0)}, make_whole(2), "NoRoom"}});
}

TEST(FitTest, TheNearestReasonIsGivenWhereGpusDiffer) {
  check(
      {{"full or small", "n1: A 40960, T 16384", {held_whole(0)}, make_memory(20000), "NoRoom"},
       {"full or unhealthy",
        "n1: A 40960, A 40960 unhealthy",
        {held_whole(0)},
        make_fraction(9),
        "NoRoom"},
       {"small or unhealthy",
        "n1: T 16384, A 40960 unhealthy",
        {},
        make_memory(20000),
        "Unhealthy"},
       {"unhealthy or MIG",
        "n1: A 40960 mig, A 40960 unhealthy",
        {},
        make_fraction(9),
        "Unhealthy"},
       {"small or MIG", "n1: T 16384, A 40960 mig", {}, make_memory(20000), "WrongMode"},
       {"too few in mode", "n1: A 40960, A 40960 mig", {held_whole(0)}, make_whole(2), "WrongMode"},
       {"too few healthy", "n1: A 40960, A 40960 unhealthy", {}, make_whole(2), "Unhealthy"}});
}

TEST(FitTest, ANodeWithoutGpusIsRefusedForThat) {
  const model::HoldingPtr vanished = make_holding("v", "n1", {make_whole_device(7, 40960)});
  check({{"share", "n1:", {}, make_fraction(500), "NoGpu"},
         {"whole", "n1:", {}, make_whole(1), "NoGpu"},
         {"only a vanished one, share", "n1:", {vanished}, make_fraction(500), "NoGpu"},
         {"only a vanished one, whole", "n1:", {vanished}, make_whole(1), "NoGpu"}});
}

TEST(FitTest, AClosedNodeSaysItsReason) {
  check({{"to all", "n1: A 40960 | closed=BadInventory", {}, make_fraction(1), "BadInventory"},
         {"to all, kubelet",
          "n1: A 40960 | closed=NoGpu nvidia.com/gpu=1",
          {},
          make_units(1),
          "NoGpu"},
         {"to annotated",
          "n1: A 40960 | closed-to-annotated=Unhealthy",
          {},
          make_whole(1),
          "Unhealthy"},
         {"to annotated only",
          "n1: A 40960 | closed-to-annotated=Unhealthy nvidia.com/gpu=1",
          {},
          make_units(1),
          "-"}});
}

TEST(FitTest, PoolsKeepKindsApart) {
  check({{"shares", "n1: A 40960 | pool=shares nvidia.com/gpu=1", {}, make_units(1), "WrongPool"},
         {"shares, share", "n1: A 40960 | pool=shares", {}, make_fraction(1), "0"},
         {"shares, whole by annotation", "n1: A 40960 | pool=shares", {}, make_whole(1), "0"},
         {"whole", "n1: A 40960 | pool=whole nvidia.com/gpu=1", {}, make_units(1), "-"},
         {"whole, share", "n1: A 40960 | pool=whole", {}, make_fraction(1), "WrongPool"},
         {"whole, whole by annotation", "n1: A 40960 | pool=whole", {}, make_whole(1), "WrongPool"},
         {"auto, units", "n1: A 40960 | pool=auto nvidia.com/gpu=1", {}, make_units(1), "-"}});
}

TEST(FitTest, AnAutoNodeHoldsOneKindAtATime) {
  const std::string_view node = "n1: A 40960 x2 | nvidia.com/gpu=2";
  const model::HoldingPtr units = make_units_holding("k", "n1", 1);
  const model::HoldingPtr unplaced = make_unplaced("u", "n1");
  check({{"share where the kubelet is", node, {units}, make_fraction(1), "OtherKind"},
         {"whole where the kubelet is", node, {units}, make_whole(1), "OtherKind"},
         {"units where shares are", node, {held(0, 1, 1)}, make_units(1), "OtherKind"},
         {"units where an unplaced pod is", node, {unplaced}, make_units(1), "OtherKind"},
         {"share where an unplaced pod is", node, {unplaced}, make_fraction(1), "NodeClosed"},
         {"whole where an unplaced pod is", node, {unplaced}, make_whole(1), "NodeClosed"},
         {"units beside units", node, {units}, make_units(1), "-"},
         {"both kinds met by hand", node, {units, held(0, 1, 1)}, make_units(1), "OtherKind"},
         {"by hand in both ways", node, {units, unplaced}, make_fraction(1), "NodeClosed"}});
}

TEST(FitTest, ARuntimeThatFailsClosedTakesNoGpuPodsWithoutItsAgent) {
  const std::string_view away = "n1: A 40960 x2 | enforcement=fail-closed silent nvidia.com/gpu=2";
  const model::HoldingPtr unplaced = make_unplaced("u", "n1");
  model::GpuRequest two = make_fraction(1);
  two.containers.push_back(make_whole(1).containers.front());
  check({{"share", away, {}, make_fraction(1), "AgentAway"},
         {"whole by annotation", away, {}, make_whole(1), "AgentAway"},
         {"several containers", away, {}, two, "AgentAway"},
         {"slice",
          "n1: A100-40 40960 mig | enforcement=fail-closed silent dynamic",
          {},
          make_request(model::SliceRequest{"1g.5gb"}, 1, "gpu-mig-profile=1g.5gb"),
          "AgentAway"},
         {"units of the kubelet", away, {}, make_units(1), "AgentAway"},
         {"with its agent", "n1: A 40960 | enforcement=fail-closed", {}, make_fraction(1), "0"},
         {"open, without its agent",
          "n1: A 40960 | enforcement=open silent",
          {},
          make_fraction(1),
          "0"},
         {"no longer than other reasons", away, {unplaced}, make_fraction(1), "NodeClosed"},
         {"longer than pods of the other kind",
          away,
          {make_units_holding("k", "n1", 1)},
          make_fraction(1),
          "AgentAway"},
         {"units where shares are", away, {held(0, 1, 1)}, make_units(1), "AgentAway"}});
}

TEST(FitTest, AnotherEnforcerGetsNothingThatItCannotExpress) {
  const std::string_view koordlet = "n1: A 40960 x2 modes=whole+time-slicing | enforcer=koordlet";
  const std::string_view fractions = "n1: A 40960 x2 | enforcer=nvfractions nvidia.com/gpu=2";
  const std::string_view both_modes =
      "n1: A 40960 x2 modes=whole+time-slicing+mps | enforcer=nvfractions";
  model::GpuRequest on_two = make_fraction(100);
  on_two.containers.front().count = 2;
  const std::string_view sliced = "n1: A100-40 40960 mig slices=1g.5gb@0 | enforcer=nvfractions";
  const std::string_view dynamic = "n1: A100-40 40960 mig | dynamic enforcer=koordlet";
  const auto slice = make_request(model::SliceRequest{"1g.5gb"}, 1, "gpu-mig-profile=1g.5gb");
  model::GpuRequest two = make_fraction(100);
  two.containers.push_back(two.containers.front());
  two.containers.back().container = "side";
  model::GpuRequest named = make_fraction(100);
  named.containers.front().container = std::string(33, 'c');
  model::GpuRequest long_name = two;
  long_name.containers.back().container = std::string(34, 'c');
  model::GpuRequest by_mps = make_fraction(100);
  by_mps.containers.front().isolation = model::Isolation::kMps;
  const model::HoldingPtr units = make_units_holding("k", "n1", 1);
  check({{"share", koordlet, {}, make_fraction(1), "0"},
         {"whole GPUs", koordlet, {}, make_whole(2), "0+1"},
         {"koordlet gives all containers the same", koordlet, {}, two, "WrongPool"},
         {"koordlet has no MPS", koordlet, {}, by_mps, "WrongMode"},
         {"the longest name", fractions, {}, named, "0"},
         {"a longer one", fractions, {}, long_name, "WrongPool"},
         {"two GPUs that may get different modes", both_modes, {}, on_two, "WrongPool"},
         {"two GPUs of one mode", fractions, {}, on_two, "0+1"},
         {"two whole GPUs", both_modes, {}, make_whole(2), "0+1"},
         {"no longer than other reasons", fractions, {units}, long_name, "WrongPool"},
         {"units of the kubelet", fractions, {}, make_units(1), "-"},
         {"a slice", sliced, {}, slice, "NoProfile"},
         {"a slice that would be made", dynamic, {}, slice, "NoProfile"},
         {"a card that could have it",
          "n1: A100-40 40960 | enforcer=koordlet",
          {},
          slice,
          "NoProfile"},
         {"a share that a slice could serve", sliced, {}, make_fraction(100), "WrongMode"}});
  EXPECT_FALSE(fit_text(*make_state(fractions), two).empty()) << "one key for each container";
}

TEST(FitTest, AReasonThatLastsLongerThanTheOtherKindOfPodsIsGiven) {
  const std::string_view node = "n1: A 40960 x2 | nvidia.com/gpu=2";
  const model::HoldingPtr units = make_units_holding("k", "n1", 1);
  model::GpuRequest other_model = make_fraction(1);
  other_model.containers[0].models.included = {"B"};
  model::GpuRequest mps = make_fraction(1);
  mps.containers[0].isolation = model::Isolation::kMps;
  check({{"no such profile",
          node,
          {units},
          make_request(model::SliceRequest{"1g.5gb"}, 1, "gpu-mig-profile=1g.5gb"),
          "NoProfile"},
         {"too many GPUs", node, {units}, make_whole(3), "TooLarge"},
         {"another model", node, {units}, other_model, "ModelExcluded"},
         {"another mode", node, {units}, mps, "WrongMode"},
         {"unhealthy",
          "n1: A 40960 unhealthy | nvidia.com/gpu=2",
          {units},
          make_whole(1),
          "Unhealthy"},
         {"full too", node, {units, held(0, 1, 1), held(1, 1, 1)}, make_whole(1), "OtherKind"},
         {"too many units", node, {held(0, 1, 1)}, make_units(3), "TooLarge"},
         {"no such units", "n1: A 40960", {held(0, 1, 1)}, make_units(1), "WrongMode"}});
}

TEST(FitTest, KubeletUnitsAreCountedByResource) {
  const std::string_view node = "n1: A 40960 x4 | nvidia.com/gpu=4 nvidia.com/mig-1g.5gb=7";
  model::GpuRequest both = make_units(2);
  both.containers.push_back(make_units(3).containers.front());
  model::GpuRequest mixed = make_units(4);
  mixed.containers.push_back(make_units(8, "nvidia.com/mig-1g.5gb").containers.front());
  check({{"all", node, {}, make_units(4), "-"},
         {"more than all", node, {}, make_units(5), "TooLarge"},
         {"the rest", node, {make_units_holding("k", "n1", 3)}, make_units(1), "-"},
         {"more than the rest", node, {make_units_holding("k", "n1", 3)}, make_units(2), "NoRoom"},
         {"more is held than there is",
          node,
          {make_units_holding("k", "n1", 9)},
          make_units(1),
          "NoRoom"},
         {"containers add up", node, {}, both, "TooLarge"},
         {"each resource must fit", node, {}, mixed, "TooLarge"},
         {"a full resource is not another",
          node,
          {make_units_holding("k", "n1", 4)},
          make_units(7, "nvidia.com/mig-1g.5gb"),
          "-"},
         {"too large is said before no room",
          node,
          {make_units_holding("k", "n1", 4)},
          mixed,
          "TooLarge"}});
}

TEST(FitTest, AResourceThatTheNodeDoesNotOfferIsTheWrongMode) {
  const std::string_view replicas = "n1: A 40960 x2 | nvidia.com/gpu=0 nvidia.com/gpu.shared=8";
  check({{"a profile that is not there",
          "n1: A 40960 x4 | nvidia.com/gpu=4 nvidia.com/mig-1g.5gb=7",
          {},
          make_units(1, "nvidia.com/mig-2g.10gb"),
          "NoProfile"},
         {"GPUs that are offered as replicas only", replicas, {}, make_units(1), "WrongMode"},
         {"their replicas", replicas, {}, make_units(8, "nvidia.com/gpu.shared"), "-"},
         {"no resource at all", "n1: A 40960", {}, make_units(1), "WrongMode"}});
}

TEST(FitTest, UnitsOfUnhealthyGpusMayComeBack) {
  const std::string_view node = "n1: A 40960 x4 | nvidia.com/gpu=3/4 nvidia.com/mig-1g.5gb=6/7";
  const model::HoldingPtr three = make_units_holding("k", "n1", 3);
  model::GpuRequest both = make_units(1);
  both.containers.push_back(make_units(7, "nvidia.com/mig-1g.5gb").containers.front());
  check({{"what is allocatable", node, {}, make_units(3), "-"},
         {"what is allocatable is held", node, {three}, make_units(3), "NoRoom"},
         {"more than is allocatable", node, {}, make_units(4), "Unhealthy"},
         {"more than is allocatable, and held", node, {three}, make_units(4), "Unhealthy"},
         {"unhealthy is said before no room", node, {three}, both, "Unhealthy"},
         {"more than the capacity", node, {}, make_units(5), "TooLarge"},
         {"none is", "n1: A 40960 | nvidia.com/gpu=0/1", {}, make_units(1), "Unhealthy"}});
}

TEST(FitTest, AnOptionSaysWhatItTakes) {
  const model::NodeStatePtr node = make_state("n1: A 40960, T 16384", {held(0, 1024, 25)});
  const FitResult share = fit_all(*node, make_memory(3815));
  ASSERT_EQ(share.options.size(), 2U);
  const model::DeviceAllocation& first = share.options[0].allocations[0];
  EXPECT_EQ(first.memory, base::MebiBytes{3815});
  EXPECT_EQ(first.compute, base::MilliGpu{93});
  EXPECT_EQ(first.milli_sum, 93 + 93);
  EXPECT_EQ(first.mode, model::GpuMode::kTimeSlicing);
  const model::DeviceAllocation& second = share.options[1].allocations[0];
  EXPECT_EQ(second.compute, base::MilliGpu{232}) << "a smaller GPU gives a larger part";
  const FitResult whole = fit_all(*node, make_whole(1));
  ASSERT_EQ(whole.options.size(), 1U);
  EXPECT_EQ(whole.options[0].allocations[0].memory, base::MebiBytes{16384});
  EXPECT_EQ(whole.options[0].allocations[0].compute, base::kWholeGpu);
  EXPECT_EQ(whole.options[0].allocations[0].milli_sum, 2000);
}

}  // namespace
}  // namespace snug::fit_test

// The plan of a node's MIG slices: rules as rows, and properties on random cards against a
// simulated GPU and naive definitions.
#include "snug/agent/slice_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "snug/mig/card_catalog.hpp"
#include "snug/mig/layouts.hpp"

namespace snug::slice_plan_test {
namespace {

using agent::DeviceReport;
using agent::GpuInstance;
using agent::NodeDevices;
using agent::plan_slices;
using agent::ReservedSlice;
using agent::SliceFailure;
using agent::SlicePlan;
using agent::SliceTask;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A GPU of the card in MIG mode, with the profiles of the card's table.
DeviceReport empty_gpu(const std::string& card, int index = 0) {
  const auto cards = mig::mig_cards();
  const auto found = std::ranges::find(cards, card, &mig::MigCard::name);
  DeviceReport gpu{.index = index,
                   .uuid = "GPU-" + std::to_string(index),
                   .memory = found->memory,
                   .mig_enabled = true};
  for (const model::MigProfile& profile : found->table->profiles)
    gpu.mig_profiles.push_back({profile.name, profile.size, profile.memory, profile.starts});
  return gpu;
}

int size_in(const DeviceReport& gpu, const std::string& profile) {
  return std::ranges::find(gpu.mig_profiles, profile, &agent::MigProfileReport::name)->size;
}

void add_slice(DeviceReport& gpu, const std::string& profile, int start, int instance) {
  gpu.mig_slices.push_back({.uuid = "MIG-" + std::to_string(instance),
                            .profile = profile,
                            .start = start,
                            .size = size_in(gpu, profile),
                            .gpu_instance = instance});
}

GpuInstance slice_instance(const DeviceReport& gpu, const std::string& profile, int start,
                           int instance) {
  return {gpu.uuid, instance, start, size_in(gpu, profile), profile};
}

ReservedSlice wanted(const std::string& pod, const std::string& profile, int start) {
  return {.gpu_index = 0, .gpu_uuid = "GPU-0", .profile = profile, .start = start, .pod_uid = pod};
}

/// An A100 of 40 GB, with the slices 1g.5gb at 0 (instance 7) and 2g.10gb at 2 (instance 3).
class SlicePlanTest : public ::testing::Test {
 protected:
  SlicePlanTest() {
    devices.gpus.push_back(empty_gpu("A100-40GB"));
    add_slice(gpu(), "1g.5gb", 0, 7);
    add_slice(gpu(), "2g.10gb", 2, 3);
  }
  DeviceReport& gpu() { return devices.gpus[0]; }
  [[nodiscard]] SlicePlan plan() const {
    return plan_slices({devices, wants, held, no_destroying, expired});
  }
  /// The sentence why the only wanted slice waits.
  [[nodiscard]] std::string blocked() const {
    const SlicePlan made = plan();
    EXPECT_THAT(made.tasks, IsEmpty());
    EXPECT_THAT(made.failures, IsEmpty());
    return made.blocked.size() == 1 ? made.blocked[0].sentence : "";
  }
  [[nodiscard]] std::string failure() const {
    const SlicePlan made = plan();
    EXPECT_THAT(made.blocked, IsEmpty());
    return made.failures.size() == 1 ? made.failures[0].sentence : "";
  }

  NodeDevices devices{.driver_version = "580"};
  std::vector<ReservedSlice> wants;
  std::vector<ReservedSlice> held;
  std::string no_destroying;
  std::vector<GpuInstance> expired;
};

TEST_F(SlicePlanTest, WhatExistsNeedsNothingByNameAliasUuidOrIndex) {
  wants = {wanted("a", "1g.5gb", 0), wanted("b", "2c.2g.10gb", 2)};
  wants[0].gpu_uuid.clear();
  EXPECT_EQ(plan(), SlicePlan{});
  devices.gpus[0] = empty_gpu("A100-80GB");
  add_slice(gpu(), "7g.80gb", 0, 0);
  wants = {wanted("a", "7g.79gb", 0)};
  EXPECT_EQ(plan(), SlicePlan{});
  gpu().mig_slices.clear();
  EXPECT_THAT(plan().tasks, ElementsAre(SliceTask{"GPU-0", "7g.80gb", 0, 8, "a", {}}));
}

TEST_F(SlicePlanTest, OnlyTheIdleSlicesInTheWayAreDestroyed) {
  wants = {wanted("a", "3g.20gb", 0), wanted("b", "1g.5gb", 5)};
  EXPECT_EQ(plan(), (SlicePlan{.tasks = {{"GPU-0",
                                          "3g.20gb",
                                          0,
                                          4,
                                          "a",
                                          {slice_instance(gpu(), "1g.5gb", 0, 7),
                                           slice_instance(gpu(), "2g.10gb", 2, 3)}},
                                         {"GPU-0", "1g.5gb", 5, 1, "b", {}}},
                               .idle = {slice_instance(gpu(), "1g.5gb", 0, 7),
                                        slice_instance(gpu(), "2g.10gb", 2, 3)}}));
  wants = {wanted("a", "1g.5gb", 1)};
  EXPECT_THAT(plan().tasks, ElementsAre(SliceTask{"GPU-0", "1g.5gb", 1, 1, "a", {}}));
}

TEST_F(SlicePlanTest, ASliceInTheWayOfTwoIsDestroyedOnce) {
  gpu().mig_slices.clear();
  add_slice(gpu(), "7g.40gb", 0, 1);
  wants = {wanted("a", "3g.20gb", 0), wanted("b", "3g.20gb", 4)};
  const SlicePlan made = plan();
  ASSERT_THAT(made.tasks, SizeIs(2));
  EXPECT_THAT(made.tasks[0].in_the_way, SizeIs(1));
  EXPECT_THAT(made.tasks[1].in_the_way, IsEmpty());
}

TEST_F(SlicePlanTest, WhatIsNotIdleBlocksTheSliceWhosePlaceItHas) {
  wants = {wanted("b", "4g.20gb", 0)};
  held = {wanted("a", "1g.5gb", 0)};
  EXPECT_EQ(blocked(),
            "the slice \"1g.5gb\" at 0 is in the way, which a pod that has ended or is ending "
            "still has");
  EXPECT_THAT(plan().idle, ElementsAre(slice_instance(gpu(), "2g.10gb", 2, 3)));
  held.clear();
  no_destroying = "a reason";
  EXPECT_EQ(blocked(),
            "the slice \"1g.5gb\" at 0 is in the way, and nothing may be destroyed: a reason");
  EXPECT_THAT(plan().idle, IsEmpty());
}

TEST_F(SlicePlanTest, AnUnfinishedInstanceIsIdleOnlyWithoutComputeInstances) {
  gpu().mig_slices.clear();
  gpu().mig_unfinished = {{.gpu_instance = 9, .start = 4, .size = 4}};
  wants = {wanted("a", "3g.20gb", 4)};
  ASSERT_THAT(plan().tasks, SizeIs(1));
  EXPECT_THAT(plan().tasks[0].in_the_way, ElementsAre(GpuInstance{"GPU-0", 9, 4, 4, ""}));
  gpu().mig_unfinished[0].has_compute_instances = true;
  EXPECT_THAT(blocked(), HasSubstr("a GPU instance at 4 is in the way, whose compute"));
}

TEST_F(SlicePlanTest, AGpuThatCannotBeUsedGetsNoSteps) {
  wants = {wanted("a", "3g.20gb", 4)};
  expired = {slice_instance(gpu(), "1g.5gb", 0, 7)};
  gpu().healthy = false;
  gpu().ailment = "XID 79";
  EXPECT_EQ(blocked(), "the GPU is not healthy: XID 79");
  EXPECT_THAT(plan().expired, IsEmpty());
  wants.push_back(wanted("b", "2g.10gb", 2));
  EXPECT_THAT(plan().blocked, SizeIs(1)) << "the second exists";
  wants.pop_back();
  gpu().healthy = true;
  gpu().mig_enabled = false;
  EXPECT_EQ(blocked(), "the GPU is not in MIG mode");
  wants[0].gpu_uuid = "GPU-9";
  EXPECT_EQ(plan(), SlicePlan{}) << "the node does not have the GPU";
}

TEST_F(SlicePlanTest, WhatTheGpuDoesNotOfferFails) {
  wants = {wanted("a", "3g.40gb", 4)};
  EXPECT_EQ(failure(), "the GPU does not offer the profile \"3g.40gb\"");
  wants = {wanted("a", "3g.20gb", 2)};
  EXPECT_EQ(failure(), "a slice of this profile cannot start at 2");
  EXPECT_EQ(plan().failures[0], (SliceFailure{"GPU-0", "3g.20gb", 2, "a",
                                              "a slice of this profile cannot start at 2"}));
}

TEST_F(SlicePlanTest, OfTwoReservationsOfOnePlaceTheExistingOneStaysOrElseTheFirstPod) {
  wants = {wanted("b", "3g.20gb", 4), wanted("a", "2g.10gb", 4)};
  EXPECT_EQ(failure(),
            "its place overlaps that of the slice \"2g.10gb\" at 4, which is reserved for the pod "
            "with the uid \"a\"");
  ASSERT_THAT(plan().tasks, SizeIs(1));
  EXPECT_EQ(plan().tasks[0].pod_uid, "a");
  wants = {wanted("a", "3g.20gb", 0), wanted("b", "2g.10gb", 2)};
  EXPECT_THAT(failure(), HasSubstr("reserved for the pod with the uid \"b\""));
  EXPECT_THAT(plan().tasks, IsEmpty());
  wants = {wanted("a", "1g.5gb", 6), wanted("a", "1c.1g.5gb", 6)};
  EXPECT_EQ(failure(), "") << "two containers of one pod may name one slice";
  EXPECT_THAT(plan().tasks, SizeIs(1));
  wants[1].pod_uid = "b";
  EXPECT_THAT(failure(), HasSubstr("\"a\""));
}

TEST_F(SlicePlanTest, AnIdleSliceThatUsesTheOnlyEngineIsInTheWay) {
  add_slice(gpu(), "1g.5gb+me", 6, 9);
  wants = {wanted("a", "1g.5gb+me", 5)};
  ASSERT_THAT(plan().tasks, SizeIs(1));
  EXPECT_THAT(plan().tasks[0].in_the_way, ElementsAre(slice_instance(gpu(), "1g.5gb+me", 6, 9)));
  held = {wanted("b", "1g.5gb+me", 6)};
  EXPECT_THAT(blocked(), HasSubstr("use the media engines of the GPU"));
}

TEST_F(SlicePlanTest, IdleSlicesAreRemovedOnlyWhenTheyHaveExpired) {
  EXPECT_THAT(plan().expired, IsEmpty());
  expired = {slice_instance(gpu(), "1g.5gb", 0, 7), slice_instance(gpu(), "2g.10gb", 2, 3)};
  EXPECT_EQ(plan().expired, expired);
  wants = {wanted("a", "2g.10gb", 0)};
  held = {wanted("b", "2g.10gb", 2)};
  EXPECT_THAT(plan().expired, IsEmpty()) << "one is in the way, the other is in use";
  wants.clear();
  EXPECT_EQ(plan().expired, (std::vector{expired[0]}));
  no_destroying = "a reason";
  EXPECT_THAT(plan().expired, IsEmpty());
}

/// A card in memory that refuses what NVIDIA's driver refuses.
struct SimulatedGpu {
  DeviceReport report;
  model::MigTablePtr table;
  int next_instance = 1;

  [[nodiscard]] model::MigPlacement placement(const std::string& profile, int start) const {
    return {static_cast<std::uint16_t>(*table->find_profile(profile)),
            static_cast<std::uint16_t>(start)};
  }
  [[nodiscard]] model::MigUse use() const {
    model::MigUse all;
    for (const agent::MigSliceReport& slice : report.mig_slices)
      all = mig::with_slice(*table, all, placement(slice.profile, slice.start));
    for (const agent::MigInstanceReport& instance : report.mig_unfinished)
      all.taken_slices |= model::axis_range(instance.start, instance.size);
    return all;
  }
  [[nodiscard]] bool fits(const std::string& profile, int start) const {
    return mig::slice_fits(*table, use(), placement(profile, start));
  }
  bool create(const std::string& profile, int start) {
    if (!fits(profile, start)) return false;
    add_slice(report, profile, start, next_instance++);
    std::ranges::sort(report.mig_slices, {}, &agent::MigSliceReport::start);
    return true;
  }
  void destroy(int instance) {
    std::erase_if(report.mig_slices,
                  [&](const auto& slice) { return slice.gpu_instance == instance; });
    std::erase_if(report.mig_unfinished,
                  [&](const auto& slice) { return slice.gpu_instance == instance; });
  }
};

class RandomNode {
 public:
  explicit RandomNode(unsigned seed) : random_(seed) {
    const auto cards = mig::mig_cards();
    const mig::MigCard& card = cards[below(cards.size())];
    gpu_ = {empty_gpu(card.name), mig::build_mig_table(card.table->profiles)};
    for (int i = 0; i < 8; ++i) {
      const auto [profile, start] = random_place();
      if (!gpu_.fits(profile, start)) continue;
      if (below(8) == 0) {
        gpu_.report.mig_unfinished.push_back({.gpu_instance = gpu_.next_instance++,
                                              .start = start,
                                              .size = size_in(gpu_.report, profile),
                                              .has_compute_instances = below(2) == 0});
      } else {
        gpu_.create(profile, start);
      }
    }
    for (const agent::MigSliceReport& slice : gpu_.report.mig_slices) {
      if (below(4) == 0) held_.push_back(wanted("gone", slice.profile, slice.start));
      if (below(4) == 0) wants_.push_back(wanted("pod-x", slice.profile, slice.start));
    }
    // What Snug reserves fits beside what it has reserved; some reservations do not.
    SimulatedGpu reserved{empty_gpu(card.name), gpu_.table};
    for (const ReservedSlice& want : wants_) reserved.create(want.profile, want.start);
    const std::size_t count = below(5);
    for (std::size_t i = 0; i < count; ++i) {
      const auto [profile, start] = random_place();
      if (reserved.create(profile, start) || below(10) == 0)
        wants_.push_back(wanted("pod-" + std::to_string(below(9)), profile, start));
    }
  }

  /// Executes the tasks as the agent does, and returns the places of what was destroyed.
  std::vector<GpuInstance> execute(const SlicePlan& plan) {
    std::vector<GpuInstance> destroyed;
    for (const SliceTask& task : plan.tasks) {
      for (const GpuInstance& instance : task.in_the_way) {
        gpu_.destroy(instance.gpu_instance);
        destroyed.push_back(instance);
      }
      EXPECT_TRUE(gpu_.create(task.profile, task.start)) << task.profile << " " << task.start;
    }
    return destroyed;
  }
  [[nodiscard]] SlicePlan plan() const {
    const NodeDevices devices{"580", {gpu_.report}, {}};
    return plan_slices({devices, wants_, held_});
  }
  [[nodiscard]] bool exists(const ReservedSlice& slice) const {
    return std::ranges::any_of(gpu_.report.mig_slices, [&](const auto& report) {
      return report.profile == slice.profile && report.start == slice.start;
    });
  }
  /// By the definition: named by a reservation, or made by something else.
  [[nodiscard]] bool was_idle(const GpuInstance& instance, const SimulatedGpu& before) const {
    for (const agent::MigInstanceReport& report : before.report.mig_unfinished) {
      if (report.gpu_instance == instance.gpu_instance) return !report.has_compute_instances;
    }
    const auto names = [&](const ReservedSlice& slice) {
      return slice.profile == instance.profile && slice.start == instance.start;
    };
    return std::ranges::none_of(wants_, names) && std::ranges::none_of(held_, names);
  }
  [[nodiscard]] const SimulatedGpu& gpu() const { return gpu_; }
  [[nodiscard]] const std::vector<ReservedSlice>& wants() const { return wants_; }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  std::pair<std::string, int> random_place() {
    while (true) {
      const auto& profile = gpu_.report.mig_profiles[below(gpu_.report.mig_profiles.size())];
      if (profile.starts.empty()) continue;
      return {profile.name, profile.starts[below(profile.starts.size())]};
    }
  }

  std::mt19937 random_;
  SimulatedGpu gpu_;
  std::vector<ReservedSlice> wants_;
  std::vector<ReservedSlice> held_;
};

bool has_trouble(const SlicePlan& plan, const ReservedSlice& want) {
  const auto names = [&](const SliceFailure& failure) {
    return failure.profile == want.profile && failure.start == want.start &&
           failure.pod_uid == want.pod_uid;
  };
  return std::ranges::any_of(plan.blocked, names) || std::ranges::any_of(plan.failures, names);
}

/// Whether the destroyed instance could have stayed beside what exists after the plan.
bool could_have_stayed(const GpuInstance& instance, const SimulatedGpu& after) {
  if (!instance.profile.empty()) return after.fits(instance.profile, instance.start);
  return (after.use().taken_slices & model::axis_range(instance.start, instance.size)) == 0;
}

TEST(SlicePlanProperty, ThePlanMakesWhatIsReservedAndDestroysNothingElse) {
  std::size_t made = 0;
  std::size_t lost = 0;
  std::size_t waiting = 0;
  const unsigned first_seed = std::random_device()();
  for (unsigned seed = first_seed; seed != first_seed + 5'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNode node(seed);
    const SimulatedGpu before = node.gpu();
    const SlicePlan plan = node.plan();
    const std::vector<GpuInstance> destroyed = node.execute(plan);
    for (const ReservedSlice& want : node.wants())
      EXPECT_TRUE(node.exists(want) || has_trouble(plan, want)) << want.profile << want.start;
    for (const GpuInstance& instance : destroyed) {
      EXPECT_TRUE(node.was_idle(instance, before)) << instance.profile << instance.start;
      EXPECT_FALSE(could_have_stayed(instance, node.gpu())) << instance.profile << instance.start;
    }
    EXPECT_THAT(node.plan().tasks, IsEmpty());
    made += plan.tasks.size();
    lost += destroyed.size();
    waiting += plan.blocked.size() + plan.failures.size();
    if (HasFailure()) return;
  }
  // The random nodes have all of what the properties are about.
  EXPECT_GT(made, 1'500U);
  EXPECT_GT(lost, 500U);
  EXPECT_GT(waiting, 300U);
}

}  // namespace
}  // namespace snug::slice_plan_test

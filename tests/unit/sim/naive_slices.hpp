// A cluster of GPUs in MIG mode and of others, in the tests' own bookkeeping: each memory slice and
// each plain GPU by itself. Nothing here calls the code that it checks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/sim/replay.hpp"
#include "snug/sim/trace.hpp"

namespace snug {

struct NaiveProfile {
  std::string name;
  int compute = 0;
  int size = 0;
  std::vector<int> starts;
};
struct NaiveCard {
  int axis = 0;
  std::vector<NaiveProfile> profiles;
};

inline NaiveCard seven_slices(const std::vector<std::string>& names) {
  return {.axis = 8,
          .profiles = {{names[0], 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                       {names[0] + "+me", 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                       {names[1], 1, 2, {0, 2, 4, 6}},
                       {names[2], 2, 2, {0, 2, 4}},
                       {names[3], 3, 4, {0, 4}},
                       {names[4], 4, 4, {0}},
                       {names[5], 7, 8, {0}}}};
}

inline const std::map<std::string, NaiveCard>& naive_cards() {
  static const std::map<std::string, NaiveCard> cards{
      {"A100-40GB",
       seven_slices({"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"})},
      {"A100-80GB",
       seven_slices({"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"})},
      {"A30",
       {.axis = 4,
        .profiles = {{"1g.6gb", 1, 1, {0, 1, 2, 3}},
                     {"1g.6gb+me", 1, 1, {0, 1, 2, 3}},
                     {"2g.12gb", 2, 2, {0, 2}},
                     {"4g.24gb", 4, 4, {0}}}}}};
  return cards;
}

/// One GPU: what each of its memory slices is taken by, or how much of it is.
struct NaiveSlicedGpu {
  const NaiveCard* card = nullptr;  // null: not in MIG mode
  std::vector<bool> taken;
  int with_me = 0;
  int milli = 0;

  /// What the pod gets here; null: no profile of the card will do.
  [[nodiscard]] const NaiveProfile* profile_for(const sim::TracePod& pod) const {
    const NaiveProfile* best = nullptr;
    for (const NaiveProfile& profile : card->profiles) {
      const bool serves = pod.mig_profile.empty()
                              ? 1000 * profile.size >= pod.gpu_milli * card->axis &&
                                    profile.name.find('+') == std::string::npos
                              : profile.name == pod.mig_profile;
      if (serves && (best == nullptr || profile.size < best->size)) best = &profile;
    }
    return best;
  }
  [[nodiscard]] bool is_free(const NaiveProfile& profile, int start) const {
    if (profile.name.ends_with("+me") && with_me > 0) return false;
    return std::none_of(taken.begin() + start, taken.begin() + start + profile.size,
                        [](bool slice) { return slice; });
  }
  [[nodiscard]] bool fits(const sim::TracePod& pod) const {
    if (card == nullptr) return pod.mig_profile.empty() && milli + pod.gpu_milli <= 1000;
    if (pod.mig_profile.empty() && pod.gpu_milli == 1000) return false;
    const NaiveProfile* profile = profile_for(pod);
    return profile != nullptr && std::ranges::any_of(profile->starts, [&](int start) {
             return is_free(*profile, start);
           });
  }
};

class NaiveSlices {
 public:
  explicit NaiveSlices(const sim::Trace& trace) {
    for (const sim::TraceNode& node : trace.nodes) {
      NaiveSlicedGpu gpu;
      if (node.mig_card) gpu.card = &naive_cards().at(node.model);
      if (node.mig_card) gpu.taken.resize(static_cast<std::size_t>(gpu.card->axis));
      nodes_.emplace_back(static_cast<std::size_t>(node.gpus), gpu);
      all_ += node.gpus * static_cast<int>(gpu.taken.size());
    }
  }

  [[nodiscard]] bool fits(const sim::TracePod& pod) const {
    return std::ranges::any_of(nodes_, [&](const std::vector<NaiveSlicedGpu>& gpus) {
      return std::ranges::any_of(gpus, [&](const NaiveSlicedGpu& gpu) { return gpu.fits(pod); });
    });
  }
  [[nodiscard]] double taken_pct() const {
    std::ptrdiff_t taken = 0;
    for (const auto& gpus : nodes_) {
      for (const NaiveSlicedGpu& gpu : gpus) taken += std::ranges::count(gpu.taken, true);
    }
    return 100.0 * static_cast<double>(taken) / all_;
  }
  /// Of a pod that asks for one GPU or a part of it.
  void take(const sim::TracePod& pod, const sim::ArrivalOutcome& outcome) {
    change(pod, outcome, true);
  }
  void give_back(const sim::TracePod& pod, const sim::ArrivalOutcome& outcome) {
    change(pod, outcome, false);
  }

 private:
  void change(const sim::TracePod& pod, const sim::ArrivalOutcome& outcome, bool taking) {
    ASSERT_EQ(outcome.gpus.size(), 1U);
    NaiveSlicedGpu& gpu = nodes_.at(*outcome.node).at(static_cast<std::size_t>(outcome.gpus[0]));
    ASSERT_EQ(outcome.slices.size(), gpu.card == nullptr ? 0U : 1U);
    if (gpu.card == nullptr) {
      gpu.milli += taking ? pod.gpu_milli : -pod.gpu_milli;
      EXPECT_LE(gpu.milli, 1000);
      return;
    }
    const model::Slice& slice = outcome.slices[0].slice;
    EXPECT_EQ(outcome.slices[0].gpu, outcome.gpus[0]);
    const NaiveProfile* profile = gpu.profile_for(pod);
    ASSERT_NE(profile, nullptr);
    EXPECT_EQ(slice.profile, profile->name);
    ASSERT_EQ(slice.size, profile->size);
    ASSERT_EQ(std::ranges::count(profile->starts, slice.start), 1);
    if (taking) {
      EXPECT_TRUE(gpu.is_free(*profile, slice.start)) << slice.profile << " at " << slice.start;
    }
    std::fill_n(gpu.taken.begin() + slice.start, slice.size, taking);
    if (profile->name.ends_with("+me")) gpu.with_me += taking ? 1 : -1;
  }

  std::vector<std::vector<NaiveSlicedGpu>> nodes_;
  int all_ = 0;  // memory slices
};

}  // namespace snug

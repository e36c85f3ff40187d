// Computes the patterns of GPUs in MIG mode: the sets of containers whose slices fit on one GPU.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "fit/patterns.hpp"
#include "snug/fit/pod_charge.hpp"

namespace snug::fit {
namespace {

/// The slices that a set of containers needs on one GPU. A plain init container uses the slice of
/// an app or of another init container if that slice meets its requirement.
class SlicesOfSet {
 public:
  SlicesOfSet(const PatternBook& book, const MigFree& free) : book_(book), free_(free) {
    for (std::size_t turn = 0; turn < book.containers(); ++turn) {
      SliceNeed& slice_need = by_turn_.emplace_back();
      slice_need.turn = turn;
      const std::optional<mig::SliceRequirement> requirement =
          mig::slice_requirement(book.request_of(turn));
      if (!requirement) continue;
      slice_need.requirement = *requirement;
      slice_need.profile = free.profile_for(*requirement);
    }
  }

  /// Whether the GPU has a profile that can serve the container.
  [[nodiscard]] bool has_profile(std::size_t turn) const {
    return by_turn_[turn].profile.has_value();
  }

  /// Selects the containers for place(). Returns false if there is a container that no profile of
  /// the GPU can serve.
  bool choose(ContainerSet set) {
    unshared_needs_.clear();
    shared_slices_.clear();
    for (const SliceNeed& slice_need : by_turn_) {
      if ((set & bit(slice_need.turn)) == 0) continue;
      if (!slice_need.profile) return false;
      unshared_needs_.push_back(slice_need);
    }
    share();
    std::ranges::sort(unshared_needs_, {}, [&](const SliceNeed& slice_need) {
      return std::tuple(-profile_of(slice_need).size, slice_need.profile, slice_need.turn);
    });
    return true;
  }

  /// Chooses slices for the selected containers, and returns them in the order of SetSlice::turn.
  /// Nullopt: they do not fit together.
  std::optional<std::vector<SetSlice>> place(StartOrders& starts, std::int64_t& steps) const {
    std::vector<std::uint16_t> profiles(unshared_needs_.size());
    std::ranges::transform(unshared_needs_, profiles.begin(), [](const SliceNeed& slice_need) {
      return slice_need.profile.value_or(0);
    });
    const auto placements = place_together(free_, profiles, starts, steps);
    if (!placements) return std::nullopt;
    std::vector<SetSlice> slices;
    slices.reserve(unshared_needs_.size() + shared_slices_.size());
    for (std::size_t i = 0; i < unshared_needs_.size(); ++i) {
      slices.push_back({unshared_needs_[i].turn, (*placements)[i]});
    }
    for (const auto& [turn, owner] : shared_slices_) {
      const auto owner_slice = std::ranges::find(slices, owner, &SetSlice::turn);
      slices.push_back({turn, owner_slice->slice});
    }
    std::ranges::sort(slices, {}, &SetSlice::turn);
    return slices;
  }

 private:
  struct SliceNeed {
    std::size_t turn = 0;
    std::optional<std::uint16_t> profile;  // nullopt: no profile can serve the container
    mig::SliceRequirement requirement;
  };

  /// The profile of the container. Requires that a profile can serve it.
  [[nodiscard]] const model::MigProfile& profile_of(const SliceNeed& slice_need) const {
    return free_.table->profiles[slice_need.profile.value_or(0)];
  }

  /// Moves init containers that can use the slice of another container from unshared_needs_ to
  /// shared_slices_.
  void share() {
    std::vector<SliceNeed> inits;
    std::erase_if(unshared_needs_, [&](const SliceNeed& slice_need) {
      const bool init = book_.request_of(slice_need.turn).type == model::ContainerType::kInit;
      if (init) inits.push_back(slice_need);
      return init;
    });
    std::ranges::sort(inits, {}, [&](const SliceNeed& slice_need) {
      const model::MigProfile& profile = profile_of(slice_need);
      return std::tuple(-profile.size, -profile.compute_slices, slice_need.turn);
    });
    for (const SliceNeed& init : inits) {
      const auto owner = std::ranges::find_if(unshared_needs_, [&](const SliceNeed& slice_need) {
        return book_.request_of(slice_need.turn).type != model::ContainerType::kSidecar &&
               mig::satisfies(*free_.table, profile_of(slice_need), init.requirement);
      });
      if (owner == unshared_needs_.end()) {
        unshared_needs_.push_back(init);
      } else {
        shared_slices_.emplace_back(init.turn, owner->turn);
      }
    }
  }

  const PatternBook& book_;
  const MigFree& free_;
  std::vector<SliceNeed> by_turn_;
  std::vector<SliceNeed> unshared_needs_;  // containers with slices of their own
  /// Pairs of turns: of a container without a slice of its own, and of the container whose slice it
  /// uses.
  std::vector<std::pair<std::size_t, std::size_t>> shared_slices_;
};

}  // namespace

/// Sets the patterns of a GPU that serves slices. If GpuOffer::any_profile is true and a container
/// names a profile that the GPU lacks, the container is served, but takes no slice.
void PatternBook::serve_slices(Patterns& patterns) {
  const GpuOffer& offered = patterns.offered();
  std::vector<Charge> costs = *patterns.costs_;
  patterns.slices_.resize(costs.size());
  SlicesOfSet slices(*this, offered.mig);
  for (ContainerSet set = 1; set < costs.size(); ++set) {
    if ((set & whole_gpu_containers_) != 0 || (set & ~offered.allowed) != 0) continue;
    bool allowed = true;
    ContainerSet slice_users = set;
    for (std::size_t turn = 0; turn < containers(); ++turn) {
      if ((set & bit(turn)) == 0) continue;
      allowed = allowed && offered.shares_for(request_of(turn).isolation) != model::GpuMode::kNone;
      const bool nameless = offered.any_profile && (profile_containers_ & bit(turn)) != 0;
      if (nameless && !slices.has_profile(turn)) slice_users &= ~bit(turn);
    }
    if (!allowed || !slices.choose(slice_users)) continue;
    auto set_slices = slices.place(starts_, slice_steps_);
    if (!set_slices) continue;
    PodCharge pod_charge;
    for (const SetSlice& set_slice : *set_slices) {
      pod_charge.add(request_of(set_slice.turn).type, position(set_slice.turn),
                     slice_charge(*offered.mig.table, set_slice.slice.profile));
    }
    costs[set] = pod_charge.total();
    patterns.modes_[set] = model::GpuMode::kMig;
    patterns.slices_[set] = *std::move(set_slices);
  }
  patterns.costs_ = std::make_shared<const std::vector<Charge>>(std::move(costs));
}

}  // namespace snug::fit

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
      Wanted& wanted = by_turn_.emplace_back();
      wanted.turn = turn;
      const std::optional<mig::SliceRequirement> need =
          mig::slice_requirement(book.request_of(turn));
      if (!need) continue;
      wanted.need = *need;
      wanted.profile = free.profile_for(*need);
    }
  }

  /// Whether the GPU has a profile that can serve the container.
  [[nodiscard]] bool has_profile(std::size_t turn) const {
    return by_turn_[turn].profile.has_value();
  }

  /// Selects the containers for place(). Returns false if there is a container that no profile of
  /// the GPU can serve.
  bool choose(ContainerSet set) {
    wanted_.clear();
    shared_.clear();
    for (const Wanted& each : by_turn_) {
      if ((set & bit(each.turn)) == 0) continue;
      if (!each.profile) return false;
      wanted_.push_back(each);
    }
    share();
    std::ranges::sort(wanted_, {}, [&](const Wanted& each) {
      return std::tuple(-profile_of(each).size, each.profile, each.turn);
    });
    return true;
  }

  /// Finds the slices of the selected containers, in the order of their turns; nullopt: they do not
  /// fit together.
  std::optional<std::vector<SetSlice>> place(StartOrders& starts, std::int64_t& steps) const {
    std::vector<std::uint16_t> profiles(wanted_.size());
    std::ranges::transform(wanted_, profiles.begin(),
                           [](const Wanted& each) { return each.profile.value_or(0); });
    const auto placed = place_together(free_, profiles, starts, steps);
    if (!placed) return std::nullopt;
    std::vector<SetSlice> slices;
    slices.reserve(wanted_.size() + shared_.size());
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      slices.push_back({wanted_[i].turn, (*placed)[i]});
    }
    for (const auto& [turn, owner] : shared_) {
      const auto own = std::ranges::find(slices, owner, &SetSlice::turn);
      slices.push_back({turn, own->slice});
    }
    std::ranges::sort(slices, {}, &SetSlice::turn);
    return slices;
  }

 private:
  struct Wanted {
    std::size_t turn = 0;
    std::optional<std::uint16_t> profile;  // nullopt: no profile can serve the container
    mig::SliceRequirement need;
  };

  /// The profile of the container. Requires that a profile can serve it.
  [[nodiscard]] const model::MigProfile& profile_of(const Wanted& each) const {
    return free_.table->profiles[each.profile.value_or(0)];
  }

  /// Moves init containers that can use the slice of another container from wanted_ to shared_.
  void share() {
    std::vector<Wanted> inits;
    std::erase_if(wanted_, [&](const Wanted& each) {
      const bool init = book_.request_of(each.turn).type == model::ContainerType::kInit;
      if (init) inits.push_back(each);
      return init;
    });
    std::ranges::sort(inits, {}, [&](const Wanted& each) {
      const model::MigProfile& profile = profile_of(each);
      return std::tuple(-profile.size, -profile.compute_slices, each.turn);
    });
    for (const Wanted& init : inits) {
      const auto owner = std::ranges::find_if(wanted_, [&](const Wanted& each) {
        return book_.request_of(each.turn).type != model::ContainerType::kSidecar &&
               mig::satisfies(*free_.table, profile_of(each), init.need);
      });
      if (owner == wanted_.end()) {
        wanted_.push_back(init);
      } else {
        shared_.emplace_back(init.turn, owner->turn);
      }
    }
  }

  const PatternBook& book_;
  const MigFree& free_;
  std::vector<Wanted> by_turn_;
  std::vector<Wanted> wanted_;  // containers with slices of their own
  /// Pairs of turns: of a container without a slice of its own, and of the container whose slice it
  /// uses.
  std::vector<std::pair<std::size_t, std::size_t>> shared_;
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
    ContainerSet placed = set;
    for (std::size_t turn = 0; turn < containers(); ++turn) {
      if ((set & bit(turn)) == 0) continue;
      allowed = allowed && offered.shares_for(request_of(turn).isolation) != model::GpuMode::kNone;
      const bool nameless = offered.any_profile && (named_ & bit(turn)) != 0;
      if (nameless && !slices.has_profile(turn)) placed &= ~bit(turn);
    }
    if (!allowed || !slices.choose(placed)) continue;
    auto found = slices.place(starts_, slice_steps_);
    if (!found) continue;
    PodCharge sum;
    for (const SetSlice& each : *found) {
      sum.add(request_of(each.turn).type, position(each.turn),
              slice_charge(*offered.mig.table, each.slice.profile));
    }
    costs[set] = sum.total();
    patterns.modes_[set] = model::GpuMode::kMig;
    patterns.slices_[set] = *std::move(found);
  }
  patterns.costs_ = std::make_shared<const std::vector<Charge>>(std::move(costs));
}

}  // namespace snug::fit

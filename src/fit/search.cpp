#include "fit/search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "fit/cover.hpp"
#include "fit/kinds.hpp"
#include "fit/levels.hpp"
#include "fit/offers.hpp"
#include "fit/several_memo.hpp"
#include "snug/base/limits.hpp"

namespace snug {
namespace {

using Aim = CoverSearch::Aim;

/// So many placements take little time to score: all that differ of most pods.
constexpr std::size_t kMostOptions = 64;
/// And so many more that spread the pod, where there are too many to look at all.
constexpr std::size_t kMostSpreadOptions = 32;
/// What the search for options may cost beyond the one that shows that there is any.
constexpr std::int64_t kMostOptionSteps = 2'000;

class Several {
 public:
  Several(const NodeState& node, const Tenant& tenant, SeveralMemo& memo)
      : node_(node),
        tenant_(tenant),
        memo_(memo),
        apart_(kept_apart(node, tenant)),
        weigh_at_(weigh_at(node)) {
    memo_.tidy();
  }

  /// Whether there is a cover by the constraints up to this one.
  bool possible(Level level) {
    const std::vector<Stand> stands = stands_by(level);
    const std::int64_t cap = level >= Level::kCap ? tenant_.cap_left : kNoCap;
    SeveralMemo::Kinds kinds{{}, cap};
    for (const Stand& stand : stands) kinds.first.push_back(stand.patterns->number());
    std::ranges::sort(kinds.first);
    if (const SeveralMemo::Known* known = memo_.find(kinds)) {
      ran_out_ = known->ran_out;
      return known->possible;
    }
    bool found = false;
    const bool all = run(Aim::kAny, stands, cap, kMostFitSteps, [&](const Cover&) {
      found = true;
      return false;
    });
    ran_out_ = !found && !all;
    memo_.remember(std::move(kinds), {.possible = found, .ran_out = ran_out_});
    return found;
  }

  /// The last possible() said no since it ended before it had tried everything.
  [[nodiscard]] bool ran_out() const { return ran_out_; }

  /// There is a cover by all constraints: fills the list with those that score terms may choose
  /// among.
  void collect(PlacementList& options) {
    Offers offers(node_, memo_.book, options);
    const std::vector<Stand> stands = stands_by(Level::kTenants);
    const bool all =
        run(Aim::kFull, stands, tenant_.cap_left, kMostOptionSteps, [&](const Cover& cover) {
          offers.add(stands, cover);
          return options.size() < kMostOptions;
        });
    if (all) return;
    std::vector<Stand> emptiest_first = stands;
    std::ranges::reverse(emptiest_first);
    mark_likes(emptiest_first);
    std::size_t spread = 0;
    (void)run(Aim::kSpread, emptiest_first, tenant_.cap_left, kMostOptionSteps,
              [&](const Cover& cover) {
                offers.add_new(emptiest_first, cover);
                return ++spread < kMostSpreadOptions;
              });
    if (!options.empty()) return;
    (void)run(Aim::kAny, stands, tenant_.cap_left, kMostFitSteps, [&](const Cover& cover) {
      offers.add(stands, cover);
      return false;
    });
  }

 private:
  /// False: it ended before everything was tried.
  template <typename Found>
  bool run(Aim aim, const std::vector<Stand>& stands, std::int64_t cap_left, std::int64_t at_most,
           Found found) {
    const std::int64_t granted = memo_.steps(at_most);
    std::int64_t steps = granted;
    CoverSearch search(memo_.book, stands, cap_left, steps);
    bool stopped = false;
    search.run(aim, [&](const Cover& cover) {
      stopped = !found(cover);
      return !stopped;
    });
    memo_.used(granted - steps);
    return !stopped && !search.ran_out();
  }

  /// The GPUs that can serve anything, the fullest first.
  std::vector<Stand> stands_by(Level level) {
    std::vector<Stand> stands;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      const bool apart = !apart_.empty() && apart_[gpu];
      const Patterns& patterns =
          memo_.book.of(kind_of(node_.gpus[gpu], level, apart, weigh_at_, memo_.book));
      if (patterns.served() != 0) stands.push_back({.patterns = &patterns, .gpu = gpu});
    }
    std::ranges::sort(stands, {}, [&](const Stand& stand) {
      return std::tuple(node_.gpus[stand.gpu].room, first_like(stand.gpu), stand.gpu);
    });
    mark_likes(stands);
    return stands;
  }

  void mark_likes(std::vector<Stand>& stands) const {
    for (std::size_t i = 0; i < stands.size(); ++i) {
      stands[i].like_previous = i > 0 && first_like(stands[i].gpu) == first_like(stands[i - 1].gpu);
    }
  }

  /// The first GPU of the node that no score tells from this one. Where links are scored it is
  /// itself.
  [[nodiscard]] std::size_t first_like(std::size_t gpu) const {
    if (!node_.inventory->links.empty()) return gpu;
    std::size_t first = 0;
    while (!alike(first, gpu)) ++first;
    return first;
  }
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return node_.gpus[a].same_as(node_.gpus[b]) && (apart_.empty() || apart_[a] == apart_[b]);
  }

  const NodeState& node_;
  const Tenant& tenant_;
  SeveralMemo& memo_;
  std::vector<bool> apart_;
  MebiBytes weigh_at_;
  bool ran_out_ = false;
};

}  // namespace

bool can_fit_several(const NodeState& node, const Tenant& tenant, FitMemo& memo) {
  return Several(node, tenant, memo.several()).possible(Level::kTenants);
}

ReasonCode fit_several(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                       PlacementList& options) {
  Several several(node, tenant, memo.several());
  if (several.possible(Level::kTenants)) {
    several.collect(options);
    memo.set_gave_up(options.empty());
    return options.empty() ? ReasonCode::kNoRoom : ReasonCode::kNone;
  }
  Level last = Level::kTenants;
  bool sure = !several.ran_out();
  for (const Level level :
       {Level::kRoom, Level::kCap, Level::kHealth, Level::kMode, Level::kModel, Level::kSize}) {
    if (several.possible(level)) break;
    last = level;
    sure = !several.ran_out();
  }
  memo.set_gave_up(!sure);
  return sure ? reason_at(last) : ReasonCode::kNoRoom;
}

}  // namespace snug

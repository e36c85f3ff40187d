#include "fit/search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "fit/cover.hpp"
#include "fit/levels.hpp"
#include "fit/several_memo.hpp"
#include "snug/base/limits.hpp"

namespace snug {
namespace {

/// As much as no GPU has: what a vanished one may have had.
constexpr MebiBytes kAnySize{kLargestQuantity};

/// So many placements take little time to score: all that differ of most pods.
constexpr std::size_t kMostOptions = 64;
/// And so many more that spread the pod, where there are too many to look at all.
constexpr std::size_t kMostSpreadOptions = 32;
/// What the search for options may cost beyond the one that shows that there is any.
constexpr std::int64_t kMostOptionSteps = 2'000;

class Several {
 public:
  Several(const NodeState& node, const Tenant& tenant, SeveralMemo& memo)
      : node_(node), tenant_(tenant), memo_(memo), apart_(kept_apart(node, tenant)) {
    memo_.tidy();
    for (const GpuState& gpu : node.gpus) {
      if (gpu.closure != GpuClosure::kVanished) weigh_at_ = std::max(weigh_at_, gpu.memory);
    }
    if (weigh_at_.value == 0) weigh_at_ = kAnySize;
  }

  /// Whether there is a cover by the constraints up to this one.
  bool possible(Level level) {
    std::vector<Stand> stands = stands_by(level, false);
    const std::int64_t cap = level >= Level::kCap ? tenant_.cap_left : kNoCap;
    SeveralMemo::Kinds kinds{{}, cap};
    for (const Stand& stand : stands) kinds.first.push_back(stand.patterns->number());
    std::ranges::sort(kinds.first);
    if (const SeveralMemo::Known* known = memo_.find(kinds)) {
      ran_out_ = known->ran_out;
      return known->possible;
    }
    const std::int64_t at_most = memo_.steps(kMostFitSteps);
    std::int64_t steps = at_most;
    CoverSearch search(memo_.book, std::move(stands), cap, steps);
    bool found = false;
    search.run(CoverSearch::Aim::kAny, [&](const Cover&) {
      found = true;
      return false;
    });
    memo_.used(at_most - steps);
    ran_out_ = !found && search.ran_out();
    memo_.remember(std::move(kinds), {.possible = found, .ran_out = ran_out_});
    return found;
  }

  /// The last possible() said no since it ended before it had tried everything.
  [[nodiscard]] bool ran_out() const { return ran_out_; }

  /// There is a cover by all constraints: fills the list with those that score terms may choose
  /// among.
  void collect(PlacementList& options) {
    const std::vector<Stand> stands = stands_by(Level::kTenants, true);
    std::set<Cover> seen;
    const auto offer = [&](const std::vector<Stand>& order, const Cover& cover) {
      if (seen.insert(by_gpu(order, cover)).second) add(order, cover, options);
    };
    const bool all = run(CoverSearch::Aim::kFull, stands, kMostOptions, offer);
    if (all) return;
    std::vector<Stand> emptiest_first = stands;
    std::ranges::reverse(emptiest_first);
    mark_likes(emptiest_first);
    (void)run(CoverSearch::Aim::kSpread, emptiest_first, kMostSpreadOptions, offer);
    if (options.empty()) (void)run(CoverSearch::Aim::kAny, stands, 1, offer);
  }

 private:
  /// False: there may be more than were offered.
  template <typename Offer>
  bool run(CoverSearch::Aim aim, const std::vector<Stand>& stands, std::size_t most,
           const Offer& offer) {
    const std::int64_t at_most = memo_.steps(most == 1 ? kMostFitSteps : kMostOptionSteps);
    std::int64_t steps = at_most;
    CoverSearch search(memo_.book, stands, tenant_.cap_left, steps);
    std::size_t found = 0;
    search.run(aim, [&](const Cover& cover) {
      offer(stands, cover);
      return ++found < most;
    });
    memo_.used(at_most - steps);
    return found < most && !search.ran_out();
  }

  [[nodiscard]] GpuKind kind(Level level, std::size_t position) const {
    const GpuState& gpu = node_.gpus[position];
    const bool gone = gpu.closure == GpuClosure::kVanished;
    const bool room = level >= Level::kRoom && !gone;
    GpuKind kind{.capacity = gone ? kAnySize : gpu.memory, .weigh_at = weigh_at_};
    kind.free = {.memory = kind.capacity, .compute = kWholeGpu};
    if (room) kind.free = {.memory = gpu.free_memory(), .compute = gpu.free_compute()};
    if (level >= Level::kHealth && gpu.closure != GpuClosure::kOpen) return kind;
    for (std::size_t turn = 0; turn < memo_.book.containers(); ++turn) {
      const bool by_model = level >= Level::kModel && !gone;
      if (!by_model || memo_.book.asked(turn).models.allows(gpu.info->model)) {
        kind.allowed |= ContainerSet{1} << turn;
      }
    }
    set_modes(kind, level, gpu);
    const bool apart = level >= Level::kTenants && !apart_.empty() && apart_[position];
    if (apart) kind.shared_as.fill(GpuMode::kNone);
    return kind;
  }

  /// A vanished GPU may have been one for any mode.
  static void set_modes(GpuKind& kind, Level level, const GpuState& gpu) {
    if (level < Level::kMode || gpu.closure == GpuClosure::kVanished) {
      kind.shared_as.fill(GpuMode::kTimeSlicing);
      kind.whole = true;
      return;
    }
    const bool as_it_is = level >= Level::kRoom;
    kind.whole = gpu.takes_whole && (!as_it_is || gpu.empty());
    if (as_it_is && !gpu.empty() && !shares(gpu.mode)) return;
    for (std::size_t i = 0; i < kind.shared_as.size(); ++i) {
      const auto isolation = static_cast<Isolation>(i);
      kind.shared_as.at(i) =
          shares(gpu.mode) ? serving_mode(gpu, isolation) : opened_as(*gpu.info, isolation);
    }
  }

  /// The GPUs that can serve anything, the fullest first. `each`: those that only scores tell apart
  /// are told apart.
  std::vector<Stand> stands_by(Level level, bool each) {
    std::vector<Stand> stands;
    for (std::size_t gpu = 0; gpu < node_.gpus.size(); ++gpu) {
      const Patterns& patterns = memo_.book.of(kind(level, gpu));
      if (patterns.served() != 0) stands.push_back({.patterns = &patterns, .gpu = gpu});
    }
    std::ranges::sort(stands, {}, [&](const Stand& stand) {
      return std::tuple(node_.gpus[stand.gpu].room, stand.patterns->number(),
                        each ? first_like(stand.gpu) : 0, stand.gpu);
    });
    if (each) mark_likes(stands);
    return stands;
  }

  void mark_likes(std::vector<Stand>& stands) const {
    for (std::size_t i = 0; i < stands.size(); ++i) {
      stands[i].like_previous = i > 0 && stands[i].patterns == stands[i - 1].patterns &&
                                first_like(stands[i].gpu) == first_like(stands[i - 1].gpu);
    }
  }

  /// The first GPU of the node that no score tells from this one. Where links are scored it is
  /// itself.
  [[nodiscard]] std::size_t first_like(std::size_t gpu) const {
    if (!node_.inventory->links.empty()) return gpu;
    std::size_t first = 0;
    while (!node_.gpus[first].same_as(node_.gpus[gpu])) ++first;
    return first;
  }

  /// What each GPU of the node serves. Of GPUs that are alike the lower ones serve the containers
  /// that come first.
  [[nodiscard]] Cover by_gpu(const std::vector<Stand>& stands, const Cover& cover) const {
    Cover sets(node_.gpus.size());
    for (std::size_t i = 0; i < stands.size(); ++i) sets[stands[i].gpu] = cover[i];
    for (std::size_t begin = 0; begin < stands.size();) {
      std::size_t end = begin + 1;
      while (end < stands.size() && stands[end].like_previous) ++end;
      std::vector<std::size_t> gpus;
      std::vector<ContainerSet> served;
      for (std::size_t i = begin; i < end; ++i) {
        gpus.push_back(stands[i].gpu);
        served.push_back(cover[i]);
      }
      std::ranges::sort(gpus);
      std::ranges::sort(served, comes_first);
      for (std::size_t i = 0; i < gpus.size(); ++i) sets[gpus[i]] = served[i];
      begin = end;
    }
    return sets;
  }

  /// The one with the first container that not both have.
  static bool comes_first(ContainerSet a, ContainerSet b) {
    const ContainerSet differ = a ^ b;
    return (a & differ & -differ) != 0;
  }

  void add(const std::vector<Stand>& stands, const Cover& cover, PlacementList& options) const {
    const Cover sets = by_gpu(stands, cover);
    std::vector<const Patterns*> patterns(node_.gpus.size());
    for (const Stand& stand : stands) patterns[stand.gpu] = stand.patterns;
    for (std::size_t turn = 0; turn < memo_.book.containers(); ++turn) {
      for (std::size_t gpu = 0; gpu < sets.size(); ++gpu) {
        if ((sets[gpu] >> turn & 1U) != 0) options.add(take(turn, gpu, sets[gpu], *patterns[gpu]));
      }
    }
    options.close();
  }

  [[nodiscard]] DeviceTake take(std::size_t turn, std::size_t gpu, ContainerSet set,
                                const Patterns& patterns) const {
    const ContainerSet alone = ContainerSet{1} << turn;
    const ContainerSet before = set & (alone - 1);
    const MebiBytes capacity = node_.gpus[gpu].memory;
    const Charge& cost = patterns.cost(alone);
    return {
        .container = static_cast<std::uint16_t>(memo_.book.position(turn)),
        .gpu = static_cast<std::uint16_t>(gpu),
        .mode = patterns.mode(set),
        .room = patterns.cost(before | alone).room(capacity) - patterns.cost(before).room(capacity),
        .memory = cost.memory,
        .compute = cost.compute};
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

#include "snug/plan/choice.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/apart.hpp"

namespace snug {

Best best_option(const NodeState& node, const Claim& claim, const Demand& demand,
                 const PlacementList& options) {
  std::size_t best = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Profile& profile = claim.profiles.of(node, options[i]);
    const std::int64_t value =
        score(profile, {node, claim.request, options[i], claim.host, demand});
    if (value <= most) continue;
    best = i;
    most = value;
  }
  return {best, claim.profiles.of(node, options[best]).class_of(most, demand)};
}

namespace {

template <typename Keep>
void keep_if(PlacementList& options, const Keep& keep) {
  PlacementList kept;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!keep(options[i])) continue;
    for (const DeviceTake& take : options[i].takes) kept.add(take);
    kept.close();
  }
  options = std::move(kept);
}

/// Whether the take may open the GPU in its mode. On an empty GPU the mode must be the first one
/// that the operator allows, or one that a container on this GPU requests.
bool opens_so(const NodeState& node, const GpuRequest& request, PlacementView placement,
              const DeviceTake& take) {
  const GpuState& gpu = node.gpus[take.gpu];
  const bool shared = take.mode != GpuMode::kWhole && take.mode != GpuMode::kMig;
  if (!gpu.empty() || !shared || take.mode == gpu.sharing) return true;
  return std::ranges::any_of(placement.takes, [&](const DeviceTake& other) {
    return other.gpu == take.gpu &&
           request.containers[other.container].isolation != Isolation::kAny;
  });
}

}  // namespace

Offered Offer::find() {
  NodeStatePtr later = with_intents();
  if (later == nullptr) return {.reason = on(node_), .later = nullptr};
  ReasonCode beside = on(*later);
  if (beside == ReasonCode::kNone && options_.empty()) {
    // fit() offers only the first of identical GPUs, and an intent may determine the mode of that
    // one. Mark the GPUs of intents as different and try again.
    GpuMarks marks;
    for (std::size_t i = node_.holdings.size(); i < later->holdings.size(); ++i) {
      mark_gpus(node_, *later->holdings[i], marks);
    }
    const NodeStatePtr told = told_apart(*later, marks);
    beside = on(*told);
  }
  if (beside == ReasonCode::kNone && !options_.empty()) return {.later = std::move(later)};
  const ReasonCode without = on(node_);
  return {.reason = without == ReasonCode::kNone ? ReasonCode::kPromised : without,
          .later = std::move(later)};
}

/// The node with other pods' intents as holdings. Null: none counts. If the claim's pod is
/// nominated to this node, intents of pods of lower rank do not count: bind refuses those pods.
NodeStatePtr Offer::with_intents() const {
  if (around_.intents == nullptr) return nullptr;
  const PodRank& own = asking_.claim.rank;
  const bool nominated =
      around_.nominations != nullptr &&
      std::ranges::any_of(*around_.nominations, [&](const NominationPtr& nomination) {
        return nomination->rank.uid == own.uid;
      });
  std::vector<HoldingPtr> holdings = node_.holdings;
  for (const HoldingPtr& intent : *around_.intents) {
    if (intent->uid == own.uid || (nominated && own.before(intent->rank))) continue;
    holdings.push_back(intent);
  }
  if (holdings.size() == node_.holdings.size()) return nullptr;
  return with_holdings(node_, std::move(holdings));
}

ReasonCode Offer::on(const NodeState& state) {
  const ReasonCode reason = fit(state, asking_.tenant, asking_.memo, options_);
  if (reason != ReasonCode::kNone) return reason;
  if (&state != &node_) keep_as_without_others();
  if (around_.nominations == nullptr || options_.empty()) return ReasonCode::kNone;
  if (!nominated_) {
    nominated_.emplace(node_, asking_.claim, around_);
    known_work_ = nominated_->work();
    asking_.memo.count_calls(known_work_);
  }
  if (nominated_->none()) return ReasonCode::kNone;
  keep_for(*nominated_);
  if (options_.empty()) look_further(*nominated_, state);
  return options_.empty() ? ReasonCode::kNominated : ReasonCode::kNone;
}

/// fit() returns only some of many placements, and only the first of identical GPUs, so none of
/// them may leave enough free for the nominated pods. First marks identical GPUs that will differ.
/// Then adds the nominated pods to the node, so that every placement respects them; GPUs on which a
/// nominated pod waits for others to end are over-committed then and not available.
void Offer::look_further(NominatedFirst& nominated, const NodeState& state) {
  if (const NodeStatePtr told = nominated.told_apart(state)) offer_of(*told, nominated);
  if (!options_.empty()) return;
  std::vector<HoldingPtr> holdings = state.holdings;
  const std::vector<HoldingPtr>& thought = nominated.in_thought();
  holdings.insert(holdings.end(), thought.begin(), thought.end());
  offer_of(*with_holdings(state, std::move(holdings)), nominated);
}

void Offer::offer_of(const NodeState& state, NominatedFirst& nominated) {
  if (fit(state, asking_.tenant, asking_.memo, options_) != ReasonCode::kNone) return;
  keep_as_without_others();
  keep_for(nominated);
}

void Offer::keep_as_without_others() {
  keep_if(options_, [&](PlacementView option) {
    return std::ranges::all_of(option.takes, [&](const DeviceTake& take) {
      return opens_so(node_, asking_.claim.request, option, take);
    });
  });
}

/// Removes the placements that leave too little for nominated pods, of GPUs or of their namespaces'
/// caps. Work is limited: with many nominated pods only the first few valid placements are kept.
void Offer::keep_for(NominatedFirst& nominated) {
  const std::int64_t before = nominated.work();
  PlacementList kept;
  for (std::size_t i = 0; i < options_.size(); ++i) {
    const std::int64_t work = nominated.work();
    if (work - known_work_ > kMostWorkBesideNominated) break;
    if (!kept.empty() && work - before > kEnoughWorkBesideNominated) break;
    if (!nominated.leaves_room(options_[i])) continue;
    for (const DeviceTake& take : options_[i].takes) kept.add(take);
    kept.close();
  }
  options_ = std::move(kept);
  asking_.memo.count_calls(nominated.work() - before);
}

NodeChoice choose_with(FitMemo& memo, const NodeState& node, const Claim& claim,
                       const Around& around) {
  PlacementList options;
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, around.held);
  Offer offer(node, {claim, tenant, memo}, around, options);
  const Offered offered = offer.find();
  if (offered.reason != ReasonCode::kNone) return {.reason = offered.reason};
  const NodeState& state = offered.later == nullptr ? node : *offered.later;
  const Best best = best_option(state, claim, around.demand, options);
  return {.score_class = best.score_class, .placement = options[best.option].copy()};
}

NodeChoice choose_on(const NodeState& node, const Claim& claim, const Around& around) {
  FitMemo memo(claim.request);
  return choose_with(memo, node, claim, around);
}

}  // namespace snug

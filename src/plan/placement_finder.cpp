#include "snug/plan/placement_finder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/gpu_marks.hpp"

namespace snug::plan {

BestOption best_option(const model::NodeState& node, const IncomingPod& incoming,
                       const model::Demand& demand, const model::PlacementList& options) {
  std::size_t highest_option = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < options.size(); ++i) {
    const score::Profile& profile = incoming.profiles.profile_for(node, options[i]);
    const std::int64_t value =
        score::score(profile, {node, incoming.request, options[i], incoming.host, demand});
    if (value <= most) continue;
    highest_option = i;
    most = value;
  }
  return {
      highest_option,
      incoming.profiles.profile_for(node, options[highest_option]).score_class_of(most, demand)};
}

model::Intents counted_intents(const model::PodRank& incoming, const NodeContext& context) {
  if (context.intents == nullptr) return {};
  const bool nominated =
      context.nominations != nullptr &&
      std::ranges::any_of(*context.nominations, [&](const model::NominationPtr& nomination) {
        return nomination->rank.uid == incoming.uid;
      });
  model::Intents counted;
  for (const model::HoldingPtr& intent : *context.intents) {
    if (intent->uid == incoming.uid || (nominated && incoming.outranks(intent->rank))) continue;
    counted.push_back(intent);
  }
  return counted;
}

namespace {

template <typename Keep>
void filter_options(model::PlacementList& options, const Keep& keep) {
  model::PlacementList remaining_options;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!keep(options[i])) continue;
    for (const model::DeviceAllocation& allocation : options[i].allocations)
      remaining_options.add(allocation);
    remaining_options.close();
  }
  options = std::move(remaining_options);
}

/// Whether the allocation may use its mode on its GPU. A share on an empty GPU must have the GPU's
/// default mode (the first sharing mode that the operator allows), unless a container that the
/// placement puts on this GPU requests a mode.
bool opens_in_default_mode(const model::NodeState& node, const model::GpuRequest& request,
                           model::PlacementView placement,
                           const model::DeviceAllocation& allocation) {
  const model::GpuState& gpu = node.gpus[allocation.gpu];
  const bool takes_share =
      allocation.mode != model::GpuMode::kWhole && allocation.mode != model::GpuMode::kMig;
  if (!gpu.empty() || !takes_share || allocation.mode == gpu.sharing_mode) return true;
  return std::ranges::any_of(
      placement.allocations, [&](const model::DeviceAllocation& other_allocation) {
        return other_allocation.gpu == allocation.gpu &&
               request.containers[other_allocation.container].isolation != model::Isolation::kAny;
      });
}

}  // namespace

FoundPlacements PlacementFinder::find() {
  query_.memo.compare_loads(query_.incoming.profiles.reads_load());
  model::NodeStatePtr state_with_intents = with_intents();
  if (state_with_intents == nullptr)
    return {.reason = fit_on_state(node_), .with_intents = nullptr};
  model::ReasonCode reason_beside = fit_on_state(*state_with_intents);
  if (reason_beside == model::ReasonCode::kNone && options_.empty()) {
    // fit() offers only the first of several identical GPUs, and an intent may already determine
    // the mode of that GPU. So treat the GPUs with intents as different and call fit() again.
    GpuMarks marks;
    for (std::size_t i = node_.holdings.size(); i < state_with_intents->holdings.size(); ++i) {
      mark_gpus(node_, *state_with_intents->holdings[i], marks);
    }
    const model::NodeStatePtr distinct_state = with_distinct_gpus(*state_with_intents, marks);
    reason_beside = fit_on_state(*distinct_state);
  }
  if (reason_beside == model::ReasonCode::kNone && !options_.empty())
    return {.with_intents = std::move(state_with_intents)};
  const model::ReasonCode reason_without = fit_on_state(node_);
  return {.reason = reason_without == model::ReasonCode::kNone ? model::ReasonCode::kPromised
                                                               : reason_without,
          .with_intents = std::move(state_with_intents)};
}

/// Returns the node with the intents that count as holdings, or null if no intent counts.
model::NodeStatePtr PlacementFinder::with_intents() const {
  const model::Intents intents = counted_intents(query_.incoming.rank, context_);
  if (intents.empty()) return nullptr;
  std::vector<model::HoldingPtr> holdings = node_.holdings;
  holdings.insert(holdings.end(), intents.begin(), intents.end());
  return fit::with_holdings(node_, std::move(holdings));
}

model::ReasonCode PlacementFinder::fit_on_state(const model::NodeState& state) {
  const model::ReasonCode reason = fit::fit(state, query_.tenant, query_.memo, options_);
  if (reason != model::ReasonCode::kNone) return reason;
  if (&state != &node_) keep_default_modes();
  if (context_.nominations == nullptr || options_.empty()) return model::ReasonCode::kNone;
  if (!guard_) {
    guard_.emplace(node_, query_.incoming, context_);
    guard_setup_work_ = guard_->work();
    query_.memo.count_calls(guard_setup_work_);
  }
  if (guard_->empty()) return model::ReasonCode::kNone;
  keep_admitted(*guard_);
  if (options_.empty()) fit_beside_nominated(*guard_, state);
  return options_.empty() ? model::ReasonCode::kNominated : model::ReasonCode::kNone;
}

/// Called if none of the placements that fit() returned leaves enough capacity for the nominated
/// pods. Other placements may do so: fit() returns only a limited number of placements, and of
/// identical GPUs it uses only the first. First calls fit() on a state in which GPUs that will
/// differ later count as different (NominationGuard::with_distinct_gpus). If this finds no
/// placement, calls fit() on the node with the nominated pods added, so that every placement leaves
/// room for them. In that state, a GPU on which a nominated pod waits for other pods to end is
/// over-committed, so fit() does not use it.
void PlacementFinder::fit_beside_nominated(NominationGuard& guard, const model::NodeState& state) {
  if (const model::NodeStatePtr distinct_state = guard.with_distinct_gpus(state))
    fit_and_filter(*distinct_state, guard);
  if (!options_.empty()) return;
  std::vector<model::HoldingPtr> holdings = state.holdings;
  const std::vector<model::HoldingPtr>& tentative = guard.tentative_holdings();
  holdings.insert(holdings.end(), tentative.begin(), tentative.end());
  fit_and_filter(*fit::with_holdings(state, std::move(holdings)), guard);
}

void PlacementFinder::fit_and_filter(const model::NodeState& state, NominationGuard& guard) {
  if (fit::fit(state, query_.tenant, query_.memo, options_) != model::ReasonCode::kNone) return;
  keep_default_modes();
  keep_admitted(guard);
}

void PlacementFinder::keep_default_modes() {
  filter_options(options_, [&](model::PlacementView option) {
    return std::ranges::all_of(option.allocations, [&](const model::DeviceAllocation& allocation) {
      return opens_in_default_mode(node_, query_.incoming.request, option, allocation);
    });
  });
}

/// Keeps the placements that leave enough GPU capacity, and enough of the caps of namespaces, for
/// the nominated pods. The work is limited: with many nominated pods only the first few of these
/// placements are kept.
void PlacementFinder::keep_admitted(NominationGuard& guard) {
  const std::int64_t before = guard.work();
  model::PlacementList admitted_options;
  for (std::size_t i = 0; i < options_.size(); ++i) {
    const std::int64_t work = guard.work();
    if (work - guard_setup_work_ > base::kMaxWorkBesideNominated) break;
    if (!admitted_options.empty() && work - before > base::kSufficientWorkBesideNominated) break;
    if (!guard.admits(options_[i])) continue;
    for (const model::DeviceAllocation& allocation : options_[i].allocations)
      admitted_options.add(allocation);
    admitted_options.close();
  }
  options_ = std::move(admitted_options);
  query_.memo.count_calls(guard.work() - before);
}

NodeChoice choose_placement_with(fit::FitMemo& memo, const model::NodeState& node,
                                 const IncomingPod& incoming, const NodeContext& context) {
  model::PlacementList options;
  const fit::Tenant tenant =
      fit::tenant_of(incoming.name_space, incoming.sharing, context.namespace_usage);
  PlacementFinder finder(node, {incoming, tenant, memo}, context, options);
  const FoundPlacements found_placements = finder.find();
  if (found_placements.reason != model::ReasonCode::kNone)
    return {.reason = found_placements.reason};
  const BestOption best_placement = finder.best(found_placements);
  return {.score_class = best_placement.score_class,
          .placement = options[best_placement.option].copy()};
}

NodeChoice choose_placement(const model::NodeState& node, const IncomingPod& incoming,
                            const NodeContext& context) {
  fit::FitMemo memo(incoming.request);
  return choose_placement_with(memo, node, incoming, context);
}

}  // namespace snug::plan

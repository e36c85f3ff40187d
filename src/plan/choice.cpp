#include "plan/choice.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "snug/fit/fit.hpp"

namespace snug {

Best best_option(const NodeState& node, const Claim& claim, const PlacementList& options) {
  Best best{0, std::numeric_limits<std::int64_t>::min()};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Profile& profile = claim.profiles.of(node, options[i]);
    const std::int64_t value = score(profile, {node, claim.request, options[i]});
    if (value > best.score) best = {i, value};
  }
  return best;
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

/// Whether the GPU would be in that mode for these takes if it were empty: in the first that its
/// operator allows, or in the one that some of them asks for.
bool opens_so(const NodeState& node, const GpuRequest& request, PlacementView placement,
              const DeviceTake& take) {
  const GpuState& gpu = node.gpus[take.gpu];
  if (!gpu.empty() || take.mode == GpuMode::kWhole || take.mode == gpu.sharing) return true;
  return std::ranges::any_of(placement.takes, [&](const DeviceTake& other) {
    return other.gpu == take.gpu &&
           request.containers[other.container].isolation != Isolation::kAny;
  });
}

}  // namespace

void keep_for_nominated(const NominatedFirst& nominated, PlacementList& options) {
  if (nominated.none()) return;
  keep_if(options, [&](PlacementView option) { return nominated.leaves_room(option); });
}

void keep_as_without_intents(const NodeState& node, const GpuRequest& request,
                             PlacementList& options) {
  keep_if(options, [&](PlacementView option) {
    return std::ranges::all_of(option.takes, [&](const DeviceTake& take) {
      return opens_so(node, request, option, take);
    });
  });
}

NodeChoice choose_on(const NodeState& node, const Claim& claim, const Around& around,
                     const NodeState* later) {
  const NodeState& state = later == nullptr ? node : *later;
  NodeChoice choice;
  FitMemo memo(claim.request);
  PlacementList options;
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, around.held);
  choice.reason = fit(state, tenant, memo, options);
  if (choice.reason != ReasonCode::kNone) return choice;
  if (later != nullptr) {
    keep_as_without_intents(node, claim.request, options);
    if (options.empty()) return choose_on(node, claim, around);
  }
  if (around.nominations != nullptr) {
    keep_for_nominated(NominatedFirst(node, claim, around), options);
    if (options.empty()) return {.reason = ReasonCode::kNominated};
  }
  const Best best = best_option(state, claim, options);
  choice.score = best.score;
  choice.placement = options[best.option].copy();
  return choice;
}

}  // namespace snug

#include "snug/plan/nomination_guard.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "plan/tightness.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/gpu_marks.hpp"
#include "snug/plan/plan.hpp"

namespace snug::plan {

bool NominationGuard::is_gone(const model::Holding& holding, const model::Nomination& nomination,
                              WaitsFor waits) {
  if (waits == WaitsFor::kNobody) return false;
  if (holding.terminating) return true;
  return waits == WaitsFor::kAllLowerPriority && holding.rank.priority < nomination.rank.priority;
}

/// The node with its holdings and the pods that have been placed on it tentatively.
class NominationGuard::TentativeNode {
 public:
  TentativeNode(const model::NodeState& node, const IncomingPod& incoming,
                const model::NamespaceUsage& namespace_usage)
      : node_(node), incoming_(incoming), namespace_usage_(namespace_usage) {}

  [[nodiscard]] const std::vector<model::HoldingPtr>& placed() const { return placed_; }

  /// Takes over the placed pods of `other`, which must belong to the same node.
  void replace_with(TentativeNode&& other) {
    namespace_usage_ = std::move(other.namespace_usage_);
    placed_ = std::move(other.placed_);
  }

  void place(const IncomingPod& incoming, model::PlacementView placement) {
    placed_.push_back(to_holding(node_, incoming, placement));
    namespace_usage_.add(incoming.name_space, held_compute_of(*placed_.back()));
  }

  /// The size of the tightest placement that the pod has beside the pods placed so far; nullopt if
  /// the pod does not fit.
  [[nodiscard]] std::optional<std::int64_t> size_if_it_fits(const ProtectedPod& pod) const {
    const Options pod_placements(*this, pod);
    if (pod_placements.tightest_first.empty()) return std::nullopt;
    return placement_size(pod_placements.options[pod_placements.tightest_first.front()]);
  }

  /// Places the pod at its tightest placement. Requires that size_if_it_fits() returned a value.
  void place_tightly(const ProtectedPod& pod) {
    const Options pod_placements(*this, pod);
    place(as_incoming(*pod.pod), pod_placements.options[pod_placements.tightest_first.front()]);
  }

  /// Places all pods by backtracking, within `trials` trials. Returns false and places no pod if it
  /// finds no solution. `distinct_gpus` contains the GPUs that fit() must treat as different.
  bool place_all(const std::vector<ProtectedPod>& pods, const GpuMarks& distinct_gpus,
                 int trials = base::kMaxPlacingTrials) {
    distinct_gpus_ = distinct_gpus;
    return place_remaining(in_placing_order(pods), trials);
  }

 private:
  /// The placements that a protected pod has on the tentative node. The pods that must end before
  /// it fits (ProtectedPod::waits_for) count as gone.
  struct Options {
    Options(const TentativeNode& tentative, const ProtectedPod& pod) {
      const model::NodeState& node = tentative.node_;
      std::vector<model::HoldingPtr> holdings = tentative.placed_;
      model::NamespaceUsage namespace_usage = tentative.namespace_usage_;
      for (const model::HoldingPtr& holding : node.holdings) {
        if (is_gone(*holding, *pod.pod, pod.waits_for)) {
          namespace_usage.add(holding->name_space, -tentative.held_compute_of(*holding));
        } else {
          holdings.push_back(holding);
        }
      }
      const model::NodeStatePtr state = fit::with_holdings(node, std::move(holdings));
      const model::NodeStatePtr distinct_state =
          tentative.distinct_gpus_.empty()
              ? state
              : plan::with_distinct_gpus(*state, tentative.distinct_gpus_);
      const fit::Tenant tenant =
          fit::tenant_of(pod.pod->name_space, tentative.incoming_.sharing, namespace_usage);
      if (fit::fit(*distinct_state, tenant, *pod.memo, options) != model::ReasonCode::kNone) return;
      tightest_first = by_tightness(*distinct_state, options);
    }

    model::PlacementList options;
    std::vector<std::size_t> tightest_first;  // positions in `options`
  };

  /// Sorts the pods in the order in which they are placed. The pods that wait for the fewest other
  /// pods to end come first, because the GPUs that are free for them are free for all later pods
  /// too. Among these, pods that require a mode (`gpu-isolation`) come first, so that later pods
  /// can share the GPUs that these pods open. Then large pods come before small ones, which fill
  /// the gaps.
  static std::vector<ProtectedPod> in_placing_order(const std::vector<ProtectedPod>& pods) {
    const auto priority_bound = [](const ProtectedPod& protected_pod) {
      return protected_pod.waits_for == WaitsFor::kAllLowerPriority
                 ? protected_pod.pod->rank.priority
                 : 0;
    };
    const auto any_mode = [](const ProtectedPod& protected_pod) {
      return std::ranges::all_of(protected_pod.pod->request.containers,
                                 [](const model::ContainerRequest& container_request) {
                                   return container_request.isolation == model::Isolation::kAny;
                                 });
    };
    std::vector<std::tuple<WaitsFor, std::int32_t, bool, std::int64_t, std::size_t>> keyed;
    keyed.reserve(pods.size());
    for (std::size_t i = 0; i < pods.size(); ++i) {
      keyed.emplace_back(pods[i].waits_for, priority_bound(pods[i]), any_mode(pods[i]),
                         -pods[i].size, i);
    }
    std::ranges::sort(keyed);
    std::vector<ProtectedPod> ordered;
    ordered.reserve(pods.size());
    for (const auto& key : keyed) ordered.push_back(pods[std::get<std::size_t>(key)]);
    return ordered;
  }

  /// Places `pods` in addition to the pods placed so far; returns whether it succeeded.
  /// `all_tightest` is true while every pod placed so far has its tightest placement; fit() costs
  /// no trials then. Otherwise, each call of fit() costs as many trials as its work.
  bool place_remaining(std::span<const ProtectedPod> pods, int& trials, bool all_tightest = true) {
    if (pods.empty()) return true;
    if (!all_tightest && trials <= 0) return false;
    const std::int64_t before = pods.front().memo->work();
    const Options pod_placements(*this, pods.front());
    if (!all_tightest) trials -= static_cast<int>(pods.front().memo->work() - before);
    for (const std::size_t way : pod_placements.tightest_first) {
      place(as_incoming(*pods.front().pod), pod_placements.options[way]);
      if (place_remaining(pods.subspan(1), trials,
                          all_tightest && way == pod_placements.tightest_first.front()))
        return true;
      undo_last();
      if (trials <= 0) return false;
    }
    return false;
  }

  void undo_last() {
    namespace_usage_.add(placed_.back()->name_space, -held_compute_of(*placed_.back()));
    placed_.pop_back();
  }

  /// The nominated pod as an incoming pod. Nothing reads its `profiles`.
  [[nodiscard]] IncomingPod as_incoming(const model::Nomination& nomination) const {
    return {.name_space = nomination.name_space,
            .rank = nomination.rank,
            .request = nomination.request,
            .profiles = incoming_.profiles,
            .sharing = incoming_.sharing};
  }

  [[nodiscard]] base::MilliGpu held_compute_of(const model::Holding& holding) const {
    return fit::held_compute(holding, node_.inventory.get());
  }

  const model::NodeState& node_;
  const IncomingPod& incoming_;
  model::NamespaceUsage namespace_usage_;
  std::vector<model::HoldingPtr> placed_;
  GpuMarks distinct_gpus_;  // GPUs that fit() must treat as different
};

NominationGuard::NominationGuard(const model::NodeState& node, const IncomingPod& incoming,
                                 const NodeContext& context)
    : node_(node),
      incoming_(incoming),
      context_(context),
      remaining_searches_(base::kMaxPlacingSearches) {
  if (context.nominations == nullptr) return;
  TentativeNode tentative(node, incoming, context.namespace_usage);
  std::size_t pods = 0;
  for (const model::NominationPtr& nomination : *context.nominations) {
    if (nomination->rank.uid == incoming.rank.uid || !nomination->rank.outranks(incoming.rank))
      continue;
    if (++pods > base::kMaxNominatedOnNode || work() > base::kMaxWorkBesideNominated) break;
    protect(*nomination, tentative);
  }
  tentative_holdings_ = tentative.placed();
  distinct_gpus_ = gpus_to_distinguish();
}

/// Marks the GPUs that hold a pod which must end before a protected pod fits. Such a GPU may be
/// identical to other GPUs now, but not after that pod has ended.
GpuMarks NominationGuard::gpus_to_distinguish() const {
  GpuMarks marks;
  for (const model::HoldingPtr& holding : node_.holdings) {
    const bool one_goes =
        std::ranges::any_of(protected_pods_, [&](const ProtectedPod& protected_pod) {
          return is_gone(*holding, *protected_pod.pod, protected_pod.waits_for);
        });
    if (one_goes) mark_gpus(node_, *holding, marks);
  }
  return marks;
}

/// Protects the pod if it fits for one of the values of WaitsFor. Must be called in the order of
/// rank. If the pod does not fit beside the tentative placements of the pods before it, places all
/// of these pods again by backtracking.
void NominationGuard::protect(const model::Nomination& nomination, TentativeNode& tentative) {
  memos_.push_back(std::make_unique<fit::FitMemo>(nomination.request));
  ProtectedPod protected_pod{.pod = &nomination, .memo = memos_.back().get()};
  for (const WaitsFor waits :
       {WaitsFor::kNobody, WaitsFor::kTerminating, WaitsFor::kAllLowerPriority}) {
    protected_pod.waits_for = waits;
    if (const auto size = tentative.size_if_it_fits(protected_pod)) {
      tentative.place_tightly(protected_pod);
      protected_pod.size = *size;
      protected_pods_.push_back(protected_pod);
      return;
    }
    if (protected_pods_.empty() || remaining_searches_ == 0) continue;
    TentativeNode fresh_tentative(node_, incoming_, context_.namespace_usage);
    const auto size = fresh_tentative.size_if_it_fits(protected_pod);
    if (!size) continue;
    --remaining_searches_;
    protected_pod.size = *size;
    protected_pods_.push_back(protected_pod);
    if (fresh_tentative.place_all(protected_pods_, gpus_to_distinguish()))
      return tentative.replace_with(std::move(fresh_tentative));
    protected_pods_.pop_back();
  }
}

model::NodeStatePtr NominationGuard::with_distinct_gpus(const model::NodeState& state) const {
  return distinct_gpus_.empty() ? nullptr : plan::with_distinct_gpus(state, distinct_gpus_);
}

std::vector<model::HoldingPtr> NominationGuard::startable_holdings() const {
  std::vector<model::HoldingPtr> startable;
  for (const ProtectedPod& protected_pod : protected_pods_) {
    if (protected_pod.waits_for != WaitsFor::kNobody) continue;
    const auto holding = std::ranges::find_if(tentative_holdings_, [&](const auto& tentative) {
      return tentative->uid == protected_pod.pod->rank.uid;
    });
    startable.push_back(*holding);
  }
  return startable;
}

std::int64_t NominationGuard::work() const {
  std::int64_t work = 0;
  for (const auto& memo : memos_) work += memo->work();
  return work;
}

bool NominationGuard::admits(model::PlacementView placement) {
  TentativeNode tentative(node_, incoming_, context_.namespace_usage);
  tentative.place(incoming_, placement);
  // Usually all protected pods fit at their tightest placements.
  if (tentative.place_all(protected_pods_, distinct_gpus_, 0)) return true;
  // First checks a necessary condition, because it is cheap: each protected pod must fit if the
  // other protected pods are ignored.
  const bool all_fit_alone =
      std::ranges::all_of(protected_pods_, [&](const ProtectedPod& protected_pod) {
        return tentative.size_if_it_fits(protected_pod).has_value();
      });
  return all_fit_alone && protected_pods_.size() > 1 &&
         tentative.place_all(protected_pods_, distinct_gpus_);
}

}  // namespace snug::plan

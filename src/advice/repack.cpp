#include "snug/advice/repack.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <utility>

#include "advice/cluster_states.hpp"
#include "advice/departures.hpp"
#include "advice/move_trials.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/plan.hpp"

namespace snug::advice {
namespace {

/// The steps of the search. Each value is the percentage of RepackInput::max_work at which the step
/// ends, so that a costly step cannot use up the work limit of the later steps. A step that finds
/// sets of pods to move is followed by a trial, which places these pods on other GPUs.
struct WorkShares {
  static constexpr std::int64_t kFindTargets = 20;  // finds the nodes on which moves can help
  static constexpr std::int64_t kFindSingles = 35;  // finds single pods to move
  static constexpr std::int64_t kOneTrial = 45;
  static constexpr std::int64_t kFindPairs = 55;  // finds pairs of pods on one node
  static constexpr std::int64_t kPairTrial = 62;
  static constexpr std::int64_t kChain = 68;  // finds pairs in which one pod must move first
  static constexpr std::int64_t kChainTrial = 72;
  static constexpr std::int64_t kFindLarger = 86;  // finds sets of three and more pods on one node
  static constexpr std::int64_t kAll = 100;
};

class RepackSearch {
 public:
  explicit RepackSearch(const RepackInput& input)
      : input_(input),
        cluster_(input),
        memo_(input.incoming.request),
        tenant_(fit::tenant_of(input.incoming.name_space, input.incoming.sharing,
                               cluster_.namespace_usage())),
        trials_(cluster_, memo_) {}

  RepackAdvice run() {
    if (auto placed = fit_now()) return {.fits_now = true, .reservation = std::move(placed)};
    find_targets();
    if (targets_.empty()) return {.explanation = explain_no_target()};
    std::optional<RepackPlan> repack_plan = move_one();
    if (!repack_plan) repack_plan = move_two();
    if (!repack_plan) repack_plan = move_chain();
    if (!repack_plan) repack_plan = move_many();
    if (!repack_plan) return {.explanation = explain_no_plan()};
    return {.reservation = std::move(repack_plan->reservation),
            .moves = std::move(repack_plan->moves)};
  }

 private:
  /// A node on which the request fits after some pods have left.
  struct Target {
    Slot slot = 0;
    DepartureSearch departures;
    bool singles_found = false;                  // move_one() has set `sufficient_alone`
    std::vector<DepartureSet> sufficient_alone;  // single pods whose departure is sufficient
  };
  using Candidates = std::vector<RepackCandidate>;
  /// A node on which no move helps, and the reason. Of two values, the smaller one has the node
  /// that is nearer to being feasible.
  struct Nearest {
    std::size_t distance = 0;  // ReasonRow::distance of `code`
    std::size_t rank = 0;      // the position of the node in by_name()
    model::ReasonCode code = model::ReasonCode::kNone;
    Slot slot = 0;
    friend auto operator<=>(const Nearest&, const Nearest&) = default;
  };

  [[nodiscard]] bool within_budget(std::int64_t share) {
    const bool may = cluster_.work() <= input_.max_work / 100 * share;
    budget_exhausted_ = budget_exhausted_ || !may;
    return may;
  }

  [[nodiscard]] bool may_be_target(Slot slot) const {
    return !input_.targets || std::ranges::binary_search(*input_.targets, slot);
  }

  /// The reservation that the request gets without any move; nullopt: no node can take it.
  [[nodiscard]] std::optional<model::Reservation> fit_now() {
    const plan::IncomingPod& incoming = input_.incoming;
    std::vector<base::NodeIndex> nodes;
    for (const Slot slot : cluster_.by_name()) {
      if (may_be_target(slot) &&
          plan::node_resources_fit(*input_.snapshot.nodes[slot], incoming.host))
        nodes.push_back({slot});
    }
    const plan::Plan now = plan::plan({.snapshot = input_.snapshot, .incoming = incoming}, nodes);
    if (!now.winner) return std::nullopt;
    const model::NodeState& node = *input_.snapshot.nodes[nodes[*now.winner].value];
    return plan::to_holding(node, incoming, now.placement)->reservation;
  }

  void find_targets() {
    const plan::FitQuery query{input_.incoming, tenant_, memo_};
    model::PlacementList options;
    // The emptiest nodes come first, because fewer pods need to leave them. The search may reach
    // its limit before it comes to the other nodes.
    for (const Slot slot : std::views::reverse(cluster_.fullest_first())) {
      if (!may_be_target(slot)) continue;
      const model::ReasonCode now =
          cluster_.counted_fit(*cluster_.state(slot), tenant_, memo_, options);
      if (now != model::ReasonCode::kNone && !model::reason_row(now).resolvable) {
        note_reason(now, slot);
        continue;
      }
      if (!within_budget(WorkShares::kFindTargets)) continue;
      Target target{.slot = slot, .departures = DepartureSearch(cluster_, slot, query)};
      const model::ReasonCode emptied = target.departures.reason_without_all();
      const bool helped = emptied == model::ReasonCode::kNone &&
                          !target.departures.movable_pods().empty() &&
                          target.departures.host_fits_without_all();
      if (helped) {
        targets_.push_back(std::move(target));
      } else {
        note_reason(emptied, slot);
      }
    }
  }

  void note_reason(model::ReasonCode code, Slot slot) {
    if (code == model::ReasonCode::kNone) return;
    const Nearest refusing_node{model::reason_row(code).distance, cluster_.rank(slot), code, slot};
    if (!nearest_ || refusing_node < *nearest_) nearest_ = refusing_node;
  }

  [[nodiscard]] static std::int64_t milli_of(const std::vector<MovablePod>& movers) {
    std::int64_t milli_sum = 0;
    for (const MovablePod& movable : movers) milli_sum += movable.held_milli;
    return milli_sum;
  }

  /// Sorts the candidates by number of pods, then by milli-GPU, then by node name, and keeps the
  /// first kMaxRepackSets.
  void sort(Candidates& candidates) const {
    std::vector<std::tuple<std::size_t, std::int64_t, std::size_t, std::size_t>> keys;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const RepackCandidate& candidate = candidates[i];
      keys.emplace_back(candidate.departing.size(), milli_of(candidate.departing),
                        cluster_.rank(candidate.target), i);
    }
    std::ranges::sort(keys);
    if (keys.size() > base::kMaxRepackSets) keys.resize(base::kMaxRepackSets);
    Candidates sorted_candidates;
    for (const auto& key : keys)
      sorted_candidates.push_back(std::move(candidates[std::get<3>(key)]));
    candidates = std::move(sorted_candidates);
  }

  [[nodiscard]] std::optional<RepackPlan> try_candidates(Candidates candidates,
                                                         std::int64_t share) {
    sort(candidates);
    for (const RepackCandidate& candidate : candidates) {
      if (!within_budget(share)) break;
      if (candidate.departing.size() > base::kMaxRepackMoves) {
        budget_exhausted_ = true;
        break;
      }
      if (auto repack_plan = trials_.run(candidate)) return repack_plan;
    }
    return std::nullopt;
  }

  static void add_candidates(const Target& target, const std::vector<DepartureSet>& sets,
                             Candidates& candidates) {
    for (const DepartureSet& departing : sets)
      candidates.push_back({target.slot, target.departures.pods_in(departing)});
  }

  std::optional<RepackPlan> move_one() {
    Candidates candidates;
    for (Target& target : targets_) {
      if (!within_budget(WorkShares::kFindSingles)) break;
      target.sufficient_alone = target.departures.singles();
      target.singles_found = true;
      add_candidates(target, target.sufficient_alone, candidates);
    }
    return try_candidates(std::move(candidates), WorkShares::kOneTrial);
  }

  std::optional<RepackPlan> move_two() {
    Candidates candidates;
    for (Target& target : targets_) {
      if (!target.singles_found || !within_budget(WorkShares::kFindPairs)) break;
      add_candidates(target, target.departures.pairs(), candidates);
    }
    return try_candidates(std::move(candidates), WorkShares::kPairTrial);
  }

  /// Tries pairs of pods of this kind: the departure of one pod is sufficient, but this pod fits
  /// nowhere else until the other pod has moved. The other pod can be on any node.
  std::optional<RepackPlan> move_chain() {
    Candidates candidates;
    std::map<std::size_t, std::vector<MovablePod>> freeing_pods;  // pods_freeing_for() by pod class
    for (const Target& target : targets_) {
      for (const DepartureSet& departing : target.sufficient_alone) {
        if (!within_budget(WorkShares::kChain)) break;
        const MovablePod first = target.departures.pods_in(departing).front();
        for (const MovablePod& other : target.departures.movable_pods()) {
          if (other.pod != first.pod) candidates.push_back({target.slot, {first, other}});
        }
        const auto [class_pods, is_new] = freeing_pods.try_emplace(first.pod_class);
        if (is_new) class_pods->second = pods_freeing_for(first.pod_class);
        for (const MovablePod& freeing_pod : class_pods->second) {
          if (freeing_pod.from != target.slot)
            candidates.push_back({target.slot, {first, freeing_pod}});
        }
        if (candidates.size() > base::kMaxRepackSets) break;
      }
    }
    return try_candidates(std::move(candidates), WorkShares::kChainTrial);
  }

  /// The pods of the cluster whose departure alone makes a pod of the class fit on their node.
  [[nodiscard]] std::vector<MovablePod> pods_freeing_for(std::size_t class_number) {
    std::vector<MovablePod> freeing_pods;
    PodClass& mover_class = cluster_.pod_class(class_number);
    const plan::IncomingPod incoming = cluster_.as_incoming(mover_class);
    const fit::Tenant tenant = cluster_.mover_tenant(incoming);
    model::PlacementList options;
    for (const Slot slot : cluster_.by_name()) {
      if (!within_budget(WorkShares::kChain)) break;
      if (cluster_.nominations(slot) != nullptr) continue;
      const model::NodeState& node = *cluster_.state(slot);
      const model::ReasonCode now =
          cluster_.counted_fit(node, tenant, mover_class.fit_memo, options);
      const bool by_gpus = now == model::ReasonCode::kNone;
      const bool has_room = by_gpus && plan::node_resources_fit(node, mover_class.host);
      if (has_room || (!by_gpus && !model::reason_row(now).resolvable)) continue;
      DepartureSearch departures(cluster_, slot, {incoming, tenant, mover_class.fit_memo});
      for (const DepartureSet& departing : departures.singles())
        freeing_pods.push_back(departures.pods_in(departing).front());
    }
    return freeing_pods;
  }

  std::optional<RepackPlan> move_many() {
    Candidates candidates;
    for (Target& target : targets_) {
      if (!within_budget(WorkShares::kFindLarger)) break;
      DepartureSet placeable;
      for (const MovablePod& movable : target.departures.movable_pods()) {
        placeable.push_back(trials_.has_node_for(movable.pod_class));
      }
      add_candidates(target, target.departures.larger_sets(placeable), candidates);
    }
    return try_candidates(std::move(candidates), WorkShares::kAll);
  }

  [[nodiscard]] std::string explain_no_target() const {
    if (budget_exhausted_) return explain_no_plan();
    if (cluster_.by_name().empty()) return "no nodes are known";
    if (!nearest_) {
      return "no node has enough CPU, memory or pod slots, even if every movable pod left it";
    }
    return "the request fits on no node, even if every movable pod left it; the nearest is node " +
           cluster_.state(nearest_->slot)->name() + ": " + model::message(nearest_->code);
  }

  [[nodiscard]] std::string explain_no_plan() const {
    return budget_exhausted_ ? "no solution was found within the search limit"
                             : "the pods that would have to leave a node do not fit elsewhere";
  }

  const RepackInput& input_;
  RepackCluster cluster_;
  fit::FitMemo memo_;
  fit::Tenant tenant_;
  RepackTrials trials_;
  std::vector<Target> targets_;     // the emptiest node first
  std::optional<Nearest> nearest_;  // the nearest of the nodes on which no move helps
  bool budget_exhausted_ = false;   // the search ended before all candidates were tried
};

}  // namespace

RepackAdvice repack(const RepackInput& input) { return RepackSearch(input).run(); }

}  // namespace snug::advice

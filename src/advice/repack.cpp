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

#include "advice/cluster.hpp"
#include "advice/leavers.hpp"
#include "advice/trial.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/plan/host_room.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

/// The cumulative percentage of kMostRepackWork at which each step of the search ends, so that a
/// costly step leaves work for those after it.
struct WorkShares {
  static constexpr std::int64_t kLook = 20;      // find the nodes that moves can help
  static constexpr std::int64_t kOne = 35;       // find single pods that must leave
  static constexpr std::int64_t kOneTrial = 45;  // place them elsewhere
  static constexpr std::int64_t kPair = 55;      // the same for pairs
  static constexpr std::int64_t kPairTrial = 62;
  static constexpr std::int64_t kChain = 68;  // one pod leaves after another has left its new node
  static constexpr std::int64_t kChainTrial = 72;
  static constexpr std::int64_t kMany = 86;  // several pods leave
  static constexpr std::int64_t kAll = 100;
};

class Search {
 public:
  explicit Search(const RepackInput& input)
      : input_(input),
        cluster_(input),
        memo_(input.claim.request),
        tenant_(tenant_of(input.claim.name_space, input.claim.sharing, cluster_.held())),
        trials_(cluster_, memo_) {}

  RepackAdvice run() {
    if (auto placed = without_moves()) return {.fits = true, .reservation = std::move(placed)};
    find_nodes();
    if (nodes_.empty()) return {.because = why_no_node()};
    std::optional<Repacking> found = by_one();
    if (!found) found = by_two();
    if (!found) found = by_chain();
    if (!found) found = by_many();
    if (!found) return {.because = why_no_way()};
    return {.reservation = std::move(found->reservation), .moves = std::move(found->moves)};
  }

 private:
  /// A node on which the request fits after some pods have left.
  struct Node {
    Slot slot = 0;
    Leavers leavers;
    bool judged = false;          // by_one() has filled `alone`
    std::vector<MoverSet> alone;  // single pods whose departure is sufficient
  };
  using Candidates = std::vector<RepackCandidate>;
  /// A node that no move can help, and the reason. Ordered by how near the node is to fitting.
  struct Nearest {
    std::size_t distance = 0;
    std::size_t rank = 0;  // of the node by name
    ReasonCode code = ReasonCode::kNone;
    Slot slot = 0;
    friend auto operator<=>(const Nearest&, const Nearest&) = default;
  };

  [[nodiscard]] bool may_go_on(std::int64_t share) {
    const bool may = cluster_.work() <= kMostRepackWork / 100 * share;
    ran_out_ = ran_out_ || !may;
    return may;
  }

  /// The reservation that the request would get now; nullopt: no node can take it.
  [[nodiscard]] std::optional<Reservation> without_moves() {
    const Claim& claim = input_.claim;
    std::vector<NodeIndex> nodes;
    for (const Slot slot : cluster_.by_name()) {
      if (host_has_room(*input_.snapshot.nodes[slot], claim.host)) nodes.push_back({slot});
    }
    const Plan now = plan({.snapshot = input_.snapshot, .claim = claim}, nodes);
    if (!now.winner) return std::nullopt;
    const NodeState& node = *input_.snapshot.nodes[nodes[*now.winner].value];
    return to_holding(node, claim, now.placement)->reservation;
  }

  void find_nodes() {
    const Asking asking{input_.claim, tenant_, memo_};
    PlacementList options;
    // The emptiest nodes first: the fewest pods must leave them, and the search may end early.
    for (const Slot slot : std::views::reverse(cluster_.fullest_first())) {
      const ReasonCode now = cluster_.fit_on(*cluster_.state(slot), tenant_, memo_, options);
      if (now != ReasonCode::kNone && !reason(now).evictable) {
        note_reason(now, slot);
        continue;
      }
      if (!may_go_on(WorkShares::kLook)) continue;
      Node node{.slot = slot, .leavers = Leavers(cluster_, slot, asking)};
      const ReasonCode emptied = node.leavers.reason_without_all();
      const bool helped = emptied == ReasonCode::kNone && !node.leavers.movers().empty() &&
                          node.leavers.host_fits_without_all();
      if (helped) {
        nodes_.push_back(std::move(node));
      } else {
        note_reason(emptied, slot);
      }
    }
  }

  void note_reason(ReasonCode code, Slot slot) {
    if (code == ReasonCode::kNone) return;
    const Nearest next{reason(code).distance, cluster_.rank(slot), code, slot};
    if (!nearest_ || next < *nearest_) nearest_ = next;
  }

  [[nodiscard]] static std::int64_t milli_of(const std::vector<Mover>& movers) {
    std::int64_t sum = 0;
    for (const Mover& mover : movers) sum += mover.milli;
    return sum;
  }

  /// Sorts by number of pods, then by milli-GPU, node name and uids, and keeps the first
  /// kMostRepackSets.
  void sort(Candidates& candidates) const {
    std::vector<std::tuple<std::size_t, std::int64_t, std::size_t, std::size_t>> keys;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const RepackCandidate& each = candidates[i];
      keys.emplace_back(each.movers.size(), milli_of(each.movers), cluster_.rank(each.target), i);
    }
    std::ranges::sort(keys);
    if (keys.size() > kMostRepackSets) keys.resize(kMostRepackSets);
    Candidates sorted;
    for (const auto& key : keys) sorted.push_back(std::move(candidates[std::get<3>(key)]));
    candidates = std::move(sorted);
  }

  [[nodiscard]] std::optional<Repacking> try_all(Candidates candidates, std::int64_t share) {
    sort(candidates);
    for (const RepackCandidate& candidate : candidates) {
      if (!may_go_on(share)) break;
      if (candidate.movers.size() > kMostRepackMoves) {
        ran_out_ = true;
        break;
      }
      if (auto found = trials_.run(candidate)) return found;
    }
    return std::nullopt;
  }

  static void add(const Node& node, const std::vector<MoverSet>& sets, Candidates& candidates) {
    for (const MoverSet& set : sets) candidates.push_back({node.slot, node.leavers.of(set)});
  }

  std::optional<Repacking> by_one() {
    Candidates candidates;
    for (Node& node : nodes_) {
      if (!may_go_on(WorkShares::kOne)) break;
      node.alone = node.leavers.singles();
      node.judged = true;
      add(node, node.alone, candidates);
    }
    return try_all(std::move(candidates), WorkShares::kOneTrial);
  }

  std::optional<Repacking> by_two() {
    Candidates candidates;
    for (Node& node : nodes_) {
      if (!node.judged || !may_go_on(WorkShares::kPair)) break;
      add(node, node.leavers.pairs(), candidates);
    }
    return try_all(std::move(candidates), WorkShares::kPairTrial);
  }

  /// The departure of one pod is sufficient, but the pod fits elsewhere only after another pod has
  /// left that node.
  std::optional<Repacking> by_chain() {
    Candidates candidates;
    std::map<std::size_t, std::vector<Mover>> makers;  // by kind: makers_of_room()
    for (const Node& node : nodes_) {
      for (const MoverSet& set : node.alone) {
        if (!may_go_on(WorkShares::kChain)) break;
        const Mover first = node.leavers.of(set).front();
        for (const Mover& other : node.leavers.movers()) {
          if (other.pod != first.pod) candidates.push_back({node.slot, {first, other}});
        }
        const auto [known, is_new] = makers.try_emplace(first.kind);
        if (is_new) known->second = makers_of_room(first.kind);
        for (const Mover& maker : known->second) {
          if (maker.from != node.slot) candidates.push_back({node.slot, {first, maker}});
        }
        if (candidates.size() > kMostRepackSets) break;
      }
    }
    return try_all(std::move(candidates), WorkShares::kChainTrial);
  }

  /// Pods each of which alone must leave its node so that a pod of the kind fits there.
  [[nodiscard]] std::vector<Mover> makers_of_room(std::size_t number) {
    std::vector<Mover> makers;
    MoverKind& kind = cluster_.kind(number);
    const Claim claim = cluster_.claim_of(kind);
    Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
    tenant.cap_left = kNoCap;  // the pod itself already counts towards its namespace's cap
    PlacementList options;
    for (const Slot slot : cluster_.by_name()) {
      if (!may_go_on(WorkShares::kChain)) break;
      if (cluster_.nominations(slot) != nullptr) continue;
      const NodeState& node = *cluster_.state(slot);
      const ReasonCode now = cluster_.fit_on(node, tenant, kind.memo, options);
      const bool by_gpus = now == ReasonCode::kNone;
      const bool has_room = by_gpus && host_has_room(node, kind.host);
      if (has_room || (!by_gpus && !reason(now).evictable)) continue;
      Leavers leavers(cluster_, slot, {claim, tenant, kind.memo});
      for (const MoverSet& set : leavers.singles()) makers.push_back(leavers.of(set).front());
    }
    return makers;
  }

  std::optional<Repacking> by_many() {
    Candidates candidates;
    for (Node& node : nodes_) {
      if (!may_go_on(WorkShares::kMany)) break;
      MoverSet placeable;
      for (const Mover& mover : node.leavers.movers()) {
        placeable.push_back(trials_.has_place(mover.kind));
      }
      add(node, node.leavers.several(placeable), candidates);
    }
    return try_all(std::move(candidates), WorkShares::kAll);
  }

  [[nodiscard]] std::string why_no_node() const {
    if (ran_out_) return why_no_way();
    if (cluster_.by_name().empty()) return "no nodes are known";
    if (!nearest_) {
      return "no node has enough CPU, memory or pod slots, even if every movable pod left it";
    }
    return "the request fits on no node, even if every movable pod left it; the nearest is node " +
           cluster_.state(nearest_->slot)->name() + ": " + message(nearest_->code);
  }

  [[nodiscard]] std::string why_no_way() const {
    return ran_out_ ? "no solution was found within the search limit"
                    : "the pods that would have to leave a node do not fit elsewhere";
  }

  const RepackInput& input_;
  RepackCluster cluster_;
  FitMemo memo_;
  Tenant tenant_;
  RepackTrials trials_;
  std::vector<Node> nodes_;         // the emptiest first
  std::optional<Nearest> nearest_;  // among the nodes that no move can help
  bool ran_out_ = false;            // the search ended before all candidates were tried
};

}  // namespace

RepackAdvice repack(const RepackInput& input) { return Search(input).run(); }

}  // namespace snug

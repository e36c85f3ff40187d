#include "snug/plan/repack.hpp"

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

#include "plan/host_room.hpp"
#include "plan/repack_cluster.hpp"
#include "plan/repack_leavers.hpp"
#include "plan/repack_trial.hpp"
#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

/// Each step of the search may go on until so much of kMostRepackWork is used, in percent, so that
/// no step leaves nothing to the next ones.
struct WorkShares {
  static constexpr std::int64_t kLook = 20;      // which nodes could be helped
  static constexpr std::int64_t kOne = 35;       // one pod leaves: which
  static constexpr std::int64_t kOneTrial = 45;  // and where to
  static constexpr std::int64_t kPair = 55;      // two leave
  static constexpr std::int64_t kPairTrial = 62;
  static constexpr std::int64_t kChain = 68;  // one leaves, and another makes room for it
  static constexpr std::int64_t kChainTrial = 72;
  static constexpr std::int64_t kMany = 86;  // more leave
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
  /// A node that the request fits on without some of its pods.
  struct Node {
    Slot slot = 0;
    Leavers leavers;
    bool judged = false;          // by_one() has come to it
    std::vector<MoverSet> alone;  // whose end is enough
  };
  using Candidates = std::vector<RepackCandidate>;
  /// A node that no move helps, and why.
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

  /// As kube-scheduler and Snug would place it now, together.
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
    // They need the fewest pods to go, and the work may end early.
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

  /// Fewest pods, then the least of GPUs; then by names and uids.
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

  /// One whose end is enough has no room elsewhere until another has made it.
  std::optional<Repacking> by_chain() {
    Candidates candidates;
    std::map<std::size_t, std::vector<Mover>> makers;  // by kind: who alone makes room for it
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

  [[nodiscard]] std::vector<Mover> makers_of_room(std::size_t number) {
    std::vector<Mover> makers;
    MoverKind& kind = cluster_.kind(number);
    const Claim claim = cluster_.claim_of(kind);
    Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
    tenant.cap_left = kNoCap;  // what it would take it holds already
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
    if (cluster_.by_name().empty()) return "Snug knows no node";
    if (!nearest_) {
      return "no node has the cpu, the memory or the place for one more pod, even if every pod "
             "that "
             "may be moved left it";
    }
    return "no node could take the request even if every pod that may be moved left it; node " +
           cluster_.state(nearest_->slot)->name() + " comes nearest: " + message(nearest_->code);
  }

  [[nodiscard]] std::string why_no_way() const {
    return ran_out_ ? "no way was found within what a search may cost"
                    : "the pods that would have to leave a node have no room elsewhere";
  }

  const RepackInput& input_;
  RepackCluster cluster_;
  FitMemo memo_;
  Tenant tenant_;
  RepackTrials trials_;
  std::vector<Node> nodes_;         // those with the most room first
  std::optional<Nearest> nearest_;  // of the nodes that no move helps
  bool ran_out_ = false;            // something was not tried any more
};

}  // namespace

RepackAdvice repack(const RepackInput& input) { return Search(input).run(); }

}  // namespace snug

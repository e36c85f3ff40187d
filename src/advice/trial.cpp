#include "advice/trial.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "advice/cheapest_flow.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/apart.hpp"
#include "snug/plan/choice.hpp"
#include "snug/plan/host_room.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

/// At most this many pods are tried in every order, and even if the flow finds no assignment.
constexpr std::size_t kInAnyOrder = 2;

/// Positions in `options`, sorted by descending score.
std::vector<std::size_t> by_score(const NodeState& node, const Claim& claim, const Demand& demand,
                                  const PlacementList& options) {
  std::vector<std::pair<std::int64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Profile& profile = claim.profiles.of(node, options[i]);
    keyed.emplace_back(-score(profile, {node, claim.request, options[i], claim.host, demand}), i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> order;
  order.reserve(keyed.size());
  for (const auto& [value, option] : keyed) order.push_back(option);
  return order;
}

/// A copy of the pod's holding with another reservation.
std::shared_ptr<Holding> with_devices(const Holding& pod, Reservation reservation) {
  auto moved = std::make_shared<Holding>(pod);
  moved->reservation = std::move(reservation);
  moved->reservation.uid = pod.uid;
  return moved;
}

bool is_shared(const ReservedDevice& device) {
  return device.mode == GpuMode::kTimeSlicing || device.mode == GpuMode::kMps;
}

/// A copy of the request whose shares have the modes of `other`'s shares on the same GPUs. The
/// request is placed last, when these GPUs already have their modes. Containers that ask for a mode
/// are unchanged. Null: no mode differs.
HoldingPtr in_modes_of(const Holding& request, const Holding& other) {
  if (request.reservation.node != other.reservation.node) return nullptr;
  std::shared_ptr<Holding> adapted;
  for (std::size_t c = 0; c < request.reservation.containers.size(); ++c) {
    const auto* own =
        std::get_if<std::vector<ReservedDevice>>(&request.reservation.containers[c].given);
    const std::optional<ContainerRequest>& asked = request.asks[c];
    if (own == nullptr || !asked || asked->isolation != Isolation::kAny) continue;
    for (const ReservedContainer& container : other.reservation.containers) {
      for (const ReservedDevice& theirs : std::get<std::vector<ReservedDevice>>(container.given)) {
        for (std::size_t d = 0; d < own->size(); ++d) {
          const ReservedDevice& device = (*own)[d];
          const bool differs = device.index == theirs.index && device.uuid == theirs.uuid &&
                               is_shared(device) && is_shared(theirs) && device.mode != theirs.mode;
          if (!differs) continue;
          if (adapted == nullptr) adapted = std::make_shared<Holding>(request);
          std::get<std::vector<ReservedDevice>>(adapted->reservation.containers[c].given)[d].mode =
              theirs.mode;
        }
      }
    }
  }
  return adapted;
}

bool same_place(const Reservation& a, const Reservation& b) {
  return a.node == b.node && a.containers == b.containers;
}

/// The edges with the flow along them as `most`. The first attempt bounds each node by its largest
/// count for one kind. A node whose GPUs differ can take more pods of different kinds than of any
/// one kind, so the second attempt drops these bounds.
std::optional<std::vector<FlowEdge>> flow_of(FlowProblem problem) {
  auto flow = cheapest_flow(problem);
  if (!flow) {
    int all = 0;
    for (const int pods : problem.pods) all += pods;
    problem.most.assign(problem.most.size(), all);
    flow = cheapest_flow(problem);
  }
  if (!flow) return std::nullopt;
  for (std::size_t i = 0; i < flow->size(); ++i) problem.edges[i].most = (*flow)[i];
  return std::move(problem.edges);
}

}  // namespace

/// Two states of the cluster during the search.
struct RepackTrials::Worlds {
  AfterMoves now;      // after the moves so far
  AfterMoves last;     // the same, without the pods that are yet to move and with the request
  HoldingPtr request;  // as in `last`
};

/// The search for the movers' placements, given one placement of the request.
struct RepackTrials::Search {
  const RepackCandidate& candidate;
  std::map<std::size_t, std::vector<Slot>> given;  // by kind: one node for each pod, from the flow
  std::vector<bool> placed;                        // by mover
  /// The movers placed so far, in order, with their new holdings.
  std::vector<std::pair<std::size_t, HoldingPtr>> moves;
  int steps_left = kMostRepackSteps;
  std::optional<Repacking> found = std::nullopt;
};

std::optional<Repacking> RepackTrials::run(const RepackCandidate& candidate) {
  AfterMoves cleared(cluster_);
  for (const Mover& mover : candidate.movers) cleared.remove_pod(mover.from, *mover.pod);
  for (const HoldingPtr& request : ways_of_request(candidate, cleared)) {
    Search search{.candidate = candidate,
                  .given = {},
                  .placed = std::vector<bool>(candidate.movers.size()),
                  .moves = {}};
    Worlds worlds{AfterMoves(cluster_), cleared, request};
    worlds.last.add_pod(candidate.target, request);
    // Few pods are tried in any case: the flow's counts ignore the modes that empty GPUs can take.
    const bool possible = give_nodes(search, worlds.last);
    if (!possible && candidate.movers.size() > kInAnyOrder) continue;
    if (place_rest(search, worlds)) return std::move(search.found);
  }
  return std::nullopt;
}

/// The request's placements after all movers have left, sorted by descending score.
std::vector<HoldingPtr> RepackTrials::ways_of_request(const RepackCandidate& candidate,
                                                      const AfterMoves& cleared) {
  const Claim& claim = cluster_.claim();
  const NodeStatePtr node = told_apart_on(candidate, *cleared.state(candidate.target), nullptr);
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
  const Around around{.held = cluster_.held(),
                      .nominations = cluster_.nominations(candidate.target),
                      .demand = cluster_.demand()};
  PlacementList options;
  const std::int64_t before = memo_.work();
  const Offered offered = Offer(*node, {claim, tenant, memo_}, around, options).find();
  cluster_.count_work(memo_.work() - before);
  std::vector<HoldingPtr> ways;
  if (offered.reason != ReasonCode::kNone) return ways;
  for (const std::size_t option : by_score(*node, claim, cluster_.demand(), options)) {
    if (ways.size() >= kMostRequestWays) break;
    auto way = to_holding(*node, claim, options[option]);
    way->host = claim.host;
    ways.push_back(std::move(way));
  }
  return ways;
}

/// Excludes nodes with nominated pods: their free GPUs are kept for these pods.
const std::vector<Slot>& RepackTrials::places(std::size_t kind) {
  const auto [known, is_new] = places_.try_emplace(kind);
  if (!is_new) return known->second;
  MoverKind& mover = cluster_.kind(kind);
  const Claim claim = cluster_.claim_of(mover);
  Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
  // The pod itself counts towards its namespace's cap until it has left. place_on() checks the cap.
  tenant.cap_left = kNoCap;
  PlacementList options;
  std::vector<std::tuple<std::int64_t, std::size_t, Slot>> keyed;
  for (const Slot slot : cluster_.fullest_first()) {
    if (keyed.size() == kMostRepackPlaces) break;
    const NodeState& node = *cluster_.state(slot);
    if (cluster_.nominations(slot) != nullptr || !host_has_room(node, mover.host)) continue;
    if (cluster_.fit_on(node, tenant, mover.memo, options) != ReasonCode::kNone) continue;
    const Best best = best_option(node, claim, cluster_.demand(), options);
    keyed.emplace_back(-best.score_class, cluster_.rank(slot), slot);
  }
  std::ranges::sort(keyed);
  for (const auto& [score, rank, slot] : keyed) known->second.push_back(slot);
  return known->second;
}

/// The number of pods of the kind that fit on the node together, at most `most`.
int RepackTrials::copies(std::size_t kind, NodeStatePtr state, int most) {
  MoverKind& mover = cluster_.kind(kind);
  const Claim claim = cluster_.claim_of(mover);
  Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
  tenant.cap_left = kNoCap;
  PlacementList options;
  for (int n = 0; n < most; ++n) {
    if (cluster_.fit_on(*state, tenant, mover.memo, options) != ReasonCode::kNone) return n;
    if (n + 1 == most) break;
    std::vector<HoldingPtr> holdings = state->holdings;
    holdings.push_back(to_holding(*state, claim, options[0]));
    state = cluster_.with_holdings_on(*state, std::move(holdings));
  }
  return most;
}

/// Solves the flow. False: according to the counts, not all pods can be assigned to a node. Prefers
/// the nodes on which movers are now, which satisfy these pods' node selectors, then higher scores.
bool RepackTrials::give_nodes(Search& search, const AfterMoves& last) {
  constexpr std::int64_t kOtherNode = 1'000'000;
  std::map<std::size_t, int> kinds;
  for (const Mover& mover : search.candidate.movers) ++kinds[mover.kind];
  const auto all = static_cast<int>(search.placed.size());
  FlowProblem problem;
  std::map<Slot, std::size_t> bins;
  std::vector<Slot> slots;  // of the problem's edges
  for (const auto& [kind, pods] : kinds) {
    std::vector<Slot> nodes;
    for (const auto& [slot, state] : last.changed()) nodes.push_back(slot);
    const std::size_t own = nodes.size();
    // One other node for each pod is sufficient; more nodes would add no solution.
    for (const Slot slot : places(kind)) {
      if (nodes.size() == own + search.placed.size()) break;
      if (std::ranges::find(nodes, slot) == nodes.end()) nodes.push_back(slot);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool nominated = cluster_.nominations(nodes[i]) != nullptr;
      const int most = nominated ? 0 : copies(kind, last.state(nodes[i]), all);
      if (most == 0) continue;
      const std::size_t bin = bins.try_emplace(nodes[i], bins.size()).first->second;
      problem.most.resize(bins.size());
      problem.most[bin] = std::max(problem.most[bin], most);
      const std::int64_t cost = (i < own ? 0 : kOtherNode) + static_cast<std::int64_t>(i);
      problem.edges.push_back({problem.pods.size(), bin, most, cost});
      slots.push_back(nodes[i]);
    }
    problem.pods.push_back(pods);
  }
  cluster_.count_work(static_cast<std::int64_t>(problem.edges.size()));
  const auto flow = flow_of(std::move(problem));
  if (!flow) return false;
  for (const FlowEdge& edge : *flow) {
    const auto kind = std::next(kinds.begin(), static_cast<std::ptrdiff_t>(edge.kind));
    const auto& slot = slots[static_cast<std::size_t>(&edge - flow->data())];
    std::vector<Slot>& given = search.given[kind->first];
    given.insert(given.end(), static_cast<std::size_t>(edge.most), slot);
  }
  return true;
}

/// Two pods are tried in both orders; more pods move in the order of their size.
bool RepackTrials::place_rest(Search& search, const Worlds& worlds) {
  if (search.moves.size() == search.placed.size()) return finish(search, worlds.now);
  for (std::size_t mover = 0; mover < search.placed.size(); ++mover) {
    if (search.placed[mover]) continue;
    search.placed[mover] = true;
    if (place(search, mover, worlds)) return true;
    search.placed[mover] = false;
    if (search.placed.size() > kInAnyOrder) return false;
  }
  return false;
}

bool RepackTrials::place(Search& search, std::size_t number, const Worlds& worlds) {
  const Mover& mover = search.candidate.movers[number];
  Worlds without = worlds;
  without.now.remove_pod(mover.from, *mover.pod);
  std::vector<Slot> nodes = search.given[mover.kind];
  for (const auto& [slot, state] : without.last.changed()) nodes.push_back(slot);
  const std::vector<Slot>& others = places(mover.kind);
  nodes.insert(nodes.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto tried = nodes.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(nodes.begin(), tried, *tried) != tried) continue;
    if (cluster_.nominations(*tried) != nullptr) continue;
    if (place_on(search, number, without, *tried)) return true;
    if (search.steps_left <= 0) return false;
  }
  return false;
}

/// Places the mover on the node so that the request's placement remains valid after all moves.
bool RepackTrials::place_on(Search& search, std::size_t number, const Worlds& worlds, Slot slot) {
  const Mover& mover = search.candidate.movers[number];
  MoverKind& kind = cluster_.kind(mover.kind);
  --search.steps_left;
  const NodeStatePtr node =
      told_apart_on(search.candidate, *worlds.now.state(slot), worlds.request.get());
  if (!host_has_room(*node, kind.host)) return false;
  const Claim claim = cluster_.claim_of(kind);
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, worlds.now.held());
  PlacementList options;
  if (cluster_.fit_on(*node, tenant, kind.memo, options) != ReasonCode::kNone) return false;
  std::vector<Slot>& given = search.given[mover.kind];
  const auto used = std::ranges::find(given, slot);
  const bool as_given = used != given.end();
  if (as_given) given.erase(used);
  for (const std::size_t option : by_score(*node, claim, cluster_.demand(), options)) {
    if (--search.steps_left <= 0) break;
    const HoldingPtr moved =
        with_devices(*mover.pod, to_holding(*node, claim, options[option])->reservation);
    if (same_place(moved->reservation, mover.pod->reservation)) continue;
    Worlds next = worlds;
    next.last.add_pod(slot, moved);
    if (const HoldingPtr adapted = in_modes_of(*next.request, *moved)) {
      next.last.remove_pod(slot, *next.request);
      next.last.add_pod(slot, adapted);
      next.request = adapted;
    }
    if (!sound_on(next.last, slot)) continue;
    next.now.add_pod(slot, moved);
    search.moves.push_back({number, moved});
    if (place_rest(search, next)) return true;
    search.moves.pop_back();
  }
  if (as_given) search.given[mover.kind].insert(search.given[mover.kind].begin(), slot);
  return false;
}

/// Marks the GPUs of movers and of the request as distinct: fit() must not treat them as identical
/// to other GPUs, because they will differ after the moves.
NodeStatePtr RepackTrials::told_apart_on(const RepackCandidate& candidate, const NodeState& node,
                                         const Holding* request) {
  GpuMarks marks;
  for (const Mover& mover : candidate.movers) {
    if (mover.pod->reservation.node == node.name()) mark_gpus(node, *mover.pod, marks);
  }
  if (request != nullptr && request->reservation.node == node.name()) {
    mark_gpus(node, *request, marks);
  }
  return told_apart(node, marks);
}

/// Called when all movers are placed. True, with search.found set: the request fits on its node,
/// and no GPU closes.
bool RepackTrials::finish(Search& search, const AfterMoves& now) {
  const Slot target = search.candidate.target;
  const Claim& claim = cluster_.claim();
  const NodeState& node = *now.state(target);
  if (!host_has_room(node, claim.host)) return false;
  const std::int64_t before = memo_.work();
  const NodeChoice choice = choose_with(memo_, node, claim,
                                        {.held = now.held(),
                                         .nominations = cluster_.nominations(target),
                                         .demand = cluster_.demand()});
  cluster_.count_work(memo_.work() - before);
  if (choice.reason != ReasonCode::kNone) return false;
  const auto request = to_holding(node, claim, choice.placement);
  AfterMoves after = now;
  after.add_pod(target, request);
  const bool sound = std::ranges::all_of(
      after.changed(), [&](const auto& changed) { return sound_on(after, changed.first); });
  if (!sound) return false;
  Repacking& found = search.found.emplace();
  found.reservation = request->reservation;
  for (const auto& [mover, moved] : search.moves) {
    found.moves.push_back({search.candidate.movers[mover].pod, moved->reservation});
  }
  return true;
}

/// Whether the changes close no GPU of the node and cause no conflict on it.
bool RepackTrials::sound_on(const AfterMoves& after, Slot slot) const {
  const NodeState& before = *cluster_.state(slot);
  const NodeState& node = *after.state(slot);
  for (std::size_t gpu = 0; gpu < node.inventory->gpus.size(); ++gpu) {
    const GpuClosure closure = node.gpus[gpu].closure;
    if (closure != GpuClosure::kOpen && closure != before.gpus[gpu].closure) return false;
  }
  return node.conflict == NodeConflict::kNone || node.conflict == before.conflict;
}

}  // namespace snug

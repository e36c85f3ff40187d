#include "plan/repack_trial.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "plan/apart.hpp"
#include "plan/cheapest_flow.hpp"
#include "plan/choice.hpp"
#include "plan/host_room.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
namespace {

/// The placements, the best by score first.
std::vector<std::size_t> by_score(const NodeState& node, const Claim& claim, const Demand& demand,
                                  const PlacementList& options) {
  std::vector<std::pair<std::int64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Profile& profile = claim.profiles.of(node, options[i]);
    keyed.emplace_back(-score(profile, {node, claim.request, options[i], claim.host, demand}), i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> order;
  for (const auto& [value, option] : keyed) order.push_back(option);
  return order;
}

/// The pod with the devices of a placement instead of its own.
std::shared_ptr<Holding> with_devices(const Holding& pod, Reservation reservation) {
  auto moved = std::make_shared<Holding>(pod);
  moved->reservation = std::move(reservation);
  moved->reservation.uid = pod.uid;
  return moved;
}

bool same_place(const Reservation& a, const Reservation& b) {
  return a.node == b.node && a.containers == b.containers;
}

/// What goes along each edge. A node may take more pods of different kinds than of any one, where
/// its GPUs differ: so counts over all kinds are asked first, and then left aside; of two pods,
/// those of one kind too.
std::optional<std::vector<FlowEdge>> flow_of(FlowProblem problem) {
  constexpr int kFew = 2;
  int all = 0;
  for (const int pods : problem.pods) all += pods;
  auto flow = cheapest_flow(problem);
  if (!flow) {
    for (int& most : problem.most) most = all;
    for (FlowEdge& edge : problem.edges) edge.most = all <= kFew ? all : edge.most;
    flow = cheapest_flow(problem);
  }
  if (!flow) return std::nullopt;
  for (std::size_t i = 0; i < flow->size(); ++i) problem.edges[i].most = (*flow)[i];
  return std::move(problem.edges);
}

}  // namespace

/// One way to place the request, and the pods that are being placed beside it.
struct RepackTrials::Search {
  struct Step {
    std::size_t mover = 0;  // position in the candidate
    Slot to = 0;
    HoldingPtr pod;  // as it becomes
  };

  const RepackCandidate& candidate;
  HoldingPtr request;                              // as it would be on the target
  std::map<std::size_t, std::vector<Slot>> given;  // nodes by kind, one for each pod of it
  std::vector<bool> placed;                        // by mover
  std::vector<Step> moves;                         // in order
  int steps_left = kMostRepackSteps;
  std::optional<Repacking> found = std::nullopt;
};

std::optional<Repacking> RepackTrials::run(const RepackCandidate& candidate) {
  AfterMoves cleared(cluster_);
  for (const Mover& mover : candidate.movers) cleared.leave(mover.from, *mover.pod);
  for (const HoldingPtr& request : ways_of_request(cleared, candidate.target)) {
    Search search{.candidate = candidate,
                  .request = request,
                  .given = {},
                  .placed = std::vector<bool>(candidate.movers.size()),
                  .moves = {}};
    AfterMoves beside = cleared;
    beside.come(candidate.target, request);
    if (!give_nodes(search, beside)) continue;
    // Until those that hold it are gone, the room that the request will have is over-committed or
    // in two modes at once, and so closed to all others.
    AfterMoves now(cluster_);
    now.come(candidate.target, request);
    if (place_rest(search, now)) return std::move(search.found);
  }
  return std::nullopt;
}

/// How the request may be placed when all of them are gone, the best by score first.
std::vector<HoldingPtr> RepackTrials::ways_of_request(const AfterMoves& cleared, Slot target) {
  const Claim& claim = cluster_.claim();
  const NodeState& node = *cleared.state(target);
  PlacementList options;
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
  const Around around{cluster_.held(), cluster_.nominations(target), cluster_.demand()};
  const std::int64_t before = memo_.work();
  const Offered offered = Offer(node, {claim, tenant, memo_}, around, options).find(nullptr);
  cluster_.count_work(memo_.work() - before);
  std::vector<HoldingPtr> ways;
  if (offered.reason != ReasonCode::kNone) return ways;
  for (const std::size_t option : by_score(node, claim, cluster_.demand(), options)) {
    if (ways.size() >= kMostRequestWays) break;
    auto holding = to_holding(node, claim, options[option]);
    holding->host = claim.host;
    ways.push_back(std::move(holding));
  }
  return ways;
}

/// Nodes with nominations have no room for who need not go there.
const std::vector<Slot>& RepackTrials::places(std::size_t kind) {
  const auto [known, is_new] = places_.try_emplace(kind);
  if (!is_new) return known->second;
  MoverKind& mover = cluster_.kind(kind);
  const Claim claim = cluster_.claim_of(mover);
  Tenant tenant = tenant_of(claim.name_space, claim.sharing, cluster_.held());
  // A cap has room for what its own namespace moves: that is looked at when the pod has left.
  tenant.cap_left = kNoCap;
  PlacementList options;
  std::vector<std::tuple<std::int64_t, std::size_t, Slot>> keyed;
  for (const Slot slot : cluster_.by_name()) {
    const NodeState& node = *cluster_.state(slot);
    if (cluster_.nominations(slot) != nullptr || !host_has_room(node, mover.host)) continue;
    if (cluster_.fit_on(node, tenant, mover.memo, options) != ReasonCode::kNone) continue;
    const Best best = best_option(node, claim, cluster_.demand(), options);
    keyed.emplace_back(-best.score_class, cluster_.rank(slot), slot);
  }
  std::ranges::sort(keyed);
  if (keyed.size() > kMostRepackPlaces) keyed.resize(kMostRepackPlaces);
  for (const auto& [score, rank, slot] : keyed) known->second.push_back(slot);
  return known->second;
}

/// How many pods of the kind the node takes one after another, at most so many.
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
    state = cluster_.add_up_on(*state, std::move(holdings));
  }
  return most;
}

/// False: not all pods have a node, as far as counts can say. Rather on the node where a pod is
/// now, which satisfies whatever ties it to a kind of node; then by score.
bool RepackTrials::give_nodes(Search& search, const AfterMoves& beside) {
  constexpr std::int64_t kOtherNode = 1'000'000;
  std::map<std::size_t, int> kinds;
  for (const Mover& mover : search.candidate.movers) ++kinds[mover.kind];
  const auto all = static_cast<int>(search.placed.size());
  FlowProblem problem;
  std::map<Slot, std::size_t> bins;
  std::vector<Slot> slots;  // of the problem's edges
  for (const auto& [kind, pods] : kinds) {
    std::vector<Slot> nodes;
    for (const auto& [slot, state] : beside.changed()) nodes.push_back(slot);
    const std::size_t own = nodes.size();
    // As many others as there are pods: more would give no way that there is not with these.
    for (const Slot slot : places(kind)) {
      if (nodes.size() == own + search.placed.size()) break;
      if (std::ranges::find(nodes, slot) == nodes.end()) nodes.push_back(slot);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool nominated = cluster_.nominations(nodes[i]) != nullptr;
      const int most = nominated ? 0 : copies(kind, beside.state(nodes[i]), all);
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

/// Of two either may have to go first; of more the order is that of their size.
bool RepackTrials::place_rest(Search& search, const AfterMoves& now) {
  constexpr std::size_t kInAnyOrder = 2;
  if (search.moves.size() == search.placed.size()) return finish(search, now);
  for (std::size_t mover = 0; mover < search.placed.size(); ++mover) {
    if (search.placed[mover]) continue;
    search.placed[mover] = true;
    if (place(search, mover, now)) return true;
    search.placed[mover] = false;
    if (search.placed.size() > kInAnyOrder) return false;
  }
  return false;
}

bool RepackTrials::place(Search& search, std::size_t number, const AfterMoves& now) {
  const Mover& mover = search.candidate.movers[number];
  AfterMoves without = now;
  without.leave(mover.from, *mover.pod);
  std::vector<Slot> nodes = search.given[mover.kind];
  for (const auto& [slot, state] : without.changed()) nodes.push_back(slot);
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

bool RepackTrials::place_on(Search& search, std::size_t number, const AfterMoves& now, Slot slot) {
  const Mover& mover = search.candidate.movers[number];
  MoverKind& kind = cluster_.kind(mover.kind);
  const NodeState& node = *now.state(slot);
  --search.steps_left;
  // On its own node it has its cpu and memory; what the request lacks is looked at in the end.
  if (slot != mover.from && !host_has_room(node, kind.host)) return false;
  const Claim claim = cluster_.claim_of(kind);
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, now.held());
  PlacementList options;
  if (cluster_.fit_on(node, tenant, kind.memo, options) != ReasonCode::kNone) return false;
  std::vector<Slot>& given = search.given[mover.kind];
  const auto used = std::ranges::find(given, slot);
  const bool as_given = used != given.end();
  if (as_given) given.erase(used);
  for (const std::size_t option : by_score(node, claim, cluster_.demand(), options)) {
    if (--search.steps_left <= 0) break;
    const HoldingPtr moved =
        with_devices(*mover.pod, to_holding(node, claim, options[option])->reservation);
    if (same_place(moved->reservation, mover.pod->reservation)) continue;
    AfterMoves next = now;
    next.come(slot, moved);
    search.moves.push_back({number, slot, moved});
    if (place_rest(search, next)) return true;
    search.moves.pop_back();
  }
  if (as_given) search.given[mover.kind].insert(search.given[mover.kind].begin(), slot);
  return false;
}

/// All are placed: does the request fit, wherever on its node, and is nothing closed by that?
bool RepackTrials::finish(Search& search, const AfterMoves& now) {
  const Slot target = search.candidate.target;
  const Claim& claim = cluster_.claim();
  AfterMoves after = now;
  after.leave(target, *search.request);
  const NodeState& node = *after.state(target);
  if (!host_has_room(node, claim.host)) return false;
  const std::int64_t before = memo_.work();
  const NodeChoice choice = choose_with(memo_, node, claim,
                                        {.held = after.held(),
                                         .nominations = cluster_.nominations(target),
                                         .demand = cluster_.demand()});
  cluster_.count_work(memo_.work() - before);
  if (choice.reason != ReasonCode::kNone) return false;
  const auto request = to_holding(node, claim, choice.placement);
  after.come(target, request);
  if (!sound(after) || !holds_step_by_step(search)) return false;
  Repacking& found = search.found.emplace();
  found.reservation = request->reservation;
  for (const Search::Step& step : search.moves) {
    found.moves.push_back({search.candidate.movers[step.mover].pod, step.pod->reservation});
  }
  return true;
}

/// Whether the moves close no GPU and no node that is open now.
bool RepackTrials::sound(const AfterMoves& after) const {
  return std::ranges::all_of(after.changed(), [&](const auto& changed) {
    const NodeState& before = *cluster_.state(changed.first);
    const NodeState& node = *changed.second;
    for (std::size_t gpu = 0; gpu < node.inventory->gpus.size(); ++gpu) {
      const GpuClosure closure = node.gpus[gpu].closure;
      if (closure != GpuClosure::kOpen && closure != before.gpus[gpu].closure) return false;
    }
    return node.conflict == NodeConflict::kNone || node.conflict == before.conflict;
  });
}

/// The same moves on the cluster as it will be, where the request is not there yet.
bool RepackTrials::holds_step_by_step(const Search& search) {
  AfterMoves now(cluster_);
  for (const Search::Step& step : search.moves) {
    const Mover& mover = search.candidate.movers[step.mover];
    now.leave(mover.from, *mover.pod);
    if (!offers(now, mover.kind, step.to, *step.pod)) return false;
    now.come(step.to, step.pod);
  }
  return true;
}

/// Whether fit() would give the pod these very devices. Of GPUs that are alike it names one, so it
/// is asked about the node as if all others were out of order.
bool RepackTrials::offers(const AfterMoves& now, std::size_t kind, Slot slot, const Holding& pod) {
  MoverKind& mover = cluster_.kind(kind);
  const NodeState& node = *now.state(slot);
  if (!host_has_room(node, mover.host)) return false;
  GpuMarks its;
  mark_gpus(node, pod, its);
  auto inventory = std::make_shared<NodeInventory>(*node.inventory);
  for (std::size_t gpu = 0; gpu < inventory->gpus.size(); ++gpu) {
    if (gpu >= its.size() || !its[gpu]) inventory->gpus[gpu].healthy = false;
  }
  const NodeStatePtr alone = add_up(std::move(inventory), node.holdings);
  const Claim claim = cluster_.claim_of(mover);
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, now.held());
  PlacementList options;
  if (cluster_.fit_on(*alone, tenant, mover.memo, options) != ReasonCode::kNone) return false;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (same_place(to_holding(*alone, claim, options[i])->reservation, pod.reservation))
      return true;
  }
  return false;
}

}  // namespace snug

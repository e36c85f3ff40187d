#include "advice/move_trials.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "advice/min_cost_flow.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/gpu_marks.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/placement_finder.hpp"
#include "snug/plan/plan.hpp"

namespace snug::advice {
namespace {

/// If at most this number of pods depart, every order of placing them is tried, even if the flow
/// finds no assignment for them.
constexpr std::size_t kMaxAnyOrder = 2;

/// The positions of the placements in `options`, the highest score first.
std::vector<std::size_t> by_score(const model::NodeState& node, const plan::IncomingPod& incoming,
                                  const model::Demand& demand,
                                  const model::PlacementList& options) {
  std::vector<std::pair<std::int64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const score::Profile& profile = incoming.profiles.profile_for(node, options[i]);
    keyed.emplace_back(
        -score::score(profile, {node, incoming.request, options[i], incoming.host, demand}), i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> order;
  order.reserve(keyed.size());
  for (const auto& [value, option] : keyed) order.push_back(option);
  return order;
}

/// A copy of the pod's holding with the given reservation.
std::shared_ptr<model::Holding> moved_to(const model::Holding& pod,
                                         model::Reservation reservation) {
  auto moved = std::make_shared<model::Holding>(pod);
  moved->reservation = std::move(reservation);
  moved->reservation.uid = pod.uid;
  return moved;
}

/// Returns a copy of `request` whose sharing modes match those of `other`: where both have a share
/// of the same GPU, the copy has the mode of `other`, because the request is placed last and the
/// GPU then already has that mode. Containers that request a mode are unchanged. Returns null if no
/// mode changes.
model::HoldingPtr adopting_modes_of(const model::Holding& request, const model::Holding& other) {
  if (request.reservation.node != other.reservation.node) return nullptr;
  std::shared_ptr<model::Holding> adapted;
  for (std::size_t c = 0; c < request.reservation.containers.size(); ++c) {
    const auto* own = std::get_if<std::vector<model::ReservedDevice>>(
        &request.reservation.containers[c].assigned);
    const std::optional<model::ContainerRequest>& asked = request.container_requests[c];
    if (own == nullptr || !asked || asked->isolation != model::Isolation::kAny) continue;
    for (const model::ReservedContainer& container : other.reservation.containers) {
      for (const model::ReservedDevice& theirs :
           std::get<std::vector<model::ReservedDevice>>(container.assigned)) {
        for (std::size_t d = 0; d < own->size(); ++d) {
          const model::ReservedDevice& device = (*own)[d];
          const bool differs = device.index == theirs.index && device.uuid == theirs.uuid &&
                               model::is_sharing_mode(device.mode) &&
                               model::is_sharing_mode(theirs.mode) && device.mode != theirs.mode;
          if (!differs) continue;
          if (adapted == nullptr) adapted = std::make_shared<model::Holding>(request);
          std::get<std::vector<model::ReservedDevice>>(
              adapted->reservation.containers[c].assigned)[d]
              .mode = theirs.mode;
        }
      }
    }
  }
  return adapted;
}

bool same_place(const model::Reservation& a, const model::Reservation& b) {
  return a.node == b.node && a.containers == b.containers;
}

/// Solves the flow. Returns its edges, with `capacity` set to the number of pods on the edge;
/// nullopt: there is no solution. bin_capacity is the largest number of pods of any one class that
/// the node can take. A node whose GPUs differ can take more pods if they are of different classes,
/// so if there is no solution, a second attempt ignores bin_capacity.
std::optional<std::vector<FlowEdge>> flow_of(FlowProblem problem) {
  auto flow = min_cost_flow(problem);
  if (!flow) {
    int all = 0;
    for (const int pods : problem.pods) all += pods;
    problem.bin_capacity.assign(problem.bin_capacity.size(), all);
    flow = min_cost_flow(problem);
  }
  if (!flow) return std::nullopt;
  for (std::size_t i = 0; i < flow->size(); ++i) problem.edges[i].capacity = (*flow)[i];
  return std::move(problem.edges);
}

}  // namespace

/// The state of the cluster after the moves so far, and its state after all moves.
struct RepackTrials::ClusterStates {
  ClusterAfterMoves current;  // the cluster after the moves so far
  /// `current` with the request and without the departing pods that have not been moved yet.
  ClusterAfterMoves final_state;
  model::HoldingPtr request;  // the holding of the request in `final_state`
};

/// The search for new placements of the departing pods, given one placement of the request.
struct RepackTrials::Trial {
  const RepackCandidate& candidate;
  /// By pod class: the nodes that the flow assigned, one for each pod of the class.
  std::map<std::size_t, std::vector<Slot>> assigned_nodes;
  std::vector<bool> placed;  // which pods of candidate.departing have been placed
  /// The pods placed so far, in order: the position in candidate.departing and the new holding.
  std::vector<std::pair<std::size_t, model::HoldingPtr>> moves;
  int remaining_steps = base::kMaxRepackSteps;
  std::optional<RepackPlan> found = std::nullopt;
};

std::optional<RepackPlan> RepackTrials::run(const RepackCandidate& candidate) {
  ClusterAfterMoves cleared(cluster_);
  for (const MovablePod& movable : candidate.departing)
    cleared.remove_pod(movable.from, *movable.pod);
  for (const model::HoldingPtr& request : request_placements(candidate, cleared)) {
    Trial trial{.candidate = candidate,
                .assigned_nodes = {},
                .placed = std::vector<bool>(candidate.departing.size()),
                .moves = {}};
    ClusterStates states{ClusterAfterMoves(cluster_), cleared, request};
    states.final_state.add_pod(candidate.target, request);
    // One or two pods are tried even if the flow has no solution: the flow may count too few pods
    // for a node, because it ignores that an empty GPU can be shared in another mode.
    const bool possible = assign_nodes(trial, states.final_state);
    if (!possible && candidate.departing.size() > kMaxAnyOrder) continue;
    if (place_remaining(trial, states)) return std::move(trial.found);
  }
  return std::nullopt;
}

/// The placements of the request after all departing pods have left, the highest score first; at
/// most kMaxRequestPlacements.
std::vector<model::HoldingPtr> RepackTrials::request_placements(const RepackCandidate& candidate,
                                                                const ClusterAfterMoves& cleared) {
  const plan::IncomingPod& incoming = cluster_.incoming();
  const model::NodeStatePtr node =
      with_distinct_gpus_on(candidate, *cleared.state(candidate.target), nullptr);
  const fit::Tenant tenant =
      fit::tenant_of(incoming.name_space, incoming.sharing, cluster_.namespace_usage());
  const plan::NodeContext context{.namespace_usage = cluster_.namespace_usage(),
                                  .nominations = cluster_.nominations(candidate.target),
                                  .demand = cluster_.demand()};
  model::PlacementList options;
  const std::int64_t before = memo_.work();
  const plan::FoundPlacements found =
      plan::PlacementFinder(*node, {incoming, tenant, memo_}, context, options).find();
  cluster_.count_work(memo_.work() - before);
  std::vector<model::HoldingPtr> ways;
  if (found.reason != model::ReasonCode::kNone) return ways;
  for (const std::size_t option : by_score(*node, incoming, cluster_.demand(), options)) {
    if (ways.size() >= base::kMaxRequestPlacements) break;
    auto way = plan::to_holding(*node, incoming, options[option]);
    way->host = incoming.host;
    ways.push_back(std::move(way));
  }
  return ways;
}

/// Leaves out nodes with nominated pods, because their free GPUs are kept for those pods.
const std::vector<Slot>& RepackTrials::nodes_for(std::size_t kind) {
  const auto [known, is_new] = nodes_by_class_.try_emplace(kind);
  if (!is_new) return known->second;
  PodClass& mover = cluster_.pod_class(kind);
  const plan::IncomingPod incoming = cluster_.as_incoming(mover);
  const fit::Tenant tenant = cluster_.mover_tenant(incoming);  // no cap; place_on() checks it
  model::PlacementList options;
  std::vector<std::tuple<std::int64_t, std::size_t, Slot>> keyed;
  for (const Slot slot : cluster_.fullest_first()) {
    if (keyed.size() == base::kMaxRepackNodes) break;
    const model::NodeState& node = *cluster_.state(slot);
    if (cluster_.nominations(slot) != nullptr || !plan::node_resources_fit(node, mover.host))
      continue;
    if (cluster_.counted_fit(node, tenant, mover.fit_memo, options) != model::ReasonCode::kNone)
      continue;
    const plan::BestOption best = plan::best_option(node, incoming, cluster_.demand(), options);
    keyed.emplace_back(-best.score_class, cluster_.rank(slot), slot);
  }
  std::ranges::sort(keyed);
  for (const auto& [score, rank, slot] : keyed) known->second.push_back(slot);
  return known->second;
}

/// Counts how many pods of the class fit on the node together. Stops counting at `most`.
int RepackTrials::capacity_for(std::size_t kind, model::NodeStatePtr state, int most) {
  PodClass& mover = cluster_.pod_class(kind);
  const plan::IncomingPod incoming = cluster_.as_incoming(mover);
  const fit::Tenant tenant = cluster_.mover_tenant(incoming);
  model::PlacementList options;
  for (int n = 0; n < most; ++n) {
    if (cluster_.counted_fit(*state, tenant, mover.fit_memo, options) != model::ReasonCode::kNone)
      return n;
    if (n + 1 == most) break;
    std::vector<model::HoldingPtr> holdings = state->holdings;
    holdings.push_back(plan::to_holding(*state, incoming, options[0]));
    state = cluster_.counted_with_holdings(*state, std::move(holdings));
  }
  return most;
}

/// Sets trial.assigned_nodes from the flow. Returns false if the flow cannot assign all departing
/// pods to nodes. Prefers the nodes that the departing pods leave, because they satisfy the node
/// selectors of these pods, then nodes with higher scores.
bool RepackTrials::assign_nodes(Trial& trial, const ClusterAfterMoves& last) {
  constexpr std::int64_t kOtherNode = 1'000'000;
  std::map<std::size_t, int> kinds;
  for (const MovablePod& movable : trial.candidate.departing) ++kinds[movable.pod_class];
  const auto all = static_cast<int>(trial.placed.size());
  FlowProblem problem;
  std::map<Slot, std::size_t> bins;
  std::vector<Slot> slots;  // the node of each edge of the problem
  for (const auto& [kind, pods] : kinds) {
    std::vector<Slot> nodes;
    for (const auto& [slot, state] : last.changed()) nodes.push_back(slot);
    const std::size_t own = nodes.size();
    // At most one further node is needed for each departing pod.
    for (const Slot slot : nodes_for(kind)) {
      if (nodes.size() == own + trial.placed.size()) break;
      if (std::ranges::find(nodes, slot) == nodes.end()) nodes.push_back(slot);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool nominated = cluster_.nominations(nodes[i]) != nullptr;
      const int most = nominated ? 0 : capacity_for(kind, last.state(nodes[i]), all);
      if (most == 0) continue;
      const std::size_t bin = bins.try_emplace(nodes[i], bins.size()).first->second;
      problem.bin_capacity.resize(bins.size());
      problem.bin_capacity[bin] = std::max(problem.bin_capacity[bin], most);
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
    const auto kind = std::next(kinds.begin(), static_cast<std::ptrdiff_t>(edge.pod_class));
    const auto& slot = slots[static_cast<std::size_t>(&edge - flow->data())];
    std::vector<Slot>& given = trial.assigned_nodes[kind->first];
    given.insert(given.end(), static_cast<std::size_t>(edge.capacity), slot);
  }
  return true;
}

/// Places the departing pods that are not placed yet; returns whether it succeeded. Two pods are
/// tried in both orders. Three or more pods are tried in one order only, large pods first.
bool RepackTrials::place_remaining(Trial& trial, const ClusterStates& states) {
  if (trial.moves.size() == trial.placed.size()) return accept(trial, states.current);
  for (std::size_t mover = 0; mover < trial.placed.size(); ++mover) {
    if (trial.placed[mover]) continue;
    trial.placed[mover] = true;
    if (place(trial, mover, states)) return true;
    trial.placed[mover] = false;
    if (trial.placed.size() > kMaxAnyOrder) return false;
  }
  return false;
}

bool RepackTrials::place(Trial& trial, std::size_t number, const ClusterStates& states) {
  const MovablePod& movable = trial.candidate.departing[number];
  ClusterStates without = states;
  without.current.remove_pod(movable.from, *movable.pod);
  std::vector<Slot> nodes = trial.assigned_nodes[movable.pod_class];
  for (const auto& [slot, state] : without.final_state.changed()) nodes.push_back(slot);
  const std::vector<Slot>& others = nodes_for(movable.pod_class);
  nodes.insert(nodes.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto tried = nodes.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(nodes.begin(), tried, *tried) != tried) continue;
    if (cluster_.nominations(*tried) != nullptr) continue;
    if (place_on(trial, number, without, *tried)) return true;
    if (trial.remaining_steps <= 0) return false;
  }
  return false;
}

/// Places the departing pod at position `number` on the node so that the request can keep its
/// placement after all moves. Then places the remaining pods.
bool RepackTrials::place_on(Trial& trial, std::size_t number, const ClusterStates& states,
                            Slot slot) {
  const MovablePod& movable = trial.candidate.departing[number];
  PodClass& kind = cluster_.pod_class(movable.pod_class);
  --trial.remaining_steps;
  const model::NodeStatePtr node =
      with_distinct_gpus_on(trial.candidate, *states.current.state(slot), states.request.get());
  if (!plan::node_resources_fit(*node, kind.host)) return false;
  const plan::IncomingPod incoming = cluster_.as_incoming(kind);
  const fit::Tenant tenant =
      fit::tenant_of(incoming.name_space, incoming.sharing, states.current.namespace_usage());
  model::PlacementList options;
  if (cluster_.counted_fit(*node, tenant, kind.fit_memo, options) != model::ReasonCode::kNone)
    return false;
  std::vector<Slot>& given = trial.assigned_nodes[movable.pod_class];
  const auto used = std::ranges::find(given, slot);
  const bool as_given = used != given.end();
  if (as_given) given.erase(used);
  for (const std::size_t option : by_score(*node, incoming, cluster_.demand(), options)) {
    if (--trial.remaining_steps <= 0) break;
    const model::HoldingPtr moved =
        moved_to(*movable.pod, plan::to_holding(*node, incoming, options[option])->reservation);
    if (same_place(moved->reservation, movable.pod->reservation)) continue;
    ClusterStates next = states;
    next.final_state.add_pod(slot, moved);
    if (const model::HoldingPtr adapted = adopting_modes_of(*next.request, *moved)) {
      next.final_state.remove_pod(slot, *next.request);
      next.final_state.add_pod(slot, adapted);
      next.request = adapted;
    }
    if (!closes_nothing_on(next.final_state, slot)) continue;
    next.current.add_pod(slot, moved);
    trial.moves.push_back({number, moved});
    if (place_remaining(trial, next)) return true;
    trial.moves.pop_back();
  }
  if (as_given)
    trial.assigned_nodes[movable.pod_class].insert(trial.assigned_nodes[movable.pod_class].begin(),
                                                   slot);
  return false;
}

/// Returns a copy of the node in which fit() treats the GPUs of departing pods and of the request
/// as different from all other GPUs, because they will differ after the moves.
model::NodeStatePtr RepackTrials::with_distinct_gpus_on(const RepackCandidate& candidate,
                                                        const model::NodeState& node,
                                                        const model::Holding* request) {
  plan::GpuMarks marks;
  for (const MovablePod& movable : candidate.departing) {
    if (movable.pod->reservation.node == node.name()) plan::mark_gpus(node, *movable.pod, marks);
  }
  if (request != nullptr && request->reservation.node == node.name()) {
    plan::mark_gpus(node, *request, marks);
  }
  return plan::with_distinct_gpus(node, marks);
}

/// Called when all departing pods are placed. If the request fits on its node and no GPU closes,
/// sets trial.found and returns true.
bool RepackTrials::accept(Trial& trial, const ClusterAfterMoves& now) {
  const Slot target = trial.candidate.target;
  const plan::IncomingPod& incoming = cluster_.incoming();
  const model::NodeState& node = *now.state(target);
  if (!plan::node_resources_fit(node, incoming.host)) return false;
  const std::int64_t before = memo_.work();
  const plan::NodeChoice choice =
      plan::choose_placement_with(memo_, node, incoming,
                                  {.namespace_usage = now.namespace_usage(),
                                   .nominations = cluster_.nominations(target),
                                   .demand = cluster_.demand()});
  cluster_.count_work(memo_.work() - before);
  if (choice.reason != model::ReasonCode::kNone) return false;
  const auto request = plan::to_holding(node, incoming, choice.placement);
  ClusterAfterMoves after = now;
  after.add_pod(target, request);
  const bool sound = std::ranges::all_of(after.changed(), [&](const auto& changed) {
    return closes_nothing_on(after, changed.first);
  });
  if (!sound) return false;
  RepackPlan& found = trial.found.emplace();
  found.reservation = request->reservation;
  for (const auto& [mover, moved] : trial.moves) {
    found.moves.push_back({trial.candidate.departing[mover].pod, moved->reservation});
  }
  return true;
}

/// Whether the moves close no GPU of the node and cause no NodeConflict.
bool RepackTrials::closes_nothing_on(const ClusterAfterMoves& after, Slot slot) const {
  const model::NodeState& before = *cluster_.state(slot);
  const model::NodeState& node = *after.state(slot);
  for (std::size_t gpu = 0; gpu < node.inventory->gpus.size(); ++gpu) {
    const model::GpuClosure closure = node.gpus[gpu].closure;
    if (closure != model::GpuClosure::kOpen && closure != before.gpus[gpu].closure) return false;
  }
  return node.conflict == model::NodeConflict::kNone || node.conflict == before.conflict;
}

}  // namespace snug::advice

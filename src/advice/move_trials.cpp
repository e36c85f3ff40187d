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
  auto moved_pod = std::make_shared<model::Holding>(pod);
  moved_pod->reservation = std::move(reservation);
  moved_pod->reservation.uid = pod.uid;
  return moved_pod;
}

/// Returns a copy of `request` whose sharing modes match those of `moved_pod`: where both have a
/// share of the same GPU, the copy has the mode of `moved_pod`, because the request is placed last
/// and the GPU then already has that mode. Containers that request a mode are unchanged. Returns
/// null if no mode changes.
model::HoldingPtr adopting_modes_of(const model::Holding& request,
                                    const model::Holding& moved_pod) {
  if (request.reservation.node != moved_pod.reservation.node) return nullptr;
  std::shared_ptr<model::Holding> adapted;
  for (std::size_t c = 0; c < request.reservation.containers.size(); ++c) {
    const std::span<const model::ReservedDevice> own = request.reservation.containers[c].devices();
    const std::optional<model::ContainerRequest>& container_request = request.container_requests[c];
    if (!container_request || container_request->isolation != model::Isolation::kAny) continue;
    for (const model::ReservedContainer& container : moved_pod.reservation.containers) {
      for (const model::ReservedDevice& moved_device : container.devices()) {
        for (std::size_t d = 0; d < own.size(); ++d) {
          const model::ReservedDevice& device = own[d];
          const bool differs =
              device.index == moved_device.index && device.uuid == moved_device.uuid &&
              model::is_sharing_mode(device.mode) && model::is_sharing_mode(moved_device.mode) &&
              device.mode != moved_device.mode;
          if (!differs) continue;
          if (adapted == nullptr) adapted = std::make_shared<model::Holding>(request);
          std::get<std::vector<model::ReservedDevice>>(
              adapted->reservation.containers[c].assigned)[d]
              .mode = moved_device.mode;
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
  std::optional<RepackPlan> solution = std::nullopt;
};

std::optional<RepackPlan> RepackTrials::run(const RepackCandidate& candidate) {
  ClusterAfterMoves after_departures(cluster_);
  for (const MovablePod& movable : candidate.departing)
    after_departures.remove_pod(movable.from, *movable.pod);
  for (const model::HoldingPtr& request : request_placements(candidate, after_departures)) {
    Trial trial{.candidate = candidate,
                .assigned_nodes = {},
                .placed = std::vector<bool>(candidate.departing.size()),
                .moves = {}};
    ClusterStates states{ClusterAfterMoves(cluster_), after_departures, request};
    states.final_state.add_pod(candidate.target, request);
    // One or two pods are tried even if the flow has no solution: the flow may count too few pods
    // for a node, because it ignores that an empty GPU can be shared in another mode.
    const bool possible = assign_nodes(trial, states.final_state);
    if (!possible && candidate.departing.size() > kMaxAnyOrder) continue;
    if (place_remaining(trial, states)) return std::move(trial.solution);
  }
  return std::nullopt;
}

/// The placements of the request after all departing pods have left, the highest score first; at
/// most kMaxRequestPlacements.
std::vector<model::HoldingPtr> RepackTrials::request_placements(
    const RepackCandidate& candidate, const ClusterAfterMoves& after_departures) {
  const plan::IncomingPod& incoming = cluster_.incoming();
  const model::NodeStatePtr node =
      with_distinct_gpus_on(candidate, *after_departures.state(candidate.target), nullptr);
  const fit::Tenant tenant =
      fit::tenant_of(incoming.name_space, incoming.sharing, cluster_.namespace_usage());
  const plan::NodeContext context{.namespace_usage = cluster_.namespace_usage(),
                                  .nominations = cluster_.nominations(candidate.target),
                                  .demand = cluster_.demand()};
  model::PlacementList options;
  const std::int64_t before = memo_.work();
  const plan::FoundPlacements found_placements =
      plan::PlacementFinder(*node, {incoming, tenant, memo_}, context, options).find();
  cluster_.count_work(memo_.work() - before);
  std::vector<model::HoldingPtr> request_holdings;
  if (found_placements.reason != model::ReasonCode::kNone) return request_holdings;
  for (const std::size_t option : by_score(*node, incoming, cluster_.demand(), options)) {
    if (request_holdings.size() >= base::kMaxRequestPlacements) break;
    auto request_holding = plan::to_holding(*node, incoming, options[option]);
    request_holding->host = incoming.host;
    request_holdings.push_back(std::move(request_holding));
  }
  return request_holdings;
}

/// Leaves out nodes with nominated pods, because their free GPUs are kept for those pods.
const std::vector<Slot>& RepackTrials::nodes_for(std::size_t class_number) {
  const auto [class_nodes, is_new] = nodes_by_class_.try_emplace(class_number);
  if (!is_new) return class_nodes->second;
  PodClass& mover_class = cluster_.pod_class(class_number);
  const plan::IncomingPod incoming = cluster_.as_incoming(mover_class);
  const fit::Tenant tenant = cluster_.mover_tenant(incoming);  // no cap; place_on() checks it
  model::PlacementList options;
  std::vector<std::tuple<std::int64_t, std::size_t, Slot>> keyed;
  for (const Slot slot : cluster_.fullest_first()) {
    if (keyed.size() == base::kMaxRepackNodes) break;
    const model::NodeState& node = *cluster_.state(slot);
    if (cluster_.nominations(slot) != nullptr || !plan::node_resources_fit(node, mover_class.host))
      continue;
    if (cluster_.counted_fit(node, tenant, mover_class.fit_memo, options) !=
        model::ReasonCode::kNone)
      continue;
    const plan::BestOption best = plan::best_option(node, incoming, cluster_.demand(), options);
    keyed.emplace_back(-best.score_class, cluster_.rank(slot), slot);
  }
  std::ranges::sort(keyed);
  for (const auto& [score, rank, slot] : keyed) class_nodes->second.push_back(slot);
  return class_nodes->second;
}

/// Counts how many pods of the class fit on the node together. Stops counting at `max_pods`.
int RepackTrials::capacity_for(std::size_t class_number, model::NodeStatePtr state, int max_pods) {
  PodClass& mover_class = cluster_.pod_class(class_number);
  const plan::IncomingPod incoming = cluster_.as_incoming(mover_class);
  const fit::Tenant tenant = cluster_.mover_tenant(incoming);
  model::PlacementList options;
  for (int n = 0; n < max_pods; ++n) {
    if (cluster_.counted_fit(*state, tenant, mover_class.fit_memo, options) !=
        model::ReasonCode::kNone)
      return n;
    if (n + 1 == max_pods) break;
    std::vector<model::HoldingPtr> holdings = state->holdings;
    holdings.push_back(plan::to_holding(*state, incoming, options[0]));
    state = cluster_.counted_with_holdings(*state, std::move(holdings));
  }
  return max_pods;
}

/// Sets trial.assigned_nodes from the flow. Returns false if the flow cannot assign all departing
/// pods to nodes. Prefers the nodes that the departing pods leave, because they satisfy the node
/// selectors of these pods, then nodes with higher scores.
bool RepackTrials::assign_nodes(Trial& trial, const ClusterAfterMoves& last) {
  constexpr std::int64_t kOtherNode = 1'000'000;
  std::map<std::size_t, int> pods_by_class;
  for (const MovablePod& movable : trial.candidate.departing) ++pods_by_class[movable.pod_class];
  const auto departing_count = static_cast<int>(trial.placed.size());
  FlowProblem problem;
  std::map<Slot, std::size_t> bins;
  std::vector<Slot> slots;  // the node of each edge of the problem
  for (const auto& [class_number, pods] : pods_by_class) {
    std::vector<Slot> nodes;
    for (const auto& [slot, state] : last.changed()) nodes.push_back(slot);
    const std::size_t changed_count = nodes.size();
    // At most one further node is needed for each departing pod.
    for (const Slot slot : nodes_for(class_number)) {
      if (nodes.size() == changed_count + trial.placed.size()) break;
      if (std::ranges::find(nodes, slot) == nodes.end()) nodes.push_back(slot);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool nominated = cluster_.nominations(nodes[i]) != nullptr;
      const int most =
          nominated ? 0 : capacity_for(class_number, last.state(nodes[i]), departing_count);
      if (most == 0) continue;
      const std::size_t bin = bins.try_emplace(nodes[i], bins.size()).first->second;
      problem.bin_capacity.resize(bins.size());
      problem.bin_capacity[bin] = std::max(problem.bin_capacity[bin], most);
      const std::int64_t cost = (i < changed_count ? 0 : kOtherNode) + static_cast<std::int64_t>(i);
      problem.edges.push_back({problem.pods.size(), bin, most, cost});
      slots.push_back(nodes[i]);
    }
    problem.pods.push_back(pods);
  }
  cluster_.count_work(static_cast<std::int64_t>(problem.edges.size()));
  const auto flow = flow_of(std::move(problem));
  if (!flow) return false;
  for (const FlowEdge& edge : *flow) {
    const auto flow_class =
        std::next(pods_by_class.begin(), static_cast<std::ptrdiff_t>(edge.pod_class));
    const auto& slot = slots[static_cast<std::size_t>(&edge - flow->data())];
    std::vector<Slot>& class_nodes = trial.assigned_nodes[flow_class->first];
    class_nodes.insert(class_nodes.end(), static_cast<std::size_t>(edge.capacity), slot);
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

bool RepackTrials::place(Trial& trial, std::size_t mover, const ClusterStates& states) {
  const MovablePod& movable = trial.candidate.departing[mover];
  ClusterStates states_without = states;
  states_without.current.remove_pod(movable.from, *movable.pod);
  std::vector<Slot> nodes = trial.assigned_nodes[movable.pod_class];
  for (const auto& [slot, state] : states_without.final_state.changed()) nodes.push_back(slot);
  const std::vector<Slot>& others = nodes_for(movable.pod_class);
  nodes.insert(nodes.end(), others.begin(), others.end());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto tried = nodes.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(nodes.begin(), tried, *tried) != tried) continue;
    if (cluster_.nominations(*tried) != nullptr) continue;
    if (place_on(trial, mover, states_without, *tried)) return true;
    if (trial.remaining_steps <= 0) return false;
  }
  return false;
}

/// Places the departing pod at position `mover` on the node so that the request can keep its
/// placement after all moves. Then places the remaining pods.
bool RepackTrials::place_on(Trial& trial, std::size_t mover, const ClusterStates& states,
                            Slot slot) {
  const MovablePod& movable = trial.candidate.departing[mover];
  PodClass& mover_class = cluster_.pod_class(movable.pod_class);
  --trial.remaining_steps;
  const model::NodeStatePtr node =
      with_distinct_gpus_on(trial.candidate, *states.current.state(slot), states.request.get());
  if (!plan::node_resources_fit(*node, mover_class.host)) return false;
  const plan::IncomingPod incoming = cluster_.as_incoming(mover_class);
  const fit::Tenant tenant =
      fit::tenant_of(incoming.name_space, incoming.sharing, states.current.namespace_usage());
  model::PlacementList options;
  if (cluster_.counted_fit(*node, tenant, mover_class.fit_memo, options) !=
      model::ReasonCode::kNone)
    return false;
  std::vector<Slot>& class_nodes = trial.assigned_nodes[movable.pod_class];
  const auto used = std::ranges::find(class_nodes, slot);
  const bool as_assigned = used != class_nodes.end();
  if (as_assigned) class_nodes.erase(used);
  for (const std::size_t option : by_score(*node, incoming, cluster_.demand(), options)) {
    if (--trial.remaining_steps <= 0) break;
    const model::HoldingPtr moved_pod =
        moved_to(*movable.pod, plan::to_holding(*node, incoming, options[option])->reservation);
    if (same_place(moved_pod->reservation, movable.pod->reservation)) continue;
    ClusterStates next_states = states;
    next_states.final_state.add_pod(slot, moved_pod);
    if (const model::HoldingPtr adapted = adopting_modes_of(*next_states.request, *moved_pod)) {
      next_states.final_state.remove_pod(slot, *next_states.request);
      next_states.final_state.add_pod(slot, adapted);
      next_states.request = adapted;
    }
    if (!closes_nothing_on(next_states.final_state, slot)) continue;
    next_states.current.add_pod(slot, moved_pod);
    trial.moves.push_back({mover, moved_pod});
    if (place_remaining(trial, next_states)) return true;
    trial.moves.pop_back();
  }
  if (as_assigned)
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
/// sets trial.solution and returns true.
bool RepackTrials::accept(Trial& trial, const ClusterAfterMoves& after_moves) {
  const Slot target = trial.candidate.target;
  const plan::IncomingPod& incoming = cluster_.incoming();
  const model::NodeState& node = *after_moves.state(target);
  if (!plan::node_resources_fit(node, incoming.host)) return false;
  const std::int64_t before = memo_.work();
  const plan::NodeChoice choice =
      plan::choose_placement_with(memo_, node, incoming,
                                  {.namespace_usage = after_moves.namespace_usage(),
                                   .nominations = cluster_.nominations(target),
                                   .demand = cluster_.demand()});
  cluster_.count_work(memo_.work() - before);
  if (choice.reason != model::ReasonCode::kNone) return false;
  const auto request = plan::to_holding(node, incoming, choice.placement);
  ClusterAfterMoves with_request = after_moves;
  with_request.add_pod(target, request);
  const bool closes_nothing = std::ranges::all_of(with_request.changed(), [&](const auto& changed) {
    return closes_nothing_on(with_request, changed.first);
  });
  if (!closes_nothing) return false;
  RepackPlan& solution = trial.solution.emplace();
  solution.reservation = request->reservation;
  for (const auto& [mover, moved] : trial.moves) {
    solution.moves.push_back({trial.candidate.departing[mover].pod, moved->reservation});
  }
  return true;
}

/// Whether the moves close no GPU of the node and cause no NodeConflict.
bool RepackTrials::closes_nothing_on(const ClusterAfterMoves& after_moves, Slot slot) const {
  const model::NodeState& before = *cluster_.state(slot);
  const model::NodeState& node = *after_moves.state(slot);
  for (std::size_t gpu = 0; gpu < node.inventory->gpus.size(); ++gpu) {
    const model::GpuClosure closure = node.gpus[gpu].closure;
    if (closure != model::GpuClosure::kOpen && closure != before.gpus[gpu].closure) return false;
  }
  return node.conflict == model::NodeConflict::kNone || node.conflict == before.conflict;
}

}  // namespace snug::advice

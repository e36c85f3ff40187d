#include "advice/cluster_states.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "snug/fit/node_usage.hpp"
#include "snug/fit/tenant.hpp"

namespace snug::advice {
namespace {

/// Rebuilds the pod's request from its reservation and the parsed requests of its containers.
model::GpuRequest request_of(const model::Holding& pod) {
  model::GpuRequest request;
  request.main_container = pod.main_container;
  for (std::size_t c = 0; c < pod.container_requests.size(); ++c) {
    const std::optional<model::ContainerRequest>& parsed_request = pod.container_requests[c];
    if (!parsed_request) continue;  // unreachable: is_movable() requires every container's request
    model::ContainerRequest& container_request = request.containers.emplace_back(*parsed_request);
    container_request.container = pod.reservation.containers[c].name;
    container_request.type = pod.container_type(c);
  }
  return request;
}

std::string class_key(const model::Holding& pod) {
  std::string key = pod.name_space + '\n' + std::to_string(pod.host.cpu_milli) + ' ' +
                    std::to_string(pod.host.memory_bytes);
  for (std::size_t c = 0; c < pod.reservation.containers.size(); ++c) {
    const std::optional<model::ContainerRequest>& parsed_request = pod.container_requests[c];
    if (!parsed_request) continue;
    key += '\n' + pod.reservation.containers[c].name + ' ' +
           std::to_string(static_cast<int>(pod.container_type(c))) + ' ' + parsed_request->text;
  }
  return key;
}

}  // namespace

PodClass::PodClass(const model::Holding& pod, model::GpuRequest pod_request)
    : name_space(pod.name_space),
      rank(pod.rank),
      request(std::move(pod_request)),
      host(pod.host),
      fit_memo(request) {}

RepackCluster::RepackCluster(const RepackInput& input) : input_(input) {
  const model::NodeTable& nodes = input.snapshot.nodes;
  states_.resize(nodes.size());
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    states_[slot] = nodes[slot];
    if (states_[slot] != nullptr) by_name_.push_back(static_cast<Slot>(slot));
  }
  for (const auto& [slot, intents] : input.snapshot.intents) {
    if (states_[slot] == nullptr) continue;
    std::vector<model::HoldingPtr> holdings = states_[slot]->holdings;
    for (const model::HoldingPtr& intent : intents) {
      if (intent->uid != input.incoming.rank.uid) holdings.push_back(intent);
    }
    states_[slot] = counted_with_holdings(*states_[slot], std::move(holdings));
  }
  std::ranges::sort(by_name_, {},
                    [&](Slot slot) -> std::string_view { return states_[slot]->name(); });
  ranks_.resize(nodes.size());
  for (std::size_t i = 0; i < by_name_.size(); ++i) ranks_[by_name_[i]] = i;
  fullest_first_ = by_name_;
  std::ranges::sort(fullest_first_, [&](Slot a, Slot b) {
    const std::int64_t left_a = states_[a]->free_milli;
    const std::int64_t left_b = states_[b]->free_milli;
    if (left_a != left_b) return left_a < left_b;
    return ranks_[a] > ranks_[b];  // so that a reverse traversal visits lower names first
  });
}

bool RepackCluster::is_movable(const model::Holding& pod) const {
  const bool tied = pod.terminating || pod.has_other_constraints || pod.suspect || pod.unplaced ||
                    !pod.reservation_written || pod.uid == input_.incoming.rank.uid ||
                    std::ranges::binary_search(input_.protected_uids, pod.uid);
  const std::vector<model::ReservedContainer>& containers = pod.reservation.containers;
  if (tied || containers.empty() || pod.container_requests.size() != containers.size())
    return false;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (!pod.container_requests[c] ||
        std::holds_alternative<model::KubeletUnits>(containers[c].assigned))
      return false;
  }
  return true;
}

std::size_t RepackCluster::class_of(const model::Holding& pod) {
  const auto [known_class, is_new] = class_by_key_.try_emplace(class_key(pod), classes_.size());
  if (is_new) classes_.push_back(std::make_unique<PodClass>(pod, request_of(pod)));
  return known_class->second;
}

std::vector<MovablePod> RepackCluster::movable_pods(Slot slot) {
  const model::NodeState& node = *states_[slot];
  std::vector<MovablePod> movers;
  // The intents that the constructor has appended to the node's holdings cannot be moved.
  const std::size_t bound = input_.snapshot.nodes[slot]->holdings.size();
  for (std::size_t i = 0; i < bound; ++i) {
    const model::HoldingPtr& pod = node.holdings[i];
    if (!is_movable(*pod)) continue;
    movers.push_back({.from = slot,
                      .pod = pod,
                      .pod_class = class_of(*pod),
                      .held_milli = fit::held_compute(*pod, node.inventory.get()).value});
  }
  std::ranges::sort(movers, [](const MovablePod& a, const MovablePod& b) {
    return a.held_milli != b.held_milli ? a.held_milli > b.held_milli : a.pod->uid < b.pod->uid;
  });
  return movers;
}

plan::IncomingPod RepackCluster::as_incoming(const PodClass& mover_class) const {
  return {.name_space = mover_class.name_space,
          .rank = mover_class.rank,
          .request = mover_class.request,
          .host = mover_class.host,
          .profiles = input_.incoming.profiles,
          .sharing = input_.incoming.sharing};
}

fit::Tenant RepackCluster::mover_tenant(const plan::IncomingPod& mover) const {
  fit::Tenant tenant = fit::tenant_of(mover.name_space, mover.sharing, namespace_usage());
  tenant.cap_remaining = fit::kNoCap;
  return tenant;
}

model::ReasonCode RepackCluster::counted_fit(const model::NodeState& node,
                                             const fit::Tenant& tenant, fit::FitMemo& memo,
                                             model::PlacementList& options) {
  const std::int64_t before = memo.work();
  const model::ReasonCode reason = fit::fit(node, tenant, memo, options);
  repack_work_ += memo.work() - before;
  return reason;
}

model::NodeStatePtr RepackCluster::counted_with_holdings(const model::NodeState& node,
                                                         std::vector<model::HoldingPtr> holdings) {
  constexpr std::int64_t kHoldingsOfWork = 4;
  repack_work_ += 1 + static_cast<std::int64_t>(holdings.size()) / kHoldingsOfWork;
  return fit::with_holdings(node, std::move(holdings));
}

const model::NodeStatePtr& ClusterAfterMoves::state(Slot slot) const {
  const auto changed_node =
      std::ranges::find(changed_, slot, &std::pair<Slot, model::NodeStatePtr>::first);
  return changed_node == changed_.end() ? cluster_->state(slot) : changed_node->second;
}

void ClusterAfterMoves::remove_pod(Slot slot, const model::Holding& pod) {
  const model::NodeState& node = *state(slot);
  namespace_usage_.add(pod.name_space, -fit::held_compute(pod, node.inventory.get()));
  std::vector<model::HoldingPtr> holdings = node.holdings;
  std::erase_if(holdings, [&](const model::HoldingPtr& other) { return other->uid == pod.uid; });
  set_holdings(slot, std::move(holdings));
}

void ClusterAfterMoves::add_pod(Slot slot, const model::HoldingPtr& pod) {
  const model::NodeState& node = *state(slot);
  namespace_usage_.add(pod->name_space, fit::held_compute(*pod, node.inventory.get()));
  std::vector<model::HoldingPtr> holdings = node.holdings;
  holdings.push_back(pod);
  set_holdings(slot, std::move(holdings));
}

void ClusterAfterMoves::set_holdings(Slot slot, std::vector<model::HoldingPtr> holdings) {
  model::NodeStatePtr next = cluster_->counted_with_holdings(*state(slot), std::move(holdings));
  const auto changed_node =
      std::ranges::find(changed_, slot, &std::pair<Slot, model::NodeStatePtr>::first);
  if (changed_node == changed_.end()) {
    changed_.emplace_back(slot, std::move(next));
  } else {
    changed_node->second = std::move(next);
  }
}

}  // namespace snug::advice

#include "advice/cluster.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "snug/fit/tenant.hpp"
#include "snug/fit/usage.hpp"

namespace snug {
namespace {

/// Rebuilds the pod's request from its reservation and the parsed requests of its containers.
GpuRequest request_of(const Holding& pod) {
  GpuRequest request;
  request.main_container = pod.main_container;
  for (std::size_t c = 0; c < pod.asks.size(); ++c) {
    const std::optional<ContainerRequest>& ask = pod.asks[c];
    if (!ask) continue;  // unreachable: may_move() requires all of them
    ContainerRequest& asked = request.containers.emplace_back(*ask);
    asked.container = pod.reservation.containers[c].name;
    asked.kind = pod.kind_of(c);
  }
  return request;
}

std::string text_of(const Holding& pod) {
  std::string text = pod.name_space + '\n' + std::to_string(pod.host.cpu_milli) + ' ' +
                     std::to_string(pod.host.memory_bytes);
  for (std::size_t c = 0; c < pod.reservation.containers.size(); ++c) {
    const std::optional<ContainerRequest>& ask = pod.asks[c];
    if (!ask) continue;
    text += '\n' + pod.reservation.containers[c].name + ' ' +
            std::to_string(static_cast<int>(pod.kind_of(c))) + ' ' + ask->text;
  }
  return text;
}

}  // namespace

MoverKind::MoverKind(const Holding& pod, GpuRequest asked)
    : name_space(pod.name_space),
      rank(pod.rank),
      request(std::move(asked)),
      host(pod.host),
      memo(request) {}

RepackCluster::RepackCluster(const RepackInput& input) : input_(input) {
  const NodeTable& nodes = input.snapshot.nodes;
  states_.resize(nodes.size());
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
    states_[slot] = nodes[slot];
    if (states_[slot] != nullptr) by_name_.push_back(static_cast<Slot>(slot));
  }
  for (const auto& [slot, intents] : input.snapshot.intents) {
    if (states_[slot] == nullptr) continue;
    std::vector<HoldingPtr> holdings = states_[slot]->holdings;
    for (const HoldingPtr& intent : intents) {
      if (intent->uid != input.claim.rank.uid) holdings.push_back(intent);
    }
    states_[slot] = with_holdings_on(*states_[slot], std::move(holdings));
  }
  std::ranges::sort(by_name_, {},
                    [&](Slot slot) -> std::string_view { return states_[slot]->name(); });
  ranks_.resize(nodes.size());
  for (std::size_t i = 0; i < by_name_.size(); ++i) ranks_[by_name_[i]] = i;
  fullest_first_ = by_name_;
  std::ranges::sort(fullest_first_, [&](Slot a, Slot b) {
    const std::int64_t left_a = states_[a]->left;
    const std::int64_t left_b = states_[b]->left;
    if (left_a != left_b) return left_a < left_b;
    return ranks_[a] > ranks_[b];  // in reverse order, lower names come first
  });
}

const Nominations* RepackCluster::nominations(Slot slot) const {
  const auto found = input_.snapshot.nominations.find(slot);
  return found == input_.snapshot.nominations.end() ? nullptr : &found->second;
}

bool RepackCluster::may_move(const Holding& pod) const {
  const bool tied = pod.terminating || pod.other_constraints || pod.suspect || pod.unplaced ||
                    !pod.written || pod.uid == input_.claim.rank.uid ||
                    std::ranges::binary_search(input_.spared, pod.uid);
  const std::vector<ReservedContainer>& containers = pod.reservation.containers;
  if (tied || containers.empty() || pod.asks.size() != containers.size()) return false;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (!pod.asks[c] || std::holds_alternative<KubeletUnits>(containers[c].given)) return false;
  }
  return true;
}

std::size_t RepackCluster::kind_of(const Holding& pod) {
  const auto [found, is_new] = kinds_by_text_.try_emplace(text_of(pod), kinds_.size());
  if (is_new) kinds_.push_back(std::make_unique<MoverKind>(pod, request_of(pod)));
  return found->second;
}

std::vector<Mover> RepackCluster::movers(Slot slot) {
  const NodeState& node = *states_[slot];
  std::vector<Mover> movers;
  // The constructor has appended intents to the node's holdings; those are not pods to move.
  const std::size_t bound = input_.snapshot.nodes[slot]->holdings.size();
  for (std::size_t i = 0; i < bound; ++i) {
    const HoldingPtr& pod = node.holdings[i];
    if (!may_move(*pod)) continue;
    movers.push_back({.from = slot,
                      .pod = pod,
                      .kind = kind_of(*pod),
                      .milli = compute_held(*pod, node.inventory.get()).value});
  }
  std::ranges::sort(movers, [](const Mover& a, const Mover& b) {
    return a.milli != b.milli ? a.milli > b.milli : a.pod->uid < b.pod->uid;
  });
  return movers;
}

Claim RepackCluster::claim_of(const MoverKind& kind) const {
  return {.name_space = kind.name_space,
          .rank = kind.rank,
          .request = kind.request,
          .host = kind.host,
          .profiles = input_.claim.profiles,
          .sharing = input_.claim.sharing};
}

ReasonCode RepackCluster::fit_on(const NodeState& node, const Tenant& tenant, FitMemo& memo,
                                 PlacementList& options) {
  const std::int64_t before = memo.work();
  const ReasonCode reason = fit(node, tenant, memo, options);
  work_ += memo.work() - before;
  return reason;
}

NodeStatePtr RepackCluster::with_holdings_on(const NodeState& node,
                                             std::vector<HoldingPtr> holdings) {
  constexpr std::int64_t kHoldingsOfWork = 4;
  work_ += 1 + static_cast<std::int64_t>(holdings.size()) / kHoldingsOfWork;
  return with_holdings(node, std::move(holdings));
}

const NodeStatePtr& AfterMoves::state(Slot slot) const {
  const auto found = std::ranges::find(changed_, slot, &std::pair<Slot, NodeStatePtr>::first);
  return found == changed_.end() ? cluster_->state(slot) : found->second;
}

void AfterMoves::remove_pod(Slot slot, const Holding& pod) {
  const NodeState& node = *state(slot);
  held_.add(pod.name_space, -compute_held(pod, node.inventory.get()));
  std::vector<HoldingPtr> holdings = node.holdings;
  std::erase_if(holdings, [&](const HoldingPtr& other) { return other->uid == pod.uid; });
  put(slot, std::move(holdings));
}

void AfterMoves::add_pod(Slot slot, const HoldingPtr& pod) {
  const NodeState& node = *state(slot);
  held_.add(pod->name_space, compute_held(*pod, node.inventory.get()));
  std::vector<HoldingPtr> holdings = node.holdings;
  holdings.push_back(pod);
  put(slot, std::move(holdings));
}

void AfterMoves::put(Slot slot, std::vector<HoldingPtr> holdings) {
  NodeStatePtr next = cluster_->with_holdings_on(*state(slot), std::move(holdings));
  const auto found = std::ranges::find(changed_, slot, &std::pair<Slot, NodeStatePtr>::first);
  if (found == changed_.end()) {
    changed_.emplace_back(slot, std::move(next));
  } else {
    found->second = std::move(next);
  }
}

}  // namespace snug

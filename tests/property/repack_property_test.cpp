// Advice on repacking against all ways to move one or two pods, on tiny clusters; and what holds of
// every advice, on larger ones.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "support/repack_scenario.hpp"

namespace snug::repack_property_test {
namespace {

/// A cluster whose pods are moved one after another, by the rules alone.
class Board {
 public:
  explicit Board(const RepackScenario& on) : on_(on), claim_(on.incoming) {
    for (const model::NodeInventory& inventory : on.inventories) {
      inventories_.push_back(std::make_shared<const model::NodeInventory>(inventory));
      pods_.emplace_back();
      for (const model::HoldingPtr& pod : on.holdings) {
        if (pod->reservation.node == inventory.name) pods_.back().push_back(pod);
      }
    }
  }

  [[nodiscard]] std::size_t nodes() const { return pods_.size(); }
  [[nodiscard]] const std::vector<model::HoldingPtr>& pods(std::size_t node) const {
    return pods_[node];
  }
  [[nodiscard]] model::NodeStatePtr state(std::size_t node) const {
    return fit::build_node_state(inventories_[node], pods_[node]);
  }
  [[nodiscard]] std::size_t node_named(std::string_view name) const {
    for (std::size_t n = 0; n < nodes(); ++n) {
      if (inventories_[n]->name == name) return n;
    }
    throw std::invalid_argument("no such node");
  }
  [[nodiscard]] fit::Tenant tenant(std::string_view name_space) const {
    model::NamespaceUsage held;
    for (std::size_t n = 0; n < nodes(); ++n) {
      for (const model::HoldingPtr& pod : pods_[n]) {
        held.add(pod->name_space, fit::held_compute(*pod, inventories_[n].get()));
      }
    }
    return fit::tenant_of(name_space, on_.incoming.sharing, held);
  }
  [[nodiscard]] bool host_fits(std::size_t node, const model::HostResources& asked) const {
    const model::HostAllocatable& host = inventories_[node]->host;
    if (!host.known) return true;
    std::int64_t cpu = 0;
    for (const model::HoldingPtr& pod : pods_[node]) cpu += pod->host.cpu_milli;
    return asked.cpu_milli == 0 || cpu + asked.cpu_milli <= host.resources.cpu_milli;
  }
  [[nodiscard]] bool request_fits_on(std::size_t node) const {
    return host_fits(node, claim_.host) &&
           fit_all(*state(node), claim_.request, tenant(claim_.name_space)).reason ==
               model::ReasonCode::kNone;
  }
  [[nodiscard]] bool request_fits() const {
    for (std::size_t n = 0; n < nodes(); ++n) {
      if (request_fits_on(n)) return true;
    }
    return false;
  }

  [[nodiscard]] bool movable(const model::Holding& pod) const {
    return !pod.terminating && !pod.has_other_constraints &&
           pod.container_requests.front().has_value() &&
           !std::holds_alternative<model::KubeletRequest>(pod.container_requests.front()->device);
  }
  [[nodiscard]] static model::GpuRequest request_of(const model::Holding& pod) {
    model::GpuRequest request;
    request.containers.push_back(*pod.container_requests.front());
    request.containers.front().container = "main";
    return request;
  }
  void take(std::size_t node, const model::Holding& pod) {
    std::erase_if(pods_[node],
                  [&](const model::HoldingPtr& other) { return other->uid == pod.uid; });
  }
  void give(std::size_t node, model::HoldingPtr pod) { pods_[node].push_back(std::move(pod)); }
  /// What the pod, which is on no node, could be on this one.
  [[nodiscard]] std::vector<model::HoldingPtr> ways(std::size_t node,
                                                    const model::Holding& pod) const {
    std::vector<model::HoldingPtr> ways;
    if (!host_fits(node, pod.host)) return ways;
    const model::GpuRequest request = request_of(pod);
    // GPUs that are alike now are not once some pod has left one of them.
    model::NodeState told = *state(node);
    for (std::size_t gpu = 0; gpu < told.gpus.size(); ++gpu) {
      told.gpus[gpu].distinct_id = static_cast<std::uint16_t>(gpu + 1);
    }
    for (const model::Placement& placement :
         fit_all(told, request, tenant(pod.name_space)).options) {
      auto moved = std::make_shared<model::Holding>(pod);
      moved->reservation = reservation_for(told, request, placement, pod.uid);
      ways.push_back(std::move(moved));
    }
    return ways;
  }

 private:
  const RepackScenario& on_;
  const OwnedIncomingPod& claim_;
  std::vector<std::shared_ptr<const model::NodeInventory>> inventories_;
  std::vector<std::vector<model::HoldingPtr>> pods_;
};

/// Whether the request fits after so many moves at most, in any way.
bool some_way(const Board& board, int moves) {
  if (board.request_fits()) return true;
  if (moves == 0) return false;
  for (std::size_t from = 0; from < board.nodes(); ++from) {
    for (const model::HoldingPtr& pod : board.pods(from)) {
      if (!board.movable(*pod)) continue;
      Board without = board;
      without.take(from, *pod);
      for (std::size_t to = 0; to < board.nodes(); ++to) {
        for (model::HoldingPtr& moved : without.ways(to, *pod)) {
          Board next = without;
          next.give(to, std::move(moved));
          if (some_way(next, moves - 1)) return true;
        }
      }
    }
  }
  return false;
}

std::string shape(const model::Reservation& reservation) {
  std::string text = reservation.node;
  for (const model::ReservedDevice& device :
       std::get<std::vector<model::ReservedDevice>>(reservation.containers.front().assigned)) {
    text += ' ' + std::to_string(device.index) + std::string(model::to_string(device.mode)) +
            std::to_string(device.memory.value) + '/' + std::to_string(device.compute.value);
    if (device.slice) text += device.slice->profile + '@' + std::to_string(device.slice->start);
  }
  return text;
}

/// Each move is to a place that its pod could have at its turn: the devices add up, and the pod
/// would have room there if it came.
void apply(Board& board, const advice::PodMove& move) {
  const std::size_t from = board.node_named(move.from->reservation.node);
  const std::size_t to = board.node_named(move.to.node);
  RC_ASSERT(board.movable(*move.from));
  RC_ASSERT(shape(move.to) != shape(move.from->reservation));
  board.take(from, *move.from);
  const model::NodeStatePtr before = board.state(to);
  RC_ASSERT(!board.ways(to, *move.from).empty());
  auto moved = std::make_shared<model::Holding>(*move.from);
  moved->reservation = move.to;
  board.give(to, moved);
  const model::NodeStatePtr after = board.state(to);
  const model::ContainerRequest& asked = *move.from->container_requests.front();
  for (const model::ReservedDevice& device :
       std::get<std::vector<model::ReservedDevice>>(move.to.containers.front().assigned)) {
    const std::size_t gpu = after->find_gpu(device).value();
    RC_ASSERT(before->gpus[gpu].closure == model::GpuClosure::kOpen);
    RC_ASSERT(after->gpus[gpu].closure == model::GpuClosure::kOpen);
    RC_ASSERT(asked.models.allows(after->gpus[gpu].info->model));
    RC_ASSERT(board.tenant(move.from->name_space).cap_remaining >= 0);
    for (const model::HoldingPtr& other : board.pods(to)) {
      const bool meets =
          other->uid != move.from->uid && gpu < after->inventory->gpus.size() &&
          shape(other->reservation).find(' ' + std::to_string(device.index)) != std::string::npos;
      RC_ASSERT(!meets || !board.tenant(move.from->name_space).is_isolated_from(other->name_space));
    }
  }
}

void check_advice(const RepackScenario& on, const advice::RepackAdvice& advice) {
  Board board(on);
  RC_ASSERT(advice.fits_now == board.request_fits());
  if (!advice.reservation) {
    RC_ASSERT(advice.moves.empty() && !advice.explanation.empty());
    return;
  }
  RC_ASSERT(advice.fits_now == advice.moves.empty() && advice.explanation.empty());
  for (const advice::PodMove& move : advice.moves) apply(board, move);
  const std::size_t node = board.node_named(advice.reservation->node);
  RC_ASSERT(board.request_fits_on(node));
  const model::GpuRequest& request = on.incoming.request;
  if (request.is_kubelet_assigned()) return;
  auto holding = std::make_shared<model::Holding>();
  holding->uid = "new";
  holding->reservation = *advice.reservation;
  holding->container_requests.emplace_back(request.containers.front());
  board.give(node, holding);
  for (const model::GpuState& gpu : board.state(node)->gpus)
    RC_ASSERT(gpu.closure == model::GpuClosure::kOpen);
}

const std::vector<std::string> kProfiles{"1g.5gb",  "1g.5gb",  "1g.10gb",
                                         "2g.10gb", "3g.20gb", "4g.20gb"};

/// Pods that fit where they are.
/// `cards`: of GPUs in MIG mode.
RepackScenario draw_cluster(int most_nodes, int most_gpus, int most_pods, bool cards = false) {
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
  const int count = 1 + draw(most_nodes);
  for (int n = 0; n < count; ++n) {
    const std::string name = "n" + std::to_string(n);
    const int gpus = 1 + draw(most_gpus);
    std::string text = name + ": ";
    for (int g = 0; g < gpus; ++g) {
      text += (g > 0 ? ", " : "") + (cards ? std::string(kMigModel) + " 40960"
                                           : std::string(one_in(4) ? "B" : "A") + " 1000");
      if (cards) text += " mig";
      if (!cards && one_in(4)) text += " modes=whole+time-slicing+mps";
    }
    nodes.push_back(text + (cards ? " | dynamic" : " |") +
                    " nvidia.com/gpu=" + std::to_string(gpus) + "/" + std::to_string(gpus));
  }
  RepackScenario on(nodes, {}, make_whole(1));
  Board board(on);
  const int wanted = most_pods / 2 + draw(most_pods);
  for (int p = 0; p < wanted; ++p) {
    std::string words;
    if (one_in(8)) words += " ending";
    if (one_in(8)) words += " tied";
    if (!cards && one_in(6)) words += " model=A";
    if (one_in(6)) words += " ns=x";
    if (one_in(4)) words += " cpu=" + std::to_string(1 + draw(3));
    const std::string slice = " m0:" + draw_from(kProfiles) + "@0";
    const std::string share = cards       ? slice
                              : one_in(6) ? " w0"
                                          : " g0:" + std::to_string(100 * (1 + draw(6)));
    if (!cards && share != " w0" && one_in(6)) words += " isolation=mps";
    model::HoldingPtr pod = make_movable("p" + std::to_string(p) + " n0" + share + words);
    if (!cards && one_in(8) && share != " w0") {
      auto on_two = std::make_shared<model::Holding>(*pod);
      on_two->container_requests.front()->count = 2;
      on_two->container_requests.front()->text += ";gpu-count=2";
      pod = on_two;
    }
    const auto node = static_cast<std::size_t>(draw(count));
    const auto ways = board.ways(node, *pod);
    if (ways.empty()) continue;
    board.give(node, draw_from(ways));
  }
  for (std::size_t n = 0; n < board.nodes(); ++n) {
    for (const model::HoldingPtr& pod : board.pods(n)) on.holdings.push_back(pod);
  }
  return on;
}

void draw_rules(RepackScenario& on) {
  if (one_in(6)) on.incoming.sharing = model::SharingRules({{{"x"}, {.own_namespace_only = true}}});
  if (one_in(6)) {
    on.incoming.sharing =
        model::SharingRules({{{"default"}, {.cap = base::MilliGpu{500 * (1 + draw(6))}}}});
  }
  if (one_in(3)) {
    on.incoming.host.cpu_milli = draw(4);
    for (model::NodeInventory& inventory : on.inventories) {
      inventory.host = {.resources = {.cpu_milli = 1 + draw(12)}, .pod_slots = 100, .known = true};
    }
  }
}

std::string tell(const RepackScenario& on) {
  const model::ContainerRequest& asked = on.incoming.request.containers.front();
  std::string text = "asked: " + asked.text + " on " + std::to_string(asked.count) +
                     (asked.isolation == model::Isolation::kMps ? " mps" : "") +
                     (asked.models.empty() ? "" : " model A") + " cpu " +
                     std::to_string(on.incoming.host.cpu_milli) + "\n";
  for (const model::NodeInventory& node : on.inventories) {
    text += node.name + " cpu " + std::to_string(node.host.resources.cpu_milli) + ":";
    for (const model::GpuInfo& gpu : node.gpus) {
      text += " " + gpu.model + (gpu.allowed_modes.size() > 2 ? "+mps" : "");
    }
    text += "\n";
  }
  for (const model::HoldingPtr& pod : on.holdings) {
    text += pod->uid + " " + pod->name_space + " " + shape(pod->reservation) + " (" +
            pod->container_requests.front()->text + ") cpu " + std::to_string(pod->host.cpu_milli) +
            (pod->terminating ? " ending" : "") + (pod->has_other_constraints ? " tied" : "") +
            "\n";
  }
  for (const model::SharingRow& row : on.incoming.sharing.rows()) {
    text += "rule of " + row.namespaces.front() +
            (row.rule.cap ? " cap " + std::to_string(row.rule.cap->value) : " apart") + "\n";
  }
  return text;
}

model::GpuRequest draw_claim() {
  model::GpuRequest request = make_fraction(100 * (5 + draw(5)));
  if (one_in(2)) request = make_whole(1 + draw(2));
  if (one_in(12)) request = make_units(1 + draw(2));
  model::ContainerRequest& asked = request.containers.front();
  if (request.is_kubelet_assigned()) return request;
  if (!std::holds_alternative<model::WholeGpuRequest>(asked.device)) {
    if (one_in(4)) asked.count = 2;
    if (one_in(6)) asked.isolation = model::Isolation::kMps;
  }
  if (one_in(4)) asked.models.included.push_back("A");
  return request;
}

/// The advice is sound, and of at most two moves none is overlooked and none is too many. Counts
/// what there was to advise.
void check_least_advice(const RepackScenario& on, std::map<std::string, int>& seen) {
  const advice::RepackAdvice advice = on.advice();
  RC_LOG() << tell(on) << on.text();
  check_advice(on, advice);
  const Board board(on);
  for (int moves = 0; moves <= 2; ++moves) {
    if (!some_way(board, moves)) continue;
    ++seen[std::to_string(moves)];
    RC_ASSERT(advice.reservation.has_value());
    RC_ASSERT(static_cast<int>(advice.moves.size()) == moves);
    return;
  }
  ++seen[advice.reservation ? "more" : "none"];
  RC_ASSERT(!advice.reservation || advice.moves.size() > 2);
}

TEST(RepackProperty, OfAtMostTwoMovesNoneIsOverlookedAndNoneIsTooMany) {
  std::map<std::string, int> seen;
  holds_in(1500, [&] {
    RepackScenario on = draw_cluster(3, 3, 7);
    on.incoming = OwnedIncomingPod(draw_claim());
    draw_rules(on);
    check_least_advice(on, seen);
  });
  for (const auto& [what, times] : seen) std::cout << what << ": " << times << "\n";
}

TEST(RepackProperty, OfSlicesTooNoneOfAtMostTwoMovesIsOverlooked) {
  std::map<std::string, int> seen;
  holds_in(300, [&] {
    RepackScenario on = draw_cluster(2, 2, 7, true);
    on.incoming =
        OwnedIncomingPod(make_slice_request(one_in(4) ? "7g.40gb" : draw_from(kProfiles)));
    check_least_advice(on, seen);
  });
  for (const auto& [what, times] : seen) std::cout << what << ": " << times << "\n";
}

TEST(RepackProperty, WhatIsAdvisedHolds) {
  std::map<std::size_t, int> seen;
  holds_in(1500, [&] {
    RepackScenario on = draw_cluster(6, 6, 40);
    on.incoming = OwnedIncomingPod(draw_claim());
    if (one_in(2)) on.incoming = OwnedIncomingPod(make_whole(1 + draw(6)));
    draw_rules(on);
    const advice::RepackAdvice advice = on.advice();
    RC_LOG() << tell(on) << on.text();
    check_advice(on, advice);
    ++seen[advice.moves.size()];
  });
  for (const auto& [moves, times] : seen) std::cout << moves << " moves: " << times << "\n";
}

}  // namespace
}  // namespace snug::repack_property_test

// What the ledger shows of a node is what all of its holdings add up to, however they came: one by
// one, by lists, with nodes that come and go.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/ledger/ledger.hpp"
#include "support/node_states.hpp"

namespace snug::ledger_nodes_property_test {
namespace {

constexpr int kFew = 14;
constexpr int kPods = 600;  // more than a list is taken in at once

const std::vector<std::string> kNames = {"a", "b", "host"};

/// Some ask for more than 64 bits can add up.
model::HostResources draw_host() {
  return {.cpu_milli = one_in(6) ? std::int64_t{1} << 62 : 100 * draw(40),
          .memory_bytes = one_in(6) ? std::int64_t{1} << 62 : std::int64_t{draw(64)} << 20};
}

model::HoldingPtr draw_pod(const std::string& uid, const model::NodeInventory& node) {
  auto pod = std::make_shared<model::Holding>(*draw_holding(uid, node));
  if (node.gpus.empty() || one_in(2)) pod->reservation.containers.clear();
  pod->host = draw_host();
  pod->mirrored = {.milli = {draw(2000)}, .memory = {draw(2000)}};
  pod->terminating = one_in(8);
  return pod;
}

class Cluster {
 public:
  Cluster() {
    for (const std::string& name : kNames) {
      model::NodeInventory node = draw_node(name, true);
      if (name == "host") {
        node.gpus.clear();
        node.nvlinks.clear();
        node.kubelet_capacity.clear();
      }
      ledger.put_node(node);
      nodes.emplace(name, std::move(node));
    }
  }

  void step() {
    const std::string uid = "p" + std::to_string(draw(kFew));
    const std::string name = draw_from(kNames);
    switch (draw(9)) {
      case 0:
        return ledger.end_pod(uid);
      case 1:
        if (const auto entry = ledger.find(uid))
          (void)ledger.end_pod_from_get(uid, entry->sequence);
        return;
      case 2:
        return list();
      case 3:
        if (one_in(3)) ledger.remove_node(name);
        ledger.put_node(nodes.at(name));
        return;
      case 4:
        if (const auto entry = ledger.find(uid)) {
          auto changed = std::make_shared<model::Holding>(*entry->holding);
          changed->host = draw_host();
          changed->mirrored = {.milli = {draw(2000)}, .memory = {draw(2000)}};
          ledger.hold(changed);
        }
        return;
      case 5:
        (void)ledger.hold_from_get(draw_pod(uid, nodes.at(name)));
        return;
      default:
        (void)ledger.hold(draw_pod(uid, nodes.at(name)));
    }
  }

  void check() const {
    const model::SnapshotPtr snapshot = ledger_snapshot();
    for (const auto& [name, inventory] : nodes) {
      const auto slot = snapshot->names->find(name);
      if (!slot) continue;
      const model::NodeState& node = *snapshot->nodes[slot->value];
      std::vector<model::HoldingPtr> all;
      std::vector<std::string> expected;
      for (int i = 0; i < kPods; ++i) {
        const auto entry = ledger.find("p" + std::to_string(i));
        if (!entry || entry->holding->reservation.node != name) continue;
        all.push_back(entry->holding);
        expected.push_back(all.back()->uid);
      }
      check_node(node, std::move(all), std::move(expected));
    }
  }

  mutable base::ManualClock clock;
  mutable ledger::Ledger ledger{clock, base::Limits{}};
  std::map<std::string, model::NodeInventory> nodes;

 private:
  [[nodiscard]] model::SnapshotPtr ledger_snapshot() const { return ledger.snapshot(); }

  static void check_node(const model::NodeState& node, std::vector<model::HoldingPtr> all,
                         std::vector<std::string> expected) {
    std::vector<std::string> shown;
    for (const model::HoldingPtr& holding : node.holdings) shown.push_back(holding->uid);
    // In the order in which the ledger adds them up: the first on a GPU says its mode.
    std::ranges::stable_sort(all, {}, [&](const model::HoldingPtr& holding) {
      return std::ranges::find(shown, holding->uid) - shown.begin();
    });
    const model::NodeStatePtr added = fit::build_node_state(node.inventory, all);
    model::NodeState sum = *added;  // whose GPUs point into what was added
    RC_ASSERT(node.host_used == sum.host_used);
    RC_ASSERT(node.mirrored_used == sum.mirrored_used);
    RC_ASSERT(node.pod_count == sum.pod_count);
    RC_ASSERT(node.kubelet_milli == sum.kubelet_milli);
    std::ranges::sort(shown);
    std::ranges::sort(expected);
    RC_ASSERT(shown == expected);
    sum.holdings = node.holdings;
    RC_ASSERT(describe(node) == describe(sum));
  }

  /// Most pods as they are, some new, some gone; at times more than the ledger takes in at once.
  void list() {
    const ledger::ListMark mark = ledger.begin_list();
    std::vector<model::HoldingPtr> bound;
    std::vector<std::string> unbound;
    const model::HoldingPtr crowd = draw_pod("crowd", nodes.at(draw_from(kNames)));
    const int most = one_in(4) ? kPods : kFew;
    const int shown = draw(3);
    for (int i = kFew; i < most; ++i) {
      if (i % 3 == shown) continue;
      auto pod = std::make_shared<model::Holding>(*crowd);
      pod->uid = "p" + std::to_string(i);
      pod->reservation.containers.clear();
      bound.push_back(std::move(pod));
    }
    for (int i = 0; i < kFew; ++i) {
      const std::string uid = "p" + std::to_string(i);
      const auto entry = ledger.find(uid);
      if (one_in(8)) {
        unbound.push_back(uid);
      } else if (entry && !one_in(6)) {
        bound.push_back(entry->holding);
      } else if (one_in(8)) {
        bound.push_back(draw_pod(uid, nodes.at(draw_from(kNames))));
      }
    }
    ledger::ListedPods listed{.bound = bound, .living = {}, .nominated = {}};
    for (const model::HoldingPtr& pod : bound) listed.living.insert(pod->uid);
    for (const std::string& uid : unbound) listed.living.insert(uid);
    (void)ledger.replace_holdings(mark, listed);
    for (int i = 0; i < kPods; ++i) {
      const std::string uid = "p" + std::to_string(i);
      const bool in_list = std::ranges::find(bound, uid, &model::Holding::uid) != bound.end();
      RC_ASSERT(ledger.find(uid).has_value() == in_list);
    }
  }
};

void sums_property() {
  Cluster cluster;
  for (int i = 0; i < 25; ++i) {
    cluster.step();
    cluster.check();
  }
}

TEST(LedgerNodesProperty, ANodeShowsWhatAllOfItsHoldingsAddUpTo) { holds_in(200, sums_property); }

}  // namespace
}  // namespace snug::ledger_nodes_property_test

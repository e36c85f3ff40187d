// Over random changes of nodes and pods, with an API server that at times refuses writes: a patch
// never sets a capacity below the sum over the node's pods, and when the changes end, every node
// shows the capacity that it must have.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "many.hpp"
#include "random_cluster.hpp"
#include "service/node_mirror.hpp"
#include "support/fake_ports.hpp"

namespace snug::mirror_property_test {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c"};
constexpr int kPods = 8;

/// Applies patches to its nodes, which the watch shows later.
class PatchedNodes final : public service::ApiPort {
 public:
  explicit PatchedNodes(ledger::Ledger& ledger) : ledger_(ledger) {}

  base::Result<void> set_mirrored_capacity(std::string_view name,
                                           const service::MirroredCapacity& capacity) override {
    if (fails && one_in(3)) return base::fail(base::ErrorCode::kInvalid, "refused");
    const auto node = nodes.find(std::string(name));
    if (node == nodes.end()) return base::fail(base::ErrorCode::kNotFound, "gone");
    check_sum(node->first, capacity);
    const bool is_executed = !fails || !one_in(4);
    if (is_executed) set(node->second, capacity);
    if (!is_executed || (fails && one_in(4))) {
      return base::fail(base::ErrorCode::kUnknown, "time-out");
    }
    return {};
  }
  base::Result<void> write_mirror_parameters(
      const std::optional<admission::CardRange>& cards) override {
    if (fails && one_in(2)) return base::fail(base::ErrorCode::kUnknown, "time-out");
    parameters = cards;
    return {};
  }
  base::Result<void> bind(const model::Binding&) override { return {}; }
  base::Result<std::optional<model::PodFacts>> get_pod(std::string_view,
                                                       std::string_view) override {
    return std::optional<model::PodFacts>();
  }
  base::Result<void> wake_pending_pods(base::Generation) override { return {}; }
  bool notify(const model::Notice&) override { return true; }

  static void set(model::NodeInventory& node, const service::MirroredCapacity& capacity) {
    model::ListedAmounts listed;
    if (capacity) listed = {capacity->milli.value, capacity->memory.value};
    node.mirrored = {.capacity = listed, .allocatable = listed};
  }

  bool fails = true;
  std::optional<admission::CardRange> parameters;
  std::map<std::string, model::NodeInventory> nodes;

 private:
  void check_sum(const std::string& name, const service::MirroredCapacity& capacity) {
    const model::SnapshotPtr snapshot = ledger_.snapshot();
    const auto slot = snapshot->names->find(name);
    if (!slot || !capacity) return;
    const model::MirroredAmounts& used = snapshot->nodes[slot->value]->mirrored_used;
    RC_ASSERT(capacity->milli >= used.milli);
    RC_ASSERT(capacity->memory >= used.memory);
  }

  ledger::Ledger& ledger_;
};

class Cluster {
 public:
  explicit Cluster(const std::optional<admission::CardRange>& cards)
      : mirror({ledger, readiness, api, log, clock}, base::Limits{}, cards) {
    for (const service::Resource resource : {service::Resource::kNodes, service::Resource::kPods}) {
      readiness.begin_list(resource);
      readiness.mark_listed(resource);
    }
    for (const std::string& name : kNames) put(name);
  }

  void step() {
    const std::string name = draw_from(kNames);
    const std::string uid = "p" + std::to_string(draw(kPods));
    switch (draw(9)) {
      case 0:
        return put(name);
      case 1:
        api.nodes.erase(name);
        return ledger.remove_node(name);
      case 2:
        return ledger.end_pod(uid + "." + std::to_string(generation_of[uid]++));
      case 3:
        if (api.nodes.contains(name)) PatchedNodes::set(api.nodes.at(name), zero_or_none());
        return watch();
      case 4:
        mirror.stand_by();
        return;
      case 5:
        return clock.advance(std::chrono::seconds(1 + draw(10)));
      case 6:
        return watch();
      case 7:
        return mirror.write();
      default:
        return bind(uid + "." + std::to_string(generation_of[uid]), name);
    }
  }

  /// The API server refuses nothing more, and nothing else changes.
  void settle() {
    api.fails = false;
    for (int i = 0; i < 4; ++i) {
      clock.advance(std::chrono::seconds(10));
      mirror.write();
      watch();
    }
  }

  /// The watch shows all nodes as they are.
  void watch() {
    for (const auto& [name, node] : api.nodes) ledger.put_node(node);
  }

  base::ManualClock clock;
  ledger::Ledger ledger{clock, base::Limits{}};
  service::Readiness readiness{clock, base::Limits{}};
  NoLog log;
  PatchedNodes api{ledger};
  service::NodeMirror mirror;

 private:
  static service::MirroredCapacity zero_or_none() {
    if (one_in(2)) return std::nullopt;
    return model::MirroredAmounts{};
  }
  /// Another inventory, with the capacity of the present one.
  void put(const std::string& name) {
    model::NodeInventory node = draw_node(name, true);
    if (one_in(3)) node.gpus.clear();
    if (node.gpus.empty()) node.nvlinks.clear();
    node.mirrored = api.nodes[name].mirrored;
    api.nodes[name] = node;
    ledger.put_node(std::move(node));
  }
  void bind(const std::string& uid, const std::string& name) {
    if (!api.nodes.contains(name)) return;
    auto pod = std::make_shared<model::Holding>(*draw_holding(uid, api.nodes.at(name)));
    if (one_in(4) || api.nodes.at(name).gpus.empty()) pod->reservation.containers.clear();
    if (!one_in(4)) pod->mirrored = {.milli = {draw(3000)}, .memory = {draw(100'000)}};
    (void)ledger.hold(pod);
  }

  std::map<std::string, int> generation_of;
};

void check_settled(Cluster& cluster, const std::optional<admission::CardRange>& cards) {
  const model::SnapshotPtr snapshot = cluster.ledger.snapshot();
  bool has_open_gpus = false;
  for (const auto& [name, shown] : cluster.api.nodes) {
    const model::NodeState& node = *snapshot->nodes[snapshot->names->find(name)->value];
    const service::MirroredCapacity capacity = service::mirrored_capacity_of(node, cards);
    model::NodeInventory expected;
    PatchedNodes::set(expected, capacity);
    RC_ASSERT(shown.mirrored == expected.mirrored);
    RC_ASSERT(!capacity || (capacity->milli >= node.mirrored_used.milli &&
                            capacity->memory >= node.mirrored_used.memory));
    RC_ASSERT(!capacity || cards);
    has_open_gpus = has_open_gpus || (!node.inventory->gpus.empty() &&
                                      node.inventory->closed_to_all == model::ReasonCode::kNone);
  }
  if (!cards || has_open_gpus) RC_ASSERT(cluster.api.parameters == cards);
}

void mirror_property() {
  std::optional<admission::CardRange> cards;
  if (!one_in(4)) {
    const std::int64_t smallest = 1 + draw(50'000);
    cards = admission::CardRange{{smallest}, {smallest + draw(50'000)}};
  }
  Cluster cluster(cards);
  for (int i = 0; i < 60; ++i) cluster.step();
  cluster.settle();
  check_settled(cluster, cards);
}

TEST(MirrorProperty, NoCapacityIsBelowItsPodsAndInTheEndAllAreRight) {
  holds_in(300, mirror_property);
}

}  // namespace
}  // namespace snug::mirror_property_test

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "many.hpp"
#include "oracle/fit_oracle.hpp"
#include "random_cluster.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/plan/plan.hpp"
#include "support/expected_usage.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::ledger_property_test {
namespace {

const std::vector<std::string> kNames = {"a", "b", "c"};

struct World {
  base::ManualClock clock;
  ledger::Ledger ledger{clock, base::Limits{}};
  score::Profile profile = make_profile(one_in(2) ? "spread" : "best-fit");
  std::map<std::string, model::NodeInventory> nodes;  // what was put last; absent: gone

  void put(model::NodeInventory node) {
    nodes.insert_or_assign(node.name, node);
    ledger.put_node(std::move(node));
  }

  std::expected<model::HoldingPtr, ledger::ReserveFailure> reserve(
      const std::string& uid, const std::string& node, const model::GpuRequest& request) {
    const OwnedIncomingPod claim(request, profile, uid);
    return ledger.reserve({.incoming = claim.view(), .pod = uid, .node = node});
  }

  [[nodiscard]] std::vector<model::HoldingPtr> held_on(const std::string& node) const {
    std::vector<model::HoldingPtr> holdings;
    for (const ledger::LedgerEntry& entry : ledger.gpu_entries()) {
      if (entry.holding->reservation.node == node) holdings.push_back(entry.holding);
    }
    return holdings;
  }
};

/// Nodes with whatever pods and events may have left on them.
void populate(World& world, bool odd) {
  for (const std::string& name : kNames) {
    const model::NodeInventory node = draw_node(name, odd);
    world.put(node);
    const int holdings = draw(odd ? 4 : 1);
    for (int i = 0; i < holdings; ++i) {
      world.ledger.hold(draw_holding(name + "-held-" + std::to_string(i), node));
    }
  }
  const int reserved = draw(4);
  for (int i = 0; i < reserved; ++i) {
    (void)world.reserve("early-" + std::to_string(i), draw_from(kNames), draw_request());
  }
  const int intents = one_in(2) ? draw(4) : 0;
  for (int i = 0; i < intents; ++i) {
    const std::string node = draw_from(kNames);
    world.ledger.note_intent(
        make_holding("intent-" + std::to_string(i), node, {draw_device(world.nodes.at(node))}));
  }
}

void identity_property() {
  World world;
  populate(world, true);
  const model::GpuRequest request = draw_request();
  const std::string before = describe(*world.ledger.snapshot());
  RC_LOG() << model::to_text(request) << " on " << before;
  const bool reserved = world.reserve("new", draw_from(kNames), request).has_value();
  RC_CLASSIFY(reserved, "reserved");
  RC_ASSERT((describe(*world.ledger.snapshot()) != before) == reserved);
  world.ledger.release("new");
  RC_ASSERT(describe(*world.ledger.snapshot()) == before);
  RC_ASSERT(!world.ledger.find("new").has_value());
}

/// What plan() says of every node is what reserve then does there.
void agreement_property() {
  World world;
  populate(world, true);
  const model::GpuRequest request = draw_request();
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  RC_LOG() << model::to_text(request) << " on " << describe(*snapshot);
  std::vector<std::string_view> names(kNames.begin(), kNames.end());
  names.insert(names.begin() + draw(4), "nowhere");
  const OwnedIncomingPod claim(request, world.profile, "new");
  const plan::Plan answer = plan::plan({.snapshot = *snapshot, .incoming = claim.view()}, names);
  RC_ASSERT(answer.verdicts.size() == names.size());
  bool any = false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto result = world.reserve("new", std::string(names[i]), request);
    const model::ReasonCode expected = answer.verdicts[i].reason;
    RC_ASSERT(result.has_value() == (expected == model::ReasonCode::kNone));
    any = any || result.has_value();
    if (!result) {
      RC_ASSERT(result.error().reason == expected);
      continue;
    }
    if (answer.winner == i) {
      const model::NodeState& node = *snapshot->nodes[snapshot->names->find(names[i])->value];
      const model::Reservation planned = reservation_for(node, request, answer.placement, "new");
      RC_ASSERT((*result)->reservation == planned);
    }
    world.ledger.release("new");
  }
  // A reserve ends the pod's own intent only, so every node was asked the same question.
  RC_ASSERT(describe(*world.ledger.snapshot()) == describe(*snapshot));
  RC_ASSERT(answer.winner.has_value() == any);
  RC_CLASSIFY(any, "something fits");
  RC_CLASSIFY(any && !snapshot->intents.empty(), "with intents");
}

/// Where plan() names a winner and notes it, its pod gets a place on that node whatever pods are
/// named or bound after it.
void promise_property() {
  World world;
  populate(world, true);
  const model::GpuRequest request = draw_request();
  const auto name = [&](const model::GpuRequest& asked, const std::string& uid) -> std::string {
    const model::SnapshotPtr snapshot = world.ledger.snapshot();
    const std::vector<std::string_view> names(kNames.begin(), kNames.end());
    const OwnedIncomingPod claim(asked, world.profile, uid);
    const plan::Plan answer = plan::plan({.snapshot = *snapshot, .incoming = claim.view()}, names);
    if (!answer.winner || answer.placement.allocations.empty()) return "";
    const std::string_view winner = names[*answer.winner];
    const model::NodeState& node = *snapshot->nodes[snapshot->names->find(winner)->value];
    world.ledger.note_intent(plan::to_holding(node, claim.view(), answer.placement));
    return std::string(winner);
  };
  RC_LOG() << model::to_text(request) << " on " << describe(*world.ledger.snapshot());
  const std::string node = name(request, "first");
  RC_CLASSIFY(!node.empty(), "named");
  if (node.empty()) return;
  int taken = 0;
  for (int i = 0; i < 6; ++i) {
    const std::string uid = "later-" + std::to_string(i);
    const model::GpuRequest other = draw_request();
    if (one_in(2)) (void)name(other, uid);
    taken += world.reserve(uid, draw_from(kNames), other).has_value() ? 1 : 0;
  }
  RC_CLASSIFY(taken > 0, "others were bound meanwhile");
  RC_ASSERT(world.reserve("first", node, request).has_value());
}

/// One random step of pods that Snug alone binds.
class OwnSteps {
 public:
  explicit OwnSteps(World& world) : world_(world), ledger_(world.ledger) {}

  void step() {
    const std::string pod = name();
    const auto entry = ledger_.find(pod);
    switch (draw(13)) {
      case 0:
        return ledger_.mark_bound(pod);
      case 1:
        return ledger_.release(pod);
      case 2:
        return ledger_.mark_unsettled(pod);
      case 3:
        return ledger_.release_unsettled(pod, entry ? entry->sequence : 0);
      case 4:
        ++lives_[pod_];
        return ledger_.end_pod(pod);
      case 5:
        if (entry) ledger_.hold(one_in(2) ? make_terminating(entry->holding) : entry->holding);
        return;
      case 6:
        return list();
      case 7:
        mark_ = ledger_.begin_list();
        return;
      case 8:
        return change_node();
      default:
        (void)world_.reserve(pod, draw_from(kNames), draw_request());
    }
  }

 private:
  std::string name() {
    pod_ = draw(8);
    return std::to_string(pod_) + "." + std::to_string(lives_[pod_]);
  }

  /// A list that may have begun earlier: it shows what is bound now, but for pods deleted since.
  void list() {
    ledger::ListedPods listed;
    std::vector<ledger::LedgerEntry> entries = ledger_.gpu_entries();
    for (const ledger::LedgerEntry& entry : entries) {
      if (one_in(4) && entry.sequence > mark_.sequence) continue;
      listed.living.insert(entry.holding->uid);
      if (entry.state == ledger::HoldingState::kBound) listed.bound.push_back(entry.holding);
    }
    ledger_.replace_holdings(mark_, listed);
  }

  void change_node() {
    const std::string node = draw_from(kNames);
    model::NodeInventory inventory = first_.try_emplace(node, world_.nodes.at(node)).first->second;
    for (model::GpuInfo& gpu : inventory.gpus) gpu.healthy = !one_in(4);
    if (one_in(2)) ledger_.remove_node(node);
    if (!one_in(4)) ledger_.put_node(std::move(inventory));
  }

  World& world_;
  ledger::Ledger& ledger_;
  std::map<int, int> lives_;
  std::map<std::string, model::NodeInventory> first_;
  int pod_ = 0;
  ledger::ListMark mark_;
};

std::vector<model::NodeStatePtr> nodes_of(const model::Snapshot& snapshot) {
  std::vector<model::NodeStatePtr> nodes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    if (snapshot.nodes[slot] != nullptr) nodes.push_back(snapshot.nodes[slot]);
  }
  RC_ASSERT(nodes.size() == snapshot.names->size());
  return nodes;
}

void expect_sums(const World& world, const model::Snapshot& snapshot) {
  for (const model::NodeStatePtr& state : nodes_of(snapshot)) {
    const model::NodeState& node = *state;
    NodeUsage sum;
    const std::vector<model::HoldingPtr> holdings = world.held_on(node.name());
    for (const model::HoldingPtr& holding : holdings) add_usage(sum, *holding);
    RC_ASSERT(usage_shown_by(node) == sum);
    RC_ASSERT(node.holdings.size() == holdings.size());
  }
}

void own_sequence_property() {
  World world;
  populate(world, false);
  OwnSteps steps(world);
  for (int i = 0; i < 60; ++i) {
    steps.step();
    const model::SnapshotPtr snapshot = world.ledger.snapshot();
    RC_LOG() << describe(*snapshot) << "\n";
    RC_ASSERT(over_commitment(*snapshot) == "");
    expect_sums(world, *snapshot);
  }
}

bool same(const plan::Plan& a, const plan::Plan& b) {
  const auto verdicts = [](const plan::Verdict& x, const plan::Verdict& y) {
    const bool ranked = x.reason == model::ReasonCode::kNone;
    return x.reason == y.reason && (!ranked || x.score_class == y.score_class);
  };
  const auto takes = [](const model::DeviceAllocation& x, const model::DeviceAllocation& y) {
    return x.container == y.container && x.gpu == y.gpu && x.mode == y.mode &&
           x.memory == y.memory && x.compute == y.compute;
  };
  return std::ranges::equal(a.verdicts, b.verdicts, verdicts) && a.winner == b.winner &&
         std::ranges::equal(a.placement.allocations, b.placement.allocations, takes);
}

/// A plan that remembers says what one that does not says, whatever has happened in between.
void memory_property() {
  World world;
  populate(world, true);
  OwnSteps steps(world);
  std::map<std::string, std::pair<model::GpuRequest, plan::VerdictCache>> asked;
  for (int i = 0; i < 3; ++i) {
    model::GpuRequest request = draw_request();
    asked.try_emplace(model::to_text(request), request, plan::VerdictCache{});
  }
  const std::vector<std::string_view> names(kNames.begin(), kNames.end());
  for (int i = 0; i < 40; ++i) {
    steps.step();
    if (one_in(3)) {
      const std::string node = draw_from(kNames);
      world.ledger.note_intent(make_holding("intent-" + std::to_string(draw(3)), node,
                                            {draw_device(draw_node(node, false))}));
    }
    if (one_in(4)) world.ledger.end_intent("intent-" + std::to_string(draw(3)));
    const model::SnapshotPtr snapshot = world.ledger.snapshot();
    for (auto& [text, of] : asked) {
      RC_LOG() << text << " on " << describe(*snapshot) << "\n";
      const OwnedIncomingPod claim(of.first, world.profile, "intent-0");
      plan::PlanInput input{.snapshot = *snapshot, .incoming = claim.view()};
      const plan::Plan fresh = plan::plan(input, names);
      input.cache = &of.second;
      RC_ASSERT(same(plan::plan(input, names), fresh));
    }
  }
}

/// Of the containers that run at one time, however their GPUs are told apart.
std::int64_t least_compute(const model::Holding& holding) {
  std::int64_t compute = 0;
  const std::vector<model::ReservedContainer>& containers = holding.reservation.containers;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    if (holding.container_type(c) == model::ContainerType::kInit) continue;
    for (const model::ReservedDevice& device : containers[c].devices()) {
      compute += device.mode == model::GpuMode::kWhole ? 1000 : device.compute.value;
    }
  }
  return compute;
}

/// Resolution by uuid and index moves devices between GPUs of a node, so totals are compared. Where
/// a GPU has changed since it was reserved, more may be counted than is stated, and never less.
void expect_totals(const World& world, const model::Snapshot& snapshot) {
  for (const model::NodeStatePtr& state : nodes_of(snapshot)) {
    const model::NodeState& node = *state;
    std::int64_t compute = 0;
    NodeUsage sum;
    const std::vector<model::HoldingPtr> holdings = world.held_on(node.name());
    for (const model::HoldingPtr& holding : holdings) {
      add_usage(sum, *holding);
      compute += least_compute(*holding);
    }
    for (const model::GpuState& gpu : node.gpus) compute -= gpu.used_compute.value;
    RC_ASSERT(compute <= 0);
    RC_ASSERT(usage_shown_by(node).units == sum.units);
    RC_ASSERT(node.holdings.size() == holdings.size());
  }
}

/// What is held on the node, and what pods in flight mean to hold.
std::vector<model::HoldingPtr> with_intents(World& world, const std::string& node) {
  std::vector<model::HoldingPtr> holdings = world.held_on(node);
  const model::SnapshotPtr snapshot = world.ledger.snapshot();
  const auto slot = snapshot->names->find(node);
  const auto intents = slot ? snapshot->intents.find(slot->value) : snapshot->intents.end();
  if (intents == snapshot->intents.end()) return holdings;
  holdings.insert(holdings.end(), intents->second.begin(), intents->second.end());
  return holdings;
}

/// Whether one of them means to open a GPU, empty now, in another mode than its first.
bool opens_otherwise(const model::NodeInventory& node,
                     const std::vector<model::HoldingPtr>& holdings) {
  const FitOracle oracle(node, {});
  return std::ranges::any_of(holdings, [&](const model::HoldingPtr& holding) {
    return std::ranges::any_of(
        oracle.takes_of(*holding), [&](const model::DeviceAllocation& allocation) {
          const auto& modes = node.gpus[allocation.gpu].allowed_modes;
          const auto first = std::ranges::find_if(modes, [](model::GpuMode mode) {
            return mode == model::GpuMode::kTimeSlicing || mode == model::GpuMode::kMps;
          });
          const bool share = allocation.mode == model::GpuMode::kTimeSlicing ||
                             allocation.mode == model::GpuMode::kMps;
          return share && (first == modes.end() || allocation.mode != *first);
        });
  });
}

/// Pods bound by hand, edited inventories, and binds of ours between them: a reserve is granted
/// exactly where the oracle finds devices beside what pods in flight mean to hold, and takes such
/// devices.
void foreign_sequence_property() {
  World world;
  populate(world, true);
  for (int i = 0; i < 30; ++i) {
    const std::string uid = "p" + std::to_string(draw(10)) + "." + std::to_string(i / 10);
    const std::string node = draw_from(kNames);
    switch (draw(8)) {
      case 0:
        world.ledger.end_pod(uid);
        break;
      case 1:
        world.ledger.hold(draw_holding(uid, world.nodes.at(node)));
        break;
      case 2:
        world.put(draw_node(node, true));
        break;
      case 3:
        world.ledger.release(uid);
        break;
      default: {
        if (world.ledger.find(uid) || world.ledger.has_ended(uid)) break;
        const model::GpuRequest request = draw_request();
        const FitOracle oracle(world.nodes.at(node), world.held_on(node));
        const std::vector<model::HoldingPtr> all = with_intents(world, node);
        const FitOracle later(world.nodes.at(node), all);
        const auto result = world.reserve(uid, node, request);
        RC_LOG() << model::to_text(request) << " on " << describe(*world.ledger.snapshot());
        if (!result) {
          // It joins nobody in a mode in which it would not open the GPU itself.
          RC_ASSERT(!later.possible(request) || opens_otherwise(world.nodes.at(node), all));
          const bool promised = result.error().reason == model::ReasonCode::kPromised;
          RC_ASSERT(promised == oracle.possible(request));
          break;
        }
        const FitOracle::Takes takes = oracle.takes_of(**result);
        RC_ASSERT(oracle.accepts(request, takes) && later.accepts(request, takes));
      }
    }
    expect_totals(world, *world.ledger.snapshot());
  }
}

TEST(LedgerProperty, ReserveAndReleaseAreIdentity) { holds_in(2'000, identity_property); }

TEST(LedgerProperty, WhatPlanSaysOfANodeIsWhatReserveDoesThere) {
  holds_in(5'000, agreement_property);
}

TEST(LedgerProperty, WhoIsNamedGetsAPlaceWhateverComesAfterIt) {
  holds_in(3'000, promise_property);
}

TEST(LedgerProperty, APlanThatRemembersSaysWhatAFreshOneSays) { holds_in(500, memory_property); }

TEST(LedgerProperty, SequencesOfItsOwnNeverOverCommitAndAreSums) {
  holds_in(300, own_sequence_property);
}

TEST(LedgerProperty, AmongForeignPodsItGrantsExactlyWhatIsPossible) {
  holds_in(300, foreign_sequence_property);
}

}  // namespace
}  // namespace snug::ledger_property_test

// Explanations of refusals on random clusters: every advice, applied to the cluster, makes the pod
// fit on a node that it is offered; a smaller request is not larger in any size; and there is
// advice for nearly all refusals that an eviction, a move or a smaller request could resolve.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/explain/explain.hpp"
#include "support/repack_scenario.hpp"

namespace snug::explain_property_test {
namespace {

/// A cluster and a pod. Copies are changed to apply advice.
struct Cluster {
  std::vector<model::NodeInventory> inventories;
  std::vector<model::HoldingPtr> holdings;
  std::vector<model::HoldingPtr> intents;
  model::GpuRequest request;
  model::SharingRules sharing;
  std::string name_space;
  std::optional<std::vector<std::uint32_t>> offered;  // positions of inventories; nullopt: all

  [[nodiscard]] RepackScenario scenario() const {
    RepackScenario on({}, {}, request);
    on.inventories = inventories;
    on.holdings = holdings;
    on.intents = intents;
    on.incoming.sharing = sharing;
    on.incoming.name_space = name_space;
    return on;
  }
  [[nodiscard]] bool fits() const {
    const RepackScenario on = scenario();
    const model::Snapshot snapshot = on.snapshot();
    std::vector<std::string_view> names;
    for (const model::NodeInventory* inventory : offered_nodes()) names.push_back(inventory->name);
    return plan::plan({.snapshot = snapshot, .incoming = on.incoming.view()}, names)
        .winner.has_value();
  }
  [[nodiscard]] explain::Explanation explanation() const {
    const RepackScenario on = scenario();
    const model::Snapshot snapshot = on.snapshot();
    return explain::explain({.snapshot = snapshot,
                             .incoming = on.incoming.view(),
                             .protected_uids = {},
                             .offered = offered,
                             .per_node = true});
  }
  [[nodiscard]] std::vector<const model::NodeInventory*> offered_nodes() const {
    std::vector<const model::NodeInventory*> nodes;
    for (std::size_t i = 0; i < inventories.size(); ++i) {
      if (!offered || std::ranges::binary_search(*offered, static_cast<std::uint32_t>(i)))
        nodes.push_back(&inventories[i]);
    }
    return nodes;
  }
  [[nodiscard]] Cluster with_request(model::GpuRequest changed) const {
    Cluster other = *this;
    other.request = std::move(changed);
    return other;
  }
};

void add_pod(Cluster& cluster, int i) {
  const model::NodeInventory& inventory = draw_from(cluster.inventories);
  std::vector<model::HoldingPtr> on_it;
  for (const auto* list : {&cluster.holdings, &cluster.intents}) {
    for (const model::HoldingPtr& pod : *list) {
      if (pod->reservation.node == inventory.name) on_it.push_back(pod);
    }
  }
  const model::NodeStatePtr state = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(inventory), std::move(on_it));
  const OwnedIncomingPod claim(draw_request(), make_profile("best-fit"), "p" + std::to_string(i));
  const plan::NodeChoice choice = choose_without_others(*state, claim);
  if (choice.reason != model::ReasonCode::kNone) return;
  const auto holding = plan::to_holding(*state, claim.view(), choice.placement);
  holding->pod = claim.rank.uid;
  holding->name_space = draw_namespace();
  holding->terminating = one_in(12);
  (one_in(12) && !claim.request.is_kubelet_assigned() ? cluster.intents : cluster.holdings)
      .push_back(holding);
}

model::SharingRules draw_rules() {
  if (!one_in(4)) return {};
  model::SharingRule rule{.own_namespace_only = one_in(2), .require_enforcement = one_in(3)};
  if (one_in(2)) rule.cap = base::MilliGpu{1 + draw(3000)};
  return model::SharingRules(
      {{.namespaces = {draw_from<std::string>({"*", "team-*"})}, .rule = rule}});
}

/// Adds copies of the nodes and their pods, so that there are more nodes than the searches sample.
void multiply(Cluster& cluster, int copies) {
  const Cluster one = cluster;
  for (int copy = 1; copy < copies; ++copy) {
    const std::string suffix = "-" + std::to_string(copy);
    for (model::NodeInventory inventory : one.inventories) {
      inventory.name += suffix;
      cluster.inventories.push_back(std::move(inventory));
    }
    const auto copied = [&](const model::HoldingPtr& pod) {
      auto twin = std::make_shared<model::Holding>(*pod);
      twin->uid += suffix;
      twin->rank.uid = twin->uid;
      twin->reservation.uid = twin->uid;
      twin->reservation.node += suffix;
      return twin;
    };
    for (const model::HoldingPtr& pod : one.holdings) cluster.holdings.push_back(copied(pod));
    for (const model::HoldingPtr& pod : one.intents) cluster.intents.push_back(copied(pod));
  }
}

std::vector<std::uint32_t> draw_offered(std::size_t nodes) {
  std::vector<std::uint32_t> offered;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    if (!one_in(2)) offered.push_back(i);
  }
  return offered;
}

Cluster draw_cluster() {
  Cluster cluster;
  const int nodes = 1 + draw(3);
  for (int n = 0; n < nodes; ++n)
    cluster.inventories.push_back(draw_node("n" + std::to_string(n), !one_in(3)));
  for (int pods = draw(14), i = 0; i < pods; ++i) add_pod(cluster, i);
  if (one_in(6)) {
    const model::NodeInventory& inventory = draw_from(cluster.inventories);
    cluster.holdings.push_back(draw_holding("odd", inventory));
  }
  if (one_in(60)) multiply(cluster, 20 + draw(20));
  cluster.request = draw_request();
  cluster.sharing = draw_rules();
  cluster.name_space = draw_namespace();
  if (one_in(3)) cluster.offered = draw_offered(cluster.inventories.size());
  return cluster;
}

/// Whether the pod would fit on an offered node without any other pod.
bool eviction_resolves(const Cluster& cluster) {
  return std::ranges::any_of(cluster.offered_nodes(), [&](const model::NodeInventory* inventory) {
    Cluster emptied = cluster;
    std::erase_if(emptied.holdings, [&](const model::HoldingPtr& pod) {
      return pod->reservation.node == inventory->name;
    });
    return emptied.fits();
  });
}

/// The smallest requests of the pod's kinds, one for each MIG profile that a slice could have.
std::vector<model::GpuRequest> smallest_requests(const Cluster& cluster) {
  std::set<std::string> profiles = {""};
  for (const model::NodeInventory* inventory : cluster.offered_nodes()) {
    for (const model::GpuInfo& gpu : inventory->gpus) {
      if (!gpu.mig_table) continue;
      for (const model::MigProfile& profile : gpu.mig_table->profiles)
        profiles.insert(profile.name);
    }
  }
  std::vector<model::GpuRequest> requests;
  for (const std::string& profile : profiles) {
    model::GpuRequest smallest = cluster.request;
    for (model::ContainerRequest& container : smallest.containers) {
      container.count = 1;
      if (container.compute_percent) container.compute_percent = 1;
      if (std::holds_alternative<model::SliceRequest>(container.device)) {
        if (!profile.empty()) container.device = model::SliceRequest{profile};
      } else if (std::holds_alternative<model::MemoryRequest>(container.device)) {
        container.device = model::MemoryRequest{{1}};
      } else if (!std::holds_alternative<model::KubeletRequest>(container.device)) {
        container.device = model::FractionRequest{1};
      }
    }
    requests.push_back(std::move(smallest));
  }
  return requests;
}

bool smaller_request_resolves(const Cluster& cluster) {
  return std::ranges::any_of(smallest_requests(cluster), [&](const model::GpuRequest& smallest) {
    return cluster.with_request(smallest).fits();
  });
}

Cluster applied(const Cluster& cluster, const explain::Advice& advice) {
  Cluster changed = cluster;
  if (const auto* request = std::get_if<explain::RequestChange>(&advice.change)) {
    changed.request = request->request;
  } else if (const auto* departures = std::get_if<explain::Departures>(&advice.change)) {
    const auto departs = [&](const model::HoldingPtr& pod) {
      return std::ranges::find(departures->uids, pod->uid) != departures->uids.end();
    };
    std::erase_if(changed.holdings, departs);
    std::erase_if(changed.intents, departs);
  } else if (const auto* moves = std::get_if<explain::Moves>(&advice.change)) {
    for (const advice::PodMove& move : moves->moves) {
      const auto pod = std::ranges::find(changed.holdings, move.from);
      if (pod == changed.holdings.end()) RC_FAIL("only bound pods can be moved: " + move.from->uid);
      auto moved = std::make_shared<model::Holding>(*move.from);
      moved->reservation = move.to;
      *pod = std::move(moved);
    }
  } else if (const auto* node = std::get_if<explain::NodeChange>(&advice.change)) {
    *std::ranges::find(changed.inventories, node->inventory.name, &model::NodeInventory::name) =
        node->inventory;
  } else {
    changed.sharing = std::get<explain::RulesChange>(advice.change).sharing;
  }
  return changed;
}

/// The compute slices and the GB that the name of a profile states: `3g.20gb+me` has 3 and 20.
std::pair<int, int> size_of(const std::string& profile) {
  return {std::stoi(profile), std::stoi(profile.substr(profile.find('.') + 1))};
}

/// Whether a container asks for at most as much as another one, on at most as many devices.
bool is_at_most(const model::ContainerRequest& asked, const model::ContainerRequest& before) {
  if (asked.count > before.count ||
      asked.compute_percent.value_or(0) > before.compute_percent.value_or(0))
    return false;
  if (const auto* slice = std::get_if<model::SliceRequest>(&asked.device)) {
    const auto [compute, memory] = size_of(slice->profile);
    const auto [compute_before, memory_before] =
        size_of(std::get<model::SliceRequest>(before.device).profile);
    return compute <= compute_before && memory <= memory_before;
  }
  if (const auto* fraction = std::get_if<model::FractionRequest>(&asked.device)) {
    const auto* fraction_before = std::get_if<model::FractionRequest>(&before.device);
    return fraction->thousandths <=
           (fraction_before == nullptr ? 999 : fraction_before->thousandths);
  }
  if (const auto* memory = std::get_if<model::MemoryRequest>(&asked.device))
    return memory->memory.value <= std::get<model::MemoryRequest>(before.device).memory.value;
  return asked.device == before.device;
}

bool is_smaller(const model::GpuRequest& asked, const model::GpuRequest& before) {
  return std::ranges::equal(asked.containers, before.containers, is_at_most) &&
         !std::ranges::equal(asked.containers, before.containers, {},
                             &model::ContainerRequest::text, &model::ContainerRequest::text);
}

void check_advice(const Cluster& cluster, const explain::Advice& advice) {
  if (!applied(cluster, advice).fits()) RC_FAIL("the advice does not help: " + advice.text());
  if (advice.kind == explain::AdviceKind::kSmallerRequest &&
      !is_smaller(std::get<explain::RequestChange>(advice.change).request, cluster.request))
    RC_FAIL("the request is not smaller: " + advice.text());
}

struct Tally {
  int cases = 0;
  int refused = 0;
  int resolvable = 0;
  int resolvable_with_advice = 0;
  std::map<std::string, int> kinds{};
};

constexpr int kCases = 22'000;

TEST(ExplainProperty, EveryAdviceMakesThePodFitAndFewRefusalsHaveNone) {
  Tally tally;
  holds_in(kCases, [&] {
    const Cluster cluster = draw_cluster();
    ++tally.cases;
    if (cluster.request.empty()) return;
    const explain::Explanation explanation = cluster.explanation();
    RC_ASSERT((explanation.feasible > 0) == cluster.fits());
    RC_ASSERT(explanation.nodes == cluster.offered_nodes().size());
    RC_ASSERT(explanation.known_nodes == cluster.inventories.size());
    RC_ASSERT(explanation.per_node.size() == explanation.nodes);
    if (explanation.feasible > 0) {
      RC_ASSERT(explanation.advice.empty());
      return;
    }
    ++tally.refused;
    RC_ASSERT(explanation.nearest.has_value() == (explanation.nodes > 0));
    for (const explain::Advice& advice : explanation.advice) {
      ++tally.kinds[std::string(explain::kAdviceKindNames[advice.kind])];
      check_advice(cluster, advice);
    }
    if (!eviction_resolves(cluster) && !smaller_request_resolves(cluster)) return;
    ++tally.resolvable;
    if (!explanation.advice.empty()) {
      ++tally.resolvable_with_advice;
    } else {
      std::cout << "no advice: " << explanation.nearest->sentence << "; "
                << model::to_text(cluster.request) << "\n";
    }
  });
  std::cout << tally.refused << " refusals, " << tally.resolvable << " resolvable, "
            << tally.resolvable_with_advice << " of them with advice\n";
  for (const auto& [kind, count] : tally.kinds) std::cout << kind << ": " << count << "\n";
  EXPECT_GE(tally.resolvable_with_advice * 10, tally.resolvable * 9);
  // RC_PARAMS may ask for fewer cases.
  if (tally.cases >= kCases) {
    EXPECT_GE(tally.refused, 10'000);
  }
}

}  // namespace
}  // namespace snug::explain_property_test

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "many.hpp"
#include "oracle/fit_oracle.hpp"
#include "random_cluster.hpp"
#include "snug/plan/plan.hpp"
#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::fit_property_test {
namespace {

struct Site {
  model::NodeInventory inventory;
  std::vector<model::HoldingPtr> holdings;
  model::NodeStatePtr state;
};

/// A small cluster, and a pod that asks for a place in it.
struct Case {
  std::vector<Site> sites;
  std::string name_space;
  model::SharingRules rules;
  model::NamespaceUsage held;
  model::GpuRequest request;

  [[nodiscard]] fit::Tenant tenant() const { return fit::tenant_of(name_space, rules, held); }
  [[nodiscard]] FitOracle oracle(const Site& site) const {
    return {site.inventory,
            site.holdings,
            {.name_space = name_space,
             .rule_of = [this](std::string_view other) { return rules.rule_for(other); },
             .held = held.of(name_space).value}};
  }
  [[nodiscard]] OwnedIncomingPod claim() const {
    OwnedIncomingPod claim(request);
    claim.name_space = name_space;
    claim.sharing = rules;
    return claim;
  }
};

model::SharingRules draw_rules() {
  if (one_in(2)) return {};
  std::vector<model::SharingRow> rows;
  for (const char* name : {"team-a", "team-*", "*"}) {
    model::SharingRule rule{.own_namespace_only = one_in(3), .require_enforcement = one_in(6)};
    if (one_in(3)) rule.cap = base::MilliGpu{500 * draw(9)};
    if (one_in(2)) rows.push_back({{name}, rule});
  }
  return model::SharingRules(std::move(rows));
}

model::GpuRequest draw_request_of_kind(bool units) {
  model::GpuRequest request = draw_request();
  while (request.is_kubelet_assigned() != units) request = draw_request();
  return request;
}

/// A pod that Snug itself would have placed there, if there is room for what it asks.
void place_some(Site& site, const std::string& uid) {
  const bool units = uid.contains("units");
  OwnedIncomingPod claim(draw_request_of_kind(units), make_profile("best-fit"), uid);
  claim.name_space = draw_namespace();
  const model::NodeStatePtr state = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(site.inventory), site.holdings);
  const plan::NodeChoice choice = choose_without_others(*state, claim);
  if (choice.reason != model::ReasonCode::kNone) return;
  site.holdings.push_back(plan::to_holding(*state, claim.view(), choice.placement));
}

/// What a node may show after its pods were bound.
void change(model::NodeInventory& node) {
  for (model::GpuInfo& gpu : node.gpus) {
    if (one_in(12)) gpu.memory.value = std::max<std::int64_t>(1, gpu.memory.value * 9 / 10);
    if (one_in(12)) gpu.healthy = !gpu.healthy;
    if (one_in(12)) gpu.uuid = "GPU-other-" + std::to_string(gpu.index);
    if (one_in(12)) gpu.allowed_modes = draw_modes();
    if (one_in(12)) gpu.mig_instances.clear();
    if (one_in(20)) gpu.mig_enabled = !gpu.mig_enabled;
  }
  if (one_in(12) && !node.gpus.empty()) node.gpus.pop_back();
  node.nvlinks.clear();
}

Site draw_site(const std::string& name) {
  Site site{.inventory = draw_node(name, true)};
  const int hand_made = one_in(3) ? draw(3) : 0;
  const int placed = draw(5);
  const std::string kind = one_in(8) ? "-units-" : "-placed-";
  for (int i = 0; i < placed; ++i) place_some(site, name + kind + std::to_string(i));
  for (int i = 0; i < hand_made; ++i) {
    site.holdings.push_back(draw_holding(name + "-made-" + std::to_string(i), site.inventory));
  }
  if (one_in(6)) change(site.inventory);
  site.state = fit::build_node_state(std::make_shared<const model::NodeInventory>(site.inventory),
                                     site.holdings);
  return site;
}

Case draw_case() {
  Case drawn;
  const int sites = one_in(3) ? 1 + draw(3) : 1;
  for (int i = 0; i < sites; ++i) {
    drawn.sites.push_back(draw_site(std::string(1, static_cast<char>('a' + i))));
    const Site& site = drawn.sites.back();
    for (const model::HoldingPtr& holding : site.holdings) {
      drawn.held.add(holding->name_space, {FitOracle::held_by(*holding, site.inventory.replicas)});
      RC_ASSERT(fit::held_compute(*holding, &site.inventory).value ==
                FitOracle::held_by(*holding, site.inventory.replicas));
    }
  }
  drawn.name_space = draw_namespace();
  drawn.rules = draw_rules();
  drawn.request = draw_request();
  RC_LOG() << model::to_text(drawn.request) << " of " << drawn.name_space << "\n";
  for (const model::ContainerRequest& asked : drawn.request.containers) {
    RC_LOG() << "  " << asked.container << " kind " << static_cast<int>(asked.type) << "\n";
  }
  for (const Site& site : drawn.sites) RC_LOG() << describe(*site.state);
  return drawn;
}

/// Container, GPU, and the start of the slice, if it is one.
using Taken = std::tuple<int, int, int>;

std::vector<Taken> pairs(model::PlacementView placement) {
  std::vector<Taken> pairs;
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    pairs.emplace_back(allocation.container, allocation.gpu, allocation.slice.start);
  }
  std::ranges::sort(pairs);
  return pairs;
}

/// With the pod on it the node has room for all, and nothing closes.
void expect_room_for(const Case& drawn, const Site& site, model::PlacementView placement) {
  const OwnedIncomingPod claim = drawn.claim();
  std::vector<model::HoldingPtr> holdings = site.holdings;
  holdings.push_back(plan::to_holding(*site.state, claim.view(), placement));
  const model::NodeStatePtr with = fit::build_node_state(site.state->inventory, holdings);
  RC_ASSERT(with->gpus.size() == site.state->gpus.size());
  RC_ASSERT(with->conflict == site.state->conflict);
  std::vector<std::int64_t> room(with->gpus.size());
  for (const model::DeviceAllocation& allocation : placement.allocations)
    room[allocation.gpu] += allocation.milli_sum;
  for (std::size_t i = 0; i < with->gpus.size(); ++i) {
    const model::GpuState& before = site.state->gpus[i];
    const model::GpuState& after = with->gpus[i];
    RC_ASSERT(after.closure == before.closure);
    RC_ASSERT(room[i] <= before.free_milli_sum);
    // A card may say less of its memory than its slices have.
    if (before.closure != model::GpuClosure::kOpen || before.info->mig_enabled) continue;
    RC_ASSERT(after.used_memory <= after.memory);
    RC_ASSERT(after.used_compute <= base::kWholeGpu);
  }
  const fit::Tenant tenant = drawn.tenant();
  RC_ASSERT(tenant.cap_remaining == fit::kNoCap ||
            fit::held_compute(*holdings.back(), &site.inventory).value <= tenant.cap_remaining);
}

/// A plain init container takes a GPU of the pod's apps and sidecars where one can serve it.
void expect_reuse(const Case& drawn, const FitOracle& oracle, model::PlacementView placement) {
  const auto is_init = [&](const model::DeviceAllocation& allocation) {
    return drawn.request.containers[allocation.container].type == model::ContainerType::kInit;
  };
  const std::vector<model::DeviceAllocation> takes(placement.allocations.begin(),
                                                   placement.allocations.end());
  if (std::ranges::count_if(takes, is_init) != 1) return;
  const auto init = std::ranges::find_if(takes, is_init);
  const auto reused = [&](const model::DeviceAllocation& allocation) {
    return !is_init(allocation) && allocation.gpu == init->gpu;
  };
  if (std::ranges::any_of(takes, reused)) return;
  RC_TAG(std::string("init on a GPU of its own"));
  for (const model::DeviceAllocation& other : takes) {
    if (is_init(other) || other.mode == model::GpuMode::kMig) continue;
    std::vector<model::DeviceAllocation> instead = takes;
    model::DeviceAllocation& moved = instead[static_cast<std::size_t>(init - takes.begin())];
    const model::ContainerRequest& asked = drawn.request.containers[moved.container];
    const auto cost = FitOracle::cost(asked, oracle.gpus()[other.gpu].info.memory.value);
    moved.gpu = other.gpu;
    moved.mode = other.mode;
    moved.memory = {cost.memory};
    moved.compute = {cost.compute};
    RC_ASSERT(!oracle.accepts(drawn.request, instead));
  }
}

/// Of one GPU every choice is offered, but for those that a lower neighbour stands for.
void expect_all_offered(const Case& drawn, const Site& site, const FitOracle& oracle,
                        const std::set<std::vector<Taken>>& offered) {
  const std::vector<model::ContainerRequest>& containers = drawn.request.containers;
  if (containers.size() != 1 || containers[0].count != 1 || drawn.request.is_kubelet_assigned())
    return;
  for (std::size_t gpu = 0; gpu < site.inventory.gpus.size(); ++gpu) {
    const auto here =
        static_cast<std::size_t>(std::ranges::count_if(offered, [&](const auto& takes) {
          return std::get<1>(takes.front()) == static_cast<int>(gpu);
        }));
    if (here > 0) RC_ASSERT(here == oracle.starts_on(drawn.request, gpu).value_or(1));
    if (here > 0 || !oracle.possible_on(drawn.request, gpu)) continue;
    RC_ASSERT(gpu > 0);
    RC_ASSERT(site.state->gpus[gpu].is_interchangeable_with(site.state->gpus[gpu - 1]));
  }
}

model::ReasonCode check_node(const Case& drawn, const Site& site) {
  const FitOracle oracle = drawn.oracle(site);
  const bool possible = oracle.possible(drawn.request);
  const FitResult fitted = fit_all(*site.state, drawn.request, drawn.tenant());
  RC_LOG() << "fit says of " << site.inventory.name << ": " << model::reason_row(fitted.reason).code
           << "\n";
  RC_ASSERT((fitted.reason == model::ReasonCode::kNone) == possible);
  RC_ASSERT(fitted.options.empty() == !possible);
  if (!possible) RC_ASSERT(oracle.is_true(fitted.reason, drawn.request));
  std::set<std::vector<Taken>> offered;
  for (const model::Placement& option : fitted.options) {
    RC_ASSERT(oracle.accepts(drawn.request, option.allocations));
    RC_ASSERT(offered.insert(pairs(option)).second);
    expect_reuse(drawn, oracle, option);
  }
  expect_all_offered(drawn, site, oracle, offered);
  if (possible) {
    const auto some = static_cast<std::size_t>(draw(static_cast<int>(fitted.options.size())));
    expect_room_for(drawn, site, fitted.options[some]);
  }
  return fitted.reason;
}

void check_plan(const Case& drawn, const std::vector<model::ReasonCode>& reasons) {
  std::vector<model::NodeStatePtr> states;
  std::vector<std::string_view> names;
  auto index = std::make_shared<model::NameIndex>();
  for (const Site& site : drawn.sites) {
    index->emplace(site.inventory.name, base::NodeIndex{static_cast<std::uint32_t>(states.size())});
    states.push_back(site.state);
    names.push_back(site.inventory.name);
  }
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(states);
  snapshot.names = index;
  snapshot.namespace_usage = drawn.held;
  const OwnedIncomingPod claim = drawn.claim();
  const plan::Plan answer = plan::plan({.snapshot = snapshot, .incoming = claim.view()}, names);
  for (std::size_t i = 0; i < names.size(); ++i) RC_ASSERT(answer.verdicts[i].reason == reasons[i]);
  RC_ASSERT(answer.winner.has_value() ==
            (std::ranges::count(reasons, model::ReasonCode::kNone) > 0));
  if (!answer.winner) return;
  const Site& winner = drawn.sites[*answer.winner];
  RC_ASSERT(drawn.oracle(winner).accepts(drawn.request, answer.placement.allocations));
  expect_room_for(drawn, winner, answer.placement);
}

void feasibility_property() {
  const Case drawn = draw_case();
  std::vector<model::ReasonCode> reasons;
  for (const Site& site : drawn.sites) reasons.push_back(check_node(drawn, site));
  RC_TAG(std::string(model::reason_row(reasons.front()).code),
         drawn.request.containers.size() == 1 ? "one" : "several");
  check_plan(drawn, reasons);
}

/// 100,000 cases in all, each range with a seed of its own.
class FitProperty : public testing::TestWithParam<int> {};

TEST_P(FitProperty, RefusesExactlyWhereNoAssignmentExistsAndTheReasonIsTrue) {
  holds_in(10'000, feasibility_property);
}

INSTANTIATE_TEST_SUITE_P(Cases, FitProperty, testing::Range(0, 10));

}  // namespace
}  // namespace snug::fit_property_test

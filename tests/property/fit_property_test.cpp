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

#include "fit_oracle.hpp"
#include "many.hpp"
#include "random_cluster.hpp"
#include "snug/plan/plan.hpp"
#include "support/claims.hpp"
#include "support/states.hpp"

namespace snug::fit_property_test {
namespace {

struct Site {
  NodeInventory inventory;
  std::vector<HoldingPtr> holdings;
  NodeStatePtr state;
};

/// A small cluster, and a pod that asks for a place in it.
struct Case {
  std::vector<Site> sites;
  std::string name_space;
  SharingRules rules;
  NamespaceUse held;
  GpuRequest request;

  [[nodiscard]] Tenant tenant() const { return tenant_of(name_space, rules, held); }
  [[nodiscard]] FitOracle oracle(const Site& site) const {
    return {site.inventory,
            site.holdings,
            {.name_space = name_space, .rules = rules, .held = held.of(name_space).value}};
  }
  [[nodiscard]] OwnClaim claim() const {
    OwnClaim claim(request);
    claim.name_space = name_space;
    claim.sharing = rules;
    return claim;
  }
};

SharingRules draw_rules() {
  if (one_in(2)) return {};
  std::vector<SharingRow> rows;
  for (const char* name : {"team-a", "team-*", "*"}) {
    SharingRule rule{.own_namespace_only = one_in(3), .require_enforcement = one_in(6)};
    if (one_in(3)) rule.cap = MilliGpu{500 * draw(9)};
    if (one_in(2)) rows.push_back({{name}, rule});
  }
  return SharingRules(std::move(rows));
}

GpuRequest draw_request_of_kind(bool units) {
  GpuRequest request = draw_request();
  while (request.kubelet_assigned() != units) request = draw_request();
  return request;
}

/// A pod that Snug itself would have placed there, if there is room for what it asks.
void place_some(Site& site, const std::string& uid) {
  const bool units = uid.contains("units");
  OwnClaim claim(draw_request_of_kind(units), make_profile("best-fit"), uid);
  claim.name_space = draw_namespace();
  const NodeStatePtr state =
      add_up(std::make_shared<const NodeInventory>(site.inventory), site.holdings);
  const NodeChoice choice = choose_alone(*state, claim);
  if (choice.reason != ReasonCode::kNone) return;
  site.holdings.push_back(to_holding(*state, claim.view(), choice.placement));
}

/// What a node may show after its pods were bound.
void change(NodeInventory& node) {
  for (GpuInfo& gpu : node.gpus) {
    if (one_in(12)) gpu.memory.value = std::max<std::int64_t>(1, gpu.memory.value * 9 / 10);
    if (one_in(12)) gpu.healthy = !gpu.healthy;
    if (one_in(12)) gpu.uuid = "GPU-other-" + std::to_string(gpu.index);
    if (one_in(12)) gpu.modes = draw_modes();
    if (one_in(12)) gpu.mig_instances.clear();
    if (one_in(20)) gpu.mig = !gpu.mig;
  }
  if (one_in(12) && !node.gpus.empty()) node.gpus.pop_back();
  node.links.clear();
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
  site.state = add_up(std::make_shared<const NodeInventory>(site.inventory), site.holdings);
  return site;
}

Case draw_case() {
  Case drawn;
  const int sites = one_in(3) ? 1 + draw(3) : 1;
  for (int i = 0; i < sites; ++i) {
    drawn.sites.push_back(draw_site(std::string(1, static_cast<char>('a' + i))));
    const Site& site = drawn.sites.back();
    for (const HoldingPtr& holding : site.holdings) {
      drawn.held.add(holding->name_space, {FitOracle::held_by(*holding, site.inventory)});
      RC_ASSERT(compute_held(*holding, &site.inventory).value ==
                FitOracle::held_by(*holding, site.inventory));
    }
  }
  drawn.name_space = draw_namespace();
  drawn.rules = draw_rules();
  drawn.request = draw_request();
  RC_LOG() << to_text(drawn.request) << " of " << drawn.name_space << "\n";
  for (const ContainerRequest& asked : drawn.request.containers) {
    RC_LOG() << "  " << asked.container << " kind " << static_cast<int>(asked.kind) << "\n";
  }
  for (const Site& site : drawn.sites) RC_LOG() << describe(*site.state);
  return drawn;
}

/// Container, GPU, and the start of the slice, if it is one.
using Taken = std::tuple<int, int, int>;

std::vector<Taken> pairs(PlacementView placement) {
  std::vector<Taken> pairs;
  for (const DeviceTake& take : placement.takes) {
    pairs.emplace_back(take.container, take.gpu, take.slice.start);
  }
  std::ranges::sort(pairs);
  return pairs;
}

/// With the pod on it the node has room for all, and nothing closes.
void expect_room_for(const Case& drawn, const Site& site, PlacementView placement) {
  const OwnClaim claim = drawn.claim();
  std::vector<HoldingPtr> holdings = site.holdings;
  holdings.push_back(to_holding(*site.state, claim.view(), placement));
  const NodeStatePtr with = add_up(site.state->inventory, holdings);
  RC_ASSERT(with->gpus.size() == site.state->gpus.size());
  RC_ASSERT(with->conflict == site.state->conflict);
  std::vector<std::int64_t> room(with->gpus.size());
  for (const DeviceTake& take : placement.takes) room[take.gpu] += take.room;
  for (std::size_t i = 0; i < with->gpus.size(); ++i) {
    const GpuState& before = site.state->gpus[i];
    const GpuState& after = with->gpus[i];
    RC_ASSERT(after.closure == before.closure);
    RC_ASSERT(room[i] <= before.room);
    // A card may say less of its memory than its slices have.
    if (before.closure != GpuClosure::kOpen || before.info->mig) continue;
    RC_ASSERT(after.used_memory <= after.memory);
    RC_ASSERT(after.used_compute <= kWholeGpu);
  }
  const Tenant tenant = drawn.tenant();
  RC_ASSERT(tenant.cap_left == kNoCap ||
            compute_held(*holdings.back(), &site.inventory).value <= tenant.cap_left);
}

/// A plain init container takes a GPU of the pod's apps and sidecars where one can serve it.
void expect_reuse(const Case& drawn, const FitOracle& oracle, PlacementView placement) {
  const auto is_init = [&](const DeviceTake& take) {
    return drawn.request.containers[take.container].kind == ContainerKind::kInit;
  };
  const std::vector<DeviceTake> takes(placement.takes.begin(), placement.takes.end());
  if (std::ranges::count_if(takes, is_init) != 1) return;
  const auto init = std::ranges::find_if(takes, is_init);
  const auto reused = [&](const DeviceTake& take) {
    return !is_init(take) && take.gpu == init->gpu;
  };
  if (std::ranges::any_of(takes, reused)) return;
  RC_TAG(std::string("init on a GPU of its own"));
  for (const DeviceTake& other : takes) {
    if (is_init(other) || other.mode == GpuMode::kMig) continue;
    std::vector<DeviceTake> instead = takes;
    DeviceTake& moved = instead[static_cast<std::size_t>(init - takes.begin())];
    const ContainerRequest& asked = drawn.request.containers[moved.container];
    const auto cost = FitOracle::cost(asked, oracle.capacity(other.gpu));
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
  const std::vector<ContainerRequest>& containers = drawn.request.containers;
  if (containers.size() != 1 || containers[0].count != 1 || drawn.request.kubelet_assigned())
    return;
  for (std::size_t gpu = 0; gpu < site.inventory.gpus.size(); ++gpu) {
    const auto here =
        static_cast<std::size_t>(std::ranges::count_if(offered, [&](const auto& takes) {
          return std::get<1>(takes.front()) == static_cast<int>(gpu);
        }));
    if (here > 0) RC_ASSERT(here == oracle.starts_on(drawn.request, gpu).value_or(1));
    if (here > 0 || !oracle.possible_on(drawn.request, gpu)) continue;
    RC_ASSERT(gpu > 0);
    RC_ASSERT(site.state->gpus[gpu].same_as(site.state->gpus[gpu - 1]));
  }
}

ReasonCode check_node(const Case& drawn, const Site& site) {
  const FitOracle oracle = drawn.oracle(site);
  const bool possible = oracle.possible(drawn.request);
  const Fitted fitted = fit_all(*site.state, drawn.request, drawn.tenant());
  RC_LOG() << "fit says of " << site.inventory.name << ": " << reason(fitted.reason).code << "\n";
  RC_ASSERT((fitted.reason == ReasonCode::kNone) == possible);
  RC_ASSERT(fitted.options.empty() == !possible);
  if (!possible) RC_ASSERT(oracle.is_true(fitted.reason, drawn.request));
  std::set<std::vector<Taken>> offered;
  for (const Placement& option : fitted.options) {
    RC_ASSERT(oracle.accepts(drawn.request, option.takes));
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

void check_plan(const Case& drawn, const std::vector<ReasonCode>& reasons) {
  std::vector<NodeStatePtr> states;
  std::vector<std::string_view> names;
  auto index = std::make_shared<NameIndex>();
  for (const Site& site : drawn.sites) {
    index->emplace(site.inventory.name, NodeIndex{static_cast<std::uint32_t>(states.size())});
    states.push_back(site.state);
    names.push_back(site.inventory.name);
  }
  Snapshot snapshot;
  snapshot.nodes = NodeTable(states);
  snapshot.names = index;
  snapshot.held = drawn.held;
  const OwnClaim claim = drawn.claim();
  const Plan answer = plan({.snapshot = snapshot, .claim = claim.view()}, names);
  for (std::size_t i = 0; i < names.size(); ++i) RC_ASSERT(answer.verdicts[i].reason == reasons[i]);
  RC_ASSERT(answer.winner.has_value() == (std::ranges::count(reasons, ReasonCode::kNone) > 0));
  if (!answer.winner) return;
  const Site& winner = drawn.sites[*answer.winner];
  RC_ASSERT(drawn.oracle(winner).accepts(drawn.request, answer.placement.takes));
  expect_room_for(drawn, winner, answer.placement);
}

void feasibility_property() {
  const Case drawn = draw_case();
  std::vector<ReasonCode> reasons;
  for (const Site& site : drawn.sites) reasons.push_back(check_node(drawn, site));
  RC_TAG(std::string(reason(reasons.front()).code),
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

// Nominated pods and a claimant of any shape, on nodes with all that may be wrong with them.
// FitOracle says what the first that is kept could have before and after.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fit_oracle.hpp"
#include "many.hpp"
#include "random_cluster.hpp"
#include "support/claims.hpp"

namespace snug::nominated_shapes_property_test {
namespace {

SharingRules draw_rules() {
  if (one_in(2)) return {};
  SharingRule rule{.own_namespace_only = one_in(3)};
  if (one_in(2)) rule.cap = MilliGpu{500LL * (1 + draw(9))};
  return SharingRules({{{one_in(2) ? "team-a" : "*"}, rule}});
}

struct Shapes {
  NodeInventory inventory;
  std::vector<HoldingPtr> holdings;
  NodeStatePtr state;
  SharingRules rules;
  OwnClaim asking{draw_request(), make_profile(one_in(2) ? "spread" : "best-fit"), "asking"};
  Nominations nominations;
  NamespaceUse held;

  const Nomination* first = nullptr;  // of those that could have room; null: none could
  int waits = 0;  // for whom it has to: 0 nobody, 1 those that are ending, 2 all lower ones too

  /// Whether the nominated pod could have its GPUs without those that go, beside one more.
  template <typename Goes>
  [[nodiscard]] bool possible(const Nomination& pod, const Goes& goes,
                              const HoldingPtr& more) const {
    std::vector<HoldingPtr> left;
    for (const HoldingPtr& holding : holdings) {
      if (!goes(*holding)) left.push_back(holding);
    }
    if (more != nullptr) left.push_back(more);
    Asker asker{.name_space = pod.name_space, .rules = rules, .held = 0};
    for (const HoldingPtr& holding : left) {
      if (holding->name_space != asker.name_space) continue;
      asker.held += FitOracle::held_by(*holding, inventory);
    }
    return FitOracle(inventory, left, asker).possible(pod.request);
  }
  [[nodiscard]] bool possible(const Nomination& pod, int its_waits, const HoldingPtr& more) const {
    return possible(
        pod,
        [&](const Holding& holding) {
          const bool lower = holding.rank.priority < pod.rank.priority;
          return its_waits > 0 && (holding.terminating || (its_waits > 1 && lower));
        },
        more);
  }
  void find_first() {
    for (const NominationPtr& pod : nominations) {
      for (waits = 0; waits < 3; ++waits) {
        if (!possible(*pod, waits, nullptr)) continue;
        first = pod.get();
        return;
      }
    }
  }
  [[nodiscard]] bool accepts(PlacementView placement) const {
    const Asker asker{
        .name_space = asking.name_space, .rules = rules, .held = held.of(asking.name_space).value};
    return FitOracle(inventory, holdings, asker).accepts(asking.request, placement.takes);
  }
  [[nodiscard]] NodeChoice choose(const Nominations* kept) const {
    return choose_on(*state, asking.view(), {.held = held, .nominations = kept});
  }
  [[nodiscard]] HoldingPtr taken(PlacementView placement) const {
    return to_holding(*state, asking.view(), placement);
  }
};

Shapes draw_shapes() {
  Shapes drawn;
  drawn.inventory = draw_node("n", true);
  const auto inventory = std::make_shared<const NodeInventory>(drawn.inventory);
  const int holders = draw(6);
  for (int i = 0; i < holders; ++i) {
    OwnClaim claim(draw_request(), make_profile("best-fit"), "h" + std::to_string(i));
    claim.name_space = draw_namespace();
    claim.rank.priority = draw(4);
    const NodeStatePtr state = add_up(inventory, drawn.holdings);
    const NodeChoice choice = choose_alone(*state, claim);
    if (choice.reason != ReasonCode::kNone) continue;
    auto holding = to_holding(*state, claim.view(), choice.placement);
    holding->terminating = one_in(4);
    drawn.held.add(holding->name_space, {FitOracle::held_by(*holding, drawn.inventory)});
    drawn.holdings.push_back(std::move(holding));
  }
  drawn.state = add_up(inventory, drawn.holdings);
  drawn.rules = draw_rules();
  drawn.asking.name_space = draw_namespace();
  drawn.asking.sharing = drawn.rules;
  const int nominated = one_in(3) ? 2 + draw(2) : 1;
  for (int i = 0; i < nominated; ++i) {
    drawn.nominations.push_back(std::make_shared<const Nomination>(Nomination{
        .name_space = draw_namespace(),
        .node = "n",
        .rank = {.priority = 1 + draw(4), .created = "2026", .uid = "n" + std::to_string(i)},
        .request = draw_request()}));
  }
  std::ranges::sort(drawn.nominations, [](const NominationPtr& a, const NominationPtr& b) {
    return a->rank.before(b->rank);
  });
  drawn.find_first();
  RC_LOG() << to_text(drawn.asking.request) << " of " << drawn.asking.name_space << "\n";
  for (const NominationPtr& pod : drawn.nominations) {
    RC_LOG() << "nominated " << to_text(pod->request) << " of " << pod->name_space << " priority "
             << pod->rank.priority << "\n";
  }
  RC_LOG() << describe(*drawn.state);
  return drawn;
}

void shapes_property() {
  const Shapes drawn = draw_shapes();
  const NodeChoice alone = drawn.choose(nullptr);
  const NodeChoice choice = drawn.choose(&drawn.nominations);
  RC_TAG(std::string(drawn.first != nullptr ? "kept, waits " + std::to_string(drawn.waits)
                                            : "not kept") +
         ", " +
         std::string(choice.reason == ReasonCode::kNone        ? "placed"
                     : choice.reason == ReasonCode::kNominated ? "Nominated"
                                                               : "no room of its own"));
  if (alone.reason != ReasonCode::kNone) {
    RC_ASSERT(choice.reason == alone.reason);
    return;
  }
  if (choice.reason == ReasonCode::kNone) {
    if (!drawn.asking.request.kubelet_assigned()) RC_ASSERT(drawn.accepts(choice.placement));
    if (drawn.first == nullptr) return;
    RC_ASSERT(drawn.possible(*drawn.first, drawn.waits, drawn.taken(choice.placement)));
    return;
  }
  RC_ASSERT(choice.reason == ReasonCode::kNominated);
  RC_ASSERT(drawn.first != nullptr);
  if (drawn.nominations.size() > 1) return;
  const Tenant tenant = tenant_of(drawn.asking.name_space, drawn.rules, drawn.held);
  for (const Placement& option : fit_all(*drawn.state, drawn.asking.request, tenant).options) {
    RC_ASSERT(!drawn.possible(*drawn.first, drawn.waits, drawn.taken(option)));
  }
}

TEST(NominatedShapesProperty, TheFirstOfAnyShapeCanHaveWhatItCouldHave) {
  holds_in(6'000, shapes_property);
}

}  // namespace
}  // namespace snug::nominated_shapes_property_test

// One nominated pod and one claimant of any shape, on nodes with all that may be wrong with them.
// FitOracle says what the nominated pod could have before and after.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fit_oracle.hpp"
#include "many.hpp"
#include "random_cluster.hpp"
#include "support/claims.hpp"

namespace snug {
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

  [[nodiscard]] const Nomination& nominated() const { return *nominations.front(); }

  /// Whether the nominated pod could have its GPUs without those that go, beside one more.
  template <typename Goes>
  [[nodiscard]] bool possible(const Goes& goes, const HoldingPtr& more) const {
    std::vector<HoldingPtr> left;
    for (const HoldingPtr& holding : holdings) {
      if (!goes(*holding)) left.push_back(holding);
    }
    if (more != nullptr) left.push_back(more);
    Asker asker{.name_space = nominated().name_space, .rules = rules, .held = 0};
    for (const HoldingPtr& holding : left) {
      if (holding->name_space != asker.name_space) continue;
      asker.held += FitOracle::held_by(*holding, inventory);
    }
    return FitOracle(inventory, left, asker).possible(nominated().request);
  }
  /// For whom it has to wait: 0 nobody, 1 those that are ending, 2 all lower ones too.
  [[nodiscard]] bool possible(int waits, const HoldingPtr& more) const {
    return possible(
        [&](const Holding& holding) {
          const bool lower = holding.rank.priority < nominated().rank.priority;
          return waits > 0 && (holding.terminating || (waits > 1 && lower));
        },
        more);
  }
  [[nodiscard]] std::optional<int> waits() const {
    for (int waits = 0; waits < 3; ++waits) {
      if (possible(waits, nullptr)) return waits;
    }
    return std::nullopt;
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
  drawn.nominations.push_back(std::make_shared<const Nomination>(
      Nomination{.name_space = draw_namespace(),
                 .node = "n",
                 .rank = {.priority = 1 + draw(4), .created = "2026", .uid = "nominated"},
                 .request = draw_request()}));
  RC_LOG() << to_text(drawn.asking.request) << " of " << drawn.asking.name_space << "\n";
  RC_LOG() << "nominated " << to_text(drawn.nominated().request) << " of "
           << drawn.nominated().name_space << " priority " << drawn.nominated().rank.priority
           << "\n";
  RC_LOG() << describe(*drawn.state);
  return drawn;
}

void shapes_property() {
  const Shapes drawn = draw_shapes();
  const std::optional<int> waits = drawn.waits();
  const NodeChoice alone = drawn.choose(nullptr);
  const NodeChoice choice = drawn.choose(&drawn.nominations);
  RC_TAG(std::string(waits ? "kept, waits " + std::to_string(*waits) : "not kept") + ", " +
         std::string(choice.reason == ReasonCode::kNone        ? "placed"
                     : choice.reason == ReasonCode::kNominated ? "Nominated"
                                                               : "no room of its own"));
  if (alone.reason != ReasonCode::kNone) {
    RC_ASSERT(choice.reason == alone.reason);
  } else if (!waits) {
    RC_ASSERT(choice.placement.takes.size() == alone.placement.takes.size());
    RC_ASSERT(choice.reason == ReasonCode::kNone);
  } else if (choice.reason == ReasonCode::kNone) {
    RC_ASSERT(drawn.possible(*waits, drawn.taken(choice.placement)));
  } else {
    RC_ASSERT(choice.reason == ReasonCode::kNominated);
    const Tenant tenant = tenant_of(drawn.asking.name_space, drawn.rules, drawn.held);
    for (const Placement& option : fit_all(*drawn.state, drawn.asking.request, tenant).options) {
      RC_ASSERT(!drawn.possible(*waits, drawn.taken(option)));
    }
  }
}

TEST(NominatedShapesProperty, OnePodOfAnyShapeCanHaveWhatItCouldHave) {
  holds_in(6'000, shapes_property);
}

}  // namespace
}  // namespace snug

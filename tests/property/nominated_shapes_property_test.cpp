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

#include "many.hpp"
#include "oracle/fit_oracle.hpp"
#include "random_cluster.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::nominated_shapes_property_test {
namespace {

model::SharingRules draw_rules() {
  if (one_in(2)) return {};
  model::SharingRule rule{.own_namespace_only = one_in(3)};
  if (one_in(2)) rule.cap = base::MilliGpu{500LL * (1 + draw(9))};
  return model::SharingRules({{{one_in(2) ? "team-a" : "*"}, rule}});
}

struct Shapes {
  model::NodeInventory inventory;
  std::vector<model::HoldingPtr> holdings;
  model::NodeStatePtr state;
  model::SharingRules rules;
  OwnedIncomingPod asking{draw_request(), make_profile(one_in(2) ? "spread" : "best-fit"),
                          "asking"};
  model::Nominations nominations;
  model::NamespaceUsage held;

  const model::Nomination* first = nullptr;  // of those that could have room; null: none could
  int waits = 0;  // for whom it has to: 0 nobody, 1 those that are ending, 2 all lower ones too

  [[nodiscard]] Asker asker(const std::string& name_space, std::int64_t its_own) const {
    return {.name_space = name_space,
            .rule_of = [this](std::string_view other) { return rules.rule_for(other); },
            .held = its_own};
  }
  /// Whether the nominated pod could have its GPUs without those that go, beside one more.
  template <typename Goes>
  [[nodiscard]] bool possible(const model::Nomination& pod, const Goes& goes,
                              const model::HoldingPtr& more) const {
    std::vector<model::HoldingPtr> left;
    for (const model::HoldingPtr& holding : holdings) {
      if (!goes(*holding)) left.push_back(holding);
    }
    if (more != nullptr) left.push_back(more);
    std::int64_t its_own = 0;
    for (const model::HoldingPtr& holding : left) {
      if (holding->name_space != pod.name_space) continue;
      its_own += FitOracle::held_by(*holding, inventory.replicas);
    }
    return FitOracle(inventory, left, asker(pod.name_space, its_own)).possible(pod.request);
  }
  [[nodiscard]] bool possible(const model::Nomination& pod, int its_waits,
                              const model::HoldingPtr& more) const {
    return possible(
        pod,
        [&](const model::Holding& holding) {
          const bool lower = holding.rank.priority < pod.rank.priority;
          return its_waits > 0 && (holding.terminating || (its_waits > 1 && lower));
        },
        more);
  }
  void find_first() {
    for (const model::NominationPtr& pod : nominations) {
      for (waits = 0; waits < 3; ++waits) {
        if (!possible(*pod, waits, nullptr)) continue;
        first = pod.get();
        return;
      }
    }
  }
  [[nodiscard]] bool accepts(model::PlacementView placement) const {
    return FitOracle(inventory, holdings,
                     asker(asking.name_space, held.of(asking.name_space).value))
        .accepts(asking.request, placement.allocations);
  }
  [[nodiscard]] plan::NodeChoice choose(const model::Nominations* kept) const {
    return plan::choose_placement(*state, asking.view(),
                                  {.namespace_usage = held, .nominations = kept});
  }
  [[nodiscard]] model::HoldingPtr taken(model::PlacementView placement) const {
    return plan::to_holding(*state, asking.view(), placement);
  }
};

Shapes draw_shapes() {
  Shapes drawn;
  drawn.inventory = draw_node("n", true);
  const auto inventory = std::make_shared<const model::NodeInventory>(drawn.inventory);
  const int holders = draw(6);
  for (int i = 0; i < holders; ++i) {
    OwnedIncomingPod claim(draw_request(), make_profile("best-fit"), "h" + std::to_string(i));
    claim.name_space = draw_namespace();
    claim.rank.priority = draw(4);
    const model::NodeStatePtr state = fit::build_node_state(inventory, drawn.holdings);
    const plan::NodeChoice choice = choose_without_others(*state, claim);
    if (choice.reason != model::ReasonCode::kNone) continue;
    auto holding = plan::to_holding(*state, claim.view(), choice.placement);
    holding->terminating = one_in(4);
    drawn.held.add(holding->name_space, {FitOracle::held_by(*holding, drawn.inventory.replicas)});
    drawn.holdings.push_back(std::move(holding));
  }
  drawn.state = fit::build_node_state(inventory, drawn.holdings);
  drawn.rules = draw_rules();
  drawn.asking.name_space = draw_namespace();
  drawn.asking.sharing = drawn.rules;
  const int nominated = one_in(3) ? 2 + draw(2) : 1;
  for (int i = 0; i < nominated; ++i) {
    drawn.nominations.push_back(std::make_shared<const model::Nomination>(model::Nomination{
        .name_space = draw_namespace(),
        .node = "n",
        .rank = {.priority = 1 + draw(4), .created = "2026", .uid = "n" + std::to_string(i)},
        .request = draw_request()}));
  }
  std::ranges::sort(drawn.nominations,
                    [](const model::NominationPtr& a, const model::NominationPtr& b) {
                      return a->rank.outranks(b->rank);
                    });
  drawn.find_first();
  RC_LOG() << model::to_text(drawn.asking.request) << " of " << drawn.asking.name_space << "\n";
  for (const model::NominationPtr& pod : drawn.nominations) {
    RC_LOG() << "nominated " << model::to_text(pod->request) << " of " << pod->name_space
             << " priority " << pod->rank.priority << "\n";
  }
  RC_LOG() << describe(*drawn.state);
  return drawn;
}

void shapes_property() {
  const Shapes drawn = draw_shapes();
  const plan::NodeChoice alone = drawn.choose(nullptr);
  const plan::NodeChoice choice = drawn.choose(&drawn.nominations);
  RC_TAG(std::string(drawn.first != nullptr ? "kept, waits " + std::to_string(drawn.waits)
                                            : "not kept") +
         ", " +
         std::string(choice.reason == model::ReasonCode::kNone        ? "placed"
                     : choice.reason == model::ReasonCode::kNominated ? "Nominated"
                                                                      : "no room of its own"));
  if (alone.reason != model::ReasonCode::kNone) {
    RC_ASSERT(choice.reason == alone.reason);
    return;
  }
  if (choice.reason == model::ReasonCode::kNone) {
    if (!drawn.asking.request.is_kubelet_assigned()) RC_ASSERT(drawn.accepts(choice.placement));
    if (drawn.first == nullptr) return;
    RC_ASSERT(drawn.possible(*drawn.first, drawn.waits, drawn.taken(choice.placement)));
    return;
  }
  RC_ASSERT(choice.reason == model::ReasonCode::kNominated);
  RC_ASSERT(drawn.first != nullptr);
  if (drawn.nominations.size() > 1) return;
  const fit::Tenant tenant = fit::tenant_of(drawn.asking.name_space, drawn.rules, drawn.held);
  for (const model::Placement& option :
       fit_all(*drawn.state, drawn.asking.request, tenant).options) {
    RC_ASSERT(!drawn.possible(*drawn.first, drawn.waits, drawn.taken(option)));
  }
}

TEST(NominatedShapesProperty, TheFirstOfAnyShapeCanHaveWhatItCouldHave) {
  holds_in(6'000, shapes_property);
}

}  // namespace
}  // namespace snug::nominated_shapes_property_test

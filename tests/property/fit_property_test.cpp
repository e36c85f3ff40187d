#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fit_oracle.hpp"
#include "many.hpp"
#include "random_cluster.hpp"
#include "support/states.hpp"

namespace snug {
namespace {

struct Case {
  NodeInventory node;
  std::vector<HoldingPtr> holdings;
  GpuRequest request;
  NodeStatePtr state;
};

Case draw_case() {
  Case drawn;
  drawn.node = draw_node("n", true);
  const int holdings = draw(5);
  for (int i = 0; i < holdings; ++i) {
    drawn.holdings.push_back(draw_holding("h" + std::to_string(i), drawn.node));
  }
  drawn.request = draw_request();
  drawn.state = add_up(std::make_shared<const NodeInventory>(drawn.node), drawn.holdings);
  RC_LOG() << to_text(drawn.request) << " on " << describe(*drawn.state);
  return drawn;
}

std::set<int> gpus_of(const Placement& placement) {
  std::set<int> gpus;
  for (const DeviceTake& take : placement.takes) gpus.insert(take.gpu);
  return gpus;
}

void refusal_property() {
  const Case drawn = draw_case();
  const FitOracle oracle(drawn.node, drawn.holdings);
  const std::set<std::set<int>> possible = oracle.assignments(drawn.request);
  const Fitted fitted = fit_all(*drawn.state, drawn.request);
  RC_LOG() << "fit says " << reason(fitted.reason).code << "\n";
  RC_TAG(std::string(reason(fitted.reason).code));
  RC_ASSERT((fitted.reason == ReasonCode::kNone) == !possible.empty());
  RC_ASSERT(fitted.options.empty() == possible.empty());
  if (fitted.reason != ReasonCode::kNone) {
    RC_ASSERT(oracle.is_true(fitted.reason, drawn.request));
  }
}

void option_property() {
  const Case drawn = draw_case();
  const FitOracle oracle(drawn.node, drawn.holdings);
  const std::set<std::set<int>> possible = oracle.assignments(drawn.request);
  RC_TAG(possible.size());
  std::set<std::set<int>> offered;
  for (const Placement& option : fit_all(*drawn.state, drawn.request).options) {
    const std::set<int> gpus = gpus_of(option);
    RC_ASSERT(gpus.size() == option.takes.size());
    RC_ASSERT(possible.contains(gpus));
    RC_ASSERT(offered.insert(gpus).second);
    for (const DeviceTake& take : option.takes) {
      const GpuState& gpu = drawn.state->gpus.at(take.gpu);
      const FitOracle::Cost cost = FitOracle::cost(drawn.request, gpu.info->memory.value);
      RC_ASSERT(take.memory.value == cost.memory);
      RC_ASSERT(take.compute.value == cost.compute);
      RC_ASSERT(take.memory <= gpu.free_memory());
      RC_ASSERT(take.compute <= gpu.free_compute());
      RC_ASSERT(take.room <= gpu.room);
      RC_ASSERT(gpu.empty() || gpu.mode == take.mode);
    }
  }
  const bool all_are_offered = !std::holds_alternative<WholeAsk>(drawn.request.containers[0].ask);
  if (!all_are_offered) return;
  for (const std::set<int>& gpus : possible) {
    if (offered.contains(gpus)) continue;
    // Left out is only what a lower neighbour in the very same state stands for.
    RC_ASSERT(gpus.size() == 1);
    const auto gpu = static_cast<std::size_t>(*gpus.begin());
    RC_ASSERT(gpu > 0);
    RC_ASSERT(drawn.state->gpus.at(gpu).same_as(drawn.state->gpus.at(gpu - 1)));
  }
}

TEST(FitProperty, RefusesExactlyWhereNoAssignmentExistsAndTheReasonIsTrue) {
  holds_in(20'000, refusal_property);
}

TEST(FitProperty, EveryOptionIsPossibleAndChargesWhatTheContractSays) {
  holds_in(20'000, option_property);
}

}  // namespace
}  // namespace snug

#include <algorithm>
#include <string_view>

#include "snug/explain/explain.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/plan.hpp"

namespace snug::explain {
namespace {

plan::NodeContext context_of(const model::Snapshot& snapshot, std::uint32_t slot) {
  const auto nominations = snapshot.nominations.find(slot);
  const auto intents = snapshot.intents.find(slot);
  return {.namespace_usage = snapshot.namespace_usage,
          .nominations = nominations == snapshot.nominations.end() ? nullptr : &nominations->second,
          .intents = intents == snapshot.intents.end() ? nullptr : &intents->second,
          .demand = *snapshot.demand};
}

/// The best of the nodes with enough CPU, memory and pod slots, except `without`.
std::optional<std::string> best_node(const ExplainInput& input, std::string_view without) {
  std::vector<std::string_view> candidates;
  for (std::size_t slot = 0; slot < input.snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = input.snapshot.nodes[slot];
    if (node != nullptr && node->name() != without &&
        plan::node_resources_fit(*node, input.incoming.host))
      candidates.push_back(node->name());
  }
  const plan::Plan best =
      plan::plan({.snapshot = input.snapshot, .incoming = input.incoming}, candidates);
  if (!best.winner) return std::nullopt;
  return std::string(candidates[*best.winner]);
}

std::optional<PlacementScore> score_on(const ExplainInput& input, std::uint32_t slot) {
  const model::NodeState& node = *input.snapshot.nodes[slot];
  const plan::NodeChoice choice =
      plan::choose_placement(node, input.incoming, context_of(input.snapshot, slot));
  if (choice.reason != model::ReasonCode::kNone) return std::nullopt;
  const model::Demand& demand = *input.snapshot.demand;
  const score::Profile& profile = input.incoming.profiles.profile_for(node, choice.placement);
  const score::TermInput term_input{node, input.incoming.request, choice.placement,
                                    input.incoming.host, demand};
  PlacementScore placement{.node = node.name(), .profile = profile.name, .terms = {}};
  for (const score::WeightedTerm& weighted : profile.terms) {
    const TermScore& term =
        placement.terms.emplace_back(TermScore{.term = std::string(weighted.term->name),
                                               .weight = weighted.weight.at(demand),
                                               .value = weighted.term->function(term_input)});
    placement.total += term.score();
  }
  return placement;
}

}  // namespace

std::optional<PlacementComparison> compare_placements(const ExplainInput& input,
                                                      std::string_view chosen,
                                                      std::optional<std::string_view> runner_up) {
  const auto chosen_slot = input.snapshot.names->find(chosen);
  if (!chosen_slot) return std::nullopt;
  std::optional<PlacementScore> chosen_score = score_on(input, chosen_slot->value);
  if (!chosen_score) return std::nullopt;
  PlacementComparison comparison{.chosen = *std::move(chosen_score), .runner_up = {}};
  const auto other_slot = runner_up ? input.snapshot.names->find(*runner_up) : std::nullopt;
  if (other_slot) comparison.runner_up = score_on(input, other_slot->value);
  return comparison;
}

std::optional<PlacementComparison> compare_with_best(const ExplainInput& input,
                                                     std::string_view chosen) {
  const std::optional<std::string> other = best_node(input, chosen);
  return compare_placements(input, chosen, other);
}

std::optional<PlacementComparison> compare_best(const ExplainInput& input) {
  const auto best = best_node(input, {});
  if (!best) return std::nullopt;
  return compare_with_best(input, *best);
}

}  // namespace snug::explain

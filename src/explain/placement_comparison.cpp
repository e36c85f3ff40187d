#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/changed_nodes.hpp"
#include "explain/trial.hpp"
#include "snug/explain/explain.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/plan.hpp"

namespace snug::explain {
namespace {

/// The best node with enough CPU, memory and pod slots, except `without`; nullopt: there is none.
std::optional<std::string_view> best_node(const ExplainInput& input, std::string_view without) {
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
  return candidates[*best.winner];
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
  placement.score_class = profile.score_class_of(placement.total, demand);
  placement.quantum = profile.quantum.at(demand);
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

std::optional<PlacementComparison> compare_bound(const model::Snapshot& snapshot,
                                                 const plan::IncomingPod& incoming,
                                                 const model::Holding& holding) {
  const std::string& node = holding.reservation.node;
  const auto slot = snapshot.names->find(node);
  if (!slot) return std::nullopt;
  ChangedNodes nodes(snapshot);
  nodes.remove_pod(node, holding.uid);
  model::Snapshot without_pod = nodes.snapshot();
  without_pod.namespace_usage.add(
      holding.name_space,
      -fit::held_compute(holding, snapshot.nodes[slot->value]->inventory.get()));
  const ExplainInput input{.snapshot = without_pod, .incoming = incoming};
  return compare_placements(input, node, best_node(input, node));
}

std::optional<PlacementComparison> compare_best(const ExplainInput& input,
                                                const Explanation& explanation) {
  const std::vector<std::string>& best = explanation.best_nodes;
  if (best.empty()) return std::nullopt;
  return compare_placements(
      input, best.front(),
      best.size() > 1 ? std::optional<std::string_view>(best[1]) : std::nullopt);
}

}  // namespace snug::explain

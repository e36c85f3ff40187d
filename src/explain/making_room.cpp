#include "explain/making_room.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "snug/fit/node_usage.hpp"
#include "snug/fit/tenant.hpp"

namespace snug::explain {
namespace {

using Pods = std::vector<std::size_t>;  // positions in NodeState::holdings, ascending

std::int64_t held_milli(const model::NodeState& node, std::size_t pod) {
  return fit::held_compute(*node.holdings[pod], node.inventory.get()).value;
}

/// One node without some of its pods.
class EmptiedNode {
 public:
  EmptiedNode(Trial& trial, Slot slot)
      : trial_(trial), slot_(slot), node_(*trial.snapshot().nodes[slot]) {}

  [[nodiscard]] const model::NodeState& node() const { return node_; }

  [[nodiscard]] bool takes_without(const Pods& ended) {
    std::vector<model::HoldingPtr> remaining;
    model::NamespaceUsage namespace_usage = trial_.snapshot().namespace_usage;
    for (std::size_t i = 0; i < node_.holdings.size(); ++i) {
      const model::Holding& holding = *node_.holdings[i];
      if (!std::ranges::binary_search(ended, i)) {
        remaining.push_back(node_.holdings[i]);
      } else if (holding.name_space == trial_.incoming().name_space) {
        namespace_usage.add(holding.name_space, -fit::held_compute(holding, node_.inventory.get()));
      }
    }
    trial_.count_state();
    const model::NodeStatePtr state = fit::with_holdings(node_, std::move(remaining));
    return trial_.takes_in(slot_, *state, trial_.snapshot().intents_on(slot_), namespace_usage);
  }

 private:
  Trial& trial_;
  Slot slot_;
  const model::NodeState& node_;
};

std::string names_of(const model::NodeState& node, const Pods& pods) {
  constexpr std::size_t kMostNames = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(pods.size(), kMostNames); ++i) {
    const model::Holding& holding = *node.holdings[pods[i]];
    names.append(names.empty() ? "" : ", ").append(holding.name_space).append("/");
    names += holding.pod;
  }
  if (pods.size() > kMostNames)
    names += " and " + std::to_string(pods.size() - kMostNames) + " more";
  return names;
}

/// `ns/a has ended`, `ns/a, ns/b have ended`.
std::string have_ended(const model::NodeState& node, const Pods& pods) {
  return names_of(node, pods) + (pods.size() == 1 ? " has ended" : " have ended");
}

Departures departures_of(const model::NodeState& node, const Pods& pods) {
  Departures departures{.node = node.name(), .uids = {}};
  for (const std::size_t pod : pods) departures.uids.push_back(node.holdings[pod]->uid);
  return departures;
}

/// The pods that may end, those that hold least first.
Pods candidates_on(const model::NodeState& node, std::span<const std::string_view> protected_uids,
                   bool with_cpu_only) {
  Pods pods;
  for (std::size_t i = 0; i < node.holdings.size(); ++i) {
    const model::Holding& holding = *node.holdings[i];
    if ((holding.is_cpu_only() && !with_cpu_only) ||
        std::ranges::binary_search(protected_uids, holding.uid))
      continue;
    pods.push_back(i);
  }
  std::ranges::stable_sort(pods, {}, [&](std::size_t pod) { return held_milli(node, pod); });
  return pods;
}

Pods sorted(Pods pods) {
  std::ranges::sort(pods);
  return pods;
}

/// A small set of pods of the node whose end makes the incoming pod fit; empty: there is none. If
/// one pod suffices, the set has one pod, of those the one that holds least.
Pods smallest_set(EmptiedNode& emptied, const Pods& candidates) {
  if (!emptied.takes_without(sorted(candidates))) return {};
  for (const std::size_t pod : candidates) {
    if (emptied.takes_without({pod})) return {pod};
  }
  // The pods that hold most are kept first, so that they stay if the others suffice. Then those
  // that hold least; the smaller of the two sets wins.
  Pods best = candidates;
  for (const bool most_first : {true, false}) {
    Pods ended = candidates;
    Pods order = candidates;
    if (most_first) std::ranges::reverse(order);
    for (const std::size_t kept : order) {
      Pods fewer = ended;
      std::erase(fewer, kept);
      if (emptied.takes_without(sorted(fewer))) ended = std::move(fewer);
    }
    if (ended.size() < best.size()) best = std::move(ended);
  }
  return sorted(std::move(best));
}

}  // namespace

std::optional<Advice> wait_for_room(Trial& trial, std::span<const Slot> slots) {
  for (const Slot slot : slots) {
    EmptiedNode emptied(trial, slot);
    const model::NodeState& node = emptied.node();
    Pods terminating;
    for (std::size_t i = 0; i < node.holdings.size(); ++i) {
      if (node.holdings[i]->terminating) terminating.push_back(i);
    }
    if (!terminating.empty() && emptied.takes_without(terminating)) {
      return Advice{.kind = AdviceKind::kWait,
                    .sentence = "wait: the pod will fit on node " + node.name() +
                                " when the terminating " + have_ended(node, terminating),
                    .command = {},
                    .change = departures_of(node, terminating)};
    }
    const model::Intents* const intents = trial.snapshot().intents_on(slot);
    if (intents == nullptr ||
        !trial.takes_in(slot, node, nullptr, trial.snapshot().namespace_usage))
      continue;
    Departures promised{.node = node.name(), .uids = {}};
    for (const model::HoldingPtr& intent : *intents) promised.uids.push_back(intent->uid);
    return Advice{.kind = AdviceKind::kWait,
                  .sentence = "wait: the room on node " + node.name() +
                              " is promised to pods that are about to be bound; if one of them "
                              "is not bound, the pod is tried again",
                  .command = {},
                  .change = std::move(promised)};
  }
  return std::nullopt;
}

std::optional<Advice> end_pods(Trial& trial, std::span<const Slot> slots,
                               std::span<const std::string_view> protected_uids,
                               std::int64_t most_work) {
  std::optional<Advice> best;
  std::size_t fewest = 0;
  for (const Slot slot : slots) {
    if (trial.work() > most_work || fewest == 1) break;
    EmptiedNode emptied(trial, slot);
    const model::NodeState& node = emptied.node();
    const Pods ended = smallest_set(
        emptied, candidates_on(node, protected_uids, /*with_cpu_only=*/!trial.host_fits(slot)));
    if (ended.empty() || (best && ended.size() >= fewest)) continue;
    fewest = ended.size();
    best = Advice{
        .kind = AdviceKind::kEnd,
        .sentence = "the pod will fit on node " + node.name() + " when " + have_ended(node, ended),
        .command = {},
        .change = departures_of(node, ended)};
  }
  return best;
}

}  // namespace snug::explain

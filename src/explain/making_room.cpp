#include "explain/making_room.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
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
  [[nodiscard]] std::int64_t work() const { return trial_.work(); }

  [[nodiscard]] bool takes_without(const Pods& ended) {
    std::vector<model::HoldingPtr> remaining;
    remaining.reserve(node_.holdings.size());
    model::NamespaceUsage namespace_usage = trial_.snapshot().namespace_usage;
    for (std::size_t i = 0; i < node_.holdings.size(); ++i) {
      const model::Holding& holding = *node_.holdings[i];
      if (!std::ranges::binary_search(ended, i)) {
        remaining.push_back(node_.holdings[i]);
      } else if (holding.name_space == trial_.incoming().name_space) {
        namespace_usage.add(holding.name_space, -fit::held_compute(holding, node_.inventory.get()));
      }
    }
    trial_.count_state(node_.holdings.size());
    const model::NodeStatePtr state = fit::with_holdings(node_, std::move(remaining));
    return trial_.takes_in(slot_, *state, trial_.snapshot().intents_on(slot_), namespace_usage);
  }

 private:
  Trial& trial_;
  Slot slot_;
  const model::NodeState& node_;
};

/// `ns/a`, `ns/a and ns/b`, `ns/a, ns/b and 3 more`.
std::string names_of(const model::NodeState& node, const Pods& pods) {
  constexpr std::size_t kMostNames = 5;
  std::vector<std::string> names;
  names.reserve(kMostNames + 1);
  for (std::size_t i = 0; i < std::min(pods.size(), kMostNames); ++i) {
    const model::Holding& holding = *node.holdings[pods[i]];
    names.push_back(holding.name_space + "/" + holding.pod);
  }
  if (pods.size() > kMostNames) names.push_back(std::to_string(pods.size() - kMostNames) + " more");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

/// `once ns/a has ended`, `once ns/a and ns/b have ended`.
std::string once_ended(const model::NodeState& node, const Pods& pods) {
  return "once " + names_of(node, pods) + (pods.size() == 1 ? " has ended" : " have ended");
}

/// `once ns/a, which is terminating, is gone`.
std::string once_gone(const model::NodeState& node, const Pods& pods) {
  return "once " + names_of(node, pods) +
         (pods.size() == 1 ? ", which is terminating, is gone"
                           : ", which are terminating, are gone");
}

Departures departures_of(const model::NodeState& node, const Pods& pods) {
  Departures departures{.node = node.name(), .uids = {}};
  for (const std::size_t pod : pods) departures.uids.push_back(node.holdings[pod]->uid);
  return departures;
}

/// The pods that may end: those that hold least of GPUs first, then those that request least CPU
/// and memory.
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
  // Each pod's size is computed once: a node may have very many pods.
  std::vector<std::pair<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t>> keys;
  keys.reserve(pods.size());
  for (const std::size_t pod : pods) {
    const model::HostResources& host = node.holdings[pod]->host;
    keys.push_back({{held_milli(node, pod), host.cpu_milli, host.memory_bytes}, pod});
  }
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) pods[i] = keys[i].second;
  return pods;
}

Pods sorted(Pods pods) {
  std::ranges::sort(pods);
  return pods;
}

/// Finds a small set of pods of one node whose end makes the incoming pod fit. Stops when its work
/// exceeds a limit; the set that it has then is valid, but may be larger than necessary.
class SetSearch {
 public:
  /// `candidates` are in the order of candidates_on().
  SetSearch(EmptiedNode& emptied, const Pods& candidates, std::int64_t most_work)
      : emptied_(emptied), candidates_(candidates), most_work_(most_work) {}

  /// Empty: there is no set. If one pod suffices and the limit is not reached, the set has one pod,
  /// of those the one that holds least.
  [[nodiscard]] Pods smallest_set() {
    if (candidates_.empty() || !emptied_.takes_without(sorted(candidates_))) return {};
    Pods best = largest_pods();
    for (const std::size_t pod : candidates_) {
      if (is_over()) break;
      if (emptied_.takes_without({pod})) return {pod};
    }
    // This step is short, so that a limit that is reached later leaves a good set.
    best = without_needless(best, /*most_first=*/false);
    // The pods that hold most are kept first, so that they stay if the others suffice. Then those
    // that hold least; the smallest of the sets wins.
    Pods small_pods = without_needless(candidates_, /*most_first=*/true);
    if (small_pods.size() <= best.size()) best = std::move(small_pods);
    Pods large_pods = without_needless(candidates_, /*most_first=*/false);
    if (large_pods.size() < best.size()) best = std::move(large_pods);
    return sorted(std::move(best));
  }

 private:
  [[nodiscard]] bool is_over() const { return emptied_.work() > most_work_; }

  /// So many of the pods that hold most as suffice, found by halves: all candidates suffice.
  [[nodiscard]] Pods largest_pods() {
    const auto last = [&](std::size_t count) {
      return Pods(candidates_.end() - static_cast<std::ptrdiff_t>(count), candidates_.end());
    };
    std::size_t too_few = 0;
    std::size_t enough = candidates_.size();
    while (too_few + 1 < enough && !is_over()) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      (emptied_.takes_without(sorted(last(middle))) ? enough : too_few) = middle;
    }
    return last(enough);
  }

  /// The pods, of which each is left out if the others that remain suffice.
  [[nodiscard]] Pods without_needless(const Pods& pods, bool most_first) {
    Pods ended = pods;
    Pods order = pods;
    if (most_first) std::ranges::reverse(order);
    for (const std::size_t kept : order) {
      if (is_over()) break;
      Pods fewer = ended;
      std::erase(fewer, kept);
      if (emptied_.takes_without(sorted(fewer))) ended = std::move(fewer);
    }
    return ended;
  }

  EmptiedNode& emptied_;
  const Pods& candidates_;
  std::int64_t most_work_;
};

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
                    .sentence = "wait: the pod will fit on node " + node.name() + " " +
                                once_gone(node, terminating),
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
    const Pods candidates =
        candidates_on(node, protected_uids, /*with_cpu_only=*/!trial.host_fits(slot));
    const Pods ended = SetSearch(emptied, candidates, most_work).smallest_set();
    if (ended.empty() || (best && ended.size() >= fewest)) continue;
    fewest = ended.size();
    best = Advice{
        .kind = AdviceKind::kEnd,
        .sentence = "the pod will fit on node " + node.name() + " " + once_ended(node, ended),
        .command = {},
        .change = departures_of(node, ended)};
  }
  return best;
}

}  // namespace snug::explain

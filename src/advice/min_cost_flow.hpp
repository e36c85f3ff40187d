// Assigns pods of several kinds to bins at minimal cost, as a min-cost flow: source → kind → bin →
// sink. Pure and deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace snug::advice {

struct FlowEdge {
  std::size_t pod_class = 0;
  std::size_t bin = 0;
  int capacity = 0;       // capacity of the bin for pods of this kind
  std::int64_t cost = 0;  // per pod, not negative
};

struct FlowProblem {
  std::vector<int> pods;          // by kind
  std::vector<int> bin_capacity;  // by bin: its capacity for pods of all kinds
  std::vector<FlowEdge> edges;
};

/// The number of pods on each edge; nullopt: not all pods can be assigned to a bin.
[[nodiscard]] std::optional<std::vector<int>> min_cost_flow(const FlowProblem& problem);

}  // namespace snug::advice

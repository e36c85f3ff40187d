// Assigns pods of several classes to bins at minimal cost, as a min-cost flow: source → pod class →
// bin → sink. Pure and deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace snug::advice {

struct FlowEdge {
  std::size_t pod_class = 0;
  std::size_t bin = 0;
  int capacity = 0;       // the number of pods of this class that the bin can take
  std::int64_t cost = 0;  // the cost of each pod on this edge; not negative
};

struct FlowProblem {
  std::vector<int> pods;          // by pod class: the number of its pods
  std::vector<int> bin_capacity;  // by bin: the number of pods of all classes that it can take
  std::vector<FlowEdge> edges;
};

/// Returns the number of pods on each edge; nullopt if not all pods can be assigned to bins.
[[nodiscard]] std::optional<std::vector<int>> min_cost_flow(const FlowProblem& problem);

}  // namespace snug::advice

// The cheapest way to give pods of several kinds to bins: a min-cost flow, source → kind → bin →
// sink. Pure; the same problem gives the same flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace snug {

struct FlowEdge {
  std::size_t kind = 0;
  std::size_t bin = 0;
  int most = 0;           // pods of this kind that the bin takes
  std::int64_t cost = 0;  // of each of them, not below 0
};

struct FlowProblem {
  std::vector<int> pods;  // by kind
  std::vector<int> most;  // by bin: pods of all kinds that it takes
  std::vector<FlowEdge> edges;
};

/// How many pods go along each edge; nothing: not all of them have a bin.
[[nodiscard]] std::optional<std::vector<int>> cheapest_flow(const FlowProblem& problem);

}  // namespace snug

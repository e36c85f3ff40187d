// Score terms: each says how good one placement is, as an integer; higher is better. A new term is
// one pure function here, one row in the table, one row in a test, one line in
// docs/policy-guide.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snug/model/placement.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// A placement that fits, on the node as it is before the placement.
struct TermInput {
  const NodeState& node;
  const GpuRequest& request;
  PlacementView placement;
  HostAmounts host;  // what the pod asks of the node besides
  const Demand& demand = kNothingLearned;
};

/// Between -kTermBound and kTermBound, so that weights compare terms on one scale. What a term has
/// nothing to say about is 0.
using TermFunction = std::int32_t (*)(const TermInput&);
inline constexpr std::int32_t kTermBound = 100'000;

struct TermRow {
  std::string_view name;  // as policies name it
  TermFunction function;
  std::string_view meaning;
};

[[nodiscard]] std::span<const TermRow> all_terms();
/// Null: no term has this name.
[[nodiscard]] const TermRow* find_term(std::string_view name);

}  // namespace snug

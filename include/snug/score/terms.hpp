// Score terms: pure functions that rate one placement by an integer, higher is better.
// CONTRIBUTING.md says what a new term needs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snug/model/placement.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::score {

/// A placement that fits, and the node before it.
struct TermInput {
  const model::NodeState& node;
  const model::GpuRequest& request;
  model::PlacementView placement;
  model::HostResources host;  // CPU and memory that the pod asks for
  const model::Demand& demand = model::kNoDemand;
};

/// From -kTermBound to kTermBound, so that weights compare terms on one scale; 0 for a placement
/// that the term does not rate.
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

}  // namespace snug::score

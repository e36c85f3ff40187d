// Score terms: pure functions that rate one placement by an integer; higher is better.
// CONTRIBUTING.md says what a new term needs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snug/model/placement.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::score {

/// The input of a score term: a feasible placement, and the node without this placement.
struct TermInput {
  const model::NodeState& node;
  const model::GpuRequest& request;
  model::PlacementView placement;
  model::HostResources host;  // CPU and memory that the pod requests
  const model::Demand& demand = model::kNoDemand;
};

/// Returns a value from -kTermBound to kTermBound, so that all terms have one scale. 0 if the term
/// does not rate the placement.
using TermFunction = std::int32_t (*)(const TermInput&);
inline constexpr std::int32_t kTermBound = 100'000;

struct TermRow {
  std::string_view name;  // the name of the term in policy files
  TermFunction function;
  std::string_view meaning;
  bool reads_load = false;  // the value depends on GpuInfo::load
};

[[nodiscard]] std::span<const TermRow> all_terms();
/// Returns null if no term has this name.
[[nodiscard]] const TermRow* find_term(std::string_view name);

}  // namespace snug::score

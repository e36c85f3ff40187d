// The input of `snugctl simulate`: its flags, and what the files have that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"
#include "snug/sim/trace.hpp"

namespace snug::ctl {

/// As typed.
struct SimulateFlags {
  std::string nodes;
  std::optional<std::string> pods;
  std::optional<std::string> arrivals;
  std::optional<std::string> seed;
  std::optional<std::string> inflate;
  std::vector<std::string> policies;
  std::optional<std::string> json;  // "-": stdout
  std::optional<std::string> svg;
};

struct NamedPolicy {
  std::string name;  // unique
  score::PolicyPtr policy;
};

struct SimulateInput {
  sim::Trace trace;
  std::optional<std::uint64_t> seed;
  std::vector<NamedPolicy> policies;  // at least one
};

/// An error is one sentence about a flag, or says where a file is wrong.
[[nodiscard]] base::Result<SimulateInput> read_simulate_input(const SimulateFlags& flags);

}  // namespace snug::ctl

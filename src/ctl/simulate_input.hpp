// The input of `snugctl simulate`: its flags, and the contents of the files that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"
#include "snug/sim/trace.hpp"

namespace snug::ctl {

/// The values of the flags, before they are checked.
struct SimulateFlags {
  std::string nodes;
  std::optional<std::string> pods;
  std::optional<std::string> arrivals;
  std::optional<std::string> seed;
  std::optional<std::string> inflate;
  std::vector<std::string> policies;
  std::optional<std::string> json;  // path, or "-" for stdout
  std::optional<std::string> svg;
};

struct NamedPolicy {
  std::string name;  // unique in SimulateInput
  score::PolicyPtr policy;
};

struct SimulateInput {
  sim::Trace trace;
  std::optional<std::uint64_t> seed;
  std::vector<NamedPolicy> policies;  // at least one
};

/// Checks the flags and reads the files. An error message is one sentence about a flag, or says
/// where a file is wrong.
[[nodiscard]] base::Result<SimulateInput> read_simulate_input(const SimulateFlags& flags);

}  // namespace snug::ctl

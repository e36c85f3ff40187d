// The input of `snugctl simulate`: its flags, and the contents of the files that they name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ctl/connection.hpp"
#include "ctl/simulate_policies.hpp"
#include "snug/base/result.hpp"
#include "snug/sim/trace.hpp"
#include "snug/sim_codec/cluster_codec.hpp"

namespace snug::ctl {

/// The values of the flags, before they are checked.
struct SimulateFlags {
  std::vector<std::string> cluster;  // paths, or "-" for stdin
  std::optional<std::string> nodes;
  std::optional<std::string> pods;
  std::optional<std::string> arrivals;
  std::optional<std::string> seed;
  std::optional<std::string> inflate;
  bool timestamps = false;
  ConnectionFlags connection;  // only --server and the flags that it may have
  std::vector<std::string> policies;
  std::optional<std::string> json;  // path, or "-" for stdout
  std::optional<std::string> svg;
};

struct SimulateInput {
  std::optional<sim_codec::ReadCluster> cluster;  // nullopt: `trace` is simulated
  sim::Trace trace;
  std::optional<std::uint64_t> seed;
  std::vector<NamedPolicy> policies;  // at least one
};

/// Checks the flags and reads the files. An error message is one sentence about a flag, or says
/// where a file is wrong.
[[nodiscard]] base::Result<SimulateInput> read_simulate_input(const SimulateFlags& flags);

}  // namespace snug::ctl

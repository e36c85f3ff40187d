// The policies and rules that are compared, and their runs on all cores.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "openb.hpp"
#include "snug/sim/replay.hpp"

namespace snug_bench {

struct Contender {
  std::string name;
  bool ours = false;  // a policy of Snug's, not of the paper's
  std::function<std::unique_ptr<snug::sim::Placer>(const snug::sim::Trace&, std::uint64_t seed)>
      placer;
};

/// A policy of Snug, named after its default profile; the name differs from that of a published
/// policy. Ends the program with an error message if the file is not a policy.
[[nodiscard]] Contender contender_of(const std::string& policy_file);
/// `name`: one of published_names().
[[nodiscard]] Contender published_contender(std::string_view name);

/// `name`: one of mig_rule_names().
[[nodiscard]] Contender mig_rule_contender(std::string_view name);

[[nodiscard]] snug::sim::SimulationReport run(const Contender& who, const snug::sim::Trace& trace,
                                              std::uint64_t seed);

/// Runs each task once, in any order, on `jobs` threads. Shows the progress if stderr is a
/// terminal.
void run_all(const std::vector<std::function<void()>>& tasks, unsigned jobs);

}  // namespace snug_bench

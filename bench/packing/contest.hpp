// Who is compared, and runs on all cores.
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

/// Ends the program with a sentence where the file is no policy. Named by its default profile, and
/// told from a published policy of that name.
[[nodiscard]] Contender contender_of(const std::string& policy_file);
/// `name`: one of published_names().
[[nodiscard]] Contender published_contender(std::string_view name);

/// `name`: one of mig_rule_names().
[[nodiscard]] Contender mig_rule_contender(std::string_view name);

[[nodiscard]] snug::sim::SimulationReport run(const Contender& who, const snug::sim::Trace& trace,
                                              std::uint64_t seed);

/// Each task once, by so many threads, in any order; how many are done goes to a terminal.
void run_all(const std::vector<std::function<void()>>& tasks, unsigned jobs);

}  // namespace snug_bench

// Compares policies over all runs of the trace: the means that docs/explanation/packing.md quotes,
// and whether they are within their bounds.
#pragma once

#include <string>
#include <vector>

#include "openb.hpp"
#include "regimes.hpp"
#include "snug/sim/report.hpp"

namespace snug_bench {

/// The results of one policy, in the order of the runs. A mean of no runs is 0.
struct PolicyResults {
  std::string name;
  bool ours = false;  // Snug's, not the paper's
  std::vector<snug::sim::SimulationReport> fill;
  std::vector<snug::sim::SimulationReport> churn;

  [[nodiscard]] double at100() const;
  [[nodiscard]] double at130() const;
  [[nodiscard]] double accepted() const;
  [[nodiscard]] double multi_rejected() const;
};

/// A table in Markdown.
[[nodiscard]] std::string table(const std::vector<PolicyResults>& all);

/// A sentence for each figure out of bounds: the paper's policies must reproduce the published
/// figures, and Snug's default policy must reach its bounds.
[[nodiscard]] std::vector<std::string> findings(const std::vector<PolicyResults>& all,
                                                const Openb& openb);

/// The results of policies in the generated workloads of one regime; the first policy is FGD. All
/// workloads are fill, or all are churn.
struct RegimeResults {
  Regime regime;
  std::vector<PolicyResults> policies;
};

/// A table in Markdown, a row for each regime.
[[nodiscard]] std::string table(const std::vector<RegimeResults>& all);
/// A sentence for each regime in which a policy of ours is behind FGD.
[[nodiscard]] std::vector<std::string> findings(const std::vector<RegimeResults>& all);

}  // namespace snug_bench

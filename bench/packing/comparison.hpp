// Policies side by side over all runs of the trace: the means that README and docs/packing.md
// quote, and whether they are what they have to be.
#pragma once

#include <string>
#include <vector>

#include "openb.hpp"
#include "regimes.hpp"
#include "snug/sim/report.hpp"

namespace snug_bench {

/// What one policy made of the runs, in their order. A mean of no runs is 0.
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

/// A sentence for each figure that is not what it has to be: the paper's policies reproduce what is
/// published, Snug's default policy reaches its bounds.
[[nodiscard]] std::vector<std::string> findings(const std::vector<PolicyResults>& all,
                                                const Openb& openb);

/// What policies made of the draws of one regime, the first of them FGD. All are fill, or all are
/// churn.
struct RegimeResults {
  Regime regime;
  std::vector<PolicyResults> policies;
};

/// A table in Markdown, a row for each regime.
[[nodiscard]] std::string table(const std::vector<RegimeResults>& all);
/// A sentence for each regime in which a policy of ours is behind FGD.
[[nodiscard]] std::vector<std::string> findings(const std::vector<RegimeResults>& all);

}  // namespace snug_bench

// The idle GPUs of the cluster when a policy refuses a pod with several GPUs.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "contest.hpp"
#include "openb.hpp"

namespace snug_bench {

/// A refused pod and the idle GPUs at its arrival, in the measured half of a run.
struct RefusedPod {
  static constexpr std::size_t kLargest = 8;  // GPUs of the largest nodes

  std::string run;
  std::size_t arrival = 0;
  int asks = 0;               // GPUs
  int idle = 0;               // GPUs of all nodes
  double left_of_shared = 0;  // free on GPUs that are neither idle nor full, in GPUs
  /// The number of largest nodes with i idle GPUs, for each i.
  std::array<int, kLargest + 1> nodes_by_idle{};
};

[[nodiscard]] std::vector<RefusedPod> refused_pods(const Contender& who, const OpenbRun& run);

/// A table in Markdown.
[[nodiscard]] std::string table(const std::vector<RefusedPod>& all);

}  // namespace snug_bench

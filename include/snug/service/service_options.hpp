// The settings of the service (docs/reference/settings.md describes them).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/base/limits.hpp"

namespace snug::service {

/// How much Snug decides for kube-scheduler (the setting `answer`).
enum class AnswerMode : std::uint8_t {
  kWinner,  // filter returns only the best node
  kAll,     // filter returns all feasible nodes; prioritize gives 10 to the best one only
  kAdvise,  // like kAll, but prioritize gives each node 0 to 10
  kAuto,    // kAdvise for a pod that has soft preferences, else kWinner
};

struct ServiceOptions {
  AnswerMode answer = AnswerMode::kAuto;
  /// The minor version of kube-scheduler. If a node is full but eviction can help there, filter
  /// reports the node in a field of its answer that depends on this version.
  int kubernetes_minor = 36;
  std::vector<std::string> scheduler_names;  // the schedulers whose pods Snug serves; empty: all
  [[nodiscard]] bool serves(std::string_view scheduler) const {
    return scheduler_names.empty() ||
           std::ranges::find(scheduler_names, scheduler) != scheduler_names.end();
  }
  /// The time limit for one call to the API server, and for the API server to execute a binding
  /// (`timeout=` in the binding's URL).
  std::chrono::milliseconds api_timeout{1000};
  /// The memory of the smallest and of the largest card of the cluster, by which shares are
  /// mirrored as extended resources. Nullopt: they are not mirrored.
  std::optional<admission::CardRange> mirrored_cards;
  base::Limits limits;
};

}  // namespace snug::service

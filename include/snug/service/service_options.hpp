// Settings of the service, as the configuration gives them (formats.md, "Programs").
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/limits.hpp"

namespace snug::service {

/// How much Snug decides for kube-scheduler.
enum class AnswerMode : std::uint8_t {
  kWinner,  // filter answers with the best node alone
  kAll,     // filter answers with every node that fits; prioritize gives 10 to the best alone
  kAdvise,  // as all, with 0..10 for every node
  kAuto,    // winner, but advise for a pod with soft preferences of its own
};

struct ServiceOptions {
  AnswerMode answer = AnswerMode::kAuto;
  int kubernetes_minor = 36;                 // of the scheduler; decides where lack of room goes
  std::vector<std::string> scheduler_names;  // empty: serves all
  /// Of one call to the API server, and the `timeout=` that each binding carries.
  std::chrono::milliseconds api_timeout{1000};
  base::Limits limits;
};

}  // namespace snug::service

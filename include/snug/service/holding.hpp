// What a bound pod holds, read from what the API server shows of it.
#pragma once

#include <string>

#include "snug/base/limits.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

struct ReadHolding {
  HoldingPtr holding;   // never null
  std::string problem;  // what is wrong with its reservation, or that it has none; empty: nothing
};

/// `pod` is bound. Its reservation counts where it names this pod and this node; today's request
/// annotations never change it. Without one, a pod that asks by nvidia.com/* is counted, and an
/// annotated pod is unplaced. Every pod holds cpu and memory of its node.
[[nodiscard]] ReadHolding read_holding(const PodFacts& pod, const Limits& limits);

}  // namespace snug

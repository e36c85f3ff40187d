// The holding of a bound pod, as the API server shows the pod. Pure; defined in
// service/bound_pods.cpp.
#pragma once

#include <string>

#include "snug/base/limits.hpp"
#include "snug/model/reservation.hpp"
#include "snug/service/pod_info.hpp"

namespace snug::service {

struct ParsedHolding {
  model::HoldingPtr holding;  // never null
  /// Says what is wrong with the pod's reservation, or that the reservation is missing; empty:
  /// there is no problem.
  std::string problem;
};

/// Returns the holding of a bound pod. The pod's reservation is used if it names this pod and this
/// node, whatever the pod's request annotations are now. Without such a reservation, the pod holds
/// the units in its nvidia.com/* limits; but if it requests GPUs by annotation, or its request is
/// malformed, it is unplaced (Holding::unplaced). Every bound pod also holds its CPU and memory.
[[nodiscard]] ParsedHolding read_holding(const PodInfo& pod, const base::Limits& limits);

}  // namespace snug::service

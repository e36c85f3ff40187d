// Reservations ↔ pod annotations: snug.dev/reservation (the source of truth) and the flat keys for
// the downward API (snug.dev/visible-devices, memory-limit, compute-percent; each unsuffixed for
// the main container and `.<container>` for every container with a GPU).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

inline constexpr std::string_view kReservationKey = "snug.dev/reservation";

/// All annotations of the binding. Every other snug.dev/* key of the pod is included with an empty
/// value.
[[nodiscard]] StringMap write_reservation(const Reservation& reservation,
                                          std::string_view main_container, const PodFacts& pod);

/// The annotations of a binding that reserves nothing: every snug.dev/* key of the pod, empty.
[[nodiscard]] StringMap blank_annotations(const PodFacts& pod);

struct ReadReservation {
  Reservation reservation;
  std::vector<std::optional<ContainerRequest>> asks;  // Holding::asks
  bool suspect = false;                               // Holding::suspect
  std::string suspect_why;
};

/// Reads the value of snug.dev/reservation. A wrong version, structure or type is an error with its
/// place. Whether the devices are charged what the requests cost is judged by fit/usage, which
/// knows the node's GPUs.
[[nodiscard]] Result<ReadReservation> read_reservation(std::string_view json, const Limits& limits);

}  // namespace snug

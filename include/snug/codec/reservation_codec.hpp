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

namespace snug::codec {

inline constexpr std::string_view kReservationKey = "snug.dev/reservation";

/// All annotations of the binding. Every other snug.dev/* key of the pod is included with an empty
/// value.
[[nodiscard]] model::StringMap write_reservation(const model::Reservation& reservation,
                                                 std::string_view main_container,
                                                 const model::PodFacts& pod);

/// The annotations of a binding that reserves nothing: every snug.dev/* key of the pod, empty.
[[nodiscard]] model::StringMap blank_annotations(const model::PodFacts& pod);

struct ParsedReservation {
  model::Reservation reservation;
  std::vector<std::optional<model::ContainerRequest>>
      container_requests;  // Holding::container_requests
  bool suspect = false;    // Holding::suspect
  std::string suspect_reason;
};

/// Reads the value of snug.dev/reservation. A wrong version, structure or type is an error with its
/// place. Whether the devices are charged what the requests cost is judged by fit/node_usage, which
/// knows the node's GPUs.
[[nodiscard]] base::Result<ParsedReservation> read_reservation(std::string_view json,
                                                               const base::Limits& limits);

}  // namespace snug::codec

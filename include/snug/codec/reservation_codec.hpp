// Reads and writes reservations as pod annotations. The annotation snug.dev/reservation is the
// source of truth. The flat annotations snug.dev/visible-devices, snug.dev/memory-limit and
// snug.dev/compute-percent are for the downward API. For each container with devices that Snug
// assigned, their keys have the suffix `.<container>`. The annotations of the main container are
// written a second time without the suffix.
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

/// Returns the annotations that the binding of `pod` writes: the reservation and the flat
/// annotations. Every other snug.dev/* annotation that the pod has gets an empty value.
[[nodiscard]] model::StringMap write_reservation(const model::Reservation& reservation,
                                                 std::string_view main_container,
                                                 const model::PodFacts& pod);

/// Adds, for each container with GPUs, the annotation by which the container runtime refuses the
/// container while the node's agent is away. This includes containers whose GPUs the kubelet
/// assigns, since without the agent their variables may name others. If the name of a container is
/// too long for a key, all containers of the pod require the agent. On the pod the annotation
/// replaces the container's own requirement, which only Snug may write.
void require_agent(const model::Reservation& reservation, const model::PodFacts& pod,
                   model::StringMap& annotations);

/// Returns the annotations of a binding that reserves nothing: every snug.dev/* annotation that
/// `pod` has gets an empty value.
[[nodiscard]] model::StringMap blank_annotations(const model::PodFacts& pod);

struct ParsedReservation {
  model::Reservation reservation;
  std::vector<std::optional<model::ContainerRequest>>
      container_requests;  // the value for Holding::container_requests
  bool suspect = false;    // the value for Holding::suspect
  std::string suspect_reason;
};

/// Reads the value of snug.dev/reservation. A wrong version, structure or type is an error that
/// names the place in the JSON. Does not check the memory and compute of the devices against the
/// requests: fit/node_usage does that, because it knows the node's GPUs.
[[nodiscard]] base::Result<ParsedReservation> read_reservation(std::string_view json,
                                                               const base::Limits& limits);

}  // namespace snug::codec

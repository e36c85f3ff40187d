#include "snug/agent_service/pod_reservation.hpp"

#include <utility>

#include "snug/codec/reservation_codec.hpp"

namespace snug::agent_service {

std::optional<model::Reservation> reservation_of(const agent::PodView& pod, std::string_view node,
                                                 const base::Limits& limits) {
  if (pod.uid != pod.runtime_uid) return std::nullopt;  // static
  const auto annotation = pod.annotations.find(codec::kReservationKey);
  if (annotation == pod.annotations.end() || annotation->second.empty()) return std::nullopt;
  auto read = codec::read_reservation(annotation->second, limits);
  if (!read || read->reservation.uid != pod.uid || read->reservation.node != node)
    return std::nullopt;
  return std::move(read->reservation);
}

}  // namespace snug::agent_service

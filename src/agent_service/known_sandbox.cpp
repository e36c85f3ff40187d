#include "snug/agent_service/known_sandbox.hpp"

#include <utility>

#include "snug/codec/reservation_codec.hpp"

namespace snug::agent_service {

const model::Reservation* KnownSandbox::own_reservation(const agent::SandboxView& sandbox,
                                                        std::string_view node) const {
  if (!reservation || !*reservation) return nullptr;
  const model::Reservation& read = **reservation;
  return read.uid == sandbox.uid && read.node == node ? &read : nullptr;
}

KnownSandbox known_sandbox(const PodBook& pods, const agent::SandboxView& sandbox,
                           const base::Limits& limits) {
  KnownSandbox known{pods.lookup(sandbox.uid, sandbox.name_space, sandbox.name), std::nullopt};
  const auto annotation = sandbox.annotations.find(codec::kReservationKey);
  if (annotation == sandbox.annotations.end() || annotation->second.empty()) return known;
  auto read = codec::read_reservation(annotation->second, limits);
  known.reservation = read ? agent::ReadReservation(std::move(read->reservation))
                           : agent::ReadReservation(std::unexpect, read.error().message);
  return known;
}

}  // namespace snug::agent_service

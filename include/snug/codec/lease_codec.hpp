// Reads and writes coordination.k8s.io/v1 Lease objects as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"
#include "snug/model/agent_heartbeat.hpp"

namespace snug::codec {

/// Reads a Lease object. Does not check `kind`, because the items of a list have none. Fields of
/// the spec that are absent or null are empty or 0 in the result. Fails if metadata.resourceVersion
/// is missing, if the spec is not an object, or if one of its fields has a wrong type.
[[nodiscard]] base::Result<leader::Lease> read_lease(std::string_view json);

/// Writes the request body that creates the Lease or, if `replaced_lease` is not null, replaces the
/// Lease `replaced_lease`, which read_lease() has returned. The new Lease keeps all fields of
/// `replaced_lease` that are not in `record`. `now` is the text of a Kubernetes MicroTime.
[[nodiscard]] std::string write_lease(const leader::LeaseName& name,
                                      const leader::LeaseRecord& record,
                                      const leader::Lease* replaced_lease, std::string_view now);

/// One event of a watch of Leases. kChanged means that the Lease was added or modified.
struct LeaseEvent {
  enum class Type : std::uint8_t { kChanged, kDeleted, kBookmark, kError };
  Type type = Type::kBookmark;
  std::string resource_version;  // the resourceVersion of the Lease or bookmark
  int error_code = 0;            // `code` of the Status in an ERROR event
  std::string error_message;     // `message` of the Status in an ERROR event
};
[[nodiscard]] base::Result<LeaseEvent> read_lease_event(std::string_view json);

/// Reads a Lease as the heartbeat of an agent. The result has no node if the Lease's name or holder
/// is not that of a heartbeat. Fails if metadata.resourceVersion is missing.
[[nodiscard]] base::Result<model::AgentHeartbeat> read_heartbeat(std::string_view json);

struct HeartbeatEvent {
  LeaseEvent event;
  model::AgentHeartbeat heartbeat;
};
[[nodiscard]] base::Result<HeartbeatEvent> read_heartbeat_event(std::string_view json);

}  // namespace snug::codec

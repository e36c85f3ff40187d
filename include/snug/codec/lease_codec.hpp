// Reads and writes coordination.k8s.io/v1 Lease objects as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug::codec {

/// Reads a Lease object. Does not check `kind`, because the items of a list have none. Fields of
/// the spec that are absent or null are empty in the result. Errors: metadata.resourceVersion is
/// missing, the spec is not an object, or one of its fields has a wrong type.
[[nodiscard]] base::Result<leader::Lease> read_lease(std::string_view json);

/// Writes the request body that creates the Lease or, if `over` is not null, replaces `over`, a
/// result of read_lease(). A replacement keeps all fields of `over` that are not in `record`. `now`
/// is the text of a Kubernetes MicroTime.
[[nodiscard]] std::string write_lease(const leader::LeaseName& name,
                                      const leader::LeaseRecord& record, const leader::Lease* over,
                                      std::string_view now);

/// One event of a watch of Leases. kChanged: the Lease was added or modified.
struct LeaseEvent {
  enum class Type : std::uint8_t { kChanged, kDeleted, kBookmark, kError };
  Type type = Type::kBookmark;
  std::string resource_version;  // of the object or bookmark
  int error_code = 0;            // kError: `code` of the Status
  std::string error_message;     // kError: `message` of the Status
};
[[nodiscard]] base::Result<LeaseEvent> read_lease_event(std::string_view json);

}  // namespace snug::codec

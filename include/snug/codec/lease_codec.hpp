// Reads and writes coordination.k8s.io/v1 Lease objects as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug::codec {

/// Reads an object of kind Lease, or an item of a list, which has no kind. Absent and null fields
/// of the spec are empty. A field of a wrong type and a spec that is not an object are errors.
[[nodiscard]] base::Result<leader::Lease> read_lease(std::string_view json);

/// The request body that creates the Lease if `over` is null. Otherwise it replaces `over`, a
/// result of read_lease(), and keeps its other fields. `now` is a MicroTime.
[[nodiscard]] std::string write_lease(const leader::LeaseName& name,
                                      const leader::LeaseRecord& record, const leader::Lease* over,
                                      std::string_view now);

/// A line of a watch of Leases.
struct LeaseEvent {
  enum class Type : std::uint8_t { kChanged, kDeleted, kBookmark, kError };
  Type type = Type::kBookmark;
  std::string resource_version;  // of the object or bookmark
  int error_code = 0;            // kError
  std::string error_message;
};
[[nodiscard]] base::Result<LeaseEvent> read_lease_event(std::string_view json);

}  // namespace snug::codec

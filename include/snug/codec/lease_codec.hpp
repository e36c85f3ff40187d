// A coordination.k8s.io/v1 Lease ↔ Lease. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug {

/// An object of kind Lease, or an item of a list, which has no kind. Absent and null fields of the
/// spec are empty; a field of a wrong type is an error, as is a spec that is not an object.
[[nodiscard]] Result<Lease> read_lease(std::string_view json);

/// The body that creates the Lease, or replaces `over`, a result of read_lease(), whose other
/// fields it keeps. `now` is a MicroTime.
[[nodiscard]] std::string write_lease(const LeaseName& name, const LeaseRecord& record,
                                      const Lease* over, std::string_view now);

/// A line of a watch of Leases.
struct LeaseEvent {
  enum class Kind : std::uint8_t { kShown, kGone, kBookmark, kError };
  Kind kind = Kind::kBookmark;
  std::string resource_version;  // of the object or bookmark
  int error_code = 0;            // kError
  std::string error_message;
};
[[nodiscard]] Result<LeaseEvent> read_lease_event(std::string_view json);

}  // namespace snug

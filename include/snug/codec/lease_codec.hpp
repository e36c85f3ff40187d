// A coordination.k8s.io/v1 Lease ↔ Lease. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug {

/// An object of kind Lease, or an item of a list, which says no kind. Fields of the spec that are
/// absent or null are empty; a wrong type is an error, as is a spec that is not an object.
[[nodiscard]] Result<Lease> read_lease(std::string_view json);

/// What to send to create the Lease, or to replace `over`, which read_lease() has read: it keeps
/// what else that one says. `now` is a MicroTime.
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

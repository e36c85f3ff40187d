// A Lease of coordination.k8s.io/v1, as client-go's leader election uses it. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug {

struct LeaseName {
  std::string name_space;
  std::string name;

  friend bool operator==(const LeaseName&, const LeaseName&) = default;
};

/// The spec. The times are texts of whoever wrote them (RFC 3339, microseconds): they tell people
/// when, and tell programs only that the record changed.
struct LeaseRecord {
  std::string holder;           // holderIdentity; empty: nobody holds the Lease
  std::int64_t duration_s = 0;  // leaseDurationSeconds
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct Lease {
  LeaseRecord record;
  std::string resource_version;  // a write over another one is refused
  std::string object;            // the whole, as JSON, so that a write keeps what else it says
};

/// The host in `holder`, an identity of client-go's form HOST_SUFFIX; all of it where it has no
/// `_`.
[[nodiscard]] inline std::string_view host_of(std::string_view holder) {
  return holder.substr(0, holder.find('_'));
}

}  // namespace snug

// A Lease of coordination.k8s.io/v1, as client-go uses it for leader election. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug::leader {

struct LeaseName {
  std::string name_space;
  std::string name;

  friend bool operator==(const LeaseName&, const LeaseName&) = default;
};

/// The spec of a Lease. Each time is the text that some process wrote (RFC 3339 with microseconds).
/// People read these texts; programs only compare them to see whether the record has changed.
struct LeaseRecord {
  std::string holder;           // holderIdentity; empty if there is no holder
  std::int64_t duration_s = 0;  // leaseDurationSeconds
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct Lease {
  LeaseRecord record;
  std::string resource_version;  // a write succeeds only if the API server has the same version
  std::string object;            // the whole object as JSON, so that a write keeps all other fields
};

/// Returns the host name in `holder`, which client-go writes as HOST_SUFFIX; all of `holder` if it
/// has no `_`.
[[nodiscard]] inline std::string_view host_in_identity(std::string_view holder) {
  return holder.substr(0, holder.find('_'));
}

}  // namespace snug::leader

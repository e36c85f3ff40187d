// A Lease of coordination.k8s.io/v1, as client-go's leader election uses it. Plain data.
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

/// The spec. The times are the writer's text (RFC 3339 with microseconds), for people to read;
/// programs only use them to see that the record changed.
struct LeaseRecord {
  std::string holder;           // holderIdentity; empty: no holder
  std::int64_t duration_s = 0;  // leaseDurationSeconds
  std::string acquire_time;
  std::string renew_time;
  std::int64_t transitions = 0;

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct Lease {
  LeaseRecord record;
  std::string resource_version;  // a write succeeds only if it is unchanged
  std::string object;            // the whole object as JSON, so that a write keeps its other fields
};

/// The host part of `holder`, which has client-go's form HOST_SUFFIX; all of it without a `_`.
[[nodiscard]] inline std::string_view host_in_identity(std::string_view holder) {
  return holder.substr(0, holder.find('_'));
}

}  // namespace snug::leader

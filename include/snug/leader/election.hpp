// Leader election with a Lease by the rules of client-go (tools/leaderelection), extended by two
// windows that make the Lease a fence for bindings (docs/decisions/0023).
//
//   - A Lease is held until its duration has passed, on this process's clock, since this process
//     last saw its record change. Times written by other machines are never compared.
//   - The leader renews the Lease. It may send bindings until the renew deadline after it *sent*
//   the
//     last successful renewal. The renew deadline is shorter than the Lease's duration, so no other
//     process can hold the Lease by then.
//   - A new leader lists the cluster and then decides. So a process must not acquire the Lease
//     before every binding of earlier leaders has either been executed or can no longer be. The
//     Lease becomes free:
//
//       released by its holder    at once: the holder releases it after its last binding was
//       answered held by another process   its duration (at least our own) plus `write_window`
//       after its
//                                 record last changed
//       held by this identity     `orphan_window` after this process started, if this process wrote
//                                 the record or found it at its start: the previous process died
//       otherwise                 our own duration plus `write_window` after this was first seen:
//                                 the Lease was deleted or edited, and its holder may not know yet
//
//     An absent Lease is never free: another Lease may come and go between two reads that find
//     none. It is first created without a holder; its record then shows whether it has changed.
//
// Pure: every time is a parameter. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/leader/lease.hpp"

namespace snug::leader {

/// How long the API server may take to execute a binding that was sent at the last permitted
/// moment.
[[nodiscard]] inline std::chrono::milliseconds execution_window(
    std::chrono::milliseconds api_timeout, const base::Limits& limits) {
  return api_timeout + std::chrono::milliseconds(limits.clock_skew_ms);
}
/// How long after it was sent an unanswered binding may be executed: the time to reach the API
/// server plus execution_window().
[[nodiscard]] inline std::chrono::milliseconds unanswered_window(
    std::chrono::milliseconds api_timeout, const base::Limits& limits) {
  return api_timeout + execution_window(api_timeout, limits);
}

struct ElectionSettings {
  /// HOST_SUFFIX of this process. No two running processes share an identity.
  std::string identity;
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};
  /// execution_window(): the wait after the Lease of another holder has expired.
  std::chrono::milliseconds write_window{1'500};
  /// unanswered_window(): the wait after the start for bindings of the previous, dead process.
  std::chrono::milliseconds orphan_window{2'500};
};

[[nodiscard]] ElectionSettings election_settings(std::string identity,
                                                 std::chrono::milliseconds api_timeout,
                                                 const base::Limits& limits);

class Election {
 public:
  /// `started`: not before the start of the process.
  Election(ElectionSettings settings, base::TimePoint started);

  /// Records the state of the Lease that a read or the watch shows at `now`; nullopt: it is absent.
  /// A leader that sees another holder stops leading.
  void observe(const std::optional<Lease>& lease, base::TimePoint now);

  /// Whether this process may claim the Lease.
  [[nodiscard]] bool is_free(base::TimePoint now) const { return free_at() <= now; }
  /// The Lease as last observed; nullopt: absent.
  [[nodiscard]] const std::optional<Lease>& lease() const { return lease_; }
  /// When the Lease becomes free if its record does not change. TimePoint::max(): it is absent, or
  /// has not been read.
  [[nodiscard]] base::TimePoint free_at() const;
  [[nodiscard]] bool is_absent() const { return observed_ && !lease_; }
  /// The record to create if the Lease is absent: without a holder.
  [[nodiscard]] LeaseRecord placeholder() const;
  /// The other process that holds the Lease; empty: none does.
  [[nodiscard]] std::string other_holder(base::TimePoint now) const;

  /// The record to write to acquire or renew the Lease. From now on, a Lease with this identity may
  /// be this process's own write. The writer sets the renew time, and the acquire time if empty.
  [[nodiscard]] LeaseRecord claim_record();
  /// Records that claim() was written by a request sent at `asked`.
  void confirm_claim(Lease written, base::TimePoint asked);
  /// The record to write to release the Lease.
  [[nodiscard]] LeaseRecord release() const;
  /// Stops leading: the Lease was released, or could not be renewed in time.
  void resign();

  [[nodiscard]] bool leading() const { return leading_; }
  /// The deadline for sending bindings. Meaningful only while leading.
  [[nodiscard]] base::TimePoint may_write_until() const {
    return renewed_ + settings_.renew_deadline;
  }

 private:
  const ElectionSettings settings_;
  const base::TimePoint started_;
  std::optional<Lease> lease_;
  bool observed_ = false;        // lease_ is meaningful only after the first read
  base::TimePoint observed_at_;  // when its record was last seen to change
  /// Whether a Lease with this identity can have been written by this process or the previous one.
  /// False after another holder was seen.
  bool holder_may_be_predecessor_ = true;
  bool leading_ = false;
  base::TimePoint renewed_;
};

}  // namespace snug::leader

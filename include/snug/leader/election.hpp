// Leader election by a Lease, by client-go's rules (tools/leaderelection), and the two times that
// make it a fence for bindings.
//
//   - A Lease counts as held until its duration has passed, on this process's clock, since its
//     record was last seen to change. Times written by other machines are never compared.
//   - The leader renews the Lease. It may send bindings until the renew deadline has passed since
//     it *asked* for the last renewal that succeeded. The renew deadline is shorter than the
//     Lease's duration, so nobody else can hold the Lease by then.
//   - Whoever gets the Lease lists the cluster and then decides. So nobody takes the Lease before
//     every binding of earlier leaders has been carried out or never will be. The Lease is free
//
//       released by its holder    at once: it is released after the last binding was answered
//       held by another           its duration and `write_window` after its record last changed;
//                                 a duration below our own counts as our own
//       held by this identity     `orphan_window` after this process started, if this process
//                                 wrote that, or found it so at its start: the process that held
//                                 it before has died
//       else                      our own duration and `write_window` after it was first seen so:
//                                 somebody deleted or edited it, and its holder may not know yet
//
//     A Lease that is absent is never free. It is created without a holder first: between two reads
//     of nothing another Lease could have come and gone, and a record shows that none has.
//
// Pure: every time is passed in. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/leader/lease.hpp"

namespace snug {

/// The two times that make the Lease a fence (docs/decisions/0023).
/// How long a binding may still be carried out after the moment until which it could be sent: so
/// long the API server may take.
[[nodiscard]] inline std::chrono::milliseconds carry_out_window(
    std::chrono::milliseconds api_timeout, const Limits& limits) {
  return api_timeout + std::chrono::milliseconds(limits.clock_skew_ms);
}
/// How long an unanswered binding may still be carried out after it was sent: so long it may take
/// to reach the API server, and then the same.
[[nodiscard]] inline std::chrono::milliseconds unanswered_window(
    std::chrono::milliseconds api_timeout, const Limits& limits) {
  return api_timeout + carry_out_window(api_timeout, limits);
}

struct ElectionSettings {
  /// Of this process: HOST_SUFFIX. Two processes that run at once never share one.
  std::string identity;
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};
  /// carry_out_window(): of bindings of a holder that could send until its Lease ended.
  std::chrono::milliseconds write_window{1'500};
  /// unanswered_window(): of bindings that a process sent which has died since.
  std::chrono::milliseconds orphan_window{2'500};
};

[[nodiscard]] ElectionSettings election_settings(std::string identity,
                                                 std::chrono::milliseconds api_timeout,
                                                 const Limits& limits);

class Election {
 public:
  /// `started`: when the process started, or later.
  Election(ElectionSettings settings, TimePoint started);

  /// What a read, or the watch, shows of the Lease at `now`; nothing: there is none. A leader that
  /// sees another holder leads no more.
  void observe(const std::optional<Lease>& lease, TimePoint now);

  /// Whether the Lease may be claimed.
  [[nodiscard]] bool is_free(TimePoint now) const { return free_at() <= now; }
  /// The last Lease seen; nothing: there is none.
  [[nodiscard]] const std::optional<Lease>& lease() const { return lease_; }
  /// When the Lease will be free, if its record does not change; TimePoint::max(): it is absent, or
  /// was never read.
  [[nodiscard]] TimePoint free_at() const;
  [[nodiscard]] bool is_absent() const { return observed_ && !lease_; }
  /// What to create where the Lease is absent.
  [[nodiscard]] LeaseRecord placeholder() const;
  /// The holder of a Lease that is not free, if it is not this process; empty: none.
  [[nodiscard]] std::string other_holder(TimePoint now) const;

  /// What to write to acquire or to renew the Lease; from here on a Lease with this process's
  /// identity may be of its own write. The writer fills in the renew time, and the
  /// acquire time where it is empty.
  [[nodiscard]] LeaseRecord claim();
  /// claim() was written; the write was sent at `asked`.
  void claimed(Lease written, TimePoint asked);
  /// What to write to give the Lease away.
  [[nodiscard]] LeaseRecord release() const;
  /// The Lease was given away, or could not be renewed in time.
  void resign();

  [[nodiscard]] bool leading() const { return leading_; }
  /// Of the leader: the time before which a binding may be sent.
  [[nodiscard]] TimePoint write_until() const { return renewed_ + settings_.renew_deadline; }

 private:
  const ElectionSettings settings_;
  const TimePoint started_;
  std::optional<Lease> lease_;
  bool observed_ = false;  // false until the first read: lease_ means nothing before
  TimePoint observed_at_;  // when its record was seen to change
  /// Whether a Lease of this identity can be of our own write or of the process before this one.
  /// False: somebody else has held the Lease since.
  bool may_be_ours_ = true;
  bool leading_ = false;
  TimePoint renewed_;
};

}  // namespace snug

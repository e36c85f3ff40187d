// Leader election with a Lease. The rules are those of client-go (tools/leaderelection), with two
// additional waits (windows) so that bindings of two leaders never overlap (docs/decisions/0023).
//
//   - A Lease expires when its duration has passed since this process last saw the record change,
//     on the clock of this process. Times written by other machines are not used as times.
//   - The leader renews the Lease. It may send bindings until the renew deadline has passed since
//     it *sent* the last successful renewal. The renew deadline is shorter than the duration of the
//     Lease, so no other process can hold the Lease by then.
//   - A new leader lists the cluster before it decides. So a process must not acquire the Lease
//     before each binding of earlier leaders has been executed or can no longer be executed.
//
// Therefore the Lease becomes free:
//
//   - at once, if its holder has released it. The holder does this after the replies to all its
//     bindings.
//   - `orphan_window` after this process started, if the record has the identity of this process,
//     and this process wrote the record or found it at its start. In that case, the previous
//     process with this identity has died.
//   - its duration (at least `lease_duration`) plus `write_window` after the last change of the
//     record, if another process holds it.
//   - `lease_duration` plus `write_window` after the last change of the record, in other cases.
//     Someone has edited the Lease or created it anew, and its last holder may not know that yet.
//   - never, if it is absent. Between two reads that find no Lease, other processes may create and
//     delete one. So Snug first creates the Lease without a holder; its record then shows changes.
//
// Pure: all times are parameters. Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/leader/lease.hpp"

namespace snug::leader {

/// The longest time that the API server may take to execute a binding that the leader sent at the
/// last permitted moment.
[[nodiscard]] inline std::chrono::milliseconds execution_window(
    std::chrono::milliseconds api_timeout, const base::Limits& limits) {
  return api_timeout + std::chrono::milliseconds(limits.clock_skew_ms);
}
/// The longest time between the sending of a binding without reply and its execution: the time to
/// reach the API server plus execution_window().
[[nodiscard]] inline std::chrono::milliseconds unanswered_window(
    std::chrono::milliseconds api_timeout, const base::Limits& limits) {
  return api_timeout + execution_window(api_timeout, limits);
}

struct ElectionSettings {
  /// The identity of this process, HOST_SUFFIX. No two running processes have the same identity.
  std::string identity;
  std::chrono::milliseconds lease_duration{15'000};
  std::chrono::milliseconds renew_deadline{10'000};
  /// The value of execution_window(): the time to wait after the Lease of another holder has
  /// expired.
  std::chrono::milliseconds write_window{1'500};
  /// The value of unanswered_window(): the time to wait after the start of this process, because
  /// bindings of the previous process with the same identity may still be executed.
  std::chrono::milliseconds orphan_window{2'500};
};

[[nodiscard]] ElectionSettings election_settings(std::string identity,
                                                 std::chrono::milliseconds api_timeout,
                                                 const base::Limits& limits);

class Election {
 public:
  /// `started` is the time at which the process started, or a later one.
  Election(ElectionSettings settings, base::TimePoint started);

  /// Records that a read or the watch has shown `lease` at `now`; nullopt means that the Lease is
  /// absent. A leader stops leading if the Lease is absent or this process is not its holder.
  void observe(const std::optional<Lease>& lease, base::TimePoint now);

  /// Whether this process may acquire the Lease.
  [[nodiscard]] bool is_free(base::TimePoint now) const { return free_at() <= now; }
  /// The Lease as last observed or written; nullopt if absent or not read yet.
  [[nodiscard]] const std::optional<Lease>& lease() const { return lease_; }
  /// The time at which the Lease becomes free if its record does not change. TimePoint::max() if
  /// the Lease is absent or has not been read yet.
  [[nodiscard]] base::TimePoint free_at() const;
  [[nodiscard]] bool is_absent() const { return lease_observed_ && !lease_; }
  /// The record with which an absent Lease is created. It names no holder.
  [[nodiscard]] LeaseRecord placeholder() const;
  /// The identity of the other process that holds the Lease; empty if there is none.
  [[nodiscard]] std::string other_holder(base::TimePoint now) const;

  /// The record to write to acquire or renew the Lease. The caller must set the renew time, and the
  /// acquire time if it is empty. After this call, a Lease with this identity is regarded as
  /// written by this process.
  [[nodiscard]] LeaseRecord claim_record();
  /// Records that the API server has stored `written`, made from claim_record(), by a request that
  /// was sent at `claim_sent_at`. This process leads from now on.
  void confirm_claim(Lease written, base::TimePoint claim_sent_at);
  /// The record to write to release the Lease.
  [[nodiscard]] LeaseRecord release() const;
  /// Stops leading. Call it when the Lease has been released or has not been renewed in time.
  void resign();

  [[nodiscard]] bool leading() const { return leading_; }
  /// The time until which this process may send bindings. Meaningful only if leading().
  [[nodiscard]] base::TimePoint may_write_until() const {
    return renewal_sent_at_ + settings_.renew_deadline;
  }

 private:
  const ElectionSettings settings_;
  const base::TimePoint started_;
  std::optional<Lease> lease_;
  bool lease_observed_ = false;  // whether the Lease has been read, so that `lease_` is meaningful
  base::TimePoint observed_at_;  // when `lease_` was last seen to change
  /// Whether a Lease with this identity may have been written by this process or the previous one.
  /// False after observe() has found the Lease absent or without this identity; true after
  /// claim_record().
  bool holder_may_be_predecessor_ = true;
  bool leading_ = false;
  base::TimePoint renewal_sent_at_;  // when the last successful renewal was sent
};

}  // namespace snug::leader

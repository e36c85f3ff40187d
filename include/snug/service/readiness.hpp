// Knows whether Snug may decide, and if not, why. Snug is ready if all of these hold:
//
//   - This Snug leads, or there is no election (service/leader_elector.hpp).
//   - Its view is fresh: it has applied lists of nodes and pods that started after it became
//     the leader.
//   - Both streams are alive: each has shown something within watchSilenceS, and its watch
//     works or was lost at most watch_lost_ms ago. A stream that has never reported counts as
//     alive.
//   - It does not await the heartbeats of agents: a Snug that has just started would take living
//     agents for dead ones. It waits for heartbeat_lost_ms at most, since the list may be refused.
//
// If a stream lags behind, Snug may learn of freed capacity late. It still knows of every binding,
// since no other Snug binds pods while this one leads. A standby is warm if it would be ready as
// the leader.
//
// Thread-safe. is_ready() costs a few atomic reads and a reading of the clock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class Readiness {
 public:
  /// This Snug starts as the leader. If there is no election, it stays the leader.
  Readiness(const base::Clock& clock, const base::Limits& limits);

  // Functions about the leader election.
  /// Makes this Snug the leader. It is not ready until lists that begin after this call are
  /// applied.
  void start_leading();
  /// Makes this Snug a standby. `leader` is the holder of the Lease; empty: there is none, or it is
  /// unknown. `why_no_leader` is a clause that says why there is no leader; empty: unknown.
  /// Messages show `why_no_leader` only if `leader` is empty.
  void stand_by(std::string leader, std::string why_no_leader);
  /// `conflict`: a scheduler calls this Snug although another installation holds the Lease.
  void set_conflict(bool conflict) { conflict_ = conflict; }

  /// `lease_problem` says why a Lease cannot be read or written; empty if it can.
  void set_lease_problem(std::string lease_problem);
  /// Records that a call was answered with 503 because Snug is not ready.
  void note_refused_call() { refused_call_ = true; }
  /// Whether note_refused_call() was called since the last call of this function.
  [[nodiscard]] bool take_refused_call() { return refused_call_.exchange(false); }

  // Functions about the list and watch streams of nodes and pods.
  void begin_list(Resource resource);
  void mark_listed(Resource resource);
  void mark_alive(Resource resource, std::string_view version);
  void mark_lost(Resource resource);

  /// Snug is not ready until heartbeats_applied(), or until heartbeat_lost_ms are over.
  void await_heartbeats();
  void heartbeats_applied() { heartbeats_deadline_ = 0; }

  /// Whether Snug answers the calls of kube-scheduler. Otherwise they get a 503.
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool is_leader() const { return leads_; }
  /// Whether Snug would be ready if it were the leader, and nothing prevents it from becoming the
  /// leader. If so, /readyz answers 200.
  [[nodiscard]] bool is_warm_standby() const;
  [[nodiscard]] bool is_in_conflict() const { return conflict_; }
  /// One sentence without a full stop that says why Snug is not ready; empty: it is ready.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] std::string leader() const;

  /// The time since the stream last showed something. If it never has, the time since it first
  /// failed. Nullopt: neither has happened.
  [[nodiscard]] std::optional<std::chrono::milliseconds> age(Resource resource) const;
  /// The last resource version that the stream has shown; empty: none.
  [[nodiscard]] std::string version(Resource resource) const;

 private:
  struct Stream {
    std::atomic<std::uint64_t> began_in_leadership{1};  // leadership_ at the last begin_list()
    std::atomic<std::uint64_t> listed_in_leadership{
        0};                             // began_in_leadership of the last applied list; 0: none
    std::atomic<bool> reported{false};  // whether mark_alive() or mark_lost() was called
    std::atomic<bool> established{false};
    std::atomic<std::int64_t> alive_at{0};  // when the stream last showed something, in ns
    std::atomic<std::int64_t> lost_at{0};   // when the watch was lost, in ns; unused while it works
  };

  [[nodiscard]] const Stream& stream_of(Resource resource) const {
    return streams_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] Stream& stream_of(Resource resource) {
    return streams_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] bool is_listed(const Stream& stream) const {
    return stream.listed_in_leadership >= leadership_ ||
           (!leads_ && stream.listed_in_leadership > 0);
  }
  [[nodiscard]] bool is_alive(const Stream& stream) const;
  [[nodiscard]] bool awaits_heartbeats() const;
  /// Whether the view is fresh, for a leader or for a standby.
  [[nodiscard]] bool is_view_fresh() const;
  [[nodiscard]] std::string why_stream_is_not(Resource resource) const;

  const base::Clock& clock_;
  const std::chrono::nanoseconds silence_;
  const std::chrono::nanoseconds lost_;
  std::array<Stream, kResourceNames.size()> streams_;
  std::atomic<std::uint64_t> leadership_{1};  // 1 + the number of calls of start_leading()
  std::atomic<bool> leads_{true};
  std::atomic<bool> conflict_{false};
  std::atomic<bool> refused_call_{false};
  std::atomic<std::int64_t> heartbeats_deadline_{0};  // in ns; 0: none are awaited
  mutable base::Mutex mutex_;
  std::array<std::string, kResourceNames.size()> stream_versions_ SNUG_GUARDED_BY(mutex_);
  std::string leader_ SNUG_GUARDED_BY(mutex_);
  std::string why_no_leader_ SNUG_GUARDED_BY(mutex_);
  std::string lease_problem_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

// Acquires, renews and releases the Lease that elects the one leader among a cluster's Snugs, by
// the rules of leader/election.hpp. Sets readiness and the write fence so that this Snug
// decides and binds only while it leads.
//
//            the Lease is free, and this Snug is wanted
// standby ────────────────────────────────────────────► leader: lists the cluster, then decides
//    ▲                                                      │
//    │  another client wrote or deleted the Lease, or       │
//    │  this Snug released it or could not renew it         │
//    └──────────────────────────────────────────────────────┘
//
// If this Snug follows no scheduler, it is wanted until resign() is called. If it follows a
// scheduler's Lease, it is wanted only while a scheduler on this host holds that Lease, or nobody
// does. A leader that is not wanted stops deciding, and releases its Lease once its last binding is
// answered. Calls of a scheduler never make a Snug the leader.
//
// If a scheduler calls a wanted standby repeatedly during two Lease durations, while another Snug
// holds the Lease, the standby concludes that two installations of Snug serve the cluster. It
// reports this once for each holder, by log and event.
//
// Only one thread may call tick(), which may wait for the API server. Any thread may call the other
// functions.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/leader/election.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/write_fence.hpp"

namespace snug::service {

struct ElectorParts {
  LeasePort& lease;
  LeasePort* scheduler_lease = nullptr;  // null: Snug follows no scheduler
  Readiness& readiness;
  WriteFence& fence;
  ClusterSource& source;
  ApiPort& api;
  Log& log;
  const base::Clock& clock;
};

struct ElectorOptions {
  std::string lease_name;  // NAMESPACE/NAME, as messages show it
  leader::ElectionSettings election;
  /// The time between two renewals, and between two attempts to acquire the Lease.
  std::chrono::milliseconds retry{2'000};
  /// The object of the event that reports a second installation: Snug's own pod, with its uid, or
  /// the Lease. LeaderElector sets the reason and the note.
  model::Notice about;
  std::uint64_t seed = 1;
};

class LeaderElector {
 public:
  /// Makes this Snug a standby. tick() makes it the leader later.
  LeaderElector(ElectorParts parts, ElectorOptions options);

  /// Reads, acquires, renews or releases the Lease, whichever is due. Call it about every 20 ms.
  void tick();

  /// The sinks for the watches of the two Leases. When a watch shows a change of a Lease, the next
  /// tick() reads that Lease.
  [[nodiscard]] LeaseSink& lease_sink() { return lease_hint_; }
  [[nodiscard]] LeaseSink& scheduler_sink() { return scheduler_hint_; }
  /// Makes tick() release the Lease as soon as no binding is in flight, and never acquire it again.
  void resign();
  /// After resign(): waits, at most for `max_wait`, until this Snug is not the leader.
  void wait_resigned(std::chrono::milliseconds max_wait);

 private:
  class LeaseHint final : public LeaseSink {
   public:
    void lease_changed(std::string_view resource_version) override {
      const base::MutexLock lock(mutex_);
      shown_version_ = resource_version;
    }
    /// Whether the watch has shown a version other than that of `known_lease` since the last call
    /// of this function.
    [[nodiscard]] bool take_lease_change(const std::optional<leader::Lease>& known_lease) {
      const base::MutexLock lock(mutex_);
      const auto version = std::exchange(shown_version_, std::nullopt);
      return version && *version != (known_lease ? known_lease->resource_version : "");
    }

   private:
    base::Mutex mutex_;
    std::optional<std::string> shown_version_ SNUG_GUARDED_BY(mutex_);
  };

  void read_scheduler_lease();
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::string active_scheduler() const;
  void lead(base::TimePoint now);
  void renew();
  void release();
  void stand_by(base::TimePoint now);
  void try_to_acquire();
  void create_lease();
  void read_lease();
  [[nodiscard]] base::Result<void> write_claim();
  void decide_if_wanted();
  void stop_deciding();
  void lost_lead(LogLevel level, std::string_view why);
  [[nodiscard]] std::string no_leader_reason(base::TimePoint now) const;
  void check_for_conflict(base::TimePoint now);
  void report_conflict(const std::string& lease_holder);
  void end_conflict();
  void note_failure(std::string& logged_failure, const base::Error& error);
  void clear_failure(std::string& logged_failure);
  void publish_failures();

  ElectorParts parts_;
  const ElectorOptions options_;
  const std::string host_;
  LeaseHint lease_hint_;
  LeaseHint scheduler_hint_;
  std::atomic<bool> resigning_{false};

  // Members that only tick() uses.
  leader::Election election_;
  std::mt19937_64 jitter_random_;
  bool decides_ = false;  // whether decide_if_wanted() has opened readiness and the fence
  base::TimePoint next_renewal_;
  base::TimePoint next_lease_read_;  // when a standby next reads the Lease
  base::TimePoint next_claim_;       // the earliest next attempt to acquire the Lease
  base::TimePoint next_scheduler_read_;
  bool scheduler_known_ = false;  // whether scheduler_lease_ has been read from the API server
  std::optional<leader::Lease> scheduler_lease_;
  /// The start of the current series of calls that were answered with 503. A pause longer than the
  /// Lease's duration ends a series. Nullopt: there is no series.
  std::optional<base::TimePoint> refused_calls_since_;
  base::TimePoint last_refused_call_;
  std::string reported_conflict_;  // the holder in the last report of a conflict; empty: none
  std::string lease_failure_;      // the error of the last access to Snug's own Lease; empty: none
  std::string scheduler_failure_;  // the same for the scheduler's Lease

  base::Mutex mutex_;
  base::Condition resigned_changed_;
  bool resigned_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::service

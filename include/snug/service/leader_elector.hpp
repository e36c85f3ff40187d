// Acquires, renews and releases the Lease by which one Snug of a cluster leads, by the rules of
// leader/election.hpp, and opens and closes readiness and the write fence accordingly.
//
//              Lease is free, this Snug is wanted
//   standby ───────────────────────────────────────► leader: lists the cluster, then decides
//      ▲                                                │
//      │  another holds it, it could not be renewed,    │
//      └────────────── or it was released ◄─────────────┘
//
// If a scheduler's Lease is followed, this Snug is wanted while a scheduler on this Snug's host
// holds that Lease, or nobody does; a leader that is not wanted releases its Lease once its last
// binding is answered. Calls of a scheduler never make a Snug the leader.
//
// A standby that is wanted and that is called repeatedly for two durations of the Lease, while
// another Snug holds it, concludes that two installations serve the cluster. It reports that once
// for each holder, by log and event.
//
// tick() belongs to one thread and may wait for the API server; all else may come from any.
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
  LeasePort* scheduler_lease = nullptr;  // null: no scheduler is followed
  Readiness& readiness;
  WriteFence& fence;
  ClusterSource& source;
  ApiPort& api;
  Log& log;
  const base::Clock& clock;
};

struct ElectorOptions {
  std::string lease_name;  // NAMESPACE/NAME, for messages
  leader::ElectionSettings election;
  std::chrono::milliseconds retry{2'000};
  /// The object of the event about a second installation; a pod needs its uid.
  Notice about;
  std::uint64_t seed = 1;
};

class LeaderElector {
 public:
  /// Starts as a standby.
  LeaderElector(ElectorParts parts, ElectorOptions options);

  /// Does what is due by the clock: call it every 20 ms.
  void tick();

  /// For the watches: what they show is read again at the next tick.
  [[nodiscard]] LeaseSink& lease_sink() { return lease_hint_; }
  [[nodiscard]] LeaseSink& scheduler_sink() { return scheduler_hint_; }
  /// Makes tick() release the Lease as soon as no binding is under way, and never acquire it again.
  void resign();
  /// Waits until that is done or there was no Lease to release; at most `time`.
  void wait_resigned(std::chrono::milliseconds time);

 private:
  class Hint final : public LeaseSink {
   public:
    void lease_changed(std::string_view resource_version) override {
      const base::MutexLock lock(mutex_);
      shown_ = resource_version;
    }
    /// Whether another version than `known` was shown since the last call.
    [[nodiscard]] bool take_news(const std::optional<leader::Lease>& known) {
      const base::MutexLock lock(mutex_);
      const auto shown = std::exchange(shown_, std::nullopt);
      return shown && *shown != (known ? known->resource_version : "");
    }

   private:
    base::Mutex mutex_;
    std::optional<std::string> shown_ SNUG_GUARDED_BY(mutex_);
  };

  void read_scheduler_lease();
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::string scheduler() const;
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
  void report_conflict(const std::string& other);
  void end_conflict();
  void note_failure(std::string& logged, const base::Error& error);
  void clear_failure(std::string& logged);
  void publish_failures();

  ElectorParts parts_;
  const ElectorOptions options_;
  const std::string host_;
  Hint lease_hint_;
  Hint scheduler_hint_;
  std::atomic<bool> resigning_{false};

  // tick() only.
  leader::Election election_;
  std::mt19937_64 random_;
  bool decides_ = false;  // readiness and the fence know that this Snug leads
  base::TimePoint next_renewal_;
  base::TimePoint next_read_;   // of a standby
  base::TimePoint next_claim_;  // of a free Lease
  base::TimePoint next_scheduler_read_;
  bool scheduler_known_ = false;  // false until the first read: scheduler_ means nothing before
  std::optional<leader::Lease> scheduler_;
  std::optional<base::TimePoint>
      called_since_;  // start of a series of refused calls without a long pause
  base::TimePoint called_last_;
  std::string reported_conflict_;  // the holder
  std::string lease_failure_;      // of the last read or write; empty: it succeeded
  std::string scheduler_failure_;

  base::Mutex mutex_;
  base::Condition resigned_changed_;
  bool resigned_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::service

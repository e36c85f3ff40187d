// Gets, renews and gives away the Lease by which one Snug of a cluster decides, by the rules of
// leader/election.hpp, and tells readiness and the write fence what follows.
//
//              Lease is free, this Snug is wanted
//   standby ───────────────────────────────────────► leader: lists, then decides
//      ▲                                                │
//      │  another holds it, it could not be renewed,    │
//      └──────── or it was given away ◄─────────────────┘
//
// Where a scheduler's Lease is followed, this Snug is wanted while a scheduler on this Snug's host
// holds that Lease, or nobody does; a leader that is not wanted gives its Lease away once its last
// binding is answered. Being asked never makes a Snug the leader.
//
// A standby that is wanted and that is called again and again for two durations of the Lease, while
// another Snug holds it, concludes that two installations serve the cluster. It reports that once
// for each holder, by log and event.
//
// tick() belongs to one thread and may wait for the API server; all else may come from any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/leader/election.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"
#include "snug/service/write_fence.hpp"

namespace snug {

struct ElectorParts {
  LeasePort& lease;
  LeasePort* scheduler_lease = nullptr;  // null: no scheduler is followed
  Readiness& readiness;
  WriteFence& fence;
  ClusterSource& source;
  ApiPort& api;
  Log& log;
  const Clock& clock;
};

struct ElectorOptions {
  std::string lease_name;  // NAMESPACE/NAME, for people
  ElectionSettings election;
  std::chrono::milliseconds retry{2'000};
  /// About which object an event about a second installation is written; a pod with its uid.
  Notice about;
  std::uint64_t seed = 1;
};

class LeaderElector {
 public:
  /// Stands by from here on.
  LeaderElector(ElectorParts parts, ElectorOptions options);

  /// Whatever is due by the clock: call it every 20 ms.
  void tick();

  /// Hints of the watches: what they show is read again at the next tick.
  [[nodiscard]] LeaseSink& lease_sink() { return lease_hint_; }
  [[nodiscard]] LeaseSink& scheduler_sink() { return scheduler_hint_; }
  /// Gives the Lease away as soon as no binding is under way, and gets it no more; tick() does it.
  void resign();
  /// Waits until that is done or there was nothing to give away; at most `time`.
  void wait_resigned(std::chrono::milliseconds time);

 private:
  class Hint final : public LeaseSink {
   public:
    void lease_shown(std::string_view resource_version) override {
      const std::lock_guard lock(mutex_);
      shown_ = resource_version;
    }
    /// Whether another version than `known` was shown since the last call.
    [[nodiscard]] bool take_news(const std::optional<Lease>& known) {
      const std::lock_guard lock(mutex_);
      const auto shown = std::exchange(shown_, std::nullopt);
      return shown && *shown != (known ? known->resource_version : "");
    }

   private:
    std::mutex mutex_;
    std::optional<std::string> shown_;  // guarded by mutex_
  };

  void look_at_scheduler();
  [[nodiscard]] bool wanted() const;
  [[nodiscard]] std::string scheduler() const;
  void lead(TimePoint now);
  void renew();
  void give_away();
  void stand_by(TimePoint now);
  void try_to_get();
  void create_lease();
  void read_lease();
  [[nodiscard]] Result<void> write_claim();
  void decide_if_wanted();
  void stop_deciding();
  void lost_lead(LogLevel level, std::string_view why);
  [[nodiscard]] std::string why_nobody_leads(TimePoint now) const;
  void look_for_conflict(TimePoint now);
  void report_conflict(const std::string& other);
  void end_conflict();
  void say_failure(std::string& told, const Error& error);
  void clear_failure(std::string& told);
  void show_troubles();

  ElectorParts parts_;
  const ElectorOptions options_;
  const std::string host_;
  Hint lease_hint_;
  Hint scheduler_hint_;
  std::atomic<bool> resigning_{false};

  // tick() only.
  Election election_;
  std::mt19937_64 random_;
  bool decides_ = false;  // readiness and the fence know that this Snug leads
  TimePoint next_renewal_;
  TimePoint next_read_;   // of a standby
  TimePoint next_claim_;  // of a Lease that is free
  TimePoint next_look_at_scheduler_;
  bool scheduler_known_ = false;  // false until the first read: scheduler_ means nothing before
  std::optional<Lease> scheduler_;
  std::optional<TimePoint> called_since_;  // calls that were refused, without a long pause
  TimePoint called_last_;
  std::string told_conflict_;  // the holder
  std::string lease_trouble_;  // why it is out of reach; empty: it is not
  std::string scheduler_trouble_;

  std::mutex mutex_;
  std::condition_variable resigned_changed_;
  bool resigned_ = false;  // guarded by mutex_
};

}  // namespace snug

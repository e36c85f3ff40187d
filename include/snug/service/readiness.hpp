// Whether Snug may decide, and if not, why. Three things must hold:
//
//   - this Snug leads (if there is an election; service/leader_elector.hpp),
//   - lists of nodes and pods that were begun since it leads are applied: its view is fresh,
//   - both streams are alive: each has shown something within watchSilenceS, and if its watch is
//     not established, it was lost no longer than watch_lost_ms ago. A source without streams
//     reports nothing, and counts as alive.
//
// While it leads no other Snug binds pods, so what a stream has not shown yet can only be freed
// capacity. A standby is `warm` if only the lead is missing.
//
// Thread-safe; ready() costs some atomic reads and the clock.
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
  /// Leads from the start, as without an election.
  Readiness(const base::Clock& clock, const base::Limits& limits);

  // The lead.
  /// From here on, ready() needs lists that begin after this call.
  void start_leading();
  /// `leader`: who leads instead; empty: nobody, or not known. `why_nobody`: a clause that says why
  /// nobody leads or may lead yet; empty: not known. Both are shown to people.
  void stand_by(std::string leader, std::string why_nobody);
  /// True: a scheduler calls this Snug although another installation of Snug holds the Lease.
  void set_conflict(bool conflict) { conflict_ = conflict; }

  /// Why the Lease cannot be read or written; empty: it can.
  void set_lease_problem(std::string problem);
  /// A call was answered with 503, since Snug is not ready.
  void note_refused_call() { refused_call_ = true; }
  /// Whether there was one since the last call of this function.
  [[nodiscard]] bool take_refused_call() { return refused_call_.exchange(false); }

  // The streams.
  void begin_list(Resource resource);
  void mark_listed(Resource resource);
  void mark_alive(Resource resource, std::string_view version);
  void mark_lost(Resource resource);

  /// Whether verbs are answered.
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] bool is_leader() const { return leads_; }
  /// Ready except for the lead, which it could get: /readyz answers 200.
  [[nodiscard]] bool is_warm_standby() const;
  [[nodiscard]] bool is_in_conflict() const { return conflict_; }
  /// One sentence without a full stop; empty: ready.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] std::string leader() const;

  /// Time since the stream last showed anything or, before that, since it first failed; nothing:
  /// neither has happened.
  [[nodiscard]] std::optional<std::chrono::milliseconds> age(Resource resource) const;
  /// The last resource version that the stream has shown; empty: none.
  [[nodiscard]] std::string version(Resource resource) const;

 private:
  struct Stream {
    std::atomic<std::uint64_t> begun_view{1};   // of the list that began last
    std::atomic<std::uint64_t> listed_view{0};  // of the last applied list; 0: none
    std::atomic<bool> reported{false};          // alive() or lost() was called
    std::atomic<bool> established{false};
    std::atomic<std::int64_t> alive_at{0};  // nanoseconds of the clock
    std::atomic<std::int64_t> lost_at{0};   // of a stream that is not established
  };

  [[nodiscard]] const Stream& at(Resource resource) const {
    return streams_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] Stream& at(Resource resource) {
    return streams_[static_cast<std::size_t>(resource)];
  }
  [[nodiscard]] bool is_listed(const Stream& stream) const {
    return stream.listed_view >= view_ || (!leads_ && stream.listed_view > 0);
  }
  [[nodiscard]] bool is_alive(const Stream& stream) const;
  [[nodiscard]] std::string why_stream_is_not(Resource resource) const;

  const base::Clock& clock_;
  const std::chrono::nanoseconds silence_;
  const std::chrono::nanoseconds lost_;
  std::array<Stream, kResourceNames.size()> streams_;
  std::atomic<std::uint64_t> view_{1};  // how often it has begun to lead
  std::atomic<bool> leads_{true};
  std::atomic<bool> conflict_{false};
  std::atomic<bool> refused_call_{false};
  mutable base::Mutex mutex_;
  std::array<std::string, kResourceNames.size()> versions_ SNUG_GUARDED_BY(mutex_);
  std::string leader_ SNUG_GUARDED_BY(mutex_);
  std::string why_nobody_ SNUG_GUARDED_BY(mutex_);
  std::string lease_problem_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

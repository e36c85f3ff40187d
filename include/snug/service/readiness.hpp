// Whether Snug may decide, and if not, why. Three things must hold:
//
//   - this Snug leads (where there is an election; service/leader_elector.hpp),
//   - lists of nodes and pods that were begun since it leads are applied: its view is fresh,
//   - both streams are alive: each has shown something within watchSilenceS, and one that is not
//     established was lost no longer than watch_lost_ms ago. A source that has no streams reports
//     nothing, and is alive.
//
// While it leads nobody else binds pods to shares, so what a stream has not shown yet can only be
// room. A standby that is `warm` lacks nothing but the lead.
//
// Thread-safe; ready() costs some atomic reads and the clock.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class Readiness {
 public:
  /// Leads from the start, as where there is no election.
  Readiness(const Clock& clock, const Limits& limits);

  // The lead.
  /// Only lists that begin after this call make it ready.
  void lead();
  /// `leader`: who leads instead; empty: nobody, or it is not known. `why_nobody`: why nobody leads
  /// or may lead yet, as a clause; empty: it is not known. Both for people.
  void stand_by(std::string leader, std::string why_nobody);
  /// True: a second installation of Snug holds the Lease although this Snug is being called.
  void set_conflict(bool conflict) { conflict_ = conflict; }

  /// Of a standby: why the Lease cannot be read or written; empty: it can.
  void set_lease_problem(std::string problem);
  /// A verb was refused, since Snug is not ready.
  void note_refused_call() { refused_call_ = true; }
  /// Whether one was since this was asked last.
  [[nodiscard]] bool take_refused_call() { return refused_call_.exchange(false); }

  // The streams.
  void list_begins(Resource resource);
  void listed(Resource resource);
  void alive(Resource resource, std::string_view version);
  void lost(Resource resource);

  /// Whether verbs are answered.
  [[nodiscard]] bool ready() const;
  [[nodiscard]] bool leads() const { return leads_; }
  /// Ready but for the lead, and nothing stands in the way of that: what /readyz says.
  [[nodiscard]] bool warm() const;
  [[nodiscard]] bool in_conflict() const { return conflict_; }
  /// One sentence without a full stop; empty: it is ready.
  [[nodiscard]] std::string why_not() const;
  [[nodiscard]] std::string leader() const;

  /// Since the last sign of life or, before the first, since the stream could first not be
  /// established; nothing: neither has happened.
  [[nodiscard]] std::optional<std::chrono::milliseconds> age(Resource resource) const;
  /// The last resource version that the stream has shown; empty: none.
  [[nodiscard]] std::string version(Resource resource) const;

 private:
  struct Stream {
    std::atomic<std::uint64_t> begun_view{1};   // of the list that began last
    std::atomic<std::uint64_t> listed_view{0};  // of the last applied list; 0: none
    std::atomic<bool> reported{false};  // false: nothing says whether it lives, as in memory
    std::atomic<bool> established{false};
    std::atomic<std::int64_t> alive_at{0};  // nanoseconds of the clock
    std::atomic<std::int64_t> lost_at{0};   // of a stream that is not established
    std::string version;                    // guarded by mutex_
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

  const Clock& clock_;
  const std::chrono::nanoseconds silence_;
  const std::chrono::nanoseconds lost_;
  std::array<Stream, kResources> streams_;
  std::atomic<std::uint64_t> view_{1};  // counts the times it began to lead
  std::atomic<bool> leads_{true};
  std::atomic<bool> conflict_{false};
  std::atomic<bool> refused_call_{false};
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::string leader_;
  std::string why_nobody_;
  std::string lease_problem_;
};

}  // namespace snug

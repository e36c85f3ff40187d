// The reservations of the pods whose sandboxes run, as the thread that answers the container
// runtime enters them: also of pods that the API server no longer has. Thread-safe; no lock is held
// during I/O. It has as many sandboxes as the container runtime.
//
// A container never gets a MIG slice that is being destroyed: the runtime's thread enters a sandbox
// here before it looks for the sandbox's slices in the NodeBook; the thread that destroys takes a
// slice out of the NodeBook before it looks here whether a sandbox has it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/mutex.hpp"
#include "snug/model/reservation.hpp"

namespace snug::agent_service {

class SandboxBook {
 public:
  using ReservationsBySandbox = std::map<std::string, model::Reservation, std::less<>>;

  /// Replaces all sandboxes, by their ids. `running`: those with containers that have not ended,
  /// and with a reservation.
  void sandboxes_listed(ReservationsBySandbox running) SNUG_EXCLUDES(mutex_);
  /// A container of the sandbox is about to be created.
  void sandbox_runs(std::string_view id, model::Reservation reservation) SNUG_EXCLUDES(mutex_);
  void sandbox_stopped(std::string_view id) SNUG_EXCLUDES(mutex_);

  /// Whether the sandboxes have been listed.
  [[nodiscard]] bool is_complete() const SNUG_EXCLUDES(mutex_);
  /// A number that changes when a sandbox comes, goes or has another reservation.
  [[nodiscard]] std::uint64_t generation() const SNUG_EXCLUDES(mutex_);
  [[nodiscard]] std::vector<model::Reservation> held() const SNUG_EXCLUDES(mutex_);

 private:
  mutable base::Mutex mutex_;
  ReservationsBySandbox running_ SNUG_GUARDED_BY(mutex_);
  bool complete_ SNUG_GUARDED_BY(mutex_) = false;
  std::uint64_t generation_ SNUG_GUARDED_BY(mutex_) = 0;
};

}  // namespace snug::agent_service

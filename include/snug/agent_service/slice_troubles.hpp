// Why reserved MIG slices do not exist: what the thread that makes them tells the one that answers
// the container runtime, and the inventory. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "snug/agent/reserved_slices.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

/// Sorted. Slices that are about to be made are left out.
struct SliceTroubles {
  std::vector<agent::SliceFailure> all;
  std::vector<agent::SliceFailure> failed;  // of `all`: those for the inventory, so that Snug plans
                                            // around them; the others only wait

  friend bool operator==(const SliceTroubles&, const SliceTroubles&) = default;
};

class SliceTroubleBook {
 public:
  /// Never null; another pointer after each change.
  [[nodiscard]] std::shared_ptr<const SliceTroubles> get() const SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return troubles_;
  }
  void set(std::shared_ptr<const SliceTroubles> troubles) SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    troubles_ = std::move(troubles);
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<const SliceTroubles> troubles_ SNUG_GUARDED_BY(mutex_) =
      std::make_shared<const SliceTroubles>();
};

}  // namespace snug::agent_service

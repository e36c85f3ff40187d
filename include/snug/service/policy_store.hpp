// The policy in force. A decision takes it once and keeps it, so that a new policy never changes a
// decision half-way; a cache of what a policy gave compares versions.
//
// Thread-safe. Never empty.
#pragma once

#include <cstdint>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/base/mutex.hpp"
#include "snug/score/policy.hpp"

namespace snug::service {

struct CurrentPolicy {
  score::PolicyPtr policy;
  std::uint64_t version = 0;  // from 1; another number for each policy
};

class PolicyStore {
 public:
  explicit PolicyStore(score::PolicyPtr first) : current_{std::move(first), 1} {
    SNUG_CHECK(current_.policy != nullptr);
  }

  [[nodiscard]] CurrentPolicy current() const {
    const base::MutexLock lock(mutex_);
    return current_;
  }

  void replace(score::PolicyPtr policy) {
    SNUG_CHECK(policy != nullptr);
    const base::MutexLock lock(mutex_);
    // The parameter gets the old policy, and so destroys it after the lock is released.
    current_.policy.swap(policy);
    ++current_.version;
  }

 private:
  mutable base::Mutex mutex_;
  CurrentPolicy current_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

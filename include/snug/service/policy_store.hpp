// Holds the policy in force. A decision reads it once at its start, so that replacing the policy
// never affects a decision in progress. Cached results that depend on the policy are valid only
// while CurrentPolicy::version is the same.
//
// Thread-safe. There is always a policy.
#pragma once

#include <cstdint>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/base/mutex.hpp"
#include "snug/score/policy.hpp"

namespace snug::service {

struct CurrentPolicy {
  score::PolicyPtr policy;
  std::uint64_t version = 0;  // starts at 1; grows with each replacement
};

class PolicyStore {
 public:
  explicit PolicyStore(score::PolicyPtr first_policy)
      : policy_in_force_{std::move(first_policy), 1} {
    SNUG_CHECK(policy_in_force_.policy != nullptr);
  }

  [[nodiscard]] CurrentPolicy current() const {
    const base::MutexLock lock(mutex_);
    return policy_in_force_;
  }

  void replace(score::PolicyPtr policy) {
    SNUG_CHECK(policy != nullptr);
    const base::MutexLock lock(mutex_);
    // The swap moves the old policy into the parameter, so the old policy is destroyed only after
    // the lock is released.
    policy_in_force_.policy.swap(policy);
    ++policy_in_force_.version;
  }

 private:
  mutable base::Mutex mutex_;
  CurrentPolicy policy_in_force_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

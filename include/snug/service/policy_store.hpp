// The policy in force. Decisions take it once and keep what they took, so that a new one never
// changes a decision in the middle; whoever remembers what a policy said compares versions.
//
// Thread-safe. Never empty.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/score/policy.hpp"

namespace snug {

struct CurrentPolicy {
  PolicyPtr policy;
  std::uint64_t version = 0;  // from 1; another number for each policy
};

class PolicyStore {
 public:
  explicit PolicyStore(PolicyPtr first) : now_{std::move(first), 1} {
    SNUG_CHECK(now_.policy != nullptr);
  }

  [[nodiscard]] CurrentPolicy current() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  void replace(PolicyPtr policy) {
    SNUG_CHECK(policy != nullptr);
    const std::lock_guard lock(mutex_);
    // The old one is given back to the caller's variable, and so ends outside of the lock.
    now_.policy.swap(policy);
    ++now_.version;
  }

 private:
  mutable std::mutex mutex_;
  CurrentPolicy now_;  // guarded by mutex_
};

}  // namespace snug

// Holds the policy in force. A decision reads it once at its start, so that replacing the policy
// never affects a decision in progress. Cached results that depend on the policy are valid only
// while CurrentPolicy::version is the same.
//
// Thread-safe. There is always a policy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/base/mutex.hpp"
#include "snug/score/policy.hpp"

namespace snug::service {

struct CurrentPolicy {
  score::PolicyPtr policy;
  std::uint64_t version = 0;  // starts at 1; grows with each replacement
};

/// Where a policy came from.
struct PolicyText {
  std::string source = "default";  // `default`, or the path of the policy file
  std::string yaml;                // the text that was loaded
};
using PolicyTextPtr = std::shared_ptr<const PolicyText>;

struct LoadedPolicy {
  score::PolicyPtr policy;
  PolicyTextPtr text = std::make_shared<const PolicyText>();
};

/// The text of the policy in force.
struct ShownPolicy {
  std::uint64_t version = 0;  // CurrentPolicy::version
  PolicyTextPtr text;
};

class PolicyStore {
 public:
  explicit PolicyStore(LoadedPolicy first_policy)
      : policy_in_force_{std::move(first_policy.policy), 1}, text_(std::move(first_policy.text)) {
    SNUG_CHECK(policy_in_force_.policy != nullptr && text_ != nullptr);
  }
  explicit PolicyStore(score::PolicyPtr first_policy)
      : PolicyStore(LoadedPolicy{std::move(first_policy)}) {}

  [[nodiscard]] CurrentPolicy current() const {
    const base::MutexLock lock(mutex_);
    return policy_in_force_;
  }

  [[nodiscard]] ShownPolicy shown() const {
    const base::MutexLock lock(mutex_);
    return {policy_in_force_.version, text_};
  }

  void replace(LoadedPolicy policy) {
    SNUG_CHECK(policy.policy != nullptr && policy.text != nullptr);
    const base::MutexLock lock(mutex_);
    // The swaps move the old policy into the parameter, so the old policy is destroyed only after
    // the lock is released.
    policy_in_force_.policy.swap(policy.policy);
    text_.swap(policy.text);
    ++policy_in_force_.version;
  }
  void replace(score::PolicyPtr policy) { replace(LoadedPolicy{std::move(policy)}); }

 private:
  mutable base::Mutex mutex_;
  CurrentPolicy policy_in_force_ SNUG_GUARDED_BY(mutex_);
  PolicyTextPtr text_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

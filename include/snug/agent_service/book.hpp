// The last value that a thread has set, for all threads. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "snug/base/mutex.hpp"

namespace snug::agent_service {

template <typename Value>
class Book {
 public:
  /// Never null; another pointer after each change.
  [[nodiscard]] std::shared_ptr<const Value> get() const SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return value_;
  }
  void set(std::shared_ptr<const Value> value) SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    value_ = std::move(value);
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<const Value> value_ SNUG_GUARDED_BY(mutex_) = std::make_shared<const Value>();
};

}  // namespace snug::agent_service

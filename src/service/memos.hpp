// The VerdictCaches that all calls share. Each cache serves one call at a time. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "snug/base/mutex.hpp"
#include "snug/plan/verdict_cache.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {

class ExtenderService::Memos {
 public:
  class Lent {
   public:
    /// `key` is PodClaim::key(). If the key is empty, no cache can be used, and get() returns null.
    Lent(Memos& owner, std::string key)
        : owner_(owner), key_(std::move(key)), memo_(key_.empty() ? nullptr : owner.take(key_)) {}
    ~Lent() {
      if (memo_ != nullptr) owner_.give_back(std::move(key_), std::move(memo_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    plan::VerdictCache* get() { return memo_.get(); }

   private:
    Memos& owner_;
    std::string key_;
    std::unique_ptr<plan::VerdictCache> memo_;
  };

 private:
  std::unique_ptr<plan::VerdictCache> take(const std::string& key) {
    const base::MutexLock lock(mutex_);
    return memos_.take(key);
  }
  void give_back(std::string key, std::unique_ptr<plan::VerdictCache> memo) {
    const base::MutexLock lock(mutex_);
    memos_.put_back(std::move(key), std::move(memo));
  }

  base::Mutex mutex_;
  plan::VerdictCaches memos_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

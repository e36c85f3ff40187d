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
    Lent(Memos& memos, std::string key)
        : memos_(memos),
          key_(std::move(key)),
          verdict_cache_(key_.empty() ? nullptr : memos.take_cache(key_)) {}
    ~Lent() {
      if (verdict_cache_ != nullptr)
        memos_.give_back_cache(std::move(key_), std::move(verdict_cache_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    plan::VerdictCache* get() { return verdict_cache_.get(); }

   private:
    Memos& memos_;
    std::string key_;
    std::unique_ptr<plan::VerdictCache> verdict_cache_;
  };

 private:
  std::unique_ptr<plan::VerdictCache> take_cache(const std::string& key) {
    const base::MutexLock lock(mutex_);
    return verdict_caches_.take(key);
  }
  void give_back_cache(std::string key, std::unique_ptr<plan::VerdictCache> verdict_cache) {
    const base::MutexLock lock(mutex_);
    verdict_caches_.put_back(std::move(key), std::move(verdict_cache));
  }

  base::Mutex mutex_;
  plan::VerdictCaches verdict_caches_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::service

// PlanMemos for many threads: each memo is lent to one call at a time. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "snug/plan/memo.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {

class ExtenderService::Memos {
 public:
  class Lent {
   public:
    /// `key`: PodClaim::key(); empty: nothing can be remembered, and get() is null.
    Lent(Memos& owner, std::string key)
        : owner_(owner), key_(std::move(key)), memo_(key_.empty() ? nullptr : owner.take(key_)) {}
    ~Lent() {
      if (memo_ != nullptr) owner_.give_back(std::move(key_), std::move(memo_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    PlanMemo* get() { return memo_.get(); }

   private:
    Memos& owner_;
    std::string key_;
    std::unique_ptr<PlanMemo> memo_;
  };

 private:
  std::unique_ptr<PlanMemo> take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return memos_.take(key);
  }
  void give_back(std::string key, std::unique_ptr<PlanMemo> memo) {
    const std::lock_guard lock(mutex_);
    memos_.keep(std::move(key), std::move(memo));
  }

  std::mutex mutex_;
  PlanMemos memos_;  // guarded by mutex_
};

}  // namespace snug

// What plan() remembers, for the claims that were asked about last; each memo is lent to one call
// at a time. For one ledger. Thread-safe.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "snug/base/limits.hpp"
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
  struct Kept {
    std::string key;
    std::unique_ptr<PlanMemo> memo;
  };

  std::unique_ptr<PlanMemo> take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, key, &Kept::key);
    if (found == kept_.end()) return std::make_unique<PlanMemo>();
    auto memo = std::move(found->memo);
    kept_.erase(found);
    return memo;
  }
  void give_back(std::string key, std::unique_ptr<PlanMemo> memo) {
    const std::lock_guard lock(mutex_);
    kept_.remove_if([&](const Kept& kept) { return kept.key == key; });
    if (kept_.size() >= kKeptMemos) kept_.pop_back();
    kept_.push_front({std::move(key), std::move(memo)});
  }

  std::mutex mutex_;
  std::list<Kept> kept_;  // the latest first
};

}  // namespace snug

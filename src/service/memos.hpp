// What plan() remembers, for the requests that were asked for last; each memo is lent to one call
// at a time. For one ledger and one policy. Thread-safe.
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
    /// `request`: its text, which says all that fit and score look at.
    Lent(Memos& owner, std::string request)
        : owner_(owner), request_(std::move(request)), memo_(owner.take(request_)) {}
    ~Lent() { owner_.give_back(std::move(request_), std::move(memo_)); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
    PlanMemo* get() { return memo_.get(); }

   private:
    Memos& owner_;
    std::string request_;
    std::unique_ptr<PlanMemo> memo_;
  };

 private:
  struct Kept {
    std::string request;
    std::unique_ptr<PlanMemo> memo;
  };

  std::unique_ptr<PlanMemo> take(const std::string& request) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(kept_, request, &Kept::request);
    if (found == kept_.end()) return std::make_unique<PlanMemo>();
    auto memo = std::move(found->memo);
    kept_.erase(found);
    return memo;
  }
  void give_back(std::string request, std::unique_ptr<PlanMemo> memo) {
    const std::lock_guard lock(mutex_);
    kept_.remove_if([&](const Kept& kept) { return kept.request == request; });
    if (kept_.size() >= kKeptMemos) kept_.pop_back();
    kept_.push_front({std::move(request), std::move(memo)});
  }

  std::mutex mutex_;
  std::list<Kept> kept_;  // the latest first
};

}  // namespace snug

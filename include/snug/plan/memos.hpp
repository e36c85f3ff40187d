// The caches of plan()'s verdicts, by memo_key(), the least recently used dropped first. For one
// ledger. Not thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "snug/plan/memo.hpp"

namespace snug {

class PlanMemos {
 public:
  /// Moves the cache out, or makes a new one. It belongs to the caller until keep().
  [[nodiscard]] std::unique_ptr<PlanMemo> take(std::string_view key);
  /// Replaces what was kept under the same key meanwhile, and drops the least recently used caches
  /// beyond kKeptMemos and kKeptVerdicts.
  void keep(std::string key, std::unique_ptr<PlanMemo> memo);

 private:
  struct Kept {
    std::string key;
    std::unique_ptr<PlanMemo> memo;
    std::size_t verdicts = 0;
  };
  using Rows = std::list<Kept>;

  void drop(Rows::iterator row);

  Rows rows_;  // the latest first
  std::unordered_map<std::string_view, Rows::iterator> by_key_;
  std::size_t verdicts_ = 0;  // of all
};

}  // namespace snug

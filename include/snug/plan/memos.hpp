// What plan() remembers, for the kinds of claims that were asked about last. For one ledger. Not
// thread-safe.
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
  /// A new one, where nothing is remembered by this key. It is the caller's until it is kept again.
  [[nodiscard]] std::unique_ptr<PlanMemo> take(std::string_view key);
  /// What was kept by the same key meanwhile, and what was used the longest ago beyond the bounds
  /// (kKeptMemos, kKeptVerdicts), is forgotten.
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

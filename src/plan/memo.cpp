#include "snug/plan/memo.hpp"

#include <iterator>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug {

std::unique_ptr<PlanMemo> PlanMemos::take(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::make_unique<PlanMemo>();
  auto memo = std::move(found->second->memo);
  drop(found->second);
  return memo;
}

void PlanMemos::keep(std::string key, std::unique_ptr<PlanMemo> memo) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  const std::size_t verdicts = memo->size();
  rows_.push_front({std::move(key), std::move(memo), verdicts});
  by_key_.emplace(rows_.front().key, rows_.begin());
  verdicts_ += verdicts;
  while (rows_.size() > 1 && (rows_.size() > kKeptMemos || verdicts_ > kKeptVerdicts)) {
    drop(std::prev(rows_.end()));
  }
}

void PlanMemos::drop(Rows::iterator row) {
  verdicts_ -= row->verdicts;
  by_key_.erase(row->key);
  rows_.erase(row);
}

}  // namespace snug

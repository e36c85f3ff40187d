#include "snug/plan/verdict_cache.hpp"

#include <iterator>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug::plan {

std::unique_ptr<VerdictCache> VerdictCaches::take(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::make_unique<VerdictCache>();
  auto memo = std::move(found->second->memo);
  drop(found->second);
  return memo;
}

void VerdictCaches::put_back(std::string key, std::unique_ptr<VerdictCache> memo) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  const std::size_t verdicts = memo->size();
  rows_.push_front({std::move(key), std::move(memo), verdicts});
  by_key_.emplace(rows_.front().key, rows_.begin());
  verdicts_ += verdicts;
  while (rows_.size() > 1 &&
         (rows_.size() > base::kMaxVerdictCaches || verdicts_ > base::kMaxCachedVerdicts)) {
    drop(std::prev(rows_.end()));
  }
}

void VerdictCaches::drop(Rows::iterator row) {
  verdicts_ -= row->verdicts;
  by_key_.erase(row->key);
  rows_.erase(row);
}

}  // namespace snug::plan

#include "snug/plan/verdict_cache.hpp"

#include <iterator>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug::plan {

std::unique_ptr<VerdictCache> VerdictCaches::take(std::string_view key) {
  const auto cache_by_key = by_key_.find(key);
  if (cache_by_key == by_key_.end()) return std::make_unique<VerdictCache>();
  auto cache = std::move(cache_by_key->second->cache);
  drop(cache_by_key->second);
  return cache;
}

void VerdictCaches::put_back(std::string key, std::unique_ptr<VerdictCache> cache) {
  if (const auto same_key = by_key_.find(key); same_key != by_key_.end()) drop(same_key->second);
  const std::size_t verdicts = cache->size();
  cache_rows_.push_front({std::move(key), std::move(cache), verdicts});
  by_key_.emplace(cache_rows_.front().key, cache_rows_.begin());
  verdicts_ += verdicts;
  while (cache_rows_.size() > 1 &&
         (cache_rows_.size() > base::kMaxVerdictCaches || verdicts_ > base::kMaxCachedVerdicts)) {
    drop(std::prev(cache_rows_.end()));
  }
}

void VerdictCaches::drop(CacheRows::iterator cache_row) {
  verdicts_ -= cache_row->verdicts;
  by_key_.erase(cache_row->key);
  cache_rows_.erase(cache_row);
}

}  // namespace snug::plan

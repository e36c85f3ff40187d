// Caches the verdicts of plan() on node states, for one request (including its CPU and memory), one
// profile and one version of the learned demand. Node states are immutable, and few nodes get a new
// state between two decisions. A cached verdict equals the one that fit and score would compute.
//
// A cache must be used for one ledger, request and profile only, and by one thread at a time. It
// has at most one entry for each slot of the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/model/reasons.hpp"

namespace snug::plan {

class VerdictCache {
  /// 56 bits suffice for one change per nanosecond during two years.
  static constexpr int kVersionBits = 56;

 public:
  struct Entry {
    std::uint64_t version : kVersionBits = 0;  // NodeTable::version; 0: no verdict is cached
    model::ReasonCode reason : 8 = model::ReasonCode::kNone;
    std::int64_t score_class = 0;  // the class of the best placement, if there is one
  };
  static_assert(sizeof(Entry) == 16);  // a decision reads one entry for each node

  /// Clears the cache if its verdicts were computed with another table of learned demand.
  void invalidate_if_demand_changed(std::uint64_t demand_version) {
    if (demand_version == demand_version_) return;
    demand_version_ = demand_version;
    by_slot_.clear();
  }
  /// Returns the cached verdict on the node in this slot; null if no verdict is cached for this
  /// version of the node's state.
  [[nodiscard]] const Entry* find(std::size_t slot, std::uint64_t version) const {
    const bool known = version != 0 && slot < by_slot_.size() && by_slot_[slot].version == version;
    return known ? &by_slot_[slot] : nullptr;
  }
  /// The number of slots for which memory is allocated.
  [[nodiscard]] std::size_t size() const { return by_slot_.size(); }
  void put(std::size_t slot, std::uint64_t version, model::ReasonCode reason,
           std::int64_t score_class) {
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
    constexpr std::uint64_t kVersions = (std::uint64_t{1} << kVersionBits) - 1;
    by_slot_[slot] = {version & kVersions, reason, score_class};
  }

 private:
  std::uint64_t demand_version_ = 0;
  std::vector<Entry> by_slot_;
};

/// Keeps the most recently used caches. The key of a cache is its verdict_cache_key(). All caches
/// must be of one ledger. Not thread-safe.
class VerdictCaches {
 public:
  /// Removes and returns the cache with this key; returns a new cache if there is none.
  [[nodiscard]] std::unique_ptr<VerdictCache> take(std::string_view key);
  /// Stores `cache` and replaces a cache that has the same key. Deletes the least recently used
  /// caches beyond kMaxVerdictCaches and kMaxCachedVerdicts.
  void put_back(std::string key, std::unique_ptr<VerdictCache> cache);

 private:
  struct CacheRow {
    std::string key;
    std::unique_ptr<VerdictCache> cache;
    std::size_t verdicts = 0;
  };
  using CacheRows = std::list<CacheRow>;

  void drop(CacheRows::iterator cache_row);

  CacheRows cache_rows_;  // the most recently used cache first
  std::unordered_map<std::string_view, CacheRows::iterator> by_key_;
  std::size_t verdicts_ = 0;  // the sum of CacheRow::verdicts
};

}  // namespace snug::plan

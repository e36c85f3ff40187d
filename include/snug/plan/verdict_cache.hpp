// A cache of plan()'s verdicts on node states, for one request with its CPU and memory, one profile
// and one table of learned demand. Node states are immutable, and between two decisions few nodes
// get a new one. The cache does not change results: a cached verdict equals the one that fit and
// score would compute.
//
// Use a memo for one ledger, request and profile only, and from one thread at a time. Its size is
// up to the number of the ledger's slots.
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
  /// Enough for one change per nanosecond during two years.
  static constexpr int kVersionBits = 56;

 public:
  struct Entry {
    std::uint64_t version : kVersionBits = 0;  // NodeTable::version; 0: nothing is known
    model::ReasonCode reason : 8 = model::ReasonCode::kNone;
    std::int64_t score_class = 0;  // of the best placement, where the reason is kNone
  };
  static_assert(sizeof(Entry) == 16);  // a decision reads one per node

  /// Clears the cache if its verdicts were computed with another table of learned demand.
  void invalidate_if_demand_changed(std::uint64_t demand_version) {
    if (demand_version == demand_version_) return;
    demand_version_ = demand_version;
    by_slot_.clear();
  }
  /// Null: no verdict on this state is cached.
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

/// The most recently used memos, by verdict_cache_key(). For one ledger. Not thread-safe.
class VerdictCaches {
 public:
  /// Removes and returns the memo with this key, or returns a new one.
  [[nodiscard]] std::unique_ptr<VerdictCache> take(std::string_view key);
  /// Stores a memo in place of any with the same key. Evicts the least recently used memos beyond
  /// kMaxVerdictCaches and kMaxCachedVerdicts.
  void put_back(std::string key, std::unique_ptr<VerdictCache> memo);

 private:
  struct Row {
    std::string key;
    std::unique_ptr<VerdictCache> memo;
    std::size_t verdicts = 0;
  };
  using Rows = std::list<Row>;

  void drop(Rows::iterator row);

  Rows rows_;  // the most recently used first
  std::unordered_map<std::string_view, Rows::iterator> by_key_;
  std::size_t verdicts_ = 0;  // of all
};

}  // namespace snug::plan

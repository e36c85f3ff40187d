// A cache of plan()'s verdicts by node state, for one memo_key() and one version of the learned
// demand. States are immutable, and few nodes get a new one between two decisions. A cached verdict
// equals what fit() and score() would return, so only speed depends on the cache.
//
// For one ledger, from one thread at a time. Grows to the number of the ledger's slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/refusal.hpp"

namespace snug {

class PlanMemo {
  /// Enough for a change every nanosecond for two years.
  static constexpr int kVersionBits = 56;

 public:
  struct Known {
    std::uint64_t version : kVersionBits = 0;  // NodeTable::version; 0: no entry
    ReasonCode reason : 8 = ReasonCode::kNone;
    std::int64_t score_class = 0;  // of the best placement, if the reason is kNone
  };
  static_assert(sizeof(Known) == 16);  // a decision reads one for each node

  /// Clears the cache if its verdicts are of another version.
  void learned(std::uint64_t demand_version) {
    if (demand_version == demand_version_) return;
    demand_version_ = demand_version;
    by_slot_.clear();
  }
  /// Null: no verdict for this state.
  [[nodiscard]] const Known* find(std::size_t slot, std::uint64_t version) const {
    const bool known = version != 0 && slot < by_slot_.size() && by_slot_[slot].version == version;
    return known ? &by_slot_[slot] : nullptr;
  }
  /// The slots up to the last one with an entry.
  [[nodiscard]] std::size_t size() const { return by_slot_.size(); }
  void remember(std::size_t slot, std::uint64_t version, ReasonCode reason,
                std::int64_t score_class) {
    if (slot >= by_slot_.size()) by_slot_.resize(slot + 1);
    constexpr std::uint64_t kVersions = (std::uint64_t{1} << kVersionBits) - 1;
    by_slot_[slot] = {version & kVersions, reason, score_class};
  }

 private:
  std::uint64_t demand_version_ = 0;
  std::vector<Known> by_slot_;
};

}  // namespace snug

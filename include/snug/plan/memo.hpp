// What plan() found out about node states, for one request, one ask of CPU and memory, one profile
// and one state of what is learned of demand: a state never changes, and between two decisions few
// nodes get another. Only speed depends on it: what is remembered is what fit and score would say
// again.
//
// Whoever keeps one uses it for a single ledger, request and profile, from one thread at a time. It
// grows to the number of the ledger's slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/refusal.hpp"

namespace snug {

class PlanMemo {
  /// Enough for a change in each nanosecond of two years.
  static constexpr int kVersionBits = 56;

 public:
  struct Known {
    std::uint64_t version : kVersionBits = 0;  // NodeTable::version; 0: nothing is known
    ReasonCode reason : 8 = ReasonCode::kNone;
    std::int64_t score_class = 0;  // of the best placement, where the reason is kNone
  };
  static_assert(sizeof(Known) == 16);  // a decision reads one for each node

  /// What is remembered was found out with another state of learning: it is forgotten.
  void learned(std::uint64_t demand_version) {
    if (demand_version == demand_version_) return;
    demand_version_ = demand_version;
    by_slot_.clear();
  }
  /// Null: nothing is known of this state.
  [[nodiscard]] const Known* find(std::size_t slot, std::uint64_t version) const {
    const bool known = version != 0 && slot < by_slot_.size() && by_slot_[slot].version == version;
    return known ? &by_slot_[slot] : nullptr;
  }
  /// How many slots are remembered.
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

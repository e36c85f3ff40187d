// Intents: placements that filter or prioritize has named as winners and that are not bound yet.
// Other pods see them as taken. There are at most max_intents, each for at most intent_ttl_ms. Not
// thread-safe: guarded by the ledger's mutex.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::ledger {

/// Call it when a pod with an intent gets a holding. Returns whether pods that were refused because
/// of the intent may fit now. They may if the holding's reservation differs from the intent's. They
/// also may if the holding puts a GPU that is empty in `before` into a sharing mode other than
/// GpuState::sharing_mode, since other pods may need the new mode.
[[nodiscard]] bool may_free_capacity(const model::Holding& intent, const model::Holding& holding,
                                     const model::NodeState& before);

class IntentTable {
 public:
  explicit IntentTable(const base::Limits& limits)
      : ttl_(limits.intent_ttl_ms), max_intents_(static_cast<std::size_t>(limits.max_intents)) {}

  /// Adds an intent, in place of the pod's earlier one. If there are too many intents, drops the
  /// oldest. Returns true if an intent was dropped, or if the pod's earlier intent had another
  /// reservation.
  bool put(model::HoldingPtr intent, base::TimePoint now);
  /// Removes and returns the pod's intent. Null: the pod has none.
  model::HoldingPtr remove(std::string_view uid);
  /// Removes the intents that are older than intent_ttl_ms. Returns whether there were any.
  bool expire(base::TimePoint now);

  /// All intents, oldest first.
  [[nodiscard]] model::Intents all() const;
  /// Returns the intents on the node that are older than the pod's own intent there, oldest first.
  /// If the pod has no intent there, returns all intents on the node.
  [[nodiscard]] model::Intents preceding(std::string_view node, std::string_view uid) const;

 private:
  struct Intent {
    model::HoldingPtr holding;
    base::TimePoint since;
  };

  std::chrono::milliseconds ttl_;
  std::size_t max_intents_;
  std::list<Intent> by_age_;  // oldest first
  std::unordered_map<std::string, std::list<Intent>::iterator, model::StringHash, std::equal_to<>>
      by_uid_;
};

}  // namespace snug::ledger

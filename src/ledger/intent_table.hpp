// Intents: placements that kube-scheduler was told as winners and that are not bound yet. Other
// pods see them as taken. There are at most max_intents, each for at most intent_ttl_ms. Not
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

/// A pod with an intent now has a holding. Whether pods that were refused because of the intent may
/// fit beside the holding: it differs from the intent, or it puts a GPU that is empty in `before`
/// into a mode that is not the GPU's default, which others may need.
[[nodiscard]] bool may_free_capacity(const model::Holding& intent, const model::Holding& holding,
                                     const model::NodeState& before);

class IntentTable {
 public:
  explicit IntentTable(const base::Limits& limits)
      : ttl_(limits.intent_ttl_ms), max_intents_(static_cast<std::size_t>(limits.max_intents)) {}

  /// Replaces the pod's earlier intent, and drops the oldest intent if there are too many. True:
  /// some place is no longer intended.
  bool put(model::HoldingPtr intent, base::TimePoint now);
  /// The intent that ends; null: the pod had none.
  model::HoldingPtr remove(std::string_view uid);
  /// False: none has expired.
  bool expire(base::TimePoint now);

  /// Earliest first.
  [[nodiscard]] model::Intents all() const;
  /// The intents on the node that are earlier than the pod's own there, earliest first; all of them
  /// if it has none there.
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

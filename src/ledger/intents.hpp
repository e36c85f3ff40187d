// Intents: placements that were named as winners to kube-scheduler and are not bound yet. They
// count as taken for other pods. There are at most max_intents, and each lives at most
// intent_ttl_ms. Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// A pod with an intent now has a holding. Whether others that were refused because of the intent
/// may fit beside the holding: it is not what was intended, or it opens a GPU that is empty in
/// `before` in another mode than the GPU opens in by default, which others may wait for.
[[nodiscard]] bool frees_more(const Holding& intent, const Holding& holding,
                              const NodeState& before);

class IntentTable {
 public:
  explicit IntentTable(const Limits& limits)
      : ttl_(limits.intent_ttl_ms), most_(static_cast<std::size_t>(limits.max_intents)) {}

  /// Replaces the pod's earlier one; the oldest goes when there are too many. True: a place that
  /// was intended is intended no more.
  bool note(HoldingPtr intent, TimePoint now);
  /// The intent that ends; null: the pod had none.
  HoldingPtr end(std::string_view uid);
  /// False: none has expired.
  bool expire(TimePoint now);

  /// The earliest first.
  [[nodiscard]] Intents all() const;
  /// Those on the node that come before the pod's own there, the earliest first; all of them where
  /// it has none there.
  [[nodiscard]] Intents before(std::string_view node, std::string_view uid) const;

 private:
  struct Intent {
    HoldingPtr holding;
    TimePoint since;
  };

  std::chrono::milliseconds ttl_;
  std::size_t most_;
  std::list<Intent> by_age_;  // oldest first
  std::unordered_map<std::string, std::list<Intent>::iterator, StringHash, std::equal_to<>> by_uid_;
};

}  // namespace snug

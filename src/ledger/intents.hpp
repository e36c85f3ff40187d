// Winners that were named and are not bound yet: at most max_intents, each for intent_ttl_ms at the
// most. Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

class Intents {
 public:
  explicit Intents(const Limits& limits)
      : ttl_(limits.intent_ttl_ms), most_(static_cast<std::size_t>(limits.max_intents)) {}

  /// Replaces the pod's earlier one; the oldest goes when there are too many.
  void note(HoldingPtr intent, TimePoint now);
  /// False: the pod had none.
  bool end(std::string_view uid);
  /// False: none has expired.
  bool expire(TimePoint now);

  [[nodiscard]] std::vector<HoldingPtr> all() const;
  /// Of other pods, on this node.
  [[nodiscard]] std::vector<HoldingPtr> of_others(std::string_view node,
                                                  std::string_view uid) const;

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

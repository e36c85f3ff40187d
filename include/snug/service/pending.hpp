// Pods that are not bound: what the watch says of them (bind needs their request), and which of
// them Snug has refused, so that they can be woken when room appears.
//
// A refusal carries the ledger's generations that it was decided on: a pod is waiting while one of
// the ledger's is higher, however late the refusal is noted.
//
// Thread-safe; bounded by max_pending_pods in each of its two tables.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

using PodPtr = std::shared_ptr<const PodFacts>;

struct PendingRow {
  PodPtr pod;
  std::string reason;  // of its last refusal; empty: none
};

/// What the ledger has to get past for a refused pod to be tried again; kNever: nothing of that
/// kind helps it.
struct Awaits {
  Generation room = kNever;           // Snapshot::room_generation
  Generation intents_ended = kNever;  // Snapshot::intents_ended
};

class PendingPods {
 public:
  explicit PendingPods(const Limits& limits);

  /// An unbound pod, as the API server shows it. Ignored when the table is full.
  void put(PodFacts pod);
  /// The pod is bound, deleted or finished.
  void remove(std::string_view uid);
  /// Before a list is asked for.
  void list_begins();
  /// The whole list: what is not in it is not pending. A refusal noted since the list began stays:
  /// its pod may be younger than the list.
  void replace(std::vector<PodFacts> pods);

  /// Null: not known (yet).
  [[nodiscard]] PodPtr find(std::string_view uid) const;
  [[nodiscard]] std::vector<PendingRow> rows() const;
  [[nodiscard]] std::size_t size() const;

  void note_refused(std::string_view uid, std::string message, const Awaits& awaits);
  void note_accepted(std::string_view uid);
  /// Whether there is by now what a refused pod awaits.
  [[nodiscard]] bool any_waiting(Generation room, Generation intents_ended) const;

 private:
  struct Refused {
    std::string message;
    Awaits awaits;
    std::uint64_t sequence = 0;  // of the refusal
  };
  template <typename T>
  using ByUid = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  void forget_refusal(std::string_view uid);

  mutable std::mutex mutex_;
  std::size_t most_;
  // Guarded by mutex_.
  ByUid<PodPtr> pods_;
  ByUid<Refused> refused_;
  // How many refusals, by what they await.
  std::map<Generation, std::size_t> awaits_room_;
  std::map<Generation, std::size_t> awaits_intents_;
  std::uint64_t sequence_ = 0;     // of the last refusal
  std::uint64_t listed_from_ = 0;  // sequence_ when the list began
};

}  // namespace snug

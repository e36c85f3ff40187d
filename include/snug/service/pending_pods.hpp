// Pods that are not bound: the record of each, and which of them Snug has refused, so that they can
// be woken when capacity is freed.
//
// A refusal carries the ledger's generations that it was decided on: a pod is waiting while one of
// the ledger's is higher, however late the refusal is noted.
//
// Thread-safe; each of its three tables has at most max_pending_pods entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/service/pod_info.hpp"

namespace snug::service {

struct PendingRow {
  PodInfoPtr pod;
  std::string reason;  // of its last refusal; empty: none
};

/// The generations that the ledger has to pass before a refused pod is tried again; kNever: passing
/// that one does not help the pod.
struct RetryCondition {
  base::Generation freed = base::kNever;          // Snapshot::freed_generation
  base::Generation ended_intents = base::kNever;  // Snapshot::ended_intents_generation
};

class PendingPods {
 public:
  explicit PendingPods(const base::Limits& limits);

  /// The record of the pod in this state: the one that was made when the watch or a call first
  /// showed it, or a new one, which is kept until the pod is seen bound or gone. A record that only
  /// a call has shown is not found by find().
  [[nodiscard]] PodInfoPtr intern(model::PodFacts facts);

  /// An unbound pod, as the API server shows it. Ignored when the table is full.
  void put(PodInfoPtr pod);
  /// The pod is bound, deleted or finished.
  void remove(std::string_view uid);
  /// Before a list is asked for.
  void list_begins();
  /// The whole list: what is not in it is not pending. A refusal noted since the list began stays:
  /// its pod may be younger than the list.
  void replace(std::vector<PodInfoPtr> pods);

  /// As the API server has shown it. Null: it has not shown the pod (yet).
  [[nodiscard]] PodInfoPtr find(std::string_view uid) const;
  [[nodiscard]] std::vector<PendingRow> rows() const;
  [[nodiscard]] std::size_t size() const;

  void note_refused(std::string_view uid, std::string message, const RetryCondition& awaits);
  void note_accepted(std::string_view uid);
  /// Whether a refused pod awaits a generation that has been passed.
  [[nodiscard]] bool any_retryable(base::Generation room, base::Generation intents_ended) const;

 private:
  struct Refused {
    std::string message;
    RetryCondition awaits;
    std::uint64_t sequence = 0;  // of the refusal
  };
  template <typename T>
  using ByUid = std::unordered_map<std::string, T, model::StringHash, std::equal_to<>>;

  void forget_refusal(std::string_view uid) SNUG_REQUIRES(mutex_);

  const std::size_t capacity_;
  mutable base::Mutex mutex_;
  ByUid<PodInfoPtr> pods_ SNUG_GUARDED_BY(mutex_);      // as the API server shows them
  ByUid<PodInfoPtr> interned_ SNUG_GUARDED_BY(mutex_);  // the last new records of other pods
  ByUid<Refused> refused_ SNUG_GUARDED_BY(mutex_);
  // How many refusals await each generation.
  std::map<base::Generation, std::size_t> awaiting_freed_ SNUG_GUARDED_BY(mutex_);
  std::map<base::Generation, std::size_t> awaiting_intents_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t sequence_ SNUG_GUARDED_BY(mutex_) = 0;       // of the last refusal
  std::uint64_t list_sequence_ SNUG_GUARDED_BY(mutex_) = 0;  // sequence_ when the list began
};

}  // namespace snug::service

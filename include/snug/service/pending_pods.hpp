// Keeps a record of each unbound pod. Also keeps the refusals of these pods, so that refused pods
// can be woken when capacity is freed.
//
// A refusal contains the ledger's generations at the time of its decision. The pod can be retried
// once one of the ledger's generations is higher, even if that generation grew before the refusal
// was noted.
//
// A new pod may have the namespace and name of one that is still in the table.
//
// Thread-safe. There are three tables: the records shown by the API server, the records made by
// intern() and not stored yet, and the refusals. Each has at most max_pending_pods entries.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/ids.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/model/pod_name_index.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/service/pod_info.hpp"

namespace snug::service {

struct PendingRow {
  PodInfoPtr pod;
  model::Refusal refusal;  // why Snug last refused the pod; kNone: it is not refused
};

/// The condition under which a refused pod can be retried: at least one of these two generations of
/// the ledger is higher than the value here. kNever: the pod does not wait for that generation.
struct RetryCondition {
  base::Generation freed = base::kNever;          // Snapshot::freed_generation
  base::Generation ended_intents = base::kNever;  // Snapshot::ended_intents_generation
};

class PendingPods {
 public:
  explicit PendingPods(const base::Limits& limits);

  /// Returns the record of a pod with these facts. If the pod has a record with equal facts,
  /// returns that one; otherwise makes a new one. find() and rows() do not show a new record until
  /// put() or replace() stores it.
  [[nodiscard]] PodInfoPtr intern(model::PodFacts facts);

  /// Stores an unbound pod that the API server shows. A pod that is not in the table is ignored if
  /// the table is full.
  void put(PodInfoPtr pod);
  /// Removes a pod that is bound, deleted or finished, and its refusal.
  void remove(std::string_view uid);
  /// Must be called before a list of pods is requested.
  void list_begins();
  /// Replaces the table by the unbound pods of a list. A refusal that was noted since list_begins()
  /// stays even if the list lacks its pod, since the pod may be newer than the list.
  void replace(std::vector<PodInfoPtr> pods);

  /// The unbound pod as the API server last showed it. Null: it is not in the table.
  [[nodiscard]] PodInfoPtr find(std::string_view uid) const;
  /// The unbound pod with this namespace and name; if there are several, the one that came last
  /// into the table. Null: there is none. Takes constant time.
  [[nodiscard]] PodInfoPtr find(std::string_view name_space, std::string_view name) const;
  [[nodiscard]] std::vector<PendingRow> rows() const;
  [[nodiscard]] std::size_t size() const;

  void note_refused(std::string_view uid, model::Refusal refusal,
                    const RetryCondition& retry_condition);
  void note_accepted(std::string_view uid);
  /// Why Snug last refused the pod; nullopt: it is not refused.
  [[nodiscard]] std::optional<model::Refusal> refusal_of(std::string_view uid) const;
  /// Whether any refused pod can be retried, given the ledger's generations of freed capacity and
  /// of ended intents.
  [[nodiscard]] bool any_retryable(base::Generation freed, base::Generation ended_intents) const;

 private:
  struct PodRefusal {
    model::Refusal refusal;
    RetryCondition retry_condition;
    std::uint64_t sequence = 0;  // the sequence number of this refusal
  };
  template <typename T>
  using ByUid = std::unordered_map<std::string, T, model::StringHash, std::equal_to<>>;

  void store(PodInfoPtr pod) SNUG_REQUIRES(mutex_);
  void erase(ByUid<PodInfoPtr>::iterator unbound_pod) SNUG_REQUIRES(mutex_);
  void forget_refusal(std::string_view uid) SNUG_REQUIRES(mutex_);

  const std::size_t max_pending_pods_;
  mutable base::Mutex mutex_;
  ByUid<PodInfoPtr> unbound_pods_
      SNUG_GUARDED_BY(mutex_);  // the unbound pods, as the API server has shown them
  model::PodNameIndex names_ SNUG_GUARDED_BY(mutex_);   // the pods of unbound_pods_
  ByUid<PodInfoPtr> interned_ SNUG_GUARDED_BY(mutex_);  // records made by intern(), not stored yet
  ByUid<PodRefusal> refusals_ SNUG_GUARDED_BY(mutex_);
  // For each generation, the number of refusals that wait for a higher one.
  std::map<base::Generation, std::size_t> awaiting_freed_ SNUG_GUARDED_BY(mutex_);
  std::map<base::Generation, std::size_t> awaiting_intents_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t refusal_sequence_ SNUG_GUARDED_BY(mutex_) = 0;  // the last PodRefusal::sequence
  std::uint64_t list_sequence_ SNUG_GUARDED_BY(mutex_) = 0;  // refusal_sequence_ at list_begins()
};

}  // namespace snug::service

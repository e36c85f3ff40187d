// Applies a list of all pods to the ledger in parts. Unlocks the mutex between two parts, so that
// other threads can proceed. Meanwhile they may see the list applied to some nodes and not yet to
// others. But no thread sees, on the GPUs of one node, both a pod that the list adds and a pod that
// it ends: if the list shows pods with GPUs on a node, all pods with GPUs of that node are
// replaced in one part. On other nodes, pods may end in several parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "ledger/node_registry.hpp"
#include "snug/base/mutex.hpp"
#include "snug/ledger/ledger.hpp"

namespace snug::ledger {

/// Reads and changes Ledger::State. Locks the ledger's mutex itself.
template <typename State>
class ListReplacement {
 public:
  /// Sorts the list without locking the mutex.
  ListReplacement(base::FairMutex& mutex, State* state, ListMark mark, const ListedPods& listed)
      : mutex_(mutex), state_(state), list_sequence_(mark.sequence), living_uids_(listed.living) {
    std::vector<std::tuple<bool, std::string_view, std::size_t>> order;
    order.reserve(listed.bound.size());
    for (const model::HoldingPtr& holding : listed.bound) {
      shown_bound_uids_.insert(holding->uid);
      const bool host_alone = holding->is_cpu_only();
      if (!host_alone) ++gpu_pod_count_;
      const std::string_view node = host_alone ? std::string_view() : holding->reservation.node;
      order.emplace_back(host_alone, node, order.size());
    }
    std::ranges::sort(order);
    bound_holdings_.reserve(order.size());
    for (const auto& key : order)
      bound_holdings_.push_back(listed.bound[std::get<std::size_t>(key)]);
  }

  /// Applies the list. Returns the uids of the pods for which hold() returned false.
  std::vector<std::string> run() {
    revive_listed();
    for (std::size_t first = 0; first < bound_holdings_.size();) {
      std::size_t last = std::min(first + kPodsPerTurn, bound_holdings_.size());
      while (last < gpu_pod_count_ && same_node(last - 1, last)) ++last;
      apply_part({bound_holdings_.data() + first, last - first});
      first = last;
    }
    end_absent_pods();
    return std::move(edited_);
  }

 private:
  // The mutex is unlocked after kPodsPerTurn pods that may change, which take about 2 us each, or
  // after kLookUpsPerTurn pods that are only looked up.
  static constexpr std::size_t kPodsPerTurn = 256;
  static constexpr std::size_t kLookUpsPerTurn = 4'096;

  [[nodiscard]] bool same_node(std::size_t a, std::size_t b) const {
    return bound_holdings_[a]->reservation.node == bound_holdings_[b]->reservation.node;
  }

  /// Removes from ended_pods the pods that ended before the list began and that it shows as living.
  void revive_listed() {
    for (auto uid = living_uids_.begin(); uid != living_uids_.end();) {
      const base::MutexLock lock(mutex_);
      for (std::size_t i = 0; i < kLookUpsPerTurn && uid != living_uids_.end(); ++i, ++uid) {
        if (!state_->ended_pods.ended_after(*uid, list_sequence_)) state_->ended_pods.erase(*uid);
      }
    }
    const base::MutexLock lock(mutex_);
    state_->ended_pods.confirm_by_list(list_sequence_, living_uids_);
  }

  void apply_part(std::span<const model::HoldingPtr> holdings) {
    const base::MutexLock lock(mutex_);
    const NodeRegistry::Batch batch(state_->nodes);
    for (const model::HoldingPtr& holding : holdings) {
      if (!state_->hold(holding, State::Source::kList)) edited_.push_back(holding->uid);
    }
    std::string_view last;
    for (const model::HoldingPtr& holding : holdings) {
      if (holding->is_cpu_only() || holding->reservation.node == last) continue;
      last = holding->reservation.node;
      for (const std::string& uid : state_->nodes.gpu_pod_uids(last)) end_if_absent(uid);
    }
  }

  /// Ends the holdings that the list lacks, one hash bucket of `entries` after the other. Starts
  /// again at the first bucket if the table has been rehashed while the mutex was unlocked.
  void end_absent_pods() {
    std::size_t buckets = 0;
    for (std::size_t bucket = 0;;) {
      const base::MutexLock lock(mutex_);
      const auto& entries = state_->entries;
      if (entries.bucket_count() != buckets) bucket = 0;
      buckets = entries.bucket_count();
      if (bucket == buckets) return;
      std::vector<std::string> uids;
      const std::size_t last = std::min(bucket + kLookUpsPerTurn, buckets);
      for (; bucket < last && uids.size() < kPodsPerTurn; ++bucket) {
        for (auto entry = entries.begin(bucket); entry != entries.end(bucket); ++entry) {
          if (!shown_bound_uids_.contains(entry->first)) uids.push_back(entry->first);
        }
      }
      const NodeRegistry::Batch batch(state_->nodes);
      for (const std::string& uid : uids) end_if_absent(uid);
    }
  }

  void end_if_absent(const std::string& uid) SNUG_REQUIRES(mutex_) {
    if (!shown_bound_uids_.contains(uid))
      state_->end_absent_pod(uid, list_sequence_, living_uids_.contains(uid));
  }

  base::FairMutex& mutex_;
  State* const state_ SNUG_PT_GUARDED_BY(mutex_);
  const std::uint64_t list_sequence_;
  const std::unordered_set<std::string_view>& living_uids_;
  /// Holdings with GPUs, by node, then CPU-only ones.
  std::vector<model::HoldingPtr> bound_holdings_;
  std::size_t gpu_pod_count_ = 0;                          // the number of holdings with GPUs
  std::unordered_set<std::string_view> shown_bound_uids_;  // uids, as views into `bound_holdings_`
  std::vector<std::string> edited_;                        // uids for which hold() returned false
};

}  // namespace snug::ledger

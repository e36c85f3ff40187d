// Applies a list of all pods to the ledger in parts, and unlocks between two parts so that other
// threads can proceed. Between parts they see a mixture of old and new nodes, but never a new pod
// on a node's GPUs beside a pod that the list lacks: if the list shows pods with GPUs on a node,
// all pods of that node are replaced in one step. On other nodes pods end in any number of steps.
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

/// Reads and changes Ledger::State, and locks the ledger's mutex itself.
template <typename State>
class ListReplacement {
 public:
  /// Sorts the list, without the lock.
  ListReplacement(base::FairMutex& mutex, State* state, ListMark mark, const ListedPods& listed)
      : mutex_(mutex), state_(state), list_sequence_(mark.sequence), living_(listed.living) {
    std::vector<std::tuple<bool, std::string_view, std::size_t>> order;
    order.reserve(listed.bound.size());
    for (const model::HoldingPtr& holding : listed.bound) {
      shown_bound_.insert(holding->uid);
      const bool host_alone = holding->is_cpu_only();
      if (!host_alone) ++gpu_pod_count_;
      const std::string_view node = host_alone ? std::string_view() : holding->reservation.node;
      order.emplace_back(host_alone, node, order.size());
    }
    std::ranges::sort(order);
    bound_.reserve(order.size());
    for (const auto& key : order) bound_.push_back(listed.bound[std::get<std::size_t>(key)]);
  }

  /// Returns the uids for which hold() returns false.
  std::vector<std::string> run() {
    revive_listed();
    for (std::size_t first = 0; first < bound_.size();) {
      std::size_t last = std::min(first + kPodsPerTurn, bound_.size());
      while (last < gpu_pod_count_ && same_node(last - 1, last)) ++last;
      apply_part({bound_.data() + first, last - first});
      first = last;
    }
    end_absent_pods();
    return std::move(edited_);
  }

 private:
  // How many pods one turn under the lock takes: that change, some 2 us each, or that are only
  // looked up. Fewer would need more turns.
  static constexpr std::size_t kPodsPerTurn = 256;
  static constexpr std::size_t kLookUpsPerTurn = 4'096;

  [[nodiscard]] bool same_node(std::size_t a, std::size_t b) const {
    return bound_[a]->reservation.node == bound_[b]->reservation.node;
  }

  /// Pods that ended before the list began, and that it shows living, live after all.
  void revive_listed() {
    for (auto uid = living_.begin(); uid != living_.end();) {
      const base::MutexLock lock(mutex_);
      for (std::size_t i = 0; i < kLookUpsPerTurn && uid != living_.end(); ++i, ++uid) {
        if (!state_->ended_pods.ended_after(*uid, list_sequence_)) state_->ended_pods.erase(*uid);
      }
    }
    const base::MutexLock lock(mutex_);
    state_->ended_pods.confirm_by_list(list_sequence_, living_);
  }

  void apply_part(std::span<const model::HoldingPtr> part) {
    const base::MutexLock lock(mutex_);
    const NodeRegistry::Batch batch(state_->nodes);
    for (const model::HoldingPtr& holding : part) {
      if (!state_->hold(holding, State::Source::kList)) edited_.push_back(holding->uid);
    }
    std::string_view last;
    for (const model::HoldingPtr& holding : part) {
      if (holding->is_cpu_only() || holding->reservation.node == last) continue;
      last = holding->reservation.node;
      for (const std::string& uid : state_->nodes.gpu_pod_uids(last)) end_if_absent(uid);
    }
  }

  /// Ends the pods that the list lacks, bucket by bucket of the table; starts again at the first
  /// bucket where the table has grown between two turns.
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
          if (!shown_bound_.contains(entry->first)) uids.push_back(entry->first);
        }
      }
      const NodeRegistry::Batch batch(state_->nodes);
      for (const std::string& uid : uids) end_if_absent(uid);
    }
  }

  void end_if_absent(const std::string& uid) SNUG_REQUIRES(mutex_) {
    if (!shown_bound_.contains(uid))
      state_->end_absent_pod(uid, list_sequence_, living_.contains(uid));
  }

  base::FairMutex& mutex_;
  State* const state_ SNUG_PT_GUARDED_BY(mutex_);
  const std::uint64_t list_sequence_;
  const std::unordered_set<std::string_view>& living_;
  std::vector<model::HoldingPtr> bound_;              // with GPUs, by node; then of the host alone
  std::size_t gpu_pod_count_ = 0;                     // how many of `bound_`
  std::unordered_set<std::string_view> shown_bound_;  // uids, which live in `bound_`
  std::vector<std::string> edited_;
};

}  // namespace snug::ledger

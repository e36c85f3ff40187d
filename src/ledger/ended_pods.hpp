// Remembers the uids of the pods that ended most recently, and how each end was reported, so that a
// late event cannot revive a pod. Not thread-safe: guarded by the ledger's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace snug::ledger {

class EndedPods {
 public:
  /// kStream: a list or a watch event; the stream delivers them in order. kGet: a GET of the pod,
  /// whose answer may be older or newer than the last event of the stream.
  enum class Source { kStream, kGet };

  explicit EndedPods(std::size_t most) : max_pods_(most) {}

  void add(std::string_view uid, std::uint64_t sequence, Source source) {
    const auto known_end = by_uid_.find(uid);
    if (known_end != by_uid_.end()) {
      known_end->second->sequence = sequence;
      by_age_.splice(by_age_.end(), by_age_, known_end->second);
      if (source == Source::kStream) ended_by_get_only_.erase(known_end->first);
      return;
    }
    by_age_.push_back({std::string(uid), sequence});
    const std::string_view key = by_age_.back().uid;
    by_uid_.emplace(key, std::prev(by_age_.end()));
    if (source == Source::kGet) ended_by_get_only_.insert(key);
    if (by_age_.size() > max_pods_) erase(by_age_.front().uid);
  }

  void erase(std::string_view uid) {
    const auto known_end = by_uid_.find(uid);
    if (known_end == by_uid_.end()) return;
    const auto ended_pod = known_end->second;
    ended_by_get_only_.erase(ended_pod->uid);
    by_uid_.erase(known_end);
    by_age_.erase(ended_pod);
  }

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  /// Whether the pod ended after `sequence`.
  [[nodiscard]] bool ended_after(std::string_view uid, std::uint64_t sequence) const {
    const auto known_end = by_uid_.find(uid);
    return known_end != by_uid_.end() && known_end->second->sequence > sequence;
  }
  /// Whether only a GET has reported that the pod ended. If so, the watch may still deliver events
  /// that are older than the end.
  [[nodiscard]] bool only_from_get(std::string_view uid) const {
    return ended_by_get_only_.contains(uid);
  }
  /// Applies a list that started at `sequence` and shows exactly the pods in `living`. It confirms
  /// the end of every other pod that had ended by then, so only_from_get() becomes false for them.
  void confirm_by_list(std::uint64_t sequence, const std::unordered_set<std::string_view>& living) {
    std::erase_if(ended_by_get_only_, [&](std::string_view uid) {
      return !ended_after(uid, sequence) && !living.contains(uid);
    });
  }

 private:
  struct EndedPod {
    std::string uid;
    std::uint64_t sequence = 0;
  };

  std::size_t max_pods_;
  std::list<EndedPod> by_age_;  // ordered by `sequence`, oldest first
  // The keys, and the elements of ended_by_get_only_, are views into by_age_.
  std::unordered_map<std::string_view, std::list<EndedPod>::iterator> by_uid_;
  std::unordered_set<std::string_view> ended_by_get_only_;
};

}  // namespace snug::ledger

// The uids of the pods that ended most recently, so that a late event cannot revive one, and which
// source reported the end. Not thread-safe: guarded by the ledger's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace snug {

class Tombstones {
 public:
  /// kStream: a list or a watch event, which are ordered. kRead: a GET of the pod, which has no
  /// place in that order.
  enum class Source { kStream, kRead };

  explicit Tombstones(std::size_t most) : most_(most) {}

  void add(std::string_view uid, std::uint64_t sequence, Source source) {
    const auto found = known_.find(uid);
    if (found != known_.end()) {
      found->second->sequence = sequence;
      by_age_.splice(by_age_.end(), by_age_, found->second);
      if (source == Source::kStream) read_.erase(found->first);
      return;
    }
    by_age_.push_back({std::string(uid), sequence});
    const std::string_view key = by_age_.back().uid;
    known_.emplace(key, std::prev(by_age_.end()));
    if (source == Source::kRead) read_.insert(key);
    if (by_age_.size() > most_) erase(by_age_.front().uid);
  }

  void erase(std::string_view uid) {
    const auto found = known_.find(uid);
    if (found == known_.end()) return;
    const auto row = found->second;
    read_.erase(row->uid);
    known_.erase(found);
    by_age_.erase(row);
  }

  [[nodiscard]] bool contains(std::string_view uid) const { return known_.contains(uid); }
  /// Whether the pod ended after `sequence`.
  [[nodiscard]] bool since(std::string_view uid, std::uint64_t sequence) const {
    const auto found = known_.find(uid);
    return found != known_.end() && found->second->sequence > sequence;
  }
  /// Whether only a read has reported the end, so that the watch may still deliver older events.
  [[nodiscard]] bool only_read(std::string_view uid) const { return read_.contains(uid); }
  /// A list that started at `sequence` shows exactly these pods: the stream has now reported the
  /// end of every other pod that had ended by then.
  void listed(std::uint64_t sequence, const std::unordered_set<std::string_view>& living) {
    std::erase_if(read_, [&](std::string_view uid) {
      return !since(uid, sequence) && !living.contains(uid);
    });
  }

 private:
  struct Row {
    std::string uid;
    std::uint64_t sequence = 0;
  };

  std::size_t most_;
  std::list<Row> by_age_;  // in the order in which the pods ended
  // The keys are views into by_age_.
  std::unordered_map<std::string_view, std::list<Row>::iterator> known_;
  std::unordered_set<std::string_view> read_;
};

}  // namespace snug

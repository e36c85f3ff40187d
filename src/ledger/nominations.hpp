// Unbound pods that kube-scheduler nominated to a node, where their requests are kept free for
// them. If there are more than max_nominations, those first by rank. Not thread-safe: guarded by
// the ledger's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

class NominationTable {
 public:
  explicit NominationTable(const Limits& limits)
      : most_(static_cast<std::size_t>(limits.max_nominations)) {}

  struct Put {
    bool changed = false;    // whether the table's content changed
    NominationPtr left_out;  // the one dropped: the last by rank; null: none
  };
  /// Replaces the pod's earlier nomination, if any.
  Put put(NominationPtr nomination, std::uint64_t sequence);
  /// False: the pod had none.
  bool end(std::string_view uid);

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  [[nodiscard]] bool any_on(std::string_view node) const { return by_node_.contains(node); }
  /// The nodes with a nominated pod.
  [[nodiscard]] auto nodes() const { return std::views::keys(by_node_); }

  /// The node's nominations for which `passes` is true, in the order of rank.
  template <typename Which>
  [[nodiscard]] Nominations on(std::string_view node, const Which& passes) const {
    Nominations found;
    const auto all = by_node_.find(node);
    if (all == by_node_.end()) return found;
    for (const NominationPtr& nomination : all->second) {
      if (passes(*nomination)) found.push_back(nomination);
    }
    return found;
  }
  /// The uids of nominations made at `sequence` or earlier.
  [[nodiscard]] std::vector<std::string> until(std::uint64_t sequence) const;

 private:
  struct Row {
    NominationPtr nomination;
    std::uint64_t sequence = 0;
  };

  struct Before {
    bool operator()(const NominationPtr& a, const NominationPtr& b) const {
      return a->rank.before(b->rank);
    }
  };

  void list(const NominationPtr& nomination);
  void unlist(const NominationPtr& nomination);

  std::size_t most_;
  std::unordered_map<std::string, Row, StringHash, std::equal_to<>> by_uid_;
  std::set<NominationPtr, Before> by_rank_;
  std::map<std::string, Nominations, std::less<>> by_node_;  // none is empty
};

}  // namespace snug

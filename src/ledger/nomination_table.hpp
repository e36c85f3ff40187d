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

namespace snug::ledger {

class NominationTable {
 public:
  explicit NominationTable(const base::Limits& limits)
      : max_nominations_(static_cast<std::size_t>(limits.max_nominations)) {}

  struct PutResult {
    bool changed = false;          // whether the table's content changed
    model::NominationPtr dropped;  // the one dropped: the last by rank; null: none
  };
  /// Replaces the pod's earlier nomination, if any.
  PutResult put(model::NominationPtr nomination, std::uint64_t sequence);
  /// False: the pod had none.
  bool remove(std::string_view uid);

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  [[nodiscard]] bool any_on(std::string_view node) const { return by_node_.contains(node); }
  /// The nodes with a nominated pod.
  [[nodiscard]] auto nodes() const { return std::views::keys(by_node_); }

  /// The node's nominations for which `passes` is true, in the order of rank.
  template <typename Which>
  [[nodiscard]] model::Nominations on(std::string_view node, const Which& passes) const {
    model::Nominations found;
    const auto all = by_node_.find(node);
    if (all == by_node_.end()) return found;
    for (const model::NominationPtr& nomination : all->second) {
      if (passes(*nomination)) found.push_back(nomination);
    }
    return found;
  }
  /// The uids of nominations made at `sequence` or earlier.
  [[nodiscard]] std::vector<std::string> made_by(std::uint64_t sequence) const;

 private:
  struct Row {
    model::NominationPtr nomination;
    std::uint64_t sequence = 0;
  };

  struct Before {
    bool operator()(const model::NominationPtr& a, const model::NominationPtr& b) const {
      return a->rank.outranks(b->rank);
    }
  };

  void index(const model::NominationPtr& nomination);
  void unindex(const model::NominationPtr& nomination);

  std::size_t max_nominations_;
  std::unordered_map<std::string, Row, model::StringHash, std::equal_to<>> by_uid_;
  std::set<model::NominationPtr, Before> by_rank_;
  std::map<std::string, model::Nominations, std::less<>> by_node_;  // none is empty
};

}  // namespace snug::ledger

// The nominations: for each nominated pod, the node on which the capacity that it requests is kept
// free. There are at most max_nominations: those that are first in rank. Not thread-safe: guarded
// by the ledger's mutex.
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
    model::NominationPtr dropped;  // the last in rank, dropped since there are too many; null: none
  };
  /// Adds a nomination, in place of the pod's earlier one.
  PutResult put(model::NominationPtr nomination, std::uint64_t sequence);
  /// Returns false if the pod has no nomination.
  bool remove(std::string_view uid);

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  [[nodiscard]] bool any_on(std::string_view node) const { return by_node_.contains(node); }
  /// The names of the nodes with nominated pods.
  [[nodiscard]] auto nodes() const { return std::views::keys(by_node_); }

  /// The node's nominations that satisfy `passes`, in the order of rank.
  template <typename Which>
  [[nodiscard]] model::Nominations on(std::string_view node, const Which& passes) const {
    model::Nominations passing;
    const auto on_node = by_node_.find(node);
    if (on_node == by_node_.end()) return passing;
    for (const model::NominationPtr& nomination : on_node->second) {
      if (passes(*nomination)) passing.push_back(nomination);
    }
    return passing;
  }
  /// The uids of the pods whose nominations were made at `sequence` or earlier.
  [[nodiscard]] std::vector<std::string> made_until(std::uint64_t sequence) const;

 private:
  struct NominationRow {
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
  std::unordered_map<std::string, NominationRow, model::StringHash, std::equal_to<>> by_uid_;
  std::set<model::NominationPtr, Before> by_rank_;
  /// Contains only nodes that have nominations.
  std::map<std::string, model::Nominations, std::less<>> by_node_;
};

}  // namespace snug::ledger

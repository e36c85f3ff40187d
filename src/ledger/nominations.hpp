// Unbound pods that kube-scheduler nominated to a node, so that what they ask is kept for them: at
// most max_nominations. Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
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

  enum class Put : std::uint8_t { kNew, kSame, kFull };
  /// Replaces the pod's earlier one. kSame: it was the same; kFull: there are too many others.
  Put put(NominationPtr nomination, std::uint64_t sequence);
  /// False: the pod had none.
  bool end(std::string_view uid);

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  [[nodiscard]] bool any_on(std::string_view node) const { return by_node_.contains(node); }
  /// Those to which some pod is nominated.
  [[nodiscard]] auto nodes() const { return std::views::keys(by_node_); }

  /// Those to the node that pass, the first by rank first.
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
  /// Uids of those made no later than at `sequence`.
  [[nodiscard]] std::vector<std::string> until(std::uint64_t sequence) const;

 private:
  struct Row {
    NominationPtr nomination;
    std::uint64_t sequence = 0;
  };

  void list(const NominationPtr& nomination);
  void unlist(const Nomination& nomination);

  std::size_t most_;
  std::unordered_map<std::string, Row, StringHash, std::equal_to<>> by_uid_;
  std::map<std::string, Nominations, std::less<>> by_node_;  // none is empty
};

}  // namespace snug

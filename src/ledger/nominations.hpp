// Unbound pods that kube-scheduler nominated to a node, so that what they ask is kept for them.
// Not thread-safe: the ledger's mutex guards it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/model/snapshot.hpp"

namespace snug {

class NominationTable {
 public:
  /// Replaces the pod's earlier one. False: it was the same.
  bool put(NominationPtr nomination, std::uint64_t sequence);
  /// False: the pod had none.
  bool end(std::string_view uid);

  [[nodiscard]] bool contains(std::string_view uid) const { return by_uid_.contains(uid); }
  [[nodiscard]] bool any_on(std::string_view node) const;

  using Filter = std::function<bool(const Nomination&)>;
  /// Those that the filter passes, the first by rank first.
  [[nodiscard]] Nominations on(std::string_view node, const Filter& which) const;
  [[nodiscard]] std::map<std::string, Nominations, std::less<>> by_node(const Filter& which) const;
  /// Uids of those made no later than at `sequence`.
  [[nodiscard]] std::vector<std::string> until(std::uint64_t sequence) const;

 private:
  struct Row {
    NominationPtr nomination;
    std::uint64_t sequence = 0;
  };

  std::unordered_map<std::string, Row, StringHash, std::equal_to<>> by_uid_;
};

}  // namespace snug

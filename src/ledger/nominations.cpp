#include "ledger/nominations.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

bool same(const Nomination& a, const Nomination& b) {
  return a.node == b.node && a.rank == b.rank && a.request == b.request &&
         a.name_space == b.name_space;
}

bool before(const NominationPtr& a, const NominationPtr& b) { return a->rank.before(b->rank); }

}  // namespace

void NominationTable::list(const NominationPtr& nomination) {
  Nominations& all = by_node_[nomination->node];
  all.insert(std::ranges::upper_bound(all, nomination, before), nomination);
}

void NominationTable::unlist(const Nomination& nomination) {
  const auto all = by_node_.find(nomination.node);
  std::erase_if(all->second,
                [&](const NominationPtr& other) { return other.get() == &nomination; });
  if (all->second.empty()) by_node_.erase(all);
}

NominationTable::Put NominationTable::put(NominationPtr nomination, std::uint64_t sequence) {
  const auto known = by_uid_.find(nomination->rank.uid);
  if (known == by_uid_.end()) {
    if (by_uid_.size() >= most_) return Put::kFull;
    list(nomination);
    by_uid_.emplace(nomination->rank.uid, Row{nomination, sequence});
    return Put::kNew;
  }
  Row& row = known->second;
  row.sequence = sequence;
  if (same(*row.nomination, *nomination)) return Put::kSame;
  unlist(*row.nomination);
  list(nomination);
  row.nomination = std::move(nomination);
  return Put::kNew;
}

bool NominationTable::end(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return false;
  unlist(*found->second.nomination);
  by_uid_.erase(found);
  return true;
}

std::vector<std::string> NominationTable::until(std::uint64_t sequence) const {
  std::vector<std::string> uids;
  for (const auto& [uid, row] : by_uid_) {
    if (row.sequence <= sequence) uids.push_back(uid);
  }
  return uids;
}

}  // namespace snug

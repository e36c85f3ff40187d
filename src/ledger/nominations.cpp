#include "ledger/nominations.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

bool same(const Nomination& a, const Nomination& b) {
  return a.node == b.node && a.rank == b.rank && a.request == b.request &&
         a.name_space == b.name_space;
}

}  // namespace

void NominationTable::list(const NominationPtr& nomination) {
  Nominations& all = by_node_[nomination->node];
  all.insert(std::ranges::upper_bound(all, nomination, Before{}), nomination);
  by_rank_.insert(nomination);
}

void NominationTable::unlist(const NominationPtr& nomination) {
  by_rank_.erase(nomination);
  const auto all = by_node_.find(nomination->node);
  std::erase(all->second, nomination);
  if (all->second.empty()) by_node_.erase(all);
}

NominationTable::Put NominationTable::put(NominationPtr nomination, std::uint64_t sequence) {
  const auto known = by_uid_.find(nomination->rank.uid);
  if (known != by_uid_.end()) {
    Row& row = known->second;
    row.sequence = sequence;
    if (same(*row.nomination, *nomination)) return {};
    unlist(row.nomination);
    list(nomination);
    row.nomination = std::move(nomination);
    return {.changed = true, .left_out = nullptr};
  }
  NominationPtr left_out;
  if (by_uid_.size() >= most_) {
    left_out = *by_rank_.rbegin();
    if (!nomination->rank.before(left_out->rank)) {
      return {.changed = false, .left_out = std::move(nomination)};
    }
    end(left_out->rank.uid);
  }
  list(nomination);
  by_uid_.emplace(nomination->rank.uid, Row{nomination, sequence});
  return {.changed = true, .left_out = std::move(left_out)};
}

bool NominationTable::end(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return false;
  unlist(found->second.nomination);
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

#include "ledger/nomination_table.hpp"

#include <algorithm>
#include <utility>

namespace snug::ledger {
namespace {

bool same_nomination(const model::Nomination& a, const model::Nomination& b) {
  return a.node == b.node && a.rank == b.rank && a.request == b.request &&
         a.name_space == b.name_space;
}

}  // namespace

void NominationTable::index(const model::NominationPtr& nomination) {
  model::Nominations& all = by_node_[nomination->node];
  all.insert(std::ranges::upper_bound(all, nomination, Before{}), nomination);
  by_rank_.insert(nomination);
}

void NominationTable::unindex(const model::NominationPtr& nomination) {
  by_rank_.erase(nomination);
  const auto all = by_node_.find(nomination->node);
  std::erase(all->second, nomination);
  if (all->second.empty()) by_node_.erase(all);
}

NominationTable::PutResult NominationTable::put(model::NominationPtr nomination,
                                                std::uint64_t sequence) {
  const auto known = by_uid_.find(nomination->rank.uid);
  if (known != by_uid_.end()) {
    Row& row = known->second;
    row.sequence = sequence;
    if (same_nomination(*row.nomination, *nomination)) return {};
    unindex(row.nomination);
    index(nomination);
    row.nomination = std::move(nomination);
    return {.changed = true, .dropped = nullptr};
  }
  model::NominationPtr left_out;
  if (by_uid_.size() >= max_nominations_) {
    left_out = *by_rank_.rbegin();
    if (!nomination->rank.outranks(left_out->rank)) {
      return {.changed = false, .dropped = std::move(nomination)};
    }
    remove(left_out->rank.uid);
  }
  index(nomination);
  by_uid_.emplace(nomination->rank.uid, Row{nomination, sequence});
  return {.changed = true, .dropped = std::move(left_out)};
}

bool NominationTable::remove(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return false;
  unindex(found->second.nomination);
  by_uid_.erase(found);
  return true;
}

std::vector<std::string> NominationTable::made_until(std::uint64_t sequence) const {
  std::vector<std::string> uids;
  for (const auto& [uid, row] : by_uid_) {
    if (row.sequence <= sequence) uids.push_back(uid);
  }
  return uids;
}

}  // namespace snug::ledger

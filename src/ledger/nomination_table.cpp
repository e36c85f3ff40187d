#include "ledger/nomination_table.hpp"

#include <algorithm>
#include <utility>

namespace snug::ledger {
namespace {

bool same_nomination(const model::Nomination& a, const model::Nomination& b) {
  return a.node == b.node && a.rank == b.rank && a.request == b.request &&
         a.name_space == b.name_space && a.host == b.host && a.mirrored == b.mirrored;
}

}  // namespace

void NominationTable::index(const model::NominationPtr& nomination) {
  model::Nominations& on_node = by_node_[nomination->node];
  on_node.insert(std::ranges::upper_bound(on_node, nomination, Before{}), nomination);
  by_rank_.insert(nomination);
}

void NominationTable::unindex(const model::NominationPtr& nomination) {
  by_rank_.erase(nomination);
  const auto on_node = by_node_.find(nomination->node);
  std::erase(on_node->second, nomination);
  if (on_node->second.empty()) by_node_.erase(on_node);
}

NominationTable::PutResult NominationTable::put(model::NominationPtr nomination,
                                                std::uint64_t sequence) {
  const auto earlier = by_uid_.find(nomination->rank.uid);
  if (earlier != by_uid_.end()) {
    NominationRow& nomination_row = earlier->second;
    nomination_row.sequence = sequence;
    if (same_nomination(*nomination_row.nomination, *nomination)) return {};
    unindex(nomination_row.nomination);
    index(nomination);
    nomination_row.nomination = std::move(nomination);
    return {.changed = true, .dropped = nullptr};
  }
  model::NominationPtr last_in_rank;
  if (by_uid_.size() >= max_nominations_) {
    last_in_rank = *by_rank_.rbegin();
    if (!nomination->rank.outranks(last_in_rank->rank)) {
      return {.changed = false, .dropped = std::move(nomination)};
    }
    remove(last_in_rank->rank.uid);
  }
  index(nomination);
  by_uid_.emplace(nomination->rank.uid, NominationRow{nomination, sequence});
  return {.changed = true, .dropped = std::move(last_in_rank)};
}

bool NominationTable::remove(std::string_view uid) {
  const auto known_nomination = by_uid_.find(uid);
  if (known_nomination == by_uid_.end()) return false;
  unindex(known_nomination->second.nomination);
  by_uid_.erase(known_nomination);
  return true;
}

std::vector<std::string> NominationTable::made_until(std::uint64_t sequence) const {
  std::vector<std::string> uids;
  for (const auto& [uid, nomination_row] : by_uid_) {
    if (nomination_row.sequence <= sequence) uids.push_back(uid);
  }
  return uids;
}

}  // namespace snug::ledger

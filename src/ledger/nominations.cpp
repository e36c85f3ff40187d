#include "ledger/nominations.hpp"

#include <algorithm>
#include <utility>

namespace snug {
namespace {

bool same(const Nomination& a, const Nomination& b) {
  return a.node == b.node && a.rank == b.rank && a.request == b.request &&
         a.name_space == b.name_space;
}

void sort(Nominations& nominations) {
  std::ranges::sort(nominations, [](const NominationPtr& a, const NominationPtr& b) {
    return a->rank.before(b->rank);
  });
}

}  // namespace

bool NominationTable::put(NominationPtr nomination, std::uint64_t sequence) {
  Row& row = by_uid_[nomination->rank.uid];
  const bool known = row.nomination != nullptr && same(*row.nomination, *nomination);
  row.sequence = sequence;
  if (!known) row.nomination = std::move(nomination);
  return !known;
}

bool NominationTable::end(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return false;
  by_uid_.erase(found);
  return true;
}

bool NominationTable::any_on(std::string_view node) const {
  return std::ranges::any_of(by_uid_,
                             [&](const auto& row) { return row.second.nomination->node == node; });
}

Nominations NominationTable::on(std::string_view node, const Filter& which) const {
  Nominations found;
  for (const auto& [uid, row] : by_uid_) {
    if (row.nomination->node == node && which(*row.nomination)) found.push_back(row.nomination);
  }
  sort(found);
  return found;
}

std::map<std::string, Nominations, std::less<>> NominationTable::by_node(
    const Filter& which) const {
  std::map<std::string, Nominations, std::less<>> all;
  for (const auto& [uid, row] : by_uid_) {
    if (which(*row.nomination)) all[row.nomination->node].push_back(row.nomination);
  }
  for (auto& [node, nominations] : all) sort(nominations);
  return all;
}

std::vector<std::string> NominationTable::until(std::uint64_t sequence) const {
  std::vector<std::string> uids;
  for (const auto& [uid, row] : by_uid_) {
    if (row.sequence <= sequence) uids.push_back(uid);
  }
  return uids;
}

}  // namespace snug

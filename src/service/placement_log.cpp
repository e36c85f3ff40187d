#include "snug/service/placement_log.hpp"

#include <utility>

#include "snug/base/limits.hpp"

namespace snug::service {

template <typename T>
void PlacementLog::Recent<T>::put(std::string_view uid, T value, std::size_t most) {
  const auto known = by_uid.find(uid);
  if (known != by_uid.end()) {
    known->second = std::move(value);
    return;
  }
  if (uids.size() >= most) {
    by_uid.erase(uids.front());
    uids.pop_front();
  }
  by_uid.emplace(uid, std::move(value));
  uids.emplace_back(uid);
}

void PlacementLog::note_decision(std::string_view uid, DecisionNote note) {
  const base::MutexLock lock(mutex_);
  decisions_.put(uid, std::move(note), base::kMaxDecisionNotes);
}

std::optional<DecisionNote> PlacementLog::take_decision(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  const auto note = decisions_.by_uid.find(uid);
  if (note == decisions_.by_uid.end()) return std::nullopt;
  DecisionNote taken = std::move(note->second);
  decisions_.by_uid.erase(note);
  std::erase(decisions_.uids, uid);
  return taken;
}

void PlacementLog::note_placement(std::string_view uid, explain::PlacementComparison comparison) {
  const base::MutexLock lock(mutex_);
  placements_.put(uid, std::move(comparison), base::kMaxPlacementRecords);
}

std::optional<explain::PlacementComparison> PlacementLog::placement_of(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const auto placement = placements_.by_uid.find(uid);
  if (placement == placements_.by_uid.end()) return std::nullopt;
  return placement->second;
}

}  // namespace snug::service

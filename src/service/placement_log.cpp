#include "snug/service/placement_log.hpp"

#include <utility>

#include "service/recent.hpp"
#include "snug/base/limits.hpp"

namespace snug::service {

PlacementLog::PlacementLog()
    : decisions_(std::make_unique<Recent<DecisionNote>>(base::kMaxDecisionNotes)),
      placements_(
          std::make_unique<Recent<explain::PlacementComparison>>(base::kMaxPlacementRecords)) {}

PlacementLog::~PlacementLog() = default;

void PlacementLog::note_decision(std::string_view uid, DecisionNote note) {
  // Destroyed after the lock is released: it may be the last owner of a snapshot of all nodes.
  std::optional<DecisionNote> displaced;
  const base::MutexLock lock(mutex_);
  displaced = decisions_->put(uid, std::move(note));
}

std::optional<DecisionNote> PlacementLog::take_decision(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  return decisions_->take(uid);
}

void PlacementLog::note_placement(std::string_view uid, explain::PlacementComparison comparison) {
  std::optional<explain::PlacementComparison> displaced;  // destroyed after the lock is released
  const base::MutexLock lock(mutex_);
  displaced = placements_->put(uid, std::move(comparison));
}

std::optional<explain::PlacementComparison> PlacementLog::placement_of(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const explain::PlacementComparison* placement = placements_->find(uid);
  if (placement == nullptr) return std::nullopt;
  return *placement;
}

}  // namespace snug::service

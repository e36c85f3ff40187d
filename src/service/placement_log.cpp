#include "snug/service/placement_log.hpp"

#include <utility>

#include "service/recent.hpp"
#include "snug/base/limits.hpp"

namespace snug::service {

PlacementLog::PlacementLog()
    : decisions_(std::make_unique<Recent<DecisionNote>>(base::kMaxDecisionNotes)),
      placements_(std::make_unique<Recent<PlacementRecord>>(base::kMaxPlacementRecords)),
      offers_(std::make_unique<Recent<OfferedNodesPtr>>(base::kMaxOfferRecords)) {}

PlacementLog::~PlacementLog() = default;

void PlacementLog::note_decision(std::string_view uid, DecisionNote note) {
  // Destroyed after the lock is released: it may be the last owner of a snapshot of all nodes.
  std::optional<DecisionNote> displaced;
  std::optional<OfferedNodesPtr> ended;
  const base::MutexLock lock(mutex_);
  displaced = decisions_->put(uid, std::move(note));
  ended = offers_->take(uid);
}

std::optional<DecisionNote> PlacementLog::take_decision(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  return decisions_->take(uid);
}

void PlacementLog::note_placement(std::string_view uid, PlacementRecord placement) {
  std::optional<PlacementRecord> displaced;  // destroyed after the lock is released
  const base::MutexLock lock(mutex_);
  displaced = placements_->put(uid, std::move(placement));
}

std::optional<PlacementRecord> PlacementLog::placement_of(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const PlacementRecord* placement = placements_->find(uid);
  if (placement == nullptr) return std::nullopt;
  return *placement;
}

void PlacementLog::note_refusal(std::string_view uid, OfferedNodesPtr offered) {
  std::optional<OfferedNodesPtr> displaced;  // destroyed after the lock is released, as the next
  OfferedNodesPtr before;
  const base::MutexLock lock(mutex_);
  if (offered != nullptr && last_offer_ != nullptr && offered->is_same_as(*last_offer_)) {
    before = std::exchange(offered, last_offer_);
  } else if (offered != nullptr) {
    before = std::exchange(last_offer_, offered);
  }
  displaced = offers_->put(uid, std::move(offered));
}

std::optional<OfferedNodesPtr> PlacementLog::offered_to(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const OfferedNodesPtr* offered = offers_->find(uid);
  if (offered == nullptr) return std::nullopt;
  return *offered;
}

}  // namespace snug::service

#include "ledger/intents.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace snug {

bool frees_more(const Holding& intent, const Holding& holding, const NodeState& before) {
  if (intent.reservation != holding.reservation) return true;
  for (const ReservedContainer& container : holding.reservation.containers) {
    const auto* devices = std::get_if<std::vector<ReservedDevice>>(&container.given);
    if (devices == nullptr) continue;
    for (const ReservedDevice& device : *devices) {
      const auto at = before.gpu_of(device);
      const bool share = device.mode == GpuMode::kTimeSlicing || device.mode == GpuMode::kMps;
      if (!at || !share || !before.gpus[*at].empty()) continue;
      if (device.mode != before.gpus[*at].sharing) return true;
    }
  }
  return false;
}

bool IntentTable::note(HoldingPtr intent, TimePoint now) {
  const HoldingPtr earlier = end(intent->uid);
  bool place_ends = earlier != nullptr && earlier->reservation != intent->reservation;
  if (by_age_.size() >= most_) {
    end(std::string(by_age_.front().holding->uid));
    place_ends = true;
  }
  std::string uid = intent->uid;
  by_age_.push_back({std::move(intent), now});
  by_uid_.emplace(std::move(uid), std::prev(by_age_.end()));
  return place_ends;
}

HoldingPtr IntentTable::end(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return nullptr;
  HoldingPtr ended = std::move(found->second->holding);
  by_age_.erase(found->second);
  by_uid_.erase(found);
  return ended;
}

bool IntentTable::expire(TimePoint now) {
  bool any = false;
  while (!by_age_.empty() && now - by_age_.front().since >= ttl_) {
    end(std::string(by_age_.front().holding->uid));
    any = true;
  }
  return any;
}

Intents IntentTable::all() const {
  Intents result;
  result.reserve(by_age_.size());
  for (const Intent& intent : by_age_) result.push_back(intent.holding);
  return result;
}

Intents IntentTable::before(std::string_view node, std::string_view uid) const {
  Intents result;
  for (const Intent& intent : by_age_) {
    if (intent.holding->reservation.node != node) continue;
    if (intent.holding->uid == uid) break;
    result.push_back(intent.holding);
  }
  return result;
}

}  // namespace snug

#include "ledger/intent_table.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace snug::ledger {

bool may_free_capacity(const model::Holding& intent, const model::Holding& holding,
                       const model::NodeState& before) {
  if (intent.reservation != holding.reservation) return true;
  for (const model::ReservedContainer& container : holding.reservation.containers) {
    const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(&container.assigned);
    if (devices == nullptr) continue;
    for (const model::ReservedDevice& device : *devices) {
      const auto at = before.find_gpu(device);
      const bool share = model::is_sharing_mode(device.mode);
      if (!at || !share || !before.gpus[*at].empty()) continue;
      if (device.mode != before.gpus[*at].sharing_mode) return true;
    }
  }
  return false;
}

bool IntentTable::put(model::HoldingPtr intent, base::TimePoint now) {
  const model::HoldingPtr earlier = remove(intent->uid);
  bool place_ends = earlier != nullptr && earlier->reservation != intent->reservation;
  if (by_age_.size() >= max_intents_) {
    remove(std::string(by_age_.front().holding->uid));
    place_ends = true;
  }
  std::string uid = intent->uid;
  by_age_.push_back({std::move(intent), now});
  by_uid_.emplace(std::move(uid), std::prev(by_age_.end()));
  return place_ends;
}

model::HoldingPtr IntentTable::remove(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return nullptr;
  model::HoldingPtr ended = std::move(found->second->holding);
  by_age_.erase(found->second);
  by_uid_.erase(found);
  return ended;
}

bool IntentTable::expire(base::TimePoint now) {
  bool any = false;
  while (!by_age_.empty() && now - by_age_.front().since >= ttl_) {
    remove(std::string(by_age_.front().holding->uid));
    any = true;
  }
  return any;
}

model::Intents IntentTable::all() const {
  model::Intents result;
  result.reserve(by_age_.size());
  for (const Intent& intent : by_age_) result.push_back(intent.holding);
  return result;
}

model::Intents IntentTable::preceding(std::string_view node, std::string_view uid) const {
  model::Intents result;
  for (const Intent& intent : by_age_) {
    if (intent.holding->reservation.node != node) continue;
    if (intent.holding->uid == uid) break;
    result.push_back(intent.holding);
  }
  return result;
}

}  // namespace snug::ledger

#include "ledger/intent_table.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace snug::ledger {

bool may_free_capacity(const model::Holding& intent, const model::Holding& holding,
                       const model::NodeState& before) {
  if (intent.reservation != holding.reservation) return true;
  for (const model::ReservedContainer& container : holding.reservation.containers) {
    for (const model::ReservedDevice& device : container.devices()) {
      const auto gpu = before.find_gpu(device);
      const bool shares_gpu = model::is_sharing_mode(device.mode);
      if (!gpu || !shares_gpu || !before.gpus[*gpu].empty()) continue;
      if (device.mode != before.gpus[*gpu].sharing_mode) return true;
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
  const auto known_intent = by_uid_.find(uid);
  if (known_intent == by_uid_.end()) return nullptr;
  model::HoldingPtr ended_intent = std::move(known_intent->second->holding);
  by_age_.erase(known_intent->second);
  by_uid_.erase(known_intent);
  return ended_intent;
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
  model::Intents all_intents;
  all_intents.reserve(by_age_.size());
  for (const Intent& intent : by_age_) all_intents.push_back(intent.holding);
  return all_intents;
}

model::Intents IntentTable::preceding(std::string_view node, std::string_view uid) const {
  model::Intents older_intents;
  for (const Intent& intent : by_age_) {
    if (intent.holding->reservation.node != node) continue;
    if (intent.holding->uid == uid) break;
    older_intents.push_back(intent.holding);
  }
  return older_intents;
}

}  // namespace snug::ledger

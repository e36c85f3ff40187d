#include "ledger/intents.hpp"

#include <utility>

namespace snug {

void Intents::note(HoldingPtr intent, TimePoint now) {
  end(intent->uid);
  if (by_age_.size() >= most_) end(std::string(by_age_.front().holding->uid));
  std::string uid = intent->uid;
  by_age_.push_back({std::move(intent), now});
  by_uid_.emplace(std::move(uid), std::prev(by_age_.end()));
}

bool Intents::end(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  if (found == by_uid_.end()) return false;
  by_age_.erase(found->second);
  by_uid_.erase(found);
  return true;
}

bool Intents::expire(TimePoint now) {
  bool any = false;
  while (!by_age_.empty() && now - by_age_.front().since >= ttl_) {
    any = end(std::string(by_age_.front().holding->uid)) || any;
  }
  return any;
}

std::vector<HoldingPtr> Intents::all() const {
  std::vector<HoldingPtr> result;
  result.reserve(by_age_.size());
  for (const Intent& intent : by_age_) result.push_back(intent.holding);
  return result;
}

std::vector<HoldingPtr> Intents::of_others(std::string_view node, std::string_view uid) const {
  std::vector<HoldingPtr> result;
  for (const Intent& intent : by_age_) {
    if (intent.holding->reservation.node == node && intent.holding->uid != uid) {
      result.push_back(intent.holding);
    }
  }
  return result;
}

}  // namespace snug

#include "snug/service/pending_pods.hpp"

#include <utility>

namespace snug::service {

PendingPods::PendingPods(const base::Limits& limits)
    : capacity_(static_cast<std::size_t>(limits.max_pending_pods)) {}

PodInfoPtr PendingPods::intern(model::PodFacts facts) {
  facts.resource_version.clear();  // PodInfo::facts has no resource version
  PodInfoPtr shown;
  PodInfoPtr interned;
  {
    const base::MutexLock lock(mutex_);
    if (const auto found = pods_.find(facts.uid); found != pods_.end()) shown = found->second;
    const auto found = interned_.find(facts.uid);
    if (found != interned_.end()) interned = found->second;
  }
  if (shown != nullptr && shown->facts == facts) return shown;
  if (interned != nullptr && interned->facts == facts) return interned;
  auto made = std::make_shared<const PodInfo>(std::move(facts));
  const base::MutexLock lock(mutex_);
  const bool known = interned_.contains(made->facts.uid);
  if (!known && interned_.size() >= capacity_) interned_.erase(interned_.begin());
  interned_.insert_or_assign(made->facts.uid, made);
  return made;
}

void PendingPods::put(PodInfoPtr pod) {
  const base::MutexLock lock(mutex_);
  const std::string& uid = pod->facts.uid;
  interned_.erase(uid);
  if (const auto found = pods_.find(uid); found != pods_.end()) {
    found->second = std::move(pod);
  } else if (pods_.size() < capacity_) {
    pods_.emplace(uid, std::move(pod));
  }
}

void PendingPods::remove(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  if (const auto found = pods_.find(uid); found != pods_.end()) pods_.erase(found);
  if (const auto found = interned_.find(uid); found != interned_.end()) interned_.erase(found);
  forget_refusal(uid);
}

void PendingPods::list_begins() {
  const base::MutexLock lock(mutex_);
  list_sequence_ = sequence_;
}

void PendingPods::replace(std::vector<PodInfoPtr> pods) {
  const base::MutexLock lock(mutex_);
  pods_.clear();
  interned_.clear();
  for (PodInfoPtr& pod : pods) {
    if (pods_.size() >= capacity_) break;
    const std::string& uid = pod->facts.uid;
    pods_.insert_or_assign(uid, std::move(pod));
  }
  std::vector<std::string> gone;
  for (const auto& [uid, refused] : refused_) {
    if (!pods_.contains(uid) && refused.sequence <= list_sequence_) gone.push_back(uid);
  }
  for (const std::string& uid : gone) forget_refusal(uid);
}

PodInfoPtr PendingPods::find(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second;
}

std::vector<PendingRow> PendingPods::rows() const {
  const base::MutexLock lock(mutex_);
  std::vector<PendingRow> rows;
  rows.reserve(pods_.size());
  for (const auto& [uid, pod] : pods_) {
    const auto refused = refused_.find(uid);
    rows.push_back({pod, refused == refused_.end() ? std::string() : refused->second.message});
  }
  return rows;
}

std::size_t PendingPods::size() const {
  const base::MutexLock lock(mutex_);
  return pods_.size();
}

void PendingPods::note_refused(std::string_view uid, std::string message,
                               const RetryCondition& awaits) {
  const base::MutexLock lock(mutex_);
  forget_refusal(uid);
  if (refused_.size() >= capacity_) forget_refusal(std::string(refused_.begin()->first));
  refused_.emplace(uid, Refused{std::move(message), awaits, ++sequence_});
  ++awaiting_freed_[awaits.freed];
  ++awaiting_intents_[awaits.ended_intents];
}

void PendingPods::note_accepted(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  forget_refusal(uid);
}

bool PendingPods::any_retryable(base::Generation room, base::Generation intents_ended) const {
  const base::MutexLock lock(mutex_);
  if (refused_.empty()) return false;
  return awaiting_freed_.begin()->first < room || awaiting_intents_.begin()->first < intents_ended;
}

void PendingPods::forget_refusal(std::string_view uid) {
  const auto found = refused_.find(uid);
  if (found == refused_.end()) return;
  const auto count_down = [](std::map<base::Generation, std::size_t>& counts,
                             base::Generation generation) {
    const auto count = counts.find(generation);
    if (--count->second == 0) counts.erase(count);
  };
  count_down(awaiting_freed_, found->second.awaits.freed);
  count_down(awaiting_intents_, found->second.awaits.ended_intents);
  refused_.erase(found);
}

}  // namespace snug::service

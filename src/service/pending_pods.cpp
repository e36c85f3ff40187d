#include "snug/service/pending_pods.hpp"

#include <utility>

namespace snug::service {

PendingPods::PendingPods(const base::Limits& limits)
    : max_pending_pods_(static_cast<std::size_t>(limits.max_pending_pods)) {}

PodInfoPtr PendingPods::intern(model::PodFacts facts) {
  facts.resource_version.clear();  // PodInfo::facts has no resource version
  PodInfoPtr shown_record;
  PodInfoPtr interned_record;
  {
    const base::MutexLock lock(mutex_);
    if (const auto unbound_pod = unbound_pods_.find(facts.uid); unbound_pod != unbound_pods_.end())
      shown_record = unbound_pod->second;
    const auto interned_pod = interned_.find(facts.uid);
    if (interned_pod != interned_.end()) interned_record = interned_pod->second;
  }
  if (shown_record != nullptr && shown_record->facts == facts) return shown_record;
  if (interned_record != nullptr && interned_record->facts == facts) return interned_record;
  auto new_record = std::make_shared<const PodInfo>(std::move(facts));
  const base::MutexLock lock(mutex_);
  const bool is_interned = interned_.contains(new_record->facts.uid);
  if (!is_interned && interned_.size() >= max_pending_pods_) interned_.erase(interned_.begin());
  interned_.insert_or_assign(new_record->facts.uid, new_record);
  return new_record;
}

void PendingPods::put(PodInfoPtr pod) {
  const base::MutexLock lock(mutex_);
  interned_.erase(pod->facts.uid);
  store(std::move(pod));
}

void PendingPods::store(PodInfoPtr pod) {
  const model::PodFacts& facts = pod->facts;
  if (const auto known_pod = unbound_pods_.find(facts.uid); known_pod != unbound_pods_.end()) {
    if (known_pod->second->full_name() == pod->full_name()) {
      known_pod->second = std::move(pod);
      return;
    }
    erase(known_pod);  // `names_` must stay correct even if an API server renames a pod
  }
  if (unbound_pods_.size() >= max_pending_pods_) return;
  names_.add(facts.name_space, facts.name, facts.uid);
  unbound_pods_.emplace(facts.uid, std::move(pod));
}

void PendingPods::erase(ByUid<PodInfoPtr>::iterator unbound_pod) {
  const model::PodFacts& facts = unbound_pod->second->facts;
  names_.remove(facts.name_space, facts.name, facts.uid);
  unbound_pods_.erase(unbound_pod);
}

void PendingPods::remove(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  if (const auto unbound_pod = unbound_pods_.find(uid); unbound_pod != unbound_pods_.end())
    erase(unbound_pod);
  if (const auto interned_pod = interned_.find(uid); interned_pod != interned_.end())
    interned_.erase(interned_pod);
  forget_refusal(uid);
}

void PendingPods::list_begins() {
  const base::MutexLock lock(mutex_);
  list_sequence_ = refusal_sequence_;
}

void PendingPods::replace(std::vector<PodInfoPtr> pods) {
  const base::MutexLock lock(mutex_);
  unbound_pods_.clear();
  names_.clear();
  interned_.clear();
  for (PodInfoPtr& pod : pods) store(std::move(pod));
  std::vector<std::string> gone_uids;
  for (const auto& [uid, refusal] : refusals_) {
    if (!unbound_pods_.contains(uid) && refusal.sequence <= list_sequence_)
      gone_uids.push_back(uid);
  }
  for (const std::string& uid : gone_uids) forget_refusal(uid);
}

PodInfoPtr PendingPods::find(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const auto unbound_pod = unbound_pods_.find(uid);
  return unbound_pod == unbound_pods_.end() ? nullptr : unbound_pod->second;
}

PodInfoPtr PendingPods::find(std::string_view name_space, std::string_view name) const {
  const base::MutexLock lock(mutex_);
  const auto uid = names_.find(name_space, name);
  return uid ? unbound_pods_.find(*uid)->second : nullptr;
}

std::vector<PendingRow> PendingPods::rows() const {
  const base::MutexLock lock(mutex_);
  std::vector<PendingRow> rows;
  rows.reserve(unbound_pods_.size());
  for (const auto& [uid, pod] : unbound_pods_) {
    const auto refusal = refusals_.find(uid);
    rows.push_back({pod, refusal == refusals_.end() ? model::Refusal{} : refusal->second.refusal});
  }
  return rows;
}

std::size_t PendingPods::size() const {
  const base::MutexLock lock(mutex_);
  return unbound_pods_.size();
}

void PendingPods::note_refused(std::string_view uid, model::Refusal refusal,
                               const RetryCondition& retry_condition) {
  const base::MutexLock lock(mutex_);
  forget_refusal(uid);
  if (refusals_.size() >= max_pending_pods_) forget_refusal(std::string(refusals_.begin()->first));
  refusals_.emplace(uid, PodRefusal{std::move(refusal), retry_condition, ++refusal_sequence_});
  ++awaiting_freed_[retry_condition.freed];
  ++awaiting_intents_[retry_condition.ended_intents];
}

void PendingPods::note_accepted(std::string_view uid) {
  const base::MutexLock lock(mutex_);
  forget_refusal(uid);
}

std::optional<model::Refusal> PendingPods::refusal_of(std::string_view uid) const {
  const base::MutexLock lock(mutex_);
  const auto refusal = refusals_.find(uid);
  if (refusal == refusals_.end()) return std::nullopt;
  return refusal->second.refusal;
}

bool PendingPods::any_retryable(base::Generation freed, base::Generation ended_intents) const {
  const base::MutexLock lock(mutex_);
  if (refusals_.empty()) return false;
  return awaiting_freed_.begin()->first < freed || awaiting_intents_.begin()->first < ended_intents;
}

void PendingPods::forget_refusal(std::string_view uid) {
  const auto refusal = refusals_.find(uid);
  if (refusal == refusals_.end()) return;
  const auto uncount_refusal = [](std::map<base::Generation, std::size_t>& refusal_counts,
                                  base::Generation generation) {
    const auto refusal_count = refusal_counts.find(generation);
    if (--refusal_count->second == 0) refusal_counts.erase(refusal_count);
  };
  uncount_refusal(awaiting_freed_, refusal->second.retry_condition.freed);
  uncount_refusal(awaiting_intents_, refusal->second.retry_condition.ended_intents);
  refusals_.erase(refusal);
}

}  // namespace snug::service

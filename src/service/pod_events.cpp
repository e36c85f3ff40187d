#include "snug/service/pod_events.hpp"

#include <algorithm>
#include <utility>

#include "snug/admission/pod_defaults.hpp"
#include "snug/base/limits.hpp"
#include "snug/explain/event_sentences.hpp"
#include "snug/request/near_misses.hpp"
#include "snug/service/explain_service.hpp"

namespace snug::service {
namespace {

constexpr std::int64_t kOneEvent = 1'000;  // thousandths
constexpr std::chrono::milliseconds kExplanationLife{base::kExplanationLifeMs};
constexpr std::chrono::milliseconds kExplanationBurst{base::kExplanationBurstMs};

std::string refusal_key(std::string_view uid, model::ReasonCode reason) {
  return std::string(uid) + '\n' + std::to_string(static_cast<int>(reason));
}

/// Pods with the same key are refused for the same reason on the same nodes, and get the same
/// advice. A sentence about promised room names other pods, so it is only for one pod. `offered`:
/// null if kube-scheduler offered all nodes.
std::string explanation_key(const PodInfo& pod, model::ReasonCode reason,
                            const OfferedNodesPtr& offered) {
  return (reason == model::ReasonCode::kPromised ? pod.facts.uid : pod.facts.name_space) + '\n' +
         std::to_string(static_cast<int>(reason)) + '\n' +
         std::to_string(offered == nullptr ? 0 : offered->hash()) + '\n' +
         std::to_string(pod.facts.priority) + ' ' + std::to_string(pod.host.cpu_milli) + ' ' +
         std::to_string(pod.host.memory_bytes) + '\n' + model::to_text(*pod.request);
}

model::Notice notice_about(const model::PodFacts& pod, std::string reason, std::string note) {
  return {.name_space = pod.name_space,
          .name = pod.name,
          .uid = pod.uid,
          .reason = std::move(reason),
          .note = std::move(note)};
}

}  // namespace

PodEvents::PodEvents(const PodEventsParts& parts, ServiceOptions options)
    : parts_(parts), options_(std::move(options)), refilled_(parts.clock.now()) {}

void PodEvents::note_bound(model::HoldingPtr pod) {
  const base::MutexLock lock(mutex_);
  if (std::ssize(bound_) >= limits_.max_queued_events) return parts_.metrics.event_dropped();
  bound_.push_back(std::move(pod));
}

void PodEvents::note_refused(std::string_view uid, model::ReasonCode reason) {
  const base::TimePoint due =
      parts_.clock.now() + std::chrono::milliseconds(limits_.refusal_event_delay_ms);
  const base::MutexLock lock(mutex_);
  if (waiting_.contains(uid) || written_keys_.contains(refusal_key(uid, reason))) return;
  if (std::ssize(refused_) >= limits_.max_pending_pods) return parts_.metrics.event_dropped();
  waiting_.emplace(uid);
  refused_.push_back({due, std::string(uid)});
}

bool PodEvents::concerns(const model::PodFacts& pod) const {
  return pod.scheduler_name.empty() || pod.scheduler_name == admission::kDefaultScheduler ||
         options_.serves(pod.scheduler_name);
}

void PodEvents::note_unbound(const PodInfoPtr& pod) {
  if (!parts_.readiness.is_leader()) return;
  const std::string& uid = pod->facts.uid;
  {
    const base::MutexLock lock(mutex_);
    if (!examined_uids_.insert(uid).second) return;
    examined_.push_back(uid);
    if (std::ssize(examined_) > limits_.max_pending_pods) {
      examined_uids_.erase(examined_.front());
      examined_.pop_front();
    }
  }
  const bool is_named_scheduler =
      !options_.scheduler_names.empty() && options_.serves(pod->facts.scheduler_name);
  Mistake mistake{
      .due = parts_.clock.now() + std::chrono::milliseconds(limits_.refusal_event_delay_ms),
      .pod = pod,
      // Another system may be there to read its own keys, and then the pod is bound soon.
      .only_if_pending = !is_named_scheduler};
  for (const request::NearMiss& near_miss : request::near_misses(pod->facts)) {
    if (near_miss.of_other_system && !concerns(pod->facts)) continue;
    if (!near_miss.of_other_system) mistake.only_if_pending = false;
    mistake.sentence.append(mistake.sentence.empty() ? "" : "; ").append(near_miss.sentence);
  }
  if (mistake.sentence.empty()) return;
  const base::MutexLock lock(mutex_);
  if (std::ssize(mistakes_) >= limits_.max_queued_events) return parts_.metrics.event_dropped();
  mistakes_.push_back(std::move(mistake));
}

void PodEvents::tick() {
  const base::TimePoint now = parts_.clock.now();
  refill(now);
  {
    const base::MutexLock lock(mutex_);
    forget_old(now);
  }
  // Each kind in turn, so that none keeps the others waiting.
  bool wrote_any = true;
  while (wrote_any && allowance_ >= kOneEvent) {
    wrote_any = false;
    if (const auto pod = next_bound()) {
      wrote_any = true;
      write_bound(**pod);
    }
    if (const auto mistake = next_mistake(now)) {
      wrote_any = true;
      write_mistake(*mistake);
    }
    if (const auto uid = next_refused(now)) {
      wrote_any = true;
      write_refusal(*uid, now);
    }
  }
}

void PodEvents::refill(base::TimePoint now) {
  explanation_time_ = std::min<base::TimePoint::duration>(
      kExplanationBurst,
      explanation_time_ + (now - refilled_) * base::kExplanationCpuPercent / 100);
  const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - refilled_);
  refilled_ += passed;
  const std::int64_t most = kOneEvent * limits_.pod_events_per_s;
  // The cap on the time prevents an overflow.
  const std::int64_t passed_ms = std::min<std::int64_t>(passed.count(), 1'000);
  allowance_ = std::min(most, allowance_ + passed_ms * limits_.pod_events_per_s);
}

std::optional<model::HoldingPtr> PodEvents::next_bound() {
  const base::MutexLock lock(mutex_);
  if (bound_.empty()) return std::nullopt;
  model::HoldingPtr pod = std::move(bound_.front());
  bound_.pop_front();
  return pod;
}

std::optional<std::string> PodEvents::next_refused(base::TimePoint now) {
  const base::MutexLock lock(mutex_);
  if (refused_.empty() || refused_.front().due > now) return std::nullopt;
  std::string uid = std::move(refused_.front().uid);
  refused_.pop_front();
  waiting_.erase(uid);
  return uid;
}

std::optional<PodEvents::Mistake> PodEvents::next_mistake(base::TimePoint now) {
  const base::MutexLock lock(mutex_);
  if (mistakes_.empty() || mistakes_.front().due > now) return std::nullopt;
  Mistake mistake = std::move(mistakes_.front());
  mistakes_.pop_front();
  return mistake;
}

void PodEvents::write_bound(const model::Holding& pod) {
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const auto slot = snapshot->names->find(pod.reservation.node);
  const model::NodeState* node = slot ? snapshot->nodes[slot->value].get() : nullptr;
  std::string sentence = explain::assignment_sentence(pod, node);
  if (sentence.empty()) return;
  allowance_ -= kOneEvent;
  parts_.api.notify({.name_space = pod.name_space,
                     .name = pod.pod,
                     .uid = pod.uid,
                     .reason = "GpuAssigned",
                     .note = std::move(sentence),
                     .type = model::EventType::kNormal});
}

void PodEvents::write_refusal(const std::string& uid, base::TimePoint now) {
  const PodInfoPtr pod = parts_.pending.find(uid);
  const std::optional<model::Refusal> refusal = parts_.pending.refusal_of(uid);
  if (pod == nullptr || !refusal || !parts_.readiness.is_leader()) return;
  {
    const base::MutexLock lock(mutex_);
    std::string key = refusal_key(uid, refusal->code);
    if (!written_keys_.insert(key).second) return;
    written_.emplace_back(now, std::move(key));
  }
  allowance_ -= kOneEvent;
  parts_.api.notify(notice_about(pod->facts, "GpuRefused", refusal_note(pod, *refusal)));
}

void PodEvents::write_mistake(const Mistake& mistake) {
  const std::string& uid = mistake.pod->facts.uid;
  const bool is_gone =
      mistake.only_if_pending ? parts_.pending.find(uid) == nullptr : parts_.ledger.has_ended(uid);
  if (is_gone || !parts_.readiness.is_leader()) return;
  allowance_ -= kOneEvent;
  parts_.api.notify(notice_about(mistake.pod->facts, "GpuRequestIgnored", mistake.sentence));
}

std::string PodEvents::refusal_note(const PodInfoPtr& pod, const model::Refusal& refusal) {
  // A sentence about the pod alone says everything.
  if (!refusal.sentence.empty() || !pod->asks_for_gpus()) return model::message(refusal);
  const base::TimePoint start = parts_.clock.now();
  const OfferedNodesPtr offered =
      parts_.placements.offered_to(pod->facts.uid).value_or(OfferedNodesPtr());
  const std::string key = explanation_key(*pod, refusal.code, offered);
  const auto known = explained_.find(key);
  if (known != explained_.end() && start - known->second.made < kExplanationLife)
    return known->second.sentence;
  if (explanation_time_ <= base::TimePoint::duration::zero()) return model::message(refusal);
  if (explained_.size() >= base::kMaxKeptExplanations) explained_.clear();
  std::string sentence = parts_.explanations.refusal_sentence(pod, refusal, offered);
  const base::TimePoint end = parts_.clock.now();
  explanation_time_ -= end - start;
  explained_[key] = {end, sentence};
  return sentence;
}

void PodEvents::forget_old(base::TimePoint now) {
  const std::chrono::milliseconds repeat(limits_.refusal_event_repeat_ms);
  while (!written_.empty() && (now - written_.front().first >= repeat ||
                               std::ssize(written_) > 2 * limits_.max_pending_pods)) {
    written_keys_.erase(written_.front().second);
    written_.pop_front();
  }
}

}  // namespace snug::service

#include "snug/agent_service/slice_keeper.hpp"

#include <algorithm>
#include <utility>

#include "snug/agent_service/pod_reservation.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

/// What is known of the node, without the instance.
std::shared_ptr<const NodeKnowledge> without(const NodeKnowledge& known,
                                             const agent::GpuInstance& instance) {
  auto rest = std::make_shared<NodeKnowledge>(known);
  const auto is_it = [&](const auto& report) {
    return report.gpu_instance == instance.gpu_instance;
  };
  for (agent::DeviceReport& gpu : rest->devices.gpus) {
    if (gpu.uuid != instance.gpu_uuid) continue;
    std::erase_if(gpu.mig_slices, is_it);
    std::erase_if(gpu.mig_unfinished, is_it);
  }
  return rest;
}

std::string noun_of(const agent::GpuInstance& instance) {
  if (!instance.profile.empty())
    return agent::slice_noun(instance.profile, instance.start, instance.gpu_uuid);
  return "the GPU instance at " + std::to_string(instance.start) + " of the GPU " +
         base::in_quotes(instance.gpu_uuid);
}

agent::SliceFailure failure_of(const agent::SliceTask& task, std::string sentence) {
  return {task.gpu_uuid, task.profile, task.start, task.pod_uid, std::move(sentence)};
}

bool has_unseen_devices(const agent::PodView& pod) {
  return std::ranges::any_of(pod.containers, [](const agent::PodContainerView& container) {
    return container.kubelet_assigned || container.has_claims;
  });
}

}  // namespace

SliceKeeper::SliceKeeper(const Parts& parts, Options options, OnFailure on_failure)
    : parts_(parts), options_(std::move(options)), on_failure_(std::move(on_failure)) {}

SliceKeeper::Key SliceKeeper::key_of(const agent::SliceTask& task) {
  return {task.gpu_uuid, task.profile, task.start, task.pod_uid};
}

SliceKeeper::Key SliceKeeper::key_of(const agent::SliceFailure& failure) {
  return {failure.gpu_uuid, failure.profile, failure.start, failure.pod_uid};
}

bool SliceKeeper::is_due(base::TimePoint now) {
  auto devices = parts_.devices.get();
  const std::uint64_t generation = parts_.sandboxes.generation();
  const bool woken = woken_.exchange(false);
  const bool has_new_devices =
      seen_devices_ == nullptr ||
      (devices != seen_devices_ && devices->devices.gpus != seen_devices_->devices.gpus);
  const bool has_new_sandboxes = std::exchange(seen_generation_, generation) != generation;
  seen_devices_ = std::move(devices);
  return woken || has_new_devices || has_new_sandboxes || now >= next_;
}

bool SliceKeeper::tick(base::TimePoint now) {
  if (!parts_.pods.fresh() || !is_due(now)) return false;
  const Situation situation = look();
  const std::vector<agent::GpuInstance> too_old = expired(now);
  const agent::SlicePlan plan = agent::plan_slices(
      {seen_devices_->devices, situation.wanted, situation.held, situation.no_destroying, too_old});
  note_idle(plan.idle, now);
  note_plan(plan, now);
  const bool has_used_driver = execute(plan, now);
  if (has_used_driver) woken_ = true;
  report_troubles(now);
  const auto troubles = parts_.troubles.get();
  parts_.metrics.slices_counted(std::ssize(plan.idle), std::ssize(troubles->failed));
  schedule(now);
  return has_used_driver;
}

SliceKeeper::Situation SliceKeeper::look() {
  Situation situation;
  ReservedByPod reserved;
  for (const PodBook::PodRef& pod : parts_.pods.pods()) {
    if (pod->finished) continue;
    const auto known = reserved_.find(pod);
    const auto& slices =
        reserved.emplace(pod, known != reserved_.end() ? known->second : read_reservation(*pod))
            .first->second;
    situation.wanted.insert(situation.wanted.end(), slices.begin(), slices.end());
    if (has_unseen_devices(*pod)) {
      situation.no_destroying = "the pod " + pod->name_space + "/" + pod->name +
                                " has devices from the kubelet or by DRA claims, which can be any "
                                "slice";
    }
  }
  reserved_ = std::move(reserved);
  for (const model::Reservation& reservation : parts_.sandboxes.held()) {
    const auto slices = agent::slices_of(reservation);
    situation.held.insert(situation.held.end(), slices.begin(), slices.end());
  }
  if (!parts_.sandboxes.is_complete())
    situation.no_destroying = "the container runtime has not listed its pods yet";
  return situation;
}

std::vector<agent::ReservedSlice> SliceKeeper::read_reservation(const agent::PodView& pod) const {
  const auto reservation = reservation_of(pod, options_.node, options_.limits);
  return reservation ? agent::slices_of(*reservation) : std::vector<agent::ReservedSlice>();
}

std::vector<agent::GpuInstance> SliceKeeper::expired(base::TimePoint now) const {
  std::vector<agent::GpuInstance> too_old;
  if (options_.idle_time.count() == 0) return too_old;
  for (const auto& [instance, since] : idle_since_) {
    if (now - since >= options_.idle_time) too_old.push_back(instance);
  }
  return too_old;
}

void SliceKeeper::note_idle(const std::vector<agent::GpuInstance>& idle, base::TimePoint now) {
  decltype(idle_since_) since;
  for (const agent::GpuInstance& instance : idle) {
    const auto known = idle_since_.find(instance);
    since.emplace(instance, known == idle_since_.end() ? now : known->second);
  }
  idle_since_ = std::move(since);
}

SliceKeeper::Trouble& SliceKeeper::note(agent::SliceFailure what, base::TimePoint now) {
  const auto [place, is_new] = troubles_.try_emplace(key_of(what));
  Trouble& trouble = place->second;
  if (is_new) trouble.since = now;
  trouble.what = std::move(what);
  trouble.is_current = true;
  return trouble;
}

void SliceKeeper::note_plan(const agent::SlicePlan& plan, base::TimePoint now) {
  for (auto& [key, trouble] : troubles_) trouble.is_current = false;
  for (const agent::SliceFailure& failure : plan.failures) note(failure, now).has_failed = true;
  for (const agent::SliceFailure& blocked : plan.blocked) note(blocked, now);
  for (const agent::SliceTask& task : plan.tasks) {
    const auto known = troubles_.find(key_of(task));
    if (known != troubles_.end()) known->second.is_current = true;
  }
  std::erase_if(troubles_, [](const auto& entry) { return !entry.second.is_current; });
}

bool SliceKeeper::execute(const agent::SlicePlan& plan, base::TimePoint now) {
  const auto task = std::ranges::find_if(plan.tasks, [&](const agent::SliceTask& one) {
    const auto known = troubles_.find(key_of(one));
    return known == troubles_.end() || now >= known->second.next_attempt;
  });
  if (task == plan.tasks.end() && plan.expired.empty()) return false;
  if (next_look_at_manager_ && now < *next_look_at_manager_) return false;
  next_look_at_manager_.reset();
  if (const std::string why_not = mig_manager_at_work(); !why_not.empty()) {
    next_look_at_manager_ = now + milliseconds(base::agent_limits::mig_manager_poll_ms);
    for (const agent::SliceTask& waiting : plan.tasks) note(failure_of(waiting, why_not), now);
    return false;
  }
  if (task == plan.tasks.end()) {
    // If a process uses it although no pod does, it is not idle.
    if (!destroy(plan.expired.front())) idle_since_.insert_or_assign(plan.expired.front(), now);
    return true;
  }
  if (const auto made = make(*task); made) {
    troubles_.erase(key_of(*task));
  } else {
    note_attempt(*task, made.error(), now);
  }
  return true;
}

std::string SliceKeeper::mig_manager_at_work() {
  const auto label = parts_.node.read_label(kMigManagerLabel);
  if (!label)
    return "the node's label of NVIDIA's mig-manager is unknown: " + label.error().message;
  const std::optional<std::string>& state = *label;
  if (!state || state->empty() || *state == "success") return {};
  return "NVIDIA's mig-manager is at work: the node's label " + std::string(kMigManagerLabel) +
         " is " + base::in_quotes(*state);
}

base::Result<void> SliceKeeper::make(const agent::SliceTask& task) {
  for (const agent::GpuInstance& instance : task.in_the_way) {
    if (const auto destroyed = destroy(instance); !destroyed) {
      return base::fail(destroyed.error().code,
                        noun_of(instance) + " is in the way: " + destroyed.error().message);
    }
  }
  auto created = parts_.slices.create_slice(task.gpu_uuid, task.profile, task.start);
  parts_.metrics.slice_changed(SliceChange::kCreated, created.has_value());
  if (!created) return created;
  parts_.log.write(service::LogLevel::kInfo, "made a MIG slice",
                   {{"gpu", task.gpu_uuid},
                    {"profile", task.profile},
                    {"start", task.start},
                    {"pod", task.pod_uid}});
  return {};
}

base::Result<void> SliceKeeper::destroy(const agent::GpuInstance& instance) {
  const auto known = parts_.devices.get();
  parts_.devices.set(without(*known, instance));
  parts_.log.write(service::LogLevel::kDebug, "takes an idle MIG slice out of use",
                   {{"gpu", instance.gpu_uuid}, {"start", instance.start}});
  const Situation situation = look();
  const agent::SlicePlanInput now_known{known->devices, situation.wanted, situation.held,
                                        situation.no_destroying};
  if (!parts_.pods.fresh() || !situation.no_destroying.empty() ||
      agent::is_in_use(instance, now_known)) {
    parts_.devices.set(known);
    return base::fail(base::ErrorCode::kConflict, "it is in use, or may be");
  }
  auto destroyed = parts_.slices.destroy_instance(instance.gpu_uuid, instance.gpu_instance);
  parts_.metrics.slice_changed(SliceChange::kDestroyed, destroyed.has_value());
  if (!destroyed) {
    // After other errors it may be gone; the next read of the devices says so.
    if (destroyed.error().code == base::ErrorCode::kConflict) parts_.devices.set(known);
    return destroyed;
  }
  parts_.log.write(
      service::LogLevel::kInfo, "destroyed an idle MIG slice",
      {{"gpu", instance.gpu_uuid}, {"profile", instance.profile}, {"start", instance.start}});
  return {};
}

void SliceKeeper::note_attempt(const agent::SliceTask& task, const base::Error& error,
                               base::TimePoint now) {
  Trouble& trouble = note(failure_of(task, error.message), now);
  // What is in the way may end soon: a process of a pod that has just ended, for example.
  trouble.has_failed = trouble.has_failed || error.code != base::ErrorCode::kConflict;
  milliseconds wait(base::agent_limits::slice_retry_ms);
  for (int i = 0; i < trouble.attempts && wait.count() < base::agent_limits::slice_retry_last_ms;
       ++i)
    wait *= 2;
  ++trouble.attempts;
  trouble.next_attempt =
      now + std::min(wait, milliseconds(base::agent_limits::slice_retry_last_ms));
}

void SliceKeeper::report_troubles(base::TimePoint now) {
  SliceTroubles troubles;
  for (auto& [key, trouble] : troubles_) {
    if (now - trouble.since >= milliseconds(base::agent_limits::slice_blocked_ms))
      trouble.has_failed = true;
    troubles.all.push_back(trouble.what);
    if (!trouble.has_failed) continue;
    troubles.failed.push_back(trouble.what);
    if (std::exchange(trouble.reported, trouble.what.sentence) != trouble.what.sentence)
      report_failure(trouble.what);
  }
  if (*parts_.troubles.get() != troubles)
    parts_.troubles.set(std::make_shared<const SliceTroubles>(std::move(troubles)));
}

void SliceKeeper::report_failure(const agent::SliceFailure& failure) const {
  parts_.log.write(service::LogLevel::kWarn, "a reserved MIG slice cannot be made",
                   {{"gpu", failure.gpu_uuid},
                    {"profile", failure.profile},
                    {"start", failure.start},
                    {"pod", failure.pod_uid},
                    {"reason", failure.sentence}});
  const auto pod = std::ranges::find_if(
      reserved_, [&](const auto& entry) { return entry.first->uid == failure.pod_uid; });
  if (pod != reserved_.end()) on_failure_(*pod->first, failure);
}

void SliceKeeper::schedule(base::TimePoint now) {
  next_ = base::TimePoint::max();
  const auto by = [&](base::TimePoint time) {
    if (time > now) next_ = std::min(next_, time);
  };
  for (const auto& [key, trouble] : troubles_) {
    by(trouble.next_attempt);
    if (!trouble.has_failed) by(trouble.since + milliseconds(base::agent_limits::slice_blocked_ms));
  }
  if (next_look_at_manager_) by(*next_look_at_manager_);
  if (options_.idle_time.count() == 0) return;
  for (const auto& [instance, since] : idle_since_) by(since + options_.idle_time);
}

}  // namespace snug::agent_service

#include "snug/agent_service/container_auditor.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "snug/agent_service/known_sandbox.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

std::string_view event_reason(agent::AuditKind kind) {
  return kind == agent::AuditKind::kStaleDevices ? "StaleDevices" : "ForeignGpu";
}

/// A read of the driver may be wrong, so devices are stale only if the next read says so, too.
milliseconds wait_before(agent::AuditKind kind) {
  if (kind != agent::AuditKind::kStaleDevices) return milliseconds(0);
  return milliseconds(base::agent_limits::device_poll_ms + base::agent_limits::stop_retry_ms);
}

milliseconds wait_after(int tries) {
  std::int64_t wait = base::agent_limits::stop_retry_ms;
  for (int i = 1; i < tries && wait < base::agent_limits::stop_retry_last_ms; ++i) wait *= 2;
  return milliseconds(std::min(wait, base::agent_limits::stop_retry_last_ms));
}

}  // namespace

ContainerAuditor::ContainerAuditor(const Parts& parts, Options options, OnEvent on_event)
    : parts_(parts), options_(std::move(options)), on_event_(std::move(on_event)) {}

void ContainerAuditor::tick(base::TimePoint now, Situation situation) {
  if (!situation.has_devices || !parts_.pods.fresh()) return;
  if (is_due(now)) audit(now);
  forget_ended();
  if (parts_.stopper != nullptr && situation.gives_devices) stop_violators(now);
}

bool ContainerAuditor::is_due(base::TimePoint now) {
  const std::uint64_t lists = parts_.running.lists();
  if (lists == 0) return false;  // the runtime has not been connected yet
  const auto node = parts_.book.get();
  const bool is_new = std::exchange(looked_at_, node) != node;
  const bool has_changed = is_new && (audited_ == nullptr || *node != *audited_);
  return has_changed || now >= next_audit_ || lists != lists_;
}

void ContainerAuditor::audit(base::TimePoint now) {
  next_audit_ = now + milliseconds(base::agent_limits::audit_interval_ms);
  lists_ = parts_.running.lists();
  // Before the devices, so that these are no older than what any of the containers was given.
  const RunningContainers::Refs containers = parts_.running.all();
  audited_ = parts_.book.get();
  std::vector<agent::AuditFinding> found;
  with_inputs(containers, parts_.pods, options_.limits, [&](const auto& inputs) {
    found = agent::audit(inputs,
                         {options_.node, audited_->devices, audited_->files, options_.exemptions});
  });
  Findings findings;
  for (agent::AuditFinding& what : found) {
    const auto container = std::ranges::lower_bound(
        containers, what.container_id, {},
        [](const auto& each) { return std::string_view(each->container.id); });
    const auto before = findings_.find(what.container_id);
    const bool is_known = before != findings_.end() && before->second.what.kind == what.kind;
    Finding finding = is_known ? std::move(before->second) : Finding{};
    finding.what = std::move(what);
    finding.container = *container;
    if (!is_known) {
      finding.next_try = now + wait_before(finding.what.kind);
      report(finding);
    }
    findings.emplace(finding.what.container_id, std::move(finding));
  }
  findings_ = std::move(findings);
  count();
}

void ContainerAuditor::report(const Finding& finding) const {
  const agent::AuditFinding& what = finding.what;
  const bool is_violation = agent::is_violation(what.kind);
  parts_.log.write(is_violation ? service::LogLevel::kWarn : service::LogLevel::kDebug,
                   what.sentence);
  if (is_violation) on_event_(*finding.container->sandbox, event_reason(what.kind), what.sentence);
}

void ContainerAuditor::forget_ended() {
  const std::uint64_t ends = parts_.running.ends();
  if (std::exchange(ends_, ends) == ends) return;
  const auto forgotten = std::erase_if(
      findings_, [this](const auto& entry) { return !parts_.running.has(entry.first); });
  if (forgotten != 0) count();
}

void ContainerAuditor::stop_violators(base::TimePoint now) {
  for (auto& [id, finding] : findings_) {
    if (agent::is_violation(finding.what.kind) && now >= finding.next_try &&
        finding.tries < base::agent_limits::max_stop_tries) {
      stop(finding, now);
      return;  // one at a time: it looks at all processes of the node, and the heartbeat waits
    }
  }
}

void ContainerAuditor::stop(Finding& finding, base::TimePoint now) {
  const agent::ContainerView& container = finding.container->container;
  const auto stopped = parts_.stopper->stop_container(container.id, container.cgroup_path);
  // Before a kill its processes may run where the stopper does not see them.
  if (finding.is_stopped && !stopped && stopped.error().code == base::ErrorCode::kNotFound) {
    parts_.running.ended(container.id);  // the next tick forgets it
    return;
  }
  finding.next_try = now + wait_after(++finding.tries);
  const std::string& sentence = finding.what.sentence;
  if (stopped && !finding.is_stopped) {
    finding.is_stopped = true;
    parts_.metrics.violator_stopped(true);
    parts_.log.write(service::LogLevel::kWarn, "stopped a container: " + sentence);
    on_event_(*finding.container->sandbox, "StoppedContainer",
              "snug-agent has stopped the container: " + sentence);
  }
  if (!stopped) {
    parts_.log.write(service::LogLevel::kWarn,
                     "cannot stop a container: " + stopped.error().message + ": " + sentence);
  }
  if (finding.tries < base::agent_limits::max_stop_tries) return;
  parts_.metrics.violator_stopped(false);
  on_event_(*finding.container->sandbox, "StopFailed",
            "snug-agent cannot stop the container" +
                (stopped ? std::string() : " (" + stopped.error().message + ")") + ": " + sentence);
}

void ContainerAuditor::count() const {
  AuditCounts counts;
  for (const auto& [id, finding] : findings_) {
    switch (finding.what.kind) {
      case agent::AuditKind::kForeignGpu:
        ++counts.foreign_gpu;
        break;
      case agent::AuditKind::kStaleDevices:
        ++counts.stale_devices;
        break;
      case agent::AuditKind::kOutsideGuarantee:
        ++counts.outside_guarantee;
        break;
    }
  }
  parts_.metrics.audited(counts);
}

}  // namespace snug::agent_service

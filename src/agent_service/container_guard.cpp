#include "snug/agent_service/container_guard.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <utility>

#include "snug/agent/runtime_features.hpp"
#include "snug/agent_codec/cdi_writer.hpp"
#include "snug/codec/reservation_codec.hpp"

namespace snug::agent_service {
namespace {

CreationAnswer answer_of(agent::ContainerRole role) {
  switch (role) {
    case agent::ContainerRole::kReserved:
      return CreationAnswer::kReserved;
    case agent::ContainerRole::kKubeletAssigned:
      return CreationAnswer::kKubeletAssigned;
    case agent::ContainerRole::kExempt:
      return CreationAnswer::kExempt;
    case agent::ContainerRole::kOrdinary:
      break;
  }
  return CreationAnswer::kOrdinary;
}

base::Error as_error(const agent::ContainerRefusal& refusal) {
  return {refusal.retry ? base::ErrorCode::kUnavailable : base::ErrorCode::kInvalid,
          "snug: " + refusal.sentence};
}

}  // namespace

ContainerGuard::ContainerGuard(const Parts& parts, Options options, OnViolation on_violation)
    : parts_(parts), options_(std::move(options)), on_violation_(std::move(on_violation)) {}

bool ContainerGuard::connected(const RuntimeView& runtime) {
  const agent::RuntimeFeatures features = agent::runtime_features(runtime.name, runtime.version);
  injects_ = features.cdi_injection;
  parts_.log.write(service::LogLevel::kInfo, "the container runtime is connected",
                   {{"runtime", runtime.name}, {"version", runtime.version}});
  if (!injects_) {
    parts_.log.write(service::LogLevel::kError,
                     "the container runtime cannot add CDI devices for a plug-in, so containers "
                     "are left as they are; containerd 1.7.26 or CRI-O 1.32 is needed");
  }
  parts_.enforcement.runtime_connected(features.validation);
  parts_.metrics.runtime_connected(true);
  return features.validation;
}

void ContainerGuard::disconnected() {
  parts_.enforcement.runtime_disconnected();
  parts_.metrics.runtime_connected(false);
}

void ContainerGuard::synchronized(const std::vector<agent::SandboxView>& sandboxes,
                                  const std::vector<agent::ContainerView>& containers) {
  remove_leftover_specs(sandboxes);
  const base::MutexLock lock(mutex_);
  to_audit_ = Running{sandboxes, containers};
}

ContainerGuard::Known ContainerGuard::known(const agent::SandboxView& sandbox) const {
  Known known{parts_.pods.lookup(sandbox.uid, sandbox.name_space, sandbox.name), std::nullopt};
  const auto annotation = sandbox.annotations.find(codec::kReservationKey);
  if (annotation == sandbox.annotations.end() || annotation->second.empty()) return known;
  auto read = codec::read_reservation(annotation->second, options_.limits);
  known.reservation = read ? agent::ReadReservation(std::move(read->reservation))
                           : agent::ReadReservation(std::unexpect, read.error().message);
  return known;
}

std::expected<agent::ContainerDecision, agent::ContainerRefusal> ContainerGuard::decide(
    const agent::SandboxView& sandbox, const agent::ContainerView& container) const {
  const Known known_pod = known(sandbox);
  const auto node = parts_.book.get();
  return agent::decide_container({sandbox, container, known_pod.pod.get(),
                                  known_pod.reservation ? &*known_pod.reservation : nullptr},
                                 {options_.node, node->devices, node->files, options_.exemptions});
}

base::Result<void> ContainerGuard::write_spec(const agent::CdiSpec& spec) {
  const auto json = agent_codec::write_cdi_spec(spec);
  if (!json) return std::unexpected(json.error());
  return parts_.host.write_cdi_spec(spec.file_name(), *json);
}

base::Result<agent::Adjustment> ContainerGuard::create_container(
    const agent::SandboxView& sandbox, const agent::ContainerView& container) {
  parts_.enforcement.container_requested(sandbox, container);
  if (!injects_) return agent::Adjustment{};
  const base::TimePoint start = parts_.clock.now();
  const auto answered = [&](CreationAnswer answer) {
    parts_.metrics.creation_answered(
        answer,
        std::chrono::duration_cast<std::chrono::microseconds>(parts_.clock.now() - start).count());
  };
  const auto refuse = [&](base::Error error) -> std::unexpected<base::Error> {
    parts_.log.write(
        service::LogLevel::kWarn, "refused a container: " + error.message,
        {{"namespace", sandbox.name_space}, {"pod", sandbox.name}, {"container", container.name}});
    answered(CreationAnswer::kRefused);
    return std::unexpected(std::move(error));
  };
  auto decision = decide(sandbox, container);
  if (!decision) return refuse(as_error(decision.error()));
  if (const std::optional<agent::CdiSpec>& spec = decision->spec; spec) {
    if (auto written = write_spec(*spec); !written) {
      return refuse({written.error().code, "snug: " + written.error().message});
    }
  }
  answered(answer_of(decision->role));
  return std::move(decision->adjustment);
}

base::Result<void> ContainerGuard::validate_container(const ProposedContainer& proposed) {
  const Known known_pod = known(proposed.sandbox);
  const auto node = parts_.book.get();
  const auto verdict = agent::validate_container(
      {proposed.sandbox, proposed.container, known_pod.pod.get(),
       known_pod.reservation ? &*known_pod.reservation : nullptr},
      proposed.adjustment, {options_.node, node->devices, node->files, options_.exemptions});
  parts_.metrics.validation_answered(verdict.has_value());
  if (verdict) return {};
  const base::Error error = as_error(verdict.error());
  parts_.log.write(service::LogLevel::kWarn, "rejected a container: " + error.message,
                   {{"namespace", proposed.sandbox.name_space},
                    {"pod", proposed.sandbox.name},
                    {"container", proposed.container.name}});
  return std::unexpected(error);
}

void ContainerGuard::container_created(const agent::SandboxView& sandbox,
                                       const agent::ContainerView& container) {
  parts_.enforcement.container_created(sandbox, container);
}

void ContainerGuard::sandbox_stopped(const agent::SandboxView& sandbox) {
  remove_specs(sandbox.uid);
  const base::MutexLock lock(mutex_);
  if (findings_.erase(sandbox.id) != 0) count_findings();
}

void ContainerGuard::count_findings() {
  std::int64_t violations = 0;
  std::int64_t outside = 0;
  for (const auto& [sandbox, counts] : findings_) {
    violations += counts.first;
    outside += counts.second;
  }
  parts_.metrics.audited(violations, outside);
}

void ContainerGuard::remove_specs(std::string_view pod_uid) {
  const auto names =
      parts_.host.cdi_specs(std::string(agent::kCdiFilePrefix).append(pod_uid).append("_"));
  if (!names) return;  // the next synchronization finds them
  for (const std::string& name : *names) remove_spec(name);
}

void ContainerGuard::remove_spec(const std::string& name) {
  if (const auto removed = parts_.host.remove_cdi_spec(name); !removed) {
    parts_.log.write(service::LogLevel::kWarn, removed.error().message);
  }
}

void ContainerGuard::remove_leftover_specs(const std::vector<agent::SandboxView>& sandboxes) {
  const auto names = parts_.host.cdi_specs(agent::kCdiFilePrefix);
  if (!names) return;
  for (const std::string& name : *names) {
    const bool is_used = std::ranges::any_of(sandboxes, [&](const agent::SandboxView& sandbox) {
      return name.starts_with(std::string(agent::kCdiFilePrefix).append(sandbox.uid).append("_"));
    });
    if (!is_used) remove_spec(name);
  }
}

void ContainerGuard::tick(bool has_devices) {
  if (!has_devices || !parts_.pods.fresh()) return;
  std::optional<Running> running;
  {
    const base::MutexLock lock(mutex_);
    running = std::exchange(to_audit_, std::nullopt);
  }
  if (running) audit(*running);
}

void ContainerGuard::audit(const Running& running) {
  std::map<std::string_view, std::pair<const agent::SandboxView*, Known>> by_sandbox;
  for (const agent::SandboxView& sandbox : running.sandboxes) {
    by_sandbox.emplace(sandbox.id, std::pair(&sandbox, known(sandbox)));
  }
  std::vector<agent::ContainerInput> inputs;
  for (const agent::ContainerView& container : running.containers) {
    const auto found = by_sandbox.find(container.sandbox_id);
    if (found == by_sandbox.end()) continue;
    const auto& [sandbox, known_pod] = found->second;
    inputs.push_back({*sandbox, container, known_pod.pod.get(),
                      known_pod.reservation ? &*known_pod.reservation : nullptr});
  }
  const auto node = parts_.book.get();
  decltype(findings_) findings;
  for (const agent::AuditFinding& finding :
       agent::audit(inputs, {options_.node, node->devices, node->files, options_.exemptions})) {
    const bool is_violation = finding.kind == agent::AuditKind::kForeignGpu;
    auto& [violations, outside] = findings[finding.sandbox_id];
    ++(is_violation ? violations : outside);
    parts_.log.write(is_violation ? service::LogLevel::kWarn : service::LogLevel::kDebug,
                     finding.sentence);
    const auto found = by_sandbox.find(finding.sandbox_id);
    if (is_violation && found != by_sandbox.end()) on_violation_(*found->second.first, finding);
  }
  const base::MutexLock lock(mutex_);
  findings_ = std::move(findings);
  count_findings();
}

}  // namespace snug::agent_service

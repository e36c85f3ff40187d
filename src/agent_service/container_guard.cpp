#include "snug/agent_service/container_guard.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "snug/agent/runtime_features.hpp"
#include "snug/agent/waiting_pods.hpp"
#include "snug/agent_codec/cdi_writer.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

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
          std::string(agent::kRefusalPrefix) + refusal.sentence};
}

}  // namespace

ContainerGuard::ContainerGuard(const Parts& parts, Options options)
    : parts_(parts), options_(std::move(options)) {}

bool ContainerGuard::connected(const RuntimeView& runtime) {
  const agent::RuntimeFeatures features = agent::runtime_features(runtime.name, runtime.version);
  injects_ = features.cdi_injection;
  parts_.log.write(service::LogLevel::kInfo, "the container runtime is connected",
                   {{"runtime", runtime.name}, {"version", runtime.version}});
  if (!injects_) {
    parts_.log.write(service::LogLevel::kError,
                     "the container runtime cannot add CDI devices for a plug-in, so containers "
                     "are left as they are; containerd 1.7.30, 2.1.3 or CRI-O 1.34.1 is needed");
  }
  parts_.limiter.runtime_connected(features.start_refusal);
  parts_.enforcement.runtime_connected(features);
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
  parts_.running.listed(sandboxes, containers);
  list_sandboxes();
}

/// The runtime also lists sandboxes that have stopped; their containers have ended.
void ContainerGuard::list_sandboxes() {
  SandboxBook::ReservationsBySandbox reservations;
  for (const RunningContainers::Ref& each : parts_.running.all()) {
    const agent::SandboxView& sandbox = *each->sandbox;
    if (reservations.contains(sandbox.id)) continue;
    const KnownSandbox known_pod = known(sandbox);
    if (const auto* reservation = known_pod.own_reservation(sandbox, options_.node))
      reservations.emplace(sandbox.id, *reservation);
  }
  parts_.sandboxes.sandboxes_listed(std::move(reservations));
}

KnownSandbox ContainerGuard::known(const agent::SandboxView& sandbox) const {
  return known_sandbox(parts_.pods, sandbox, options_.limits);
}

ContainerGuard::Shares ContainerGuard::shares() const {
  return {parts_.limiter.settings(), parts_.mps == nullptr ? nullptr : parts_.mps->daemons()};
}

base::Result<void> ContainerGuard::limit(const agent::ContainerInput& input) {
  if (parts_.limiter.settings().limits != model::ShareLimits::kDriver) return {};
  const auto node = parts_.book.get();
  const auto limits = agent::limits_at_start(
      input, {options_.node, node->devices, node->files, options_.exemptions});
  if (!limits) return std::unexpected(as_error(limits.error()));
  const auto done = parts_.limiter.limit(input.container.cgroup_path, *limits);
  if (done) return done;
  return base::fail(done.error().code,
                    "snug: container " + base::in_quotes(input.container.name) +
                        ": its share of a GPU cannot be limited: " + done.error().message);
}

std::expected<agent::ContainerDecision, agent::ContainerRefusal> ContainerGuard::decide(
    const KnownSandbox& known_pod, const agent::SandboxView& sandbox,
    const agent::ContainerView& container) const {
  const auto node = parts_.book.get();
  const auto troubles = parts_.troubles != nullptr ? parts_.troubles->get() : nullptr;
  const Shares known_shares = shares();
  return agent::decide_container(
      known_pod.input(sandbox, container),
      {.name = options_.node,
       .devices = node->devices,
       .files = node->files,
       .exemptions = options_.exemptions,
       .shares = &known_shares.settings,
       .daemons = known_shares.daemons.get(),
       .makes_slices = troubles != nullptr,
       .slice_failures = troubles != nullptr ? std::span(troubles->all)
                                             : std::span<const agent::SliceFailure>()});
}

base::Result<void> ContainerGuard::write_spec(const agent::CdiSpec& spec) {
  const auto json = agent_codec::write_cdi_spec(spec);
  if (!json) return std::unexpected(json.error());
  return parts_.host.write_cdi_spec(spec.file_name(), *json);
}

base::Result<agent::Adjustment> ContainerGuard::create_container(
    const agent::SandboxView& sandbox, const agent::ContainerView& container) {
  const base::TimePoint start = parts_.clock.now();
  parts_.enforcement.container_requested(sandbox, container);
  const KnownSandbox known_pod = known(sandbox);
  // Before anything looks at the devices: see agent_service/sandbox_book.hpp.
  if (const auto* own = known_pod.own_reservation(sandbox, options_.node))
    parts_.sandboxes.sandbox_runs(sandbox.id, *own);
  if (!injects_) return agent::Adjustment{};
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
  auto decision = decide(known_pod, sandbox, container);
  if (!decision) return refuse(as_error(decision.error()));
  if (const std::optional<agent::CdiSpec>& spec = decision->spec; spec) {
    if (auto written = write_spec(*spec); !written) {
      return refuse(
          {written.error().code, std::string(agent::kRefusalPrefix) + written.error().message});
    }
  }
  answered(answer_of(decision->role));
  return std::move(decision->adjustment);
}

base::Result<void> ContainerGuard::validate_container(const ProposedContainer& proposed) {
  const KnownSandbox known_pod = known(proposed.sandbox);
  const auto node = parts_.book.get();
  const Shares known_shares = shares();
  const auto verdict = agent::validate_container(
      known_pod.input(proposed.sandbox, proposed.container), proposed.adjustment,
      {options_.node, node->devices, node->files, options_.exemptions, &known_shares.settings,
       known_shares.daemons.get()});
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
  parts_.running.created(sandbox, container);
  parts_.enforcement.container_created(sandbox, container);
}

base::Result<void> ContainerGuard::start_container(const agent::SandboxView& sandbox,
                                                   const agent::ContainerView& container) {
  parts_.running.created(sandbox, container);
  const KnownSandbox known_pod = known(sandbox);
  auto limited = limit(known_pod.input(sandbox, container));
  if (!limited) {
    parts_.log.write(
        service::LogLevel::kWarn, "refused to start a container: " + limited.error().message,
        {{"namespace", sandbox.name_space}, {"pod", sandbox.name}, {"container", container.name}});
  }
  return limited;
}

void ContainerGuard::container_ended(std::string_view container_id) {
  parts_.running.ended(container_id);
}

void ContainerGuard::sandbox_stopped(const agent::SandboxView& sandbox) {
  remove_specs(sandbox.uid);
  parts_.running.sandbox_stopped(sandbox.id);
  parts_.sandboxes.sandbox_stopped(sandbox.id);
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
  const std::uint64_t lists = parts_.running.lists();
  const std::uint64_t openings = parts_.limiter.driver_openings();
  if (lists != limited_list_ || openings != limited_opening_) {
    limited_list_ = lists;
    limited_opening_ = openings;
    to_limit_ = parts_.running.all();
    next_limits_ = base::TimePoint::min();
  }
  limit_running();
}

void ContainerGuard::limit_running() {
  const base::TimePoint now = parts_.clock.now();
  if (to_limit_.empty() || now < next_limits_) return;
  bool is_unavailable = false;
  const auto limit_each = [&](const std::vector<agent::ContainerInput>& inputs) {
    for (const agent::ContainerInput& input : inputs) {
      // What does not run yet is limited when it starts.
      if (input.container.state == agent::ContainerState::kCreated) continue;
      const auto limited = limit(input);
      if (limited) continue;
      is_unavailable = is_unavailable || limited.error().code == base::ErrorCode::kUnavailable;
      if (!limits_failed_) parts_.log.write(service::LogLevel::kWarn, limited.error().message);
    }
  };
  with_inputs(to_limit_, parts_.pods, options_.limits, limit_each);
  limits_failed_ = is_unavailable;
  next_limits_ = now + std::chrono::milliseconds(base::agent_limits::device_poll_ms);
  if (!is_unavailable) to_limit_.clear();
}

}  // namespace snug::agent_service

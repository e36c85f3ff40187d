// Answers the container runtime: decides what each new container gets, writes its CDI specification
// before the answer, validates what all plug-ins together do, and audits what already runs when the
// agent connects. Everything that an answer needs is in memory; only the CDI specification is
// written to the file system, in memory too on all usual hosts.
//
// Thread-safety: the runtime's thread calls the functions of RuntimeSink, another one tick().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/agent/container_audit.hpp"
#include "snug/agent/container_decision.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/enforcement.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class ContainerGuard final : public RuntimeSink {
 public:
  struct Parts {
    HostFilesPort& host;
    const PodBook& pods;
    const NodeBook& book;
    EnforcementKeeper& enforcement;
    AgentMetrics& metrics;
    service::Log& log;
    const base::Clock& clock;
  };
  struct Options {
    std::string node;
    std::vector<agent::Exemption> exemptions;
    base::Limits limits;
  };
  /// A container of a pod that the audit has found to have a GPU that is not its own.
  using OnViolation = std::function<void(const agent::SandboxView&, const agent::AuditFinding&)>;

  ContainerGuard(const Parts& parts, Options options, OnViolation on_violation);

  bool connected(const RuntimeView& runtime) override SNUG_EXCLUDES(mutex_);
  void disconnected() override;
  void synchronized(const std::vector<agent::SandboxView>& sandboxes,
                    const std::vector<agent::ContainerView>& containers) override
      SNUG_EXCLUDES(mutex_);
  [[nodiscard]] base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) override;
  [[nodiscard]] base::Result<void> validate_container(const ProposedContainer& proposed) override;
  void container_created(const agent::SandboxView& sandbox,
                         const agent::ContainerView& container) override;
  /// Removes the CDI specifications of the pod. They are not removed with their containers: the
  /// kubelet may create a successor of the same name before it removes a container.
  void sandbox_stopped(const agent::SandboxView& sandbox) override SNUG_EXCLUDES(mutex_);

  /// Audits what runs, once after each synchronization, as soon as the pods and GPUs are known.
  /// `has_devices`: whether the GPUs have been read.
  void tick(bool has_devices) SNUG_EXCLUDES(mutex_);

 private:
  struct Running {
    std::vector<agent::SandboxView> sandboxes;
    std::vector<agent::ContainerView> containers;
  };
  /// What is known about the containers of a sandbox.
  struct Known {
    PodBook::PodRef pod;
    std::optional<agent::ReadReservation> reservation;
  };

  [[nodiscard]] Known known(const agent::SandboxView& sandbox) const;
  [[nodiscard]] std::expected<agent::ContainerDecision, agent::ContainerRefusal> decide(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) const;
  [[nodiscard]] base::Result<void> write_spec(const agent::CdiSpec& spec);
  void remove_specs(std::string_view pod_uid);
  void remove_spec(const std::string& name);
  void remove_leftover_specs(const std::vector<agent::SandboxView>& sandboxes);
  void audit(const Running& running) SNUG_EXCLUDES(mutex_);
  void count_findings() SNUG_REQUIRES(mutex_);

  const Parts parts_;
  const Options options_;
  const OnViolation on_violation_;
  bool injects_ = false;  // whether the runtime takes CDI devices; used by its thread alone
  mutable base::Mutex mutex_;
  std::optional<Running> to_audit_ SNUG_GUARDED_BY(mutex_);
  /// The findings of the last audit whose pods still run, by sandbox: violations and containers
  /// outside of the guarantee.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> findings_
      SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::agent_service

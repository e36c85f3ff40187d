// Answers the container runtime: decides what each new container gets, writes its CDI specification
// before the answer, and validates what all plug-ins together do. It enters what runs into
// RunningContainers, which ContainerAuditor audits. Everything that an answer needs is in memory;
// only the CDI specification is written to the file system, in memory too on all usual hosts.
//
// Thread-safety: the runtime's thread calls the functions of RuntimeSink, another one tick().
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_decision.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/enforcement.hpp"
#include "snug/agent_service/known_sandbox.hpp"
#include "snug/agent_service/mps_keeper.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/agent_service/running_containers.hpp"
#include "snug/agent_service/sandbox_book.hpp"
#include "snug/agent_service/share_limiter.hpp"
#include "snug/agent_service/slice_troubles.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
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
    RunningContainers& running;
    SandboxBook& sandboxes;
    ShareLimiter& limiter;
    const SliceTroubleBook* troubles = nullptr;  // null: the agent makes no slices
    MpsKeeper* mps = nullptr;                    // null: no daemons are kept
  };
  struct Options {
    std::string node;
    std::vector<agent::Exemption> exemptions;
    base::Limits limits;
  };
  ContainerGuard(const Parts& parts, Options options);

  bool connected(const RuntimeView& runtime) override;
  void disconnected() override;
  void synchronized(const std::vector<agent::SandboxView>& sandboxes,
                    const std::vector<agent::ContainerView>& containers) override;
  [[nodiscard]] base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) override;
  [[nodiscard]] base::Result<void> validate_container(const ProposedContainer& proposed) override;
  void container_created(const agent::SandboxView& sandbox,
                         const agent::ContainerView& container) override;
  [[nodiscard]] base::Result<void> start_container(const agent::SandboxView& sandbox,
                                                   const agent::ContainerView& container) override;
  void container_ended(std::string_view container_id) override;
  /// Removes the CDI specifications of the pod. They are not removed with their containers: the
  /// kubelet may create a successor of the same name before it removes a container.
  void sandbox_stopped(const agent::SandboxView& sandbox) override;

  /// Has the driver limit what runs, after each synchronization, as soon as the pods and GPUs are
  /// known. `has_devices`: whether the GPUs have been read.
  void tick(bool has_devices);
  /// Whether the runtime takes CDI devices, and so gives containers what is their own. Any thread
  /// may call it.
  [[nodiscard]] bool gives_devices() const { return injects_; }

 private:
  /// What is known about shares on the node.
  struct Shares {
    agent::ShareSettings settings;
    std::shared_ptr<const agent::MpsDaemons> daemons;
  };

  [[nodiscard]] Shares shares() const;
  /// Has the driver limit a container that the runtime has created.
  [[nodiscard]] base::Result<void> limit(const agent::ContainerInput& input);
  [[nodiscard]] KnownSandbox known(const agent::SandboxView& sandbox) const;
  void list_sandboxes();
  [[nodiscard]] std::expected<agent::ContainerDecision, agent::ContainerRefusal> decide(
      const KnownSandbox& known_pod, const agent::SandboxView& sandbox,
      const agent::ContainerView& container) const;
  [[nodiscard]] base::Result<void> write_spec(const agent::CdiSpec& spec);
  void remove_specs(std::string_view pod_uid);
  void remove_spec(const std::string& name);
  void remove_leftover_specs(const std::vector<agent::SandboxView>& sandboxes);
  /// Has the driver limit the containers of `to_limit_`, again and again while it does not answer.
  void limit_running();

  const Parts parts_;
  const Options options_;
  std::atomic<bool> injects_ = false;  // whether the runtime takes CDI devices
  // Used by tick() alone, like all below.
  std::uint64_t limited_list_ = 0;     // RunningContainers::lists() when `to_limit_` was filled
  std::uint64_t limited_opening_ = 0;  // ShareLimiter::driver_openings() then
  RunningContainers::Refs to_limit_;   // running ones whose limits the driver may lack
  base::TimePoint next_limits_ = base::TimePoint::min();
  bool limits_failed_ = false;  // the last time
};

}  // namespace snug::agent_service

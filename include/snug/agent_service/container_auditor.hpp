// Audits the containers that run (agent/container_audit.hpp): after each list of the container
// runtime, after each change of the devices, and every audit_interval_ms. A finding is reported
// once, and ends when its container ends or is right again. If it is to stop violators, it stops
// their containers, in at most max_stop_tries; never exempt ones, and never those that are only
// outside of the guarantee.
//
// Thread-safety: one thread calls tick(), which is not that of the container runtime's calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_audit.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/agent_service/running_containers.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class ContainerAuditor {
 public:
  struct Parts {
    RunningContainers& running;
    const PodBook& pods;
    const NodeBook& book;
    AgentMetrics& metrics;
    service::Log& log;
    ContainerStopPort* stopper = nullptr;  // null: violators are reported, and run on
  };
  struct Options {
    std::string node;
    std::vector<agent::Exemption> exemptions;
    base::Limits limits;
  };
  /// For a warning about the pod. `reason` is of ForeignGpu, StaleDevices, StoppedContainer and
  /// StopFailed.
  using OnEvent =
      std::function<void(const agent::SandboxView&, std::string_view reason, std::string note)>;

  ContainerAuditor(const Parts& parts, Options options, OnEvent on_event);

  struct Situation {
    bool has_devices = false;    // the GPUs have been read
    bool gives_devices = false;  // the runtime takes CDI devices, so that a container which is
                                 // stopped gets what is its own when it starts again
  };
  /// Does what is due at `now`. Costs next to nothing while nothing is. Nothing is audited before
  /// the GPUs and the pods are known.
  void tick(base::TimePoint now, Situation situation);

 private:
  struct Finding {
    agent::AuditFinding what;
    RunningContainers::Ref container;
    int tries = 0;  // to stop it
    base::TimePoint next_try = base::TimePoint::min();
    bool is_stopped = false;  // a try has succeeded, and was reported
  };
  using Findings = std::map<std::string, Finding, std::less<>>;  // by the container's id

  [[nodiscard]] bool is_due(base::TimePoint now);
  void audit(base::TimePoint now);
  void report(const Finding& finding) const;
  /// Ends the findings whose containers have ended.
  void forget_ended();
  void stop_violators(base::TimePoint now);
  void stop(Finding& finding, base::TimePoint now);
  void count() const;

  const Parts parts_;
  const Options options_;
  const OnEvent on_event_;
  Findings findings_;
  std::shared_ptr<const NodeKnowledge> audited_;    // with which the last audit was made
  std::shared_ptr<const NodeKnowledge> looked_at_;  // the last that was compared with it
  base::TimePoint next_audit_ = base::TimePoint::min();
  std::uint64_t lists_ = 0;  // at the last audit
  std::uint64_t ends_ = 0;   // when findings were last ended
};

}  // namespace snug::agent_service

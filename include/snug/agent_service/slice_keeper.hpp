// Makes the MIG slices that the reservations of living pods name, and destroys idle ones that are
// in their way (agent/slice_plan.hpp). It does nothing while the pods of the node are not known,
// and changes no slice while NVIDIA's mig-manager is at work. Before it destroys a slice, it takes
// it out of the NodeBook, and then looks again whether a pod or a sandbox has got it
// (agent_service/sandbox_book.hpp).
//
// Thread-safety: tick() is called by the thread that calls DevicePort::read(), and takes seconds
// when it makes a slice; any thread may call wake().
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/slice_plan.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/agent_service/sandbox_book.hpp"
#include "snug/agent_service/slice_troubles.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

/// The label by which NVIDIA's mig-manager says what it does. `success` or empty: nothing any more.
inline constexpr std::string_view kMigManagerLabel = "nvidia.com/mig.config.state";

class SliceKeeper {
 public:
  struct Parts {
    SlicePort& slices;
    NodePort& node;
    const PodBook& pods;
    NodeBook& devices;
    const SandboxBook& sandboxes;
    SliceTroubleBook& troubles;
    AgentMetrics& metrics;
    service::Log& log;
  };
  struct Options {
    std::string node;
    std::chrono::minutes idle_time{0};  // after which an idle slice is destroyed; 0: never
    base::Limits limits;
  };
  /// A slice of the pod cannot be made, or can still not be made for another reason.
  using OnFailure = std::function<void(const agent::PodView&, const agent::SliceFailure&)>;

  SliceKeeper(const Parts& parts, Options options, OnFailure on_failure);

  /// The pods of the node have changed.
  void wake() { woken_ = true; }
  /// Executes at most one task of the plan. Returns true if it has used the driver: then the
  /// devices must be read again, and after that tick() be called again. Costs next to nothing
  /// while nothing has changed.
  [[nodiscard]] bool tick(base::TimePoint now);

 private:
  /// The place of a reserved slice, for one pod.
  struct Key {
    std::string gpu_uuid;
    std::string profile;
    int start = 0;
    std::string pod_uid;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  /// Why a reserved slice does not exist.
  struct Trouble {
    agent::SliceFailure what;
    base::TimePoint since;
    bool has_failed = false;
    std::string reported;  // the last sentence that was reported as a failure
    int attempts = 0;
    base::TimePoint next_attempt = base::TimePoint::min();
    bool is_current = true;  // the last plan has it
  };
  /// What the plan is about, apart from the devices.
  struct Situation {
    std::vector<agent::ReservedSlice> wanted;
    std::vector<agent::ReservedSlice> held;
    std::string no_destroying;
  };
  using ReservedByPod = std::map<PodBook::PodRef, std::vector<agent::ReservedSlice>>;

  static Key key_of(const agent::SliceTask& task);
  static Key key_of(const agent::SliceFailure& failure);

  [[nodiscard]] bool is_due(base::TimePoint now);
  [[nodiscard]] Situation look();
  [[nodiscard]] std::vector<agent::ReservedSlice> read_reservation(const agent::PodView& pod) const;
  [[nodiscard]] std::vector<agent::GpuInstance> expired(base::TimePoint now) const;
  void note_idle(const std::vector<agent::GpuInstance>& idle, base::TimePoint now);
  void note_plan(const agent::SlicePlan& plan, base::TimePoint now);
  Trouble& note(agent::SliceFailure what, base::TimePoint now);

  [[nodiscard]] bool execute(const agent::SlicePlan& plan, base::TimePoint now);
  [[nodiscard]] std::string mig_manager_at_work();
  /// kConflict: something that is in use is in the way.
  [[nodiscard]] base::Result<void> make(const agent::SliceTask& task);
  [[nodiscard]] base::Result<void> destroy(const agent::GpuInstance& instance);
  void note_attempt(const agent::SliceTask& task, const base::Error& error, base::TimePoint now);

  void report_troubles(base::TimePoint now);
  void report_failure(const agent::SliceFailure& failure) const;
  void schedule(base::TimePoint now);

  const Parts parts_;
  const Options options_;
  const OnFailure on_failure_;
  std::atomic<bool> woken_ = true;
  // Used by the thread of tick() alone, like all below.
  std::shared_ptr<const NodeKnowledge> seen_devices_;
  std::uint64_t seen_generation_ = 0;
  base::TimePoint next_ = base::TimePoint::min();  // when to plan again although nothing changes
  std::optional<base::TimePoint> next_look_at_manager_;
  ReservedByPod reserved_;
  std::map<Key, Trouble> troubles_;
  std::map<agent::GpuInstance, base::TimePoint> idle_since_;
};

}  // namespace snug::agent_service

// The interfaces between the agent's use cases and the outside: the GPU driver, the container
// runtime, the files of the host and the API server. Adapters implement the ports, and so do tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_view.hpp"
#include "snug/agent/device_report.hpp"
#include "snug/agent/driver_files.hpp"
#include "snug/agent/pod_view.hpp"
#include "snug/agent_codec/node_writes.hpp"
#include "snug/base/result.hpp"
#include "snug/base/units.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::agent_service {

/// Something that the driver reports about a GPU while it runs.
struct DeviceEvent {
  std::string uuid;       // of the GPU; empty: the driver names no GPU, so any may be concerned
  std::uint64_t xid = 0;  // NVIDIA's number of the error
};

/// The GPU driver. One thread at a time calls read(); wait_for_event() may run beside it in another
/// thread.
class DevicePort {
 public:
  virtual ~DevicePort() = default;

  /// Reads all GPUs. Without a driver or GPUs the result is empty. kUnavailable: the driver did not
  /// answer; the next call starts anew.
  [[nodiscard]] virtual base::Result<agent::NodeDevices> read() = 0;
  /// Waits up to `timeout` for an event. Nullopt: there was none.
  [[nodiscard]] virtual base::Result<std::optional<DeviceEvent>> wait_for_event(
      std::chrono::milliseconds timeout) = 0;
};

/// Makes and removes MIG slices. Used by the thread that calls DevicePort::read(). The calls take
/// seconds.
class SlicePort {
 public:
  virtual ~SlicePort() = default;

  /// Makes a GPU instance at `start` and a compute instance that fills it. kConflict: something is
  /// in the way. kUnavailable: the driver did not answer. If only the GPU instance could be made,
  /// it is destroyed again.
  [[nodiscard]] virtual base::Result<void> create_slice(std::string_view gpu_uuid,
                                                        std::string_view profile, int start) = 0;
  /// Destroys the GPU instance and its compute instances. Succeeds if there is none. kConflict: a
  /// process uses it, and nothing was destroyed.
  [[nodiscard]] virtual base::Result<void> destroy_instance(std::string_view gpu_uuid,
                                                            int gpu_instance) = 0;
};

/// How much of a GPU is in use.
struct DeviceUsage {
  std::string uuid;
  int memory_percent = 0;
  int compute_percent = 0;  // of the time in which a kernel ran, over the last second
};

/// Used by the thread that calls DevicePort::read().
class UsagePort {
 public:
  virtual ~UsagePort() = default;

  /// GPUs that do not say are left out.
  [[nodiscard]] virtual base::Result<std::vector<DeviceUsage>> read_usage() = 0;
};

/// Limits the memory of a GPU that the processes of a cgroup can use (driver 615 and later, cgroup
/// version 2). Thread-safe.
class MemoryLimitPort {
 public:
  virtual ~MemoryLimitPort() = default;

  [[nodiscard]] virtual bool can_limit() = 0;
  /// How often the driver has been opened. A driver that was loaded anew holds no limits.
  [[nodiscard]] virtual std::uint64_t openings() = 0;
  [[nodiscard]] virtual base::Result<void> limit_memory(std::string_view gpu_uuid,
                                                        std::string_view cgroup_path,
                                                        base::MebiBytes limit) = 0;
};

/// The folder by which the agent and snug-mps talk (snug/mps/mps_files.hpp). Thread-safe.
class MpsPort {
 public:
  virtual ~MpsPort() = default;

  /// Asks for these daemons with these namespaces, and for no others.
  [[nodiscard]] virtual base::Result<void> want_daemons(const mps::WantedDaemons& wanted) = 0;
  /// The states of all daemons that snug-mps has written, by the uuid of the GPU.
  [[nodiscard]] virtual base::Result<std::map<std::string, mps::DaemonState, std::less<>>>
  daemon_states() = 0;
};

/// Pods of the agent's node that wait for their containers.
class WaitingPodPort {
 public:
  virtual ~WaitingPodPort() = default;

  /// Makes the kubelet try to create the pod's containers at once, by the annotation
  /// snug.dev/retry. kNotFound: the pod is gone, or has another uid.
  [[nodiscard]] virtual base::Result<void> retry(std::string_view name_space, std::string_view name,
                                                 std::string_view uid, std::string_view value) = 0;
};

/// The files of the driver on the host, and the folder of CDI specifications. Thread-safe.
class HostFilesPort {
 public:
  virtual ~HostFilesPort() = default;

  [[nodiscard]] virtual base::Result<agent::DriverFiles> driver_files(
      std::string_view driver_version) = 0;
  /// The boot id of the running kernel, as status.nodeInfo.bootID of the node has it.
  [[nodiscard]] virtual base::Result<std::string> boot_id() = 0;
  /// Whether something is at this path of the host.
  [[nodiscard]] virtual bool exists(std::string_view host_path) = 0;
  /// The path by which the agent names a path of the host.
  [[nodiscard]] virtual std::string path_here(std::string_view host_path) const = 0;
  /// Writes a CDI specification atomically. `name` is a file name without a folder. If the agent is
  /// killed meanwhile, a file whose name begins with `name` may stay, which no runtime reads.
  [[nodiscard]] virtual base::Result<void> write_cdi_spec(std::string_view name,
                                                          std::string_view json) = 0;
  /// Succeeds if there is no such file.
  [[nodiscard]] virtual base::Result<void> remove_cdi_spec(std::string_view name) = 0;
  /// The names of all files in the folder of CDI specifications that begin with `prefix`, also of
  /// those that a killed agent has not finished.
  [[nodiscard]] virtual base::Result<std::vector<std::string>> cdi_specs(
      std::string_view prefix) = 0;
};

/// The container runtime, as it introduces itself.
struct RuntimeView {
  std::string name;     // containerd, cri-o
  std::string version;  // v2.4.2
};

/// What a validation is about: the container, and what all plug-ins together do to it.
struct ProposedContainer {
  agent::SandboxView sandbox;
  agent::ContainerView container;  // before any plug-in changed it
  agent::Adjustment adjustment;
};

/// Receives the calls of the container runtime, from one thread, one at a time. No call may block:
/// the runtime creates no other container of the node meanwhile.
class RuntimeSink {
 public:
  virtual ~RuntimeSink() = default;

  /// Called after registration, before any other call. Returns whether to subscribe to validations.
  virtual bool connected(const RuntimeView& runtime) = 0;
  virtual void disconnected() = 0;
  /// All pods and containers that the runtime has.
  virtual void synchronized(const std::vector<agent::SandboxView>& sandboxes,
                            const std::vector<agent::ContainerView>& containers) = 0;
  /// An error refuses the container; the kubelet shows its message and tries again.
  [[nodiscard]] virtual base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) = 0;
  [[nodiscard]] virtual base::Result<void> validate_container(
      const ProposedContainer& proposed) = 0;
  /// The runtime has created the container; it does not run yet.
  virtual void container_created(const agent::SandboxView& sandbox,
                                 const agent::ContainerView& container) = 0;
  /// The runtime is about to start the container, whose cgroup exists now. An error keeps
  /// containerd from starting it; CRI-O starts it nevertheless.
  [[nodiscard]] virtual base::Result<void> start_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) = 0;
  /// The container has ended or was removed. Called once or several times.
  virtual void container_ended(std::string_view container_id) = 0;
  virtual void sandbox_stopped(const agent::SandboxView& sandbox) = 0;
};

/// Ends containers that run on the node. Container runtimes ignore the evictions of NRI
/// (docs/decisions/0035-audit-and-stopping.md).
class ContainerStopPort {
 public:
  virtual ~ContainerStopPort() = default;

  /// Kills the container's processes; the kubelet may start it again, and the agent then decides on
  /// it anew. kNotFound: no process that the agent sees is in the cgroup, so the container has
  /// ended, or runs elsewhere, as in a VM. kInvalid: `cgroup_path` is not that of a container with
  /// this id. kUnavailable: the system refuses. Blocks for milliseconds: it is never called within
  /// a call of RuntimeSink.
  [[nodiscard]] virtual base::Result<void> stop_container(std::string_view container_id,
                                                          std::string_view cgroup_path) = 0;
};

/// The container `probe` of the agent's pod, and the plug-in that it requires.
class ProbePort {
 public:
  virtual ~ProbePort() = default;

  /// Registers the plug-in with the container runtime, and again whenever the connection is lost.
  [[nodiscard]] virtual base::Result<void> register_plugin() = 0;
  virtual void withdraw_plugin() = 0;
  /// Ends the probe, if it runs; the kubelet then starts it again.
  virtual void restart_probe() = 0;
};

/// Receives the pods of the agent's node, from one thread, one call at a time.
class NodePodSink {
 public:
  virtual ~NodePodSink() = default;

  virtual void stream_alive() = 0;
  virtual void stream_lost() = 0;
  /// `pods`: all pods that are bound to the node.
  virtual void pods_listed(std::vector<agent::PodView> pods) = 0;
  virtual void pod_changed(agent::PodView pod) = 0;
  virtual void pod_gone(const agent::PodView& pod) = 0;
};

/// The agent's own Node and heartbeat in the API server. No call lasts longer than apiTimeout.
class NodePort {
 public:
  virtual ~NodePort() = default;

  using Marks = agent_codec::NodeMarks;
  /// kNotFound: the node does not exist.
  [[nodiscard]] virtual base::Result<Marks> read_marks() = 0;
  /// Sets all; nullopt removes the key.
  [[nodiscard]] virtual base::Result<void> write_marks(const Marks& marks) = 0;
  /// The value of a label of the node; nullopt: the node does not have it.
  [[nodiscard]] virtual base::Result<std::optional<std::string>> read_label(
      std::string_view key) = 0;
  /// Renews the Lease `agent.<node>`, or creates it.
  [[nodiscard]] virtual base::Result<void> renew_heartbeat() = 0;
};

}  // namespace snug::agent_service

// The interfaces between the agent's use cases and the outside: the GPU driver, the container
// runtime, the files of the host and the API server. Adapters implement the ports, and so do tests.
#pragma once

#include <chrono>
#include <cstdint>
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

/// The files of the driver on the host, and the folder of CDI specifications. Thread-safe.
class HostFilesPort {
 public:
  virtual ~HostFilesPort() = default;

  [[nodiscard]] virtual base::Result<agent::DriverFiles> driver_files(
      std::string_view driver_version) = 0;
  /// The boot id of the running kernel, as status.nodeInfo.bootID of the node has it.
  [[nodiscard]] virtual base::Result<std::string> boot_id() = 0;
  /// Writes a CDI specification atomically. `name` is a file name without a folder.
  [[nodiscard]] virtual base::Result<void> write_cdi_spec(std::string_view name,
                                                          std::string_view json) = 0;
  /// Succeeds if there is no such file.
  [[nodiscard]] virtual base::Result<void> remove_cdi_spec(std::string_view name) = 0;
  /// The names of all files in the folder of CDI specifications that begin with `prefix`.
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
  virtual void sandbox_stopped(const agent::SandboxView& sandbox) = 0;
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
  /// Sets both; nullopt removes the key.
  [[nodiscard]] virtual base::Result<void> write_marks(const Marks& marks) = 0;
  /// Renews the Lease `agent.<node>`, or creates it.
  [[nodiscard]] virtual base::Result<void> renew_heartbeat() = 0;
};

}  // namespace snug::agent_service

// A node with one MIG card in memory, pods and the container runtime, for the tests of what makes
// slices. One thread uses it.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent_service/container_guard.hpp"
#include "snug/agent_service/slice_keeper.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/mig/card_catalog.hpp"
#include "unit/agent/fake_agent_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug {

/// A driver in memory. Its calls are noted, and fail with the error that is set.
class FakeSlices final : public agent_service::SlicePort {
 public:
  explicit FakeSlices(agent::NodeDevices& devices) : devices_(devices) {}

  base::Result<void> create_slice(std::string_view gpu_uuid, std::string_view profile,
                                  int start) override {
    calls.push_back("create " + std::string(profile) + " " + std::to_string(start));
    if (create_error) return std::unexpected(*create_error);
    const auto gpu = std::ranges::find(devices_.gpus, gpu_uuid, &agent::DeviceReport::uuid);
    const auto offered =
        std::ranges::find(gpu->mig_profiles, profile, &agent::MigProfileReport::name);
    gpu->mig_slices.push_back({.uuid = "MIG-new" + std::to_string(next_instance_),
                               .profile = std::string(profile),
                               .start = start,
                               .size = offered->size,
                               .gpu_instance = next_instance_++});
    return {};
  }
  base::Result<void> destroy_instance(std::string_view gpu_uuid, int gpu_instance) override {
    calls.push_back("destroy " + std::to_string(gpu_instance));
    on_destroy();
    if (destroy_error) return std::unexpected(*destroy_error);
    const auto gpu = std::ranges::find(devices_.gpus, gpu_uuid, &agent::DeviceReport::uuid);
    std::erase_if(gpu->mig_slices,
                  [&](const auto& slice) { return slice.gpu_instance == gpu_instance; });
    return {};
  }
  std::vector<std::string> take() { return std::exchange(calls, {}); }

  std::vector<std::string> calls;
  std::optional<base::Error> create_error;
  std::optional<base::Error> destroy_error;
  std::function<void()> on_destroy = [] {};

 private:
  agent::NodeDevices& devices_;
  int next_instance_ = 20;
};

/// A node whose only label is that of the mig-manager.
class FakeLabel final : public agent_service::NodePort {
 public:
  base::Result<Marks> read_marks() override { return Marks{}; }
  base::Result<void> write_marks(const Marks& /*marks*/) override { return {}; }
  base::Result<void> renew_heartbeat() override { return {}; }
  base::Result<std::optional<std::string>> read_label(std::string_view key) override {
    ++reads;
    on_read();
    if (error) return std::unexpected(*error);
    return key == "nvidia.com/mig.config.state" ? state : std::nullopt;
  }

  std::optional<std::string> state;
  std::optional<base::Error> error;
  int reads = 0;
  std::function<void()> on_read = [] {};
};

/// Keeps warnings, and calls `on_line` with each line.
class WatchedLog final : public service::Log {
 public:
  [[nodiscard]] bool is_enabled(service::LogLevel /*level*/) const override { return true; }
  void write_line(service::LogLevel level, std::string_view message,
                  std::span<const service::LogField> /*fields*/) override {
    if (level == service::LogLevel::kWarn) warnings.emplace_back(message);
    on_line(message);
  }

  std::vector<std::string> warnings;
  std::function<void(std::string_view)> on_line = [](std::string_view) {};
};

/// GPU-m has the slices 1g.5gb at 0 (instance 7) and 2g.10gb at 2 (instance 3). The runtime has
/// listed that it runs nothing, and the node no pods.
class SliceNode {
 public:
  explicit SliceNode(std::chrono::minutes idle_time = {})
      : keeper({slices, label, pods, node_book, sandboxes, troubles, metrics, log},
               {.node = "n1", .idle_time = idle_time},
               [this](const agent::PodView& pod, const agent::SliceFailure& failure) {
                 events.push_back(pod.name + ": " + failure.sentence);
               }) {
    for (const model::MigProfile& profile :
         mig::find_mig_card("NVIDIA-A100-SXM4-40GB", {})->table->profiles) {
      card().mig_profiles.push_back({profile.name, profile.size, profile.memory, profile.starts});
    }
    read_devices();
    sandboxes.sandboxes_listed({});
    pods.pods_listed({});
    pods.stream_alive();
  }

  agent::DeviceReport& card() { return devices.gpus[2]; }
  void read_devices() {
    node_book.set(std::make_shared<agent_service::NodeKnowledge>(
        agent_service::NodeKnowledge{devices, agent::testing::driver_files()}));
  }
  /// Ticks and reads the devices as the agent does, and returns what the driver was asked for.
  std::vector<std::string> settle() {
    while (keeper.tick(clock.now())) read_devices();
    return slices.take();
  }
  std::vector<std::string> settle_after(std::chrono::milliseconds time) {
    clock.advance(time);
    return settle();
  }
  /// A pod whose container `main` has a slice reserved.
  static agent::testing::Case pod_with(const std::string& name, const std::string& profile,
                                       int start) {
    agent::testing::Case c;
    c.sandbox.id = "s-" + name;
    c.sandbox.name = c.pod->name = name;
    c.sandbox.uid = c.pod->uid = c.pod->runtime_uid = "u-" + name;
    const model::Reservation reservation{
        .uid = c.pod->uid,
        .node = "n1",
        .containers = {
            {"main", "gpu-mig-profile=" + profile,
             std::vector{model::ReservedDevice{.index = 2,
                                               .uuid = "GPU-m",
                                               .mode = model::GpuMode::kMig,
                                               .slice = model::Slice{profile, start, 1, ""}}}}}};
    c.pod->annotations = c.sandbox.annotations = codec::write_reservation(reservation, "main", {});
    return c;
  }
  /// The watch shows a pod with this slice.
  agent::PodView bind(const std::string& name, const std::string& profile, int start) {
    agent::PodView pod = *pod_with(name, profile, start).pod;
    pods.pod_changed(pod);
    return pod;
  }
  auto create_container(const agent::testing::Case& c) {
    return guard.create_container(c.sandbox, c.container);
  }
  [[nodiscard]] std::vector<std::string> sentences() const {
    std::vector<std::string> all;
    for (const agent::SliceFailure& trouble : troubles.get()->all) all.push_back(trouble.sentence);
    return all;
  }
  [[nodiscard]] std::size_t failed() const { return troubles.get()->failed.size(); }

  base::ManualClock clock;
  WatchedLog log;
  FakeHostFiles host;
  NotingAgentMetrics metrics;
  agent::NodeDevices devices = agent::testing::three_gpus();
  FakeSlices slices{devices};
  FakeLabel label;
  agent_service::NodeBook node_book;
  agent_service::RunningContainers running;
  agent_service::SandboxBook sandboxes;
  FakeMemoryLimits memory_limits;
  agent_service::ShareLimiter limiter{{memory_limits, host, log}, {}};
  agent_service::SliceTroubleBook troubles;
  agent_service::PodBook pods{[this] { keeper.wake(); }};
  agent_service::EnforcementKeeper enforcement{{"snug", "snug-agent", "own"}};
  agent_service::ContainerGuard guard{{host, pods, node_book, enforcement, metrics, log, clock,
                                       running, sandboxes, limiter, &troubles},
                                      {.node = "n1"}};
  std::vector<std::string> events;  // the pod and the sentence
  agent_service::SliceKeeper keeper;
};

}  // namespace snug

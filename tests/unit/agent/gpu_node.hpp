// A node with three GPUs, and pods on it, for the tests of decisions about containers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/agent/container_decision.hpp"

namespace snug::agent::testing {

inline DriverNode dev(const std::string& name, std::int64_t major, std::int64_t minor) {
  return {"/dev/" + name, "/dev/" + name, major, minor};
}

/// GPU-a (index 0, minor 1), GPU-b (index 1, minor 0, not healthy) and GPU-m (index 2, minor 2,
/// with two MIG slices).
inline NodeDevices three_gpus() {
  NodeDevices devices{.driver_version = "580.95.05"};
  devices.gpus.push_back({.index = 0, .uuid = "GPU-a", .minor = 1});
  devices.gpus.push_back({.index = 1, .uuid = "GPU-b", .minor = 0, .healthy = false});
  devices.gpus.push_back(
      {.index = 2,
       .uuid = "GPU-m",
       .minor = 2,
       .mig_enabled = true,
       .mig_slices = {{"MIG-1", "1g.5gb", 0, 1, 7, 0}, {"MIG-2", "2g.10gb", 2, 2, 3, 0}}});
  return devices;
}

inline DriverFiles driver_files() {
  DriverFiles files;
  files.libraries = {{"/usr/lib64/libcuda.so.580.95.05", "libcuda.so.1"},
                     {"/usr/lib64/libnvidia-encode.so.580.95.05", "libnvidia-encode.so.1"}};
  files.programs = {{"/usr/bin/nvidia-smi", "nvidia-smi"}};
  files.gpu_nodes = {dev("nvidia0", 195, 0), dev("nvidia1", 195, 1), dev("nvidia2", 195, 2)};
  files.control_nodes = {dev("nvidiactl", 195, 255), dev("nvidia-uvm", 511, 0)};
  for (const auto& [gpu_instance, compute_instance, minor] :
       {std::tuple(7, -1, 66), std::tuple(7, 0, 67), std::tuple(3, -1, 30), std::tuple(3, 0, 31)}) {
    files.capability_nodes.push_back(
        {2, gpu_instance, compute_instance,
         dev("nvidia-caps/nvidia-cap" + std::to_string(minor), 508, minor)});
  }
  return files;
}

inline model::ReservedDevice whole(int index, const std::string& uuid) {
  return {.index = index, .uuid = uuid, .mode = model::GpuMode::kWhole};
}

inline model::ReservedDevice slice(const std::string& profile, int start,
                                   const std::string& uuid = {}) {
  return {.index = 2,
          .uuid = "GPU-m",
          .mode = model::GpuMode::kMig,
          .slice = model::Slice{profile, start, 1, uuid}};
}

/// The container `main` of the pod ml/train (uid u-1) on the node n1. The watch knows the pod.
struct Case {
  SandboxView sandbox{.id = "s1", .name = "train", .uid = "u-1", .name_space = "ml"};
  ContainerView container{.id = "c1",
                          .sandbox_id = "s1",
                          .name = "main",
                          .state = ContainerState::kRunning,
                          .env = {"PATH=/usr/bin"}};
  std::optional<PodView> pod = PodView{.name_space = "ml",
                                       .name = "train",
                                       .uid = "u-1",
                                       .runtime_uid = "u-1",
                                       .service_account = "default",
                                       .containers = {{.name = "main"}}};
  std::optional<ReadReservation> reservation;
  NodeDevices devices = three_gpus();
  DriverFiles files = driver_files();
  std::vector<Exemption> exemptions = default_exemptions();

  void reserve(std::vector<model::ReservedDevice> reserved) {
    reservation =
        model::Reservation{"u-1", "n1", {{"main", "gpu-fraction=1", std::move(reserved)}}};
  }
  [[nodiscard]] ContainerInput input() const {
    return {sandbox, container, pod ? &*pod : nullptr, reservation ? &*reservation : nullptr};
  }
  [[nodiscard]] NodeInput node() const { return {"n1", devices, files, exemptions}; }
  [[nodiscard]] auto decide() const { return decide_container(input(), node()); }
  [[nodiscard]] auto validate(const Adjustment& all) const {
    return validate_container(input(), all, node());
  }
};

}  // namespace snug::agent::testing

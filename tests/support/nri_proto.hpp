// NRI's messages and frames as a container runtime writes them, for tests. Does not use the code
// under test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "snug/agent/container_view.hpp"
#include "support/kube_proto.hpp"

namespace snug::nri_proto {

using proto::bytes_field;
using proto::number_field;

inline std::string big_endian(std::size_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>((number >> shift) & 0xffU);
  }
  return bytes;
}

inline std::string frame(std::size_t connection, std::string_view payload) {
  return big_endian(connection) + big_endian(payload.size()) + std::string(payload);
}

inline std::string ttrpc(std::size_t stream, char type, std::string_view payload) {
  return big_endian(payload.size()) + big_endian(stream) + type + '\0' + std::string(payload);
}

/// A request of the runtime, in frames of at most `frame_bytes`.
inline std::string call(std::size_t stream, std::string_view method, std::string_view payload,
                        std::size_t frame_bytes = 1'000'000) {
  const std::string request = ttrpc(stream, 1,
                                    bytes_field(1, "nri.pkg.api.v1alpha1.Plugin") +
                                        bytes_field(2, method) + bytes_field(3, payload));
  std::string frames;
  for (std::size_t at = 0; at < request.size(); at += frame_bytes) {
    frames += frame(1, std::string_view(request).substr(at, frame_bytes));
  }
  return frames;
}

inline std::string entry(std::string_view key, std::string_view value) {
  return bytes_field(1, key) + bytes_field(2, value);
}

inline std::string sandbox(const agent::SandboxView& view) {
  std::string bytes = bytes_field(1, view.id) + bytes_field(2, view.name) +
                      bytes_field(3, view.uid) + bytes_field(4, view.name_space);
  for (const auto& [key, value] : view.labels) bytes += bytes_field(5, entry(key, value));
  for (const auto& [key, value] : view.annotations) bytes += bytes_field(6, entry(key, value));
  return bytes + bytes_field(7, "runc") + bytes_field(8, bytes_field(3, "/kubepods")) +
         number_field(9, 42);
}

inline std::string mount(const agent::MountView& view) {
  std::string bytes =
      bytes_field(1, view.destination) + bytes_field(2, view.type) + bytes_field(3, view.source);
  for (const std::string& option : view.options) bytes += bytes_field(4, option);
  return bytes;
}

inline std::string device(const agent::DeviceNodeView& view) {
  return bytes_field(1, view.path) + bytes_field(2, view.type) + number_field(3, view.major) +
         number_field(4, view.minor) + bytes_field(5, number_field(1, 0666));
}

inline std::string container(const agent::ContainerView& view) {
  std::string bytes = bytes_field(1, view.id) + bytes_field(2, view.sandbox_id) +
                      bytes_field(3, view.name) +
                      number_field(4, static_cast<std::int64_t>(view.state)) +
                      bytes_field(5, entry("label", "value")) + bytes_field(7, "argument");
  for (const auto& [key, value] : view.annotations) bytes += bytes_field(6, entry(key, value));
  for (const std::string& variable : view.env) bytes += bytes_field(8, variable);
  for (const agent::MountView& each : view.mounts) bytes += bytes_field(9, mount(each));
  std::string linux_part = bytes_field(1, entry("pid", ""));
  for (const agent::DeviceNodeView& each : view.devices) {
    linux_part += bytes_field(2, device(each));
  }
  bytes += bytes_field(11, linux_part + bytes_field(5, view.cgroup_path)) + number_field(12, 7);
  for (const std::string& name : view.cdi_devices) {
    bytes += bytes_field(20, bytes_field(1, name));
  }
  return bytes;
}

inline std::string adjustment(const agent::Adjustment& view) {
  std::string bytes = bytes_field(2, entry("annotation", "value"));
  for (const agent::MountView& each : view.mounts) bytes += bytes_field(3, mount(each));
  for (const auto& [name, value] : view.env) bytes += bytes_field(4, entry(name, value));
  std::string linux_part;
  for (const agent::DeviceNodeView& each : view.devices) {
    linux_part += bytes_field(1, device(each));
  }
  bytes += bytes_field(6, linux_part + bytes_field(3, "/cgroup"));
  for (const std::string& name : view.cdi_devices) bytes += bytes_field(8, bytes_field(1, name));
  return bytes;
}

inline agent::SandboxView example_sandbox() {
  return {.id = "s1",
          .name = "train",
          .uid = "uid-1",
          .name_space = "team-a",
          .labels = {{"app", "x"}},
          .annotations = {{"snug.dev/reservation", "{}"}, {"snug.dev/gpu", ""}}};
}

inline agent::ContainerView example_container() {
  return {.id = "c1",
          .sandbox_id = "s1",
          .name = "main",
          .state = agent::ContainerState::kRunning,
          .annotations = {{"io.kubernetes.container.hash", "1"}},
          .env = {"PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"},
          .mounts = {{"/host", "/in", "bind", {"ro", "rbind"}}, {"", "/proc", "proc", {}}},
          .devices = {{"/dev/nvidia0", "c", 195, 0}, {"/dev/b", "b", 8, -1}},
          .cdi_devices = {"nvidia.com/gpu=0"},
          .cgroup_path = "/kubepods/c1"};
}

inline agent::Adjustment example_adjustment() {
  return {.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}, {"EMPTY", ""}},
          .mounts = {{"/run/mps", "/mps", "bind", {"rw"}}},
          .devices = {{"/dev/nvidia1", "c", 195, 1}},
          .cdi_devices = {"snug.dev/gpu=uid-1_main"}};
}

}  // namespace snug::nri_proto

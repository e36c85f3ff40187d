#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "snug/agent/container_decision.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using ::testing::HasSubstr;

/// A container of each role that may be changed, and what the agent does to it.
Case case_of(ContainerRole role) {
  Case c;
  if (role == ContainerRole::kReserved) c.reserve({whole(0, "GPU-a")});
  if (role == ContainerRole::kKubeletAssigned) {
    c.pod->containers[0].kubelet_assigned = true;
    c.container.cdi_devices = {"k8s.gpu.nvidia.com/claim=1-gpu-0"};
  }
  if (role == ContainerRole::kExempt) {
    c.sandbox.name_space = c.pod->name_space = "gpu-operator";
    c.pod->service_account = "nvidia-dcgm";
  }
  return c;
}

constexpr auto kReserved = ContainerRole::kReserved;
constexpr auto kAssigned = ContainerRole::kKubeletAssigned;
constexpr auto kExempt = ContainerRole::kExempt;
constexpr auto kOrdinary = ContainerRole::kOrdinary;

struct AdditionRow {
  std::string sentence;  // a part of the refusal
  std::vector<ContainerRole> refused;
  std::function<void(Adjustment&)> add;
};

TEST(ContainerValidationTest, OtherPluginsMayAddNoGpuExceptToExemptContainers) {
  const std::vector<ContainerRole> all = {kReserved, kAssigned, kOrdinary};
  const auto device = [](const char* name) {
    return [name](Adjustment& a) { a.cdi_devices.emplace_back(name); };
  };
  const auto node = [](const char* path, int major, int minor) {
    return [path, major, minor](Adjustment& a) { a.devices.push_back({path, "c", major, minor}); };
  };
  const std::vector<AdditionRow> rows = {
      {"", {}, [](Adjustment&) {}},
      {"", {}, device("vendor.example/nic=1")},
      {"", {}, device("notnvidia.com/gpu=1")},
      {"", {}, node("/dev/fuse", 10, 229)},
      {"", {}, [](Adjustment& a) { a.env.emplace_back("OTHER", "x"); }},
      {"the CDI device \"nvidia.com/gpu=all\"", all, device("nvidia.com/gpu=all")},
      {"the CDI device", all, device("management.nvidia.com/gpu=all")},
      {"the CDI device", all, device("k8s.device-plugin.nvidia.com/gpu=GPU-b")},
      {"the CDI device", all, device("snug.dev/gpu=u-2_main")},
      {"the device node \"/dev/nvidia0\"", all, node("/dev/nvidia0", 1, 3)},
      {"the device node \"/dev/nvidia-uvm\"", all, node("/dev/nvidia-uvm", 511, 0)},
      {"the device node \"/tmp/gpu\"", all, node("/tmp/gpu", 195, 0)},
      {"the device node \"/tmp/cap\"", all, node("/tmp/cap", 508, 30)},
      {"the device node \"/dev/../dev/nvidia0\"", all, node("/dev/../dev/nvidia0", 1, 3)},
      {"a mount at", all,
       [](Adjustment& a) {
         a.mounts.push_back({"/dev/null", "/run/nvidia-container-devices/all", "bind", {}});
       }},
      {"a mount at", all,  // NVIDIA's toolkit compares the beginnings of the paths
       [](Adjustment& a) {
         a.mounts.push_back({"/dev/null", "/var/run/nvidia-container-devicesall", "bind", {}});
       }},
      {"NVIDIA_VISIBLE_DEVICES", all,
       [](Adjustment& a) { a.env.emplace_back("NVIDIA_VISIBLE_DEVICES", "all"); }},
      {"NVIDIA_VISIBLE_DEVICES", all,
       [](Adjustment& a) { a.env.emplace_back("-NVIDIA_VISIBLE_DEVICES", ""); }},
      {"NVIDIA_VISIBLE_DEVICES", all, [](Adjustment& a) { a.env.clear(); }},
      {"its CDI device \"snug.dev/gpu=u-1_main\" is missing",
       {kReserved},
       [](Adjustment& a) { a.cdi_devices.clear(); }},
  };
  for (const AdditionRow& row : rows) {
    for (const ContainerRole role : {kReserved, kAssigned, kExempt, kOrdinary}) {
      SCOPED_TRACE(row.sentence + ", " + std::string(to_string(role)));
      const Case c = case_of(role);
      const auto decision = c.decide();
      ASSERT_TRUE(decision) << decision.error().sentence;
      ASSERT_EQ(decision->role, role);
      Adjustment adjustment = decision->adjustment;
      row.add(adjustment);
      const auto valid = c.validate(adjustment);
      const bool refused = std::ranges::find(row.refused, role) != row.refused.end();
      ASSERT_EQ(!valid, refused) << (valid ? "" : valid.error().sentence);
      if (!valid) {
        EXPECT_THAT(valid.error().sentence, HasSubstr(row.sentence));
        EXPECT_THAT(valid.error().sentence, HasSubstr("container \"main\" of the pod ml/train"));
      }
    }
  }
}

TEST(ContainerValidationTest, ADeviceNodeOfAPrivilegedContainerIsOutsideOfTheGuarantee) {
  Case c;
  const Adjustment adjustment{.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}},
                              .devices = {{"/dev/nvidia0", "c", 195, 0}}};
  EXPECT_FALSE(c.validate(adjustment));
  c.pod->containers[0].privileged = true;
  EXPECT_TRUE(c.validate(adjustment));
}

TEST(ContainerValidationTest, AContainerWithClaimsKeepsItsDevicesAndVoid) {
  Case c;
  c.pod->containers[0].has_claims = true;
  c.container.cdi_devices = {"k8s.gpu.nvidia.com/claim=1-gpu-0"};
  c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
  EXPECT_TRUE(c.validate({.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}}));
  EXPECT_FALSE(c.validate({.env = {{"NVIDIA_VISIBLE_DEVICES", "all"}}}));
  EXPECT_FALSE(c.validate({}));
}

TEST(ContainerValidationTest, WhatIsRefusedAtCreationIsRefusedAgain) {
  Case c;
  const Adjustment adjustment{.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}};
  EXPECT_TRUE(c.validate(adjustment));
  c.sandbox.annotations["nvidia.cdi.k8s.io/container.main"] = "nvidia.com/gpu=0";
  EXPECT_FALSE(c.validate(adjustment));
  c.sandbox.annotations.clear();
  c.pod.reset();
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
  const auto valid = c.validate(adjustment);
  ASSERT_FALSE(valid);
  EXPECT_TRUE(valid.error().retry);
}

}  // namespace
}  // namespace snug::agent::testing

#include "snug/agent/container_decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Change = std::function<void(Case&)>;

const auto kVoid = Pair("NVIDIA_VISIBLE_DEVICES", "void");

std::vector<std::string> paths_of(const CdiSpec& spec) {
  std::vector<std::string> paths;
  for (const DriverNode& node : spec.nodes) paths.push_back(node.path);
  return paths;
}

std::vector<std::string> mounts_of(const CdiSpec& spec) {
  std::vector<std::string> paths;
  for (const CdiMount& mount : spec.mounts) paths.push_back(mount.container_path);
  return paths;
}

struct DevicesRow {
  std::string_view name;
  std::vector<model::ReservedDevice> reserved;
  std::vector<std::string> nodes;  // besides the control nodes
};

TEST(ContainerDecisionTest, AReservedContainerGetsTheNodesOfItsDevicesAlone) {
  const std::vector<DevicesRow> rows = {
      {"by uuid, whatever the index", {whole(1, "GPU-a")}, {"/dev/nvidia1"}},
      {"by index without a uuid", {whole(1, "")}, {"/dev/nvidia0"}},
      {"not healthy, but its own", {whole(1, "GPU-b")}, {"/dev/nvidia0"}},
      {"two, sorted, once",
       {whole(0, "GPU-a"), whole(1, "GPU-b"), whole(0, "GPU-a")},
       {"/dev/nvidia0", "/dev/nvidia1"}},
      {"a slice by its place",
       {slice("2g.10gb", 2)},
       {"/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap30", "/dev/nvidia-caps/nvidia-cap31"}},
      {"a slice by its place, whatever its uuid and the form of its profile's name",
       {slice("1c.1g.5gb", 0, "MIG-9")},
       {"/dev/nvidia2", "/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67"}},
  };
  for (const DevicesRow& row : rows) {
    SCOPED_TRACE(row.name);
    Case c;
    c.reserve(row.reserved);
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << decision.error().sentence;
    EXPECT_EQ(decision->role, ContainerRole::kReserved);
    std::vector<std::string> expected = row.nodes;
    const auto caps = std::ranges::find_if(
        expected, [](const std::string& path) { return path.contains("caps"); });
    expected.insert(caps, {"/dev/nvidiactl", "/dev/nvidia-uvm"});
    EXPECT_EQ(paths_of(*decision->spec), expected);
    EXPECT_EQ(decision->spec->device, "u-1_main");
    EXPECT_THAT(decision->adjustment.cdi_devices, ElementsAre("snug.dev/gpu=u-1_main"));
    EXPECT_THAT(decision->adjustment.env,
                ElementsAre(kVoid, Pair("PATH", "/usr/bin:/usr/local/nvidia/bin"),
                            Pair("LD_LIBRARY_PATH", "/usr/local/nvidia/lib64")));
    EXPECT_TRUE(decision->adjustment.devices.empty() && decision->adjustment.mounts.empty());
  }
}

TEST(ContainerDecisionTest, AReservationIsEnoughWhileTheWatchDoesNotKnowThePod) {
  Case c;
  c.reserve({whole(0, "GPU-a")});
  c.pod.reset();
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
  const auto decision = c.decide();
  ASSERT_TRUE(decision) << decision.error().sentence;
  EXPECT_EQ(decision->role, ContainerRole::kReserved);
}

struct EnvRow {
  std::vector<std::string> env;
  std::vector<std::pair<std::string, std::string>> changes;  // besides NVIDIA_VISIBLE_DEVICES
};

TEST(ContainerDecisionTest, PathsAreExtendedUnlessTheyHaveTheFolders) {
  const std::string image_path = "PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/bin";
  const std::vector<EnvRow> rows = {
      {{image_path, "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64"}, {}},
      {{image_path}, {{"LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"}}},
      {{image_path, "LD_LIBRARY_PATH="}, {{"LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"}}},
      {{"PATH=/usr/local/nvidia/binaries", "LD_LIBRARY_PATH=/x:/usr/local/nvidia/lib64"},
       {{"PATH", "/usr/local/nvidia/binaries:/usr/local/nvidia/bin"}}},
      {{"LD_LIBRARY_PATH=/usr/local/nvidia/lib64", "MYPATH=/a", "PATH"},
       {{"PATH",
         "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/nvidia/bin"}}},
  };
  for (const EnvRow& row : rows) {
    Case c;
    c.reserve({whole(0, "GPU-a")});
    c.container.env = row.env;
    const auto decision = c.decide();
    ASSERT_TRUE(decision);
    auto expected = row.changes;
    expected.insert(expected.begin(), {"NVIDIA_VISIBLE_DEVICES", "void"});
    EXPECT_EQ(decision->adjustment.env, expected) << row.env.front();
  }
}

TEST(ContainerDecisionTest, LibrariesBeyondComputeAndUtilityNeedADriverCapability) {
  const std::string cuda = "/usr/local/nvidia/lib64/libcuda.so.1";
  const std::string encode = "/usr/local/nvidia/lib64/libnvidia-encode.so.1";
  const std::string smi = "/usr/local/nvidia/bin/nvidia-smi";
  const std::vector<std::pair<std::string, bool>> rows = {
      {"", false},      {"compute,utility", false}, {"graphics", false},
      {"video", true},  {"compute, video ", true},  {"all", true},
      {"videos", false}};
  for (const auto& [value, has_video] : rows) {
    Case c;
    c.reserve({whole(0, "GPU-a")});
    c.container.env.push_back("NVIDIA_DRIVER_CAPABILITIES=" + value);
    const auto decision = c.decide();
    ASSERT_TRUE(decision);
    EXPECT_EQ(mounts_of(*decision->spec),
              has_video ? std::vector({cuda, encode, smi}) : std::vector({cuda, smi}))
        << value;
  }
}

struct UnchangedRow {
  std::string_view name;
  Change change;
  ContainerRole role;
};

TEST(ContainerDecisionTest, OnlyTheSpecificationAndTheOperatorMakeAnUnchangedContainer) {
  const Change assigned = [](Case& c) {
    c.pod->containers[0].kubelet_assigned = true;
    c.container.env = {"NVIDIA_VISIBLE_DEVICES=GPU-a"};
    c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
    c.container.mounts = {{"/dev/null", "/var/run/nvidia-container-devices/GPU-a", "bind", {}}};
  };
  const std::vector<UnchangedRow> rows = {
      {"limits", assigned, ContainerRole::kKubeletAssigned},
      {"a reservation of units",
       [assigned](Case& c) {
         assigned(c);
         c.reservation = model::Reservation{
             "u-1", "n1", {{"main", "", model::KubeletUnits{"nvidia.com/gpu", 1}}}};
       },
       ContainerRole::kKubeletAssigned},
      {"limits beside claims",
       [assigned](Case& c) {
         assigned(c);
         c.pod->containers[0].has_claims = true;
       },
       ContainerRole::kKubeletAssigned},
      {"limits beside a reservation for another pod",
       [assigned](Case& c) {
         assigned(c);
         c.reserve({whole(0, "GPU-a")});
         (*c.reservation)->uid = "u-2";
       },
       ContainerRole::kKubeletAssigned},
      {"the operator's list",
       [](Case& c) {
         c.sandbox.name_space = c.pod->name_space = "gpu-operator";
         c.pod->service_account = "nvidia-device-plugin";
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
         c.sandbox.annotations["nvidia.cdi.k8s.io/container.main"] =
             "management.nvidia.com/gpu=all";
         c.pod->containers[0].has_claims = true;
       },
       ContainerRole::kExempt},
  };
  for (const UnchangedRow& row : rows) {
    SCOPED_TRACE(row.name);
    Case c;
    row.change(c);
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << decision.error().sentence;
    EXPECT_EQ(*decision, ContainerDecision{.role = row.role});
  }
}

TEST(ContainerDecisionTest, AnImageThatAsksForAllGpusGetsThoseOfTheDevicePluginAlone) {
  const std::vector<std::string> by_cdi{"k8s.device-plugin.nvidia.com/gpu=GPU-a"};
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> rows = {
      {{}, {"NVIDIA_VISIBLE_DEVICES=all"}},
      {by_cdi, {"NVIDIA_VISIBLE_DEVICES=all"}},
      {by_cdi, {"NVIDIA_VISIBLE_DEVICES=GPU-b"}},
      // The plug-in gives GPUs by annotations, which NRI does not show. Without the variable,
      // NVIDIA's runtime would give all GPUs to a container that has CUDA_VERSION.
      {{}, {"CUDA_VERSION=12"}},
      {{}, {"NVIDIA_VISIBLE_DEVICES="}},
      {{}, {"NVIDIA_VISIBLE_DEVICES=void"}}};
  for (const auto& [cdi_devices, env] : rows) {
    for (const bool has_env_from : {false, true}) {
      SCOPED_TRACE(env.front() + (has_env_from ? " by envFrom" : ""));
      Case c;
      c.pod->containers[0].kubelet_assigned = true;
      c.pod->containers[0].has_env_from = has_env_from;
      c.container.env = env;
      c.container.cdi_devices = cdi_devices;
      const auto decision = c.decide();
      ASSERT_TRUE(decision) << decision.error().sentence;
      EXPECT_EQ(*decision,
                (ContainerDecision{.role = ContainerRole::kKubeletAssigned,
                                   .adjustment = {.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}}}));
    }
  }
}

struct OrdinaryRow {
  std::string_view name;
  Change change;
};

TEST(ContainerDecisionTest, WhateverElseAContainerSaysItGetsVoid) {
  const std::vector<OrdinaryRow> rows = {
      {"nothing", [](Case&) {}},
      {"its image asks for all", [](Case& c) { c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"}; }},
      {"its env asks",
       [](Case& c) {
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=GPU-a"};
         c.pod->containers[0].sets_visible_devices = true;
       }},
      {"forged annotations",
       [](Case& c) {
         c.sandbox.annotations = {{"snug.dev/visible-devices", "GPU-a"},
                                  {"snug.dev/visible-devices.main", "GPU-a"},
                                  {"snug.dev/memory-limit.main", "0=1M"}};
       }},
      {"the reservation is for another container",
       [](Case& c) {
         c.reserve({whole(0, "GPU-a")});
         (*c.reservation)->containers[0].name = "other";
       }},
      {"a reservation for another pod without this container",
       [](Case& c) { c.reservation = model::Reservation{"u-2", "n1", {}}; }},
      {"a reservation without devices", [](Case& c) { c.reserve({}); }},
      {"an unreadable reservation",
       [](Case& c) { c.reservation = std::unexpected(std::string("version: expected 1")); }},
      {"the service account is not the operator's",
       [](Case& c) { c.sandbox.name_space = c.pod->name_space = "gpu-operator"; }},
      {"the namespace is not the operator's",
       [](Case& c) { c.pod->service_account = "nvidia-device-plugin"; }},
      {"privileged, with all devices of the host",
       [](Case& c) {
         c.pod->containers[0].privileged = true;
         c.container.devices = {{"/dev/nvidia0", "c", 195, 0}};
       }},
      {"the watch does not know the pod, which shows nothing of a GPU",
       [](Case& c) {
         c.pod.reset();
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=none"};
         c.container.devices = {{"/dev/fuse", "c", 10, 229}, {"/dev/sdz", "b", 195, 0}};
         c.container.cdi_devices = {"vendor.example/nic=0"};
       }},
      {"a harmless CDI annotation",
       [](Case& c) { c.sandbox.annotations["cdi.k8s.io/x"] = "vendor.example/nic=0"; }},
  };
  for (const OrdinaryRow& row : rows) {
    SCOPED_TRACE(row.name);
    Case c;
    row.change(c);
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << decision.error().sentence;
    EXPECT_EQ(*decision,
              (ContainerDecision{.role = ContainerRole::kOrdinary,
                                 .adjustment = {.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}}}));
  }
}

TEST(ContainerDecisionTest, ClaimsGiveWhatTheKubeletGaveAndNothingByTheVariable) {
  for (const bool sets_variable : {false, true}) {
    Case c;
    c.pod->containers[0].has_claims = true;
    c.pod->containers[0].sets_visible_devices = sets_variable;
    c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
    c.container.cdi_devices = {"k8s.gpu.nvidia.com/claim=1-gpu-0"};
    c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
    const auto decision = c.decide();
    ASSERT_TRUE(decision) << decision.error().sentence;
    EXPECT_EQ(*decision,
              (ContainerDecision{.role = ContainerRole::kKubeletAssigned,
                                 .adjustment = {.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}}}));
  }
}

struct RefusalRow {
  std::string sentence;  // a part of it
  bool retry;
  Change change;
};

void expect_refusals(const std::vector<RefusalRow>& rows) {
  for (const RefusalRow& row : rows) {
    SCOPED_TRACE(row.sentence);
    Case c;
    row.change(c);
    const auto decision = c.decide();
    ASSERT_FALSE(decision);
    EXPECT_THAT(decision.error().sentence, HasSubstr(row.sentence));
    EXPECT_THAT(decision.error().sentence, HasSubstr("container \"main\" of the pod"));
    EXPECT_EQ(decision.error().retry, row.retry);
  }
}

TEST(ContainerDecisionTest, AReservedContainerIsRefusedWhileADeviceIsMissing) {
  const auto reserving = [](std::vector<model::ReservedDevice> devices, const Change& then = {}) {
    return [devices = std::move(devices), then](Case& c) {
      c.reserve(devices);
      if (then) then(c);
    };
  };
  expect_refusals({
      {R"(the GPU "GPU-x" is reserved, but does not exist on this node; the GPU with the index 0 is now "GPU-a")",
       true, reserving({whole(0, "GPU-x")})},
      {"the GPU with the index 5 is reserved, but does not exist", true,
       reserving({whole(0, "GPU-a"), whole(5, "")})},
      {"the driver reports no GPUs", true,
       reserving({whole(0, "GPU-a")}, [](Case& c) { c.devices = {}; })},
      {R"(the slice "3g.20gb" at 4 of the GPU "GPU-m" does not exist)", true,
       reserving({slice("3g.20gb", 4)})},
      {R"(the slice "1g.5gb" at 2 of the GPU "GPU-m" does not exist)", true,
       reserving({slice("1g.5gb", 2)})},
      {"is reserved without a slice, but is in MIG mode", true, reserving({whole(2, "GPU-m")})},
      {"the device node /dev/nvidia1 of the GPU \"GPU-a\" does not exist", true,
       reserving({whole(0, "GPU-a")}, [](Case& c) { c.files.gpu_nodes.resize(1); })},
      {"the device node /dev/nvidia-uvm does not exist", true,
       reserving({whole(0, "GPU-a")}, [](Case& c) { c.files.control_nodes.pop_back(); })},
      {"no capability for the slice \"MIG-2\" in /proc/driver/nvidia/capabilities/gpu2/mig/gi3",
       true,
       reserving({slice("2g.10gb", 2)}, [](Case& c) { c.files.capability_nodes.pop_back(); })},
  });
}

TEST(ContainerDecisionTest, WhereTheAgentMakesSlicesTheRefusalSaysWhyOneIsNotThere) {
  Case c;
  c.reserve({slice("1g.5gb", 1)});
  const std::vector<SliceFailure> failures = {{"GPU-m", "2g.10gb", 1, "u-2", "another profile"},
                                              {"GPU-x", "1g.5gb", 1, "u-1", "another GPU"},
                                              {"GPU-m", "1g.5gb", 1, "u-1", "the driver said no"}};
  const auto sentence = [&](std::size_t known) {
    NodeInput node = c.node();
    node.makes_slices = true;
    node.slice_failures = std::span(failures).first(known);
    const auto decision = decide_container(c.input(), node);
    return decision ? "" : decision.error().sentence;
  };
  const std::string not_made = R"(the slice "1g.5gb" at 1 of the GPU "GPU-m" is not made yet)";
  EXPECT_TRUE(sentence(2).ends_with(not_made)) << sentence(2);
  EXPECT_TRUE(sentence(3).ends_with(not_made + ": the driver said no")) << sentence(3);
}

TEST(ContainerDecisionTest, ABadReservationGivesNoGpuAndSaysWhy) {
  const auto reserving = [](const Change& then) {
    return [then](Case& c) {
      c.reserve({whole(0, "GPU-a")});
      then(c);
    };
  };
  expect_refusals({
      {R"(is for the pod with the uid "u-2"; the uid of this pod is "u-1")", false,
       reserving([](Case& c) { (*c.reservation)->uid = "u-2"; })},
      {R"(is for the node "n2"; this node is "n1")", false,
       reserving([](Case& c) { (*c.reservation)->node = "n2"; })},
      {"is in a static pod", false, reserving([](Case& c) { c.pod->uid = "mirror"; })},
      {"is in a static pod", false,
       reserving([](Case& c) { c.sandbox.annotations["kubernetes.io/config.source"] = "file"; })},
      {"snug.dev/reservation cannot be read: version: expected 1", false,
       [](Case& c) {
         c.reservation = std::unexpected(std::string("version: expected 1"));
         c.sandbox.annotations["snug.dev/visible-devices.main"] = "GPU-a";
       }},
  });
}

TEST(ContainerDecisionTest, GpusThatEnvFromMayHaveNamedAreRefused) {
  for (const char* entry : {"", "NVIDIA_VISIBLE_DEVICES=void"}) {
    Case c;
    c.pod->containers[0].kubelet_assigned = true;
    c.pod->containers[0].has_env_from = true;
    c.container.env = {"NVIDIA_VISIBLE_DEVICES=GPU-b", entry};
    const auto decision = c.decide();
    ASSERT_FALSE(decision);
    EXPECT_THAT(decision.error().sentence, HasSubstr("its envFrom may set NVIDIA_VISIBLE_DEVICES"));
    EXPECT_FALSE(decision.error().retry);
  }
}

TEST(ContainerDecisionTest, RequestsByOtherWaysAreRefused) {
  const Change unknown = [](Case& c) { c.pod.reset(); };
  const auto both = [](const Change& first, const Change& then) {
    return [first, then](Case& c) { first(c), then(c); };
  };
  const Change node = [](Case& c) { c.container.devices = {{"/dev/x", "c", 508, 30}}; };
  const Change device = [](Case& c) { c.container.cdi_devices = {"nvidia.com/gpu=0"}; };
  const Change mount = [](Case& c) {
    c.container.mounts = {{"/dev/null", "/var//run/./nvidia-container-devices/all", "bind", {}}};
  };
  const Change reserved = [](Case& c) { c.reserve({whole(0, "GPU-a")}); };
  const Change assigned = [](Case& c) { c.pod->containers[0].kubelet_assigned = true; };
  const Change claims = [](Case& c) { c.pod->containers[0].has_claims = true; };
  const auto annotation = [](std::string key, std::string value) {
    return [key, value](Case& c) { c.sandbox.annotations[key] = value; };
  };
  const std::string not_yet = "has not shown its pod's specification to snug-agent yet";
  expect_refusals({
      {"its mount at", false, mount},
      {"its mount at", false, both(reserved, mount)},
      {"its mount at", false, both(claims, mount)},
      {"the kubelet gives it the CDI device \"nvidia.com/gpu=0\"", false, device},
      {"the kubelet gives it the CDI device", false, both(reserved, device)},
      {"it has the device node \"/dev/x\"", false, node},
      {"it has the device node \"/dev/x\"", true, both(unknown, both(reserved, node))},
      {R"(the annotation "nvidia.cdi.k8s.io/container.main")", false,
       annotation("nvidia.cdi.k8s.io/container.main", "management.nvidia.com/gpu=all")},
      {R"(the annotation "cdi.k8s.io/a")", false,
       both(assigned, annotation("cdi.k8s.io/a", "k8s.device-plugin.nvidia.com/gpu=GPU-b"))},
      {R"(the annotation "cdi.k8s.io/a")", false,
       both(claims, annotation("cdi.k8s.io/a", "nvidia.com/gpu=all"))},
      {R"(the annotation "cdi.k8s.io/a")", false,
       both(reserved, annotation("cdi.k8s.io/a", "v.example/nic=0, snug.dev/gpu=u-9_main"))},
      {"its env sets NVIDIA_VISIBLE_DEVICES", false,
       both(assigned, [](Case& c) { c.pod->containers[0].sets_visible_devices = true; })},
      {not_yet, true, both(unknown, node)},
      {not_yet, true, both(unknown, device)},
      {not_yet, true,
       both(unknown, [](Case& c) { c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"}; })},
      {not_yet, true, both(unknown, [](Case& c) { c.sandbox.name_space = "gpu-operator"; })},
      {not_yet, true,
       both(unknown,
            [](Case& c) {
              c.reservation = model::Reservation{
                  "u-1", "n1", {{"main", "", model::KubeletUnits{"nvidia.com/gpu", 1}}}};
            })},
      {not_yet, true,
       [](Case& c) {
         c.pod->containers.clear();
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
       }},
  });
}

bool is_cdi_name(std::string_view name) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)); };
  return !name.empty() && alphanumeric(name.front()) && alphanumeric(name.back()) &&
         std::ranges::all_of(
             name, [&](char c) { return alphanumeric(c) || std::string_view("_-.:").contains(c); });
}

TEST(ContainerDecisionTest, NamesOfCdiDevicesAreValidBoundedAndDistinct) {
  const std::vector<std::pair<std::string, std::string>> rows = {{"0f7a-11", "main"},
                                                                 {"0f7a", "11-main"},
                                                                 {"a_b", "c"},
                                                                 {"a", "b_c"},
                                                                 {"../../etc", "x"},
                                                                 {"u", ""},
                                                                 {"", "u"},
                                                                 {"u", "a\0b"},
                                                                 {"u", "-a"},
                                                                 {"\xff", "a/b"},
                                                                 {"u", "grün"},
                                                                 {"hash", "x"},
                                                                 {"u", std::string(300, 'a')},
                                                                 {std::string(300, 'a'), "u"}};
  std::vector<std::string> names;
  for (const auto& [uid, container] : rows) names.push_back(cdi_device_name(uid, container));
  for (const std::string& name : names) {
    EXPECT_TRUE(is_cdi_name(name)) << name;
    EXPECT_LE(name.size(), 128U);
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
  EXPECT_EQ(names[0], "0f7a-11_main");
}

}  // namespace
}  // namespace snug::agent::testing

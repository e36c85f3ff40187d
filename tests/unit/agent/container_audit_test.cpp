#include "snug/agent/container_audit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using ::testing::HasSubstr;

struct AuditRow {
  std::string sentence;  // a part of it; empty: no finding
  AuditKind kind;
  std::function<void(Case&)> change;
};

void reserved_and_running(Case& c) {
  c.reserve({whole(0, "GPU-a")});
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  c.container.devices = {{"/dev/nvidia1", "c", 195, 1},
                         {"/dev/nvidiactl", "c", 195, 255},
                         {"/dev/nvidia-uvm", "c", 511, 0}};
}

void expect_findings(const std::vector<AuditRow>& rows) {
  for (const AuditRow& row : rows) {
    Case c;
    row.change(c);
    const std::vector<ContainerInput> inputs = {c.input()};
    const auto findings = audit(inputs, c.node());
    SCOPED_TRACE(row.sentence + ::testing::PrintToString(findings.size()));
    ASSERT_EQ(findings.size(), row.sentence.empty() ? 0U : 1U);
    if (findings.empty()) continue;
    EXPECT_EQ(findings[0].kind, row.kind);
    EXPECT_EQ(findings[0].sandbox_id, "s1");
    EXPECT_EQ(findings[0].container_id, "c1");
    EXPECT_THAT(findings[0].sentence, HasSubstr(row.sentence));
    EXPECT_THAT(findings[0].sentence, HasSubstr("container \"main\" of the pod ml/train"));
  }
}

TEST(ContainerAuditTest, AGpuThatTheRoleDoesNotGiveIsFound) {
  const auto asks = [](const char* value) {
    return [value](Case& c) { c.container.env = {std::string("NVIDIA_VISIBLE_DEVICES=") + value}; };
  };
  expect_findings({
      {"", AuditKind::kForeignGpu, [](Case&) {}},
      {"", AuditKind::kForeignGpu, asks("void")},
      {"", AuditKind::kForeignGpu, asks("none")},
      {"", AuditKind::kForeignGpu, asks("")},
      {"NVIDIA_VISIBLE_DEVICES=\"all\"", AuditKind::kForeignGpu, asks("all")},
      {"", AuditKind::kForeignGpu,
       [](Case& c) {
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_VISIBLE_DEVICES=void"};
       }},
      {"\"/dev/nvidia1\", although it has no reservation", AuditKind::kForeignGpu,
       [](Case& c) { c.container.devices = {{"/dev/nvidia1", "c", 195, 1}}; }},
      {"\"/dev/nvidia1\"", AuditKind::kForeignGpu,
       [](Case& c) {
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
         c.container.state = ContainerState::kPaused;
       }},
      {"", AuditKind::kForeignGpu,
       [](Case& c) {
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
         c.container.state = ContainerState::kStopped;
       }},
  });
}

TEST(ContainerAuditTest, AGpuBesideThoseThatTheRoleGivesIsFound) {
  expect_findings({
      {"", AuditKind::kForeignGpu, reserved_and_running},
      {"\"/dev/nvidia0\", which its reservation does not have", AuditKind::kForeignGpu,
       [](Case& c) {
         reserved_and_running(c);
         c.container.devices.push_back({"/dev/nvidia0", "c", 195, 0});
       }},
      {"", AuditKind::kForeignGpu,  // its GPU has vanished: what it may have is unknown
       [](Case& c) {
         reserved_and_running(c);
         c.devices = {};
       }},
      {"the annotation snug.dev/reservation is for the pod with the uid \"u-2\"",
       AuditKind::kForeignGpu,
       [](Case& c) {
         reserved_and_running(c);
         (*c.reservation)->uid = "u-2";
       }},
      {"", AuditKind::kForeignGpu,
       [](Case& c) {
         c.pod->containers[0].kubelet_assigned = true;
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
       }},
      {"", AuditKind::kForeignGpu,
       [](Case& c) {
         c.pod->containers[0].has_claims = true;
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=void"};
       }},
      {"NVIDIA_VISIBLE_DEVICES=\"all\", so NVIDIA's runtime may have given it GPUs, which its "
       "claims do not give",
       AuditKind::kForeignGpu,
       [](Case& c) {
         c.pod->containers[0].has_claims = true;
         c.container.env = {"NVIDIA_VISIBLE_DEVICES=all"};
       }},
      {"", AuditKind::kForeignGpu,  // not known yet
       [](Case& c) {
         c.pod.reset();
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
       }},
  });
}

/// Has the nodes of the slice MIG-2, which it has reserved.
void slice_and_running(Case& c) {
  c.reserve({slice("2g.10gb", 2)});
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=void"};
  c.container.devices = {{"/dev/nvidia2", "c", 195, 2},
                         {"/dev/nvidiactl", "c", 195, 255},
                         {"/dev/nvidia-uvm", "c", 511, 0},
                         {"/dev/nvidia-caps/nvidia-cap30", "c", 508, 30},
                         {"/dev/nvidia-caps/nvidia-cap31", "c", 508, 31}};
}

std::function<void(Case&)> slice_then(void (*change)(Case&)) {
  return [change](Case& c) {
    slice_and_running(c);
    change(c);
  };
}

TEST(ContainerAuditTest, ASliceThatWasMadeAnewUnderItsContainerIsFound) {
  const auto stale = AuditKind::kStaleDevices;
  expect_findings({
      {"", stale, slice_and_running},
      {"nvidia-cap30\", which its reservation no longer gives", stale,
       slice_then([](Case& c) {  // the driver has exchanged the ids of the two slices
         std::swap(c.devices.gpus[2].mig_slices[0].gpu_instance,
                   c.devices.gpus[2].mig_slices[1].gpu_instance);
       })},
      {"", stale, slice_then([](Case& c) {  // its slice is still to be made
         c.devices.gpus[2].mig_slices.pop_back();
       })},
      {"nvidia-cap30", stale, slice_then([](Case& c) {  // and another one has got its id
         c.devices.gpus[2].mig_slices.pop_back();
         c.devices.gpus[2].mig_slices[0].gpu_instance = 3;
       })},
      {"nvidia-cap30", stale, slice_then([](Case& c) {  // the driver has another major number now
         for (CapabilityNode& each : c.files.capability_nodes) each.node.major = 507;
       })},
      {"/dev/nvidia-uvm", stale, slice_then([](Case& c) { c.files.control_nodes[1].major = 510; })},
      {"nvidia-cap66\", which its reservation does not have", AuditKind::kForeignGpu,
       slice_then([](Case& c) {
         c.container.devices.push_back({"/dev/nvidia-caps/nvidia-cap66", "c", 508, 66});
       })},
  });
}

TEST(ContainerAuditTest, AGpuThatHasGotAnotherNumberIsFound) {
  expect_findings({{"\"/dev/nvidia1\", which its reservation no longer gives",
                    AuditKind::kStaleDevices, [](Case& c) {
                      reserved_and_running(c);
                      c.devices.gpus[0].minor = 0;
                      c.devices.gpus[1].minor = 1;
                    }}});
}

TEST(ContainerAuditTest, ANodeThatBelongsToAnotherGpuNowIsFoundAlthoughTheReservedOneIsGone) {
  const auto without_gpu_a = [](int minor_of_gpu_b) {
    return [minor_of_gpu_b](Case& c) {
      reserved_and_running(c);
      c.devices.gpus.erase(c.devices.gpus.begin());
      c.devices.gpus[0].minor = minor_of_gpu_b;
    };
  };
  const auto stale = AuditKind::kStaleDevices;
  expect_findings({
      {"\"/dev/nvidia1\", which its reservation no longer gives", stale, without_gpu_a(1)},
      {"", stale, without_gpu_a(0)},
      {"", stale,  // the second of its GPUs has the node
       [&](Case& c) {
         without_gpu_a(1)(c);
         c.reserve({whole(0, "GPU-a"), whole(1, "GPU-b")});
       }},
  });
}

TEST(ContainerAuditTest, TheVariableMayNameTheGpusThatAreReserved) {
  const auto created_with = [](const std::string& value) {
    return [value](Case& c) {
      reserved_and_running(c);
      c.sandbox.annotations = {{"snug.dev/visible-devices.main", "GPU-a"},
                               {"snug.dev/visible-devices.other", "GPU-b"}};
      c.container.env = {"NVIDIA_VISIBLE_DEVICES=" + value};
    };
  };
  const auto foreign = AuditKind::kForeignGpu;
  expect_findings({
      {"", foreign, created_with("GPU-a")},
      {"\"GPU-b\", so NVIDIA's runtime may have given it GPUs", foreign, created_with("GPU-b")},
      {"\"GPU-a,GPU-b\"", foreign, created_with("GPU-a,GPU-b")},
      {"\"all\"", foreign,
       [&](Case& c) {
         created_with("GPU-a")(c);
         c.container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=all");
       }},
      {"although it has no reservation", foreign,
       [&](Case& c) {
         created_with("GPU-a")(c);
         c.reservation.reset();
         c.container.devices.clear();
       }},
  });
}

TEST(ContainerAuditTest, ControlNodesComeAndGo) {
  expect_findings({
      {"", AuditKind::kForeignGpu,
       [](Case& c) {  // its module was unloaded
         reserved_and_running(c);
         c.container.devices.push_back({"/dev/nvidia-modeset", "c", 195, 254});
       }},
      {"", AuditKind::kForeignGpu,
       [](Case& c) {  // its module was loaded
         reserved_and_running(c);
         c.files.control_nodes.push_back(dev("nvidia-modeset", 195, 254));
       }},
      {"/dev/nvidia-modeset", AuditKind::kForeignGpu,
       [](Case& c) {  // a GPU under its name
         reserved_and_running(c);
         c.container.devices.push_back({"/dev/nvidia-modeset", "c", 195, 0});
       }},
  });
}

TEST(ContainerAuditTest, PrivilegedAndHostPathContainersAreAClassOfTheirOwn) {
  const auto path = [](const char* host_path) {
    return [host_path](Case& c) { c.pod->host_paths = {"/var/log", host_path}; };
  };
  std::vector<AuditRow> rows;
  for (const char* reaching : {"/",
                               "/dev",
                               "/dev/",
                               "/dev/nvidia0",
                               "/proc",
                               "/run",
                               "/var/run",
                               "/run/containerd",
                               "/var/run/containerd/containerd.sock",
                               "/run/nri/nri.sock",
                               "/etc/cdi",
                               "/var/run/cdi",
                               "/run/snug",
                               "/var/run/snug/gate.lock",
                               "/var/lib",
                               "/var/lib/kubelet",
                               "/var/lib/kubelet/device-plugins/kubelet.sock",
                               "/var/lib/kubelet/pods",
                               "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs",
                               "/etc/systemd/system",
                               "/usr/local/bin",
                               "/root",
                               "/lib/systemd",
                               "/sbin",
                               "/etc/kubernetes/manifests",
                               "/var/run/docker.sock",
                               "/opt"}) {
    rows.push_back({"its pod mounts \"" + std::string(reaching) + "\" of the host",
                    AuditKind::kOutsideGuarantee, path(reaching)});
  }
  for (const char* harmless :
       {"/dev/shm", "/proc/sys", "/home", "/run/containers", "/run/snugger", "/data/dev",
        "/var/log", "/var/lib/kubelets", "/opt/data", "/usr/share/zoneinfo"}) {
    rows.push_back({"", AuditKind::kOutsideGuarantee, path(harmless)});
  }
  rows.push_back({"the device node \"/dev/nvidia1\"", AuditKind::kForeignGpu, [](Case& c) {
                    c.pod->host_paths = {"/dev"};  // no excuse for an unprivileged container
                    c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
                  }});
  rows.push_back({"", AuditKind::kForeignGpu, [](Case& c) {  // may well be what the kubelet gave
                    c.pod->containers[0].kubelet_assigned = true;
                    c.pod->containers[0].has_env_from = true;
                    c.container.env = {"NVIDIA_VISIBLE_DEVICES=GPU-b"};
                  }});
  rows.push_back({"it is privileged", AuditKind::kOutsideGuarantee, [](Case& c) {
                    c.pod->containers[0].privileged = true;
                    c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
                  }});
  rows.push_back({"", AuditKind::kOutsideGuarantee, [](Case& c) {  // exempt
                    c.pod->containers[0].privileged = true;
                    c.pod->name_space = "gpu-operator";
                    c.pod->service_account = "nvidia-driver";
                  }});
  expect_findings(rows);
}

TEST(ContainerAuditTest, ACapabilityThatLeadsToTheNodeIsOutsideOfTheGuaranteeAndExcusesNothing) {
  const auto with_capability = [](Case& c) { c.pod->containers[0].host_capability = "SYS_ADMIN"; };
  expect_findings({
      {"it has the capability SYS_ADMIN", AuditKind::kOutsideGuarantee, with_capability},
      {"the device node \"/dev/nvidia1\"", AuditKind::kForeignGpu,
       [with_capability](Case& c) {
         with_capability(c);
         c.container.devices = {{"/dev/nvidia1", "c", 195, 1}};
       }},
  });
}

}  // namespace
}  // namespace snug::agent::testing

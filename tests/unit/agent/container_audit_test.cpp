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
      {"\"/dev/nvidia1\", which its reservation does not have", AuditKind::kForeignGpu,
       [](Case& c) {
         reserved_and_running(c);
         c.container.devices = {{"/dev/nvidia1", "c", 195, 0}};  // another GPU under its name
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

TEST(ContainerAuditTest, PrivilegedAndHostPathContainersAreAClassOfTheirOwn) {
  const auto path = [](const char* host_path) {
    return [host_path](Case& c) { c.pod->host_paths = {"/var/log", host_path}; };
  };
  std::vector<AuditRow> rows;
  for (const char* reaching :
       {"/", "/dev", "/dev/", "/dev/nvidia0", "/proc", "/run", "/var/run", "/run/containerd",
        "/var/run/containerd/containerd.sock", "/run/nri/nri.sock", "/etc/cdi", "/var/run/cdi"}) {
    rows.push_back({"its pod mounts \"" + std::string(reaching) + "\" of the host",
                    AuditKind::kOutsideGuarantee, path(reaching)});
  }
  for (const char* harmless : {"/dev/shm", "/proc/sys", "/home", "/run/containers", "/data/dev"}) {
    rows.push_back({"", AuditKind::kOutsideGuarantee, path(harmless)});
  }
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

}  // namespace
}  // namespace snug::agent::testing

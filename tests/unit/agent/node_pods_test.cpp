#include "snug/agent_codec/node_pods.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "agent_codec/object_reader.hpp"

namespace snug::node_pods_test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kGolden = R"json({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {
    "name": "train", "namespace": "ml", "uid": "u-1", "resourceVersion": "17",
    "creationTimestamp": null, "deletionTimestamp": "2026-11-01T10:00:00Z",
    "annotations": {"snug.dev/reservation": "{}", "snug.dev/mode": "mps", "note": "x"},
    "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
  },
  "spec": {
    "serviceAccountName": "trainer", "nodeName": "n1", "surprise": [1, {"a": null}],
    "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/dev", "type": ""}}],
    "initContainers": [{"name": "prepare", "envFrom": [{"configMapRef": {"name": "c"}}]}],
    "containers": [
      {"name": "main", "securityContext": {"privileged": true},
       "env": [{"name": "A", "value": "1"},
               {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"fieldRef": {"apiVersion": "v1",
                 "fieldPath": "metadata.annotations['snug.dev/visible-devices.main']"}}}]},
      {"name": "plugin", "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "2"}}}],
    "ephemeralContainers": [{"name": "debug", "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]
  },
  "status": {
    "phase": "Running",
    "initContainerStatuses": [{"name": "prepare", "state": {"terminated": {"exitCode": 0}}}],
    "containerStatuses": [
      {"name": "plugin", "state": {"waiting": {"reason": "CreateContainerError", "message": "no: x"}}},
      {"name": "main", "state": {"running": {"startedAt": "2026-11-01T09:00:00Z"}}},
      {"name": "stranger", "state": {"running": {}}}],
    "ephemeralContainerStatuses": [{"name": "debug", "state": {"running": {}}}]
  }})json";

agent::PodView golden_view() {
  return {.name_space = "ml",
          .name = "train",
          .uid = "u-1",
          .runtime_uid = "u-1",
          .service_account = "trainer",
          .terminating = true,
          .host_paths = {"/dev"},
          .annotations = {{"snug.dev/mode", "mps"}, {"snug.dev/reservation", "{}"}},
          .containers = {{.name = "prepare", .has_env_from = true},
                         {.name = "main", .privileged = true},
                         {.name = "plugin",
                          .kubelet_assigned = true,
                          .waiting_reason = "CreateContainerError",
                          .waiting_message = "no: x"},
                         {.name = "debug", .sets_visible_devices = true}}};
}

base::Result<agent::PodView> read(std::string_view json) {
  return agent_codec::read_node_pod(json, base::Limits{});
}

/// A pod whose metadata, spec and status have these members beside the required ones.
std::string pod_with(const std::string& metadata, const std::string& spec = "",
                     const std::string& status = "") {
  return R"({"metadata":{"name":"p","namespace":"ns","uid":"u")" +
         (metadata.empty() ? "" : "," + metadata) + R"(},"spec":{)" + spec + R"(},"status":{)" +
         status + "}}";
}

/// The first container of a pod whose container `c` has these members.
agent::PodContainerView container_with(const std::string& members) {
  const auto pod = read(pod_with("", R"("containers":[{"name":"c",)" + members + "}]"));
  EXPECT_TRUE(pod) << members;
  return pod && !pod->containers.empty() ? pod->containers[0] : agent::PodContainerView{};
}

TEST(NodePodsTest, APodIsReadWithEverythingThatTheAgentDecidesOn) {
  const auto pod = read(kGolden);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(*pod, golden_view());
}

TEST(NodePodsTest, AStaticPodHasTheUidOfTheKubelet) {
  struct Row {
    std::string annotations;
    std::string runtime_uid;
  };
  const Row rows[] = {{R"("kubernetes.io/config.mirror":"h","kubernetes.io/config.hash":"h")", "h"},
                      {R"("kubernetes.io/config.hash":"h")", "u"},
                      {R"("kubernetes.io/config.mirror":"h")", "u"},
                      {"", "u"}};
  for (const Row& row : rows) {
    const auto pod = read(pod_with(R"("annotations":{)" + row.annotations + "}"));
    ASSERT_TRUE(pod) << row.annotations;
    EXPECT_EQ(pod->runtime_uid, row.runtime_uid) << row.annotations;
    EXPECT_TRUE(pod->annotations.empty());
  }
}

TEST(NodePodsTest, OnlyTheTwoLastPhasesAreFinished) {
  for (const std::string phase : {"Pending", "Running", "Succeeded", "Failed", "Unknown"}) {
    const auto pod = read(pod_with("", "", R"("phase":")" + phase + "\""));
    ASSERT_TRUE(pod);
    EXPECT_EQ(pod->finished, phase == "Succeeded" || phase == "Failed") << phase;
  }
}

TEST(NodePodsTest, TheKubeletAssignsWhatAskedForMoreThanNothing) {
  struct Row {
    std::string resources;
    bool assigned;
    bool has_claims = false;
  };
  const Row rows[] = {{R"("limits":{"nvidia.com/gpu":"1"})", true},
                      {R"("limits":{"nvidia.com/mig-1g.5gb":"2"})", true},
                      {R"("limits":{"nvidia.com/gpu":"0"})", false},
                      {R"("limits":{"nvidia.com/gpu":"0","nvidia.com/gpu.shared":"1k"})", true},
                      {R"("limits":{"nvidia.com/mig-1g.5gb.shared":"1"})", true},
                      {R"("limits":{"cpu":"1","memory":"1Gi","amd.com/gpu":"1"})", false},
                      {R"("limits":{"nvidia.com/gpumem":"1","nvidia.com/gpu.share":"1"})", false},
                      {R"("limits":{"nvidia.com/mig":"1","nvidia.com/":"many"})", false},
                      {R"("requests":{"nvidia.com/gpu":"1"})", false},
                      {R"("claims":[{"name":"gpu"}])", false, true},
                      {R"("claims":[{"name":"g"}],"limits":{"nvidia.com/gpu":"1"})", true, true},
                      {R"("claims":[],"limits":null)", false}};
  for (const Row& row : rows) {
    const agent::PodContainerView view = container_with(R"("resources":{)" + row.resources + "}");
    EXPECT_EQ(view.kubelet_assigned, row.assigned) << row.resources;
    EXPECT_EQ(view.has_claims, row.has_claims) << row.resources;
  }
}

TEST(NodePodsTest, OnlyTheReferenceToSnugsOwnAnnotationSetsNoDevices) {
  const auto reference = [](const std::string& path) {
    return R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"fieldRef":{"fieldPath":")" +
           path + "\"}}}]";
  };
  struct Row {
    std::string members;
    bool sets;
  };
  const Row rows[] = {
      {reference("metadata.annotations['snug.dev/visible-devices']"), false},
      {reference("metadata.annotations['snug.dev/visible-devices.c']"), false},
      {reference("metadata.annotations['snug.dev/visible-devices-of-mine']"), true},
      {reference("metadata.annotations['mine/devices']"), true},
      {reference("metadata.name"), true},
      {R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES"}])", true},
      {R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}])", true},
      {R"("env":[{"name":"NVIDIA_VISIBLE_DEVICES","valueFrom":{"secretKeyRef":{"name":"s"}}}])",
       true},
      {R"("env":[{"name":"OTHER","value":"all"}],"envFrom":[])", false},
      {R"("envFrom":[{"secretRef":{"name":"s"}}])", false}};
  for (const Row& row : rows) {
    const agent::PodContainerView container = container_with(row.members);
    EXPECT_EQ(container.sets_visible_devices, row.sets) << row.members;
    EXPECT_EQ(container.has_env_from, row.members.contains("secretRef")) << row.members;
  }
}

TEST(NodePodsTest, TheFirstCapabilityThatLeadsToTheNodeIsKept) {
  struct Row {
    std::string security_context;
    std::string capability;
  };
  const std::vector<Row> rows = {
      {R"({"capabilities":{"add":["NET_ADMIN","SYS_ADMIN","SYS_MODULE"]}})", "SYS_ADMIN"},
      {R"({"capabilities":{"add":["cap_sys_rawio"]}})", "SYS_RAWIO"},
      {R"({"capabilities":{"add":["All"],"drop":["ALL"]}})", "ALL"},
      {R"({"capabilities":{"add":["CAP_DAC_READ_SEARCH"]}})", "DAC_READ_SEARCH"},
      {R"({"capabilities":{"drop":["ALL"],"add":["NET_BIND_SERVICE","SYS_ADMINS","CAP_"]}})", ""},
      {R"({"capabilities":{"add":null}})", ""},
      {R"({"capabilities":null})", ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(container_with(R"("securityContext":)" + row.security_context).host_capability,
              row.capability)
        << row.security_context;
  }
}

TEST(NodePodsTest, AWrongTypeIsAnErrorThatNamesTheField) {
  struct Row {
    std::string json;
    std::string error;
  };
  const Row rows[] = {
      {"[]", "pod must be an object, not array"},
      {"{}", "pod.metadata.namespace is missing"},
      {R"({"metadata":{"name":"p","namespace":"ns"}})", "pod.metadata.uid is missing"},
      {R"({"metadata":{"name":"","namespace":"ns","uid":"u"}})",
       "pod.metadata.name must not be empty"},
      {pod_with(R"("annotations":{"snug.dev/x":1})"),
       "pod.metadata.annotations.snug.dev/x must be a string, not number"},
      {pod_with(R"("deletionTimestamp":true)"), "pod.metadata.deletionTimestamp must be a string"},
      {pod_with("", R"("containers":{})"), "pod.spec.containers must be a list, not object"},
      {pod_with("", R"("containers":[{"name":"a"},{"name":7}])"),
       "pod.spec.containers[1].name must be a string"},
      {pod_with("", R"("containers":[{"name":"a","securityContext":{"privileged":"yes"}}])"),
       "pod.spec.containers[0].securityContext.privileged must be true or false"},
      {pod_with("",
                R"("containers":[{"name":"a","securityContext":{"capabilities":{"add":[1]}}}])"),
       "pod.spec.containers[0].securityContext.capabilities.add[0] must be a string"},
      {pod_with("",
                R"("containers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":"many"}}}])"),
       "pod.spec.containers[0].resources.limits.nvidia.com/gpu must be a quantity"},
      {pod_with("", R"("volumes":[{"hostPath":{}}])"),
       "pod.spec.volumes[0].hostPath.path is missing"},
      {pod_with("", "", R"("phase":1)"), "pod.status.phase must be a string"},
      {pod_with("", R"("containers":[{"name":"a"}])",
                R"("containerStatuses":[{"name":"a","state":{"waiting":[]}}])"),
       "pod.status.containerStatuses[0].state.waiting must be an object"},
      {"{", "the pod is not valid JSON"}};
  for (const Row& row : rows) {
    const auto pod = read(row.json);
    ASSERT_FALSE(pod) << row.json;
    EXPECT_EQ(pod.error().code, base::ErrorCode::kInvalid);
    EXPECT_THAT(pod.error().message, HasSubstr(row.error));
  }
}

TEST(NodePodsTest, SizeAndDepthAreBoundedButManagedFieldsDoNotCount) {
  base::Limits limits;
  limits.max_object_bytes = 100;
  const auto large = agent_codec::read_node_pod(pod_with(std::string(R"("a":"b")")), limits);
  EXPECT_TRUE(large) << large.error().message;
  const auto too_large =
      agent_codec::read_node_pod(pod_with(R"("a":")" + std::string(100, 'b') + '"'), limits);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, base::ErrorCode::kTooLarge);
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  const auto too_deep = read(pod_with(R"("a":)" + deep));
  ASSERT_FALSE(too_deep);
  EXPECT_THAT(too_deep.error().message, HasSubstr("nested too deeply; at most 64 levels"));
  EXPECT_TRUE(read(pod_with(R"("managedFields":[)" + deep + "]")));
  EXPECT_TRUE(read(pod_with("\"managedFields\":[{\"f:\xff\":{}}]")));
  EXPECT_FALSE(read(pod_with("\"labels\":{\"a\":\"\xff\"}")));
}

TEST(NodePodsTest, WhatNothingReadsIsNotKept) {
  const auto pod = agent_codec::parse_object(
      R"({"spec": {"affinity": {"a": [1]}, "tolerations": [{}],
                   "containers": [{"name": "main", "args": ["a", "b"], "command": ["c"]}]}})",
      "the pod", {});
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->dump(), R"({"spec":{"containers":[{"name":"main"}]}})");
}

TEST(NodePodsTest, EachEventSaysWhatHappenedToWhichPod) {
  const auto event = [](const std::string& type, std::string_view object) {
    return agent_codec::read_node_pod_event(
        R"({"type":")" + type + R"(","object":)" + std::string(object) + "}", base::Limits{});
  };
  using Type = codec::WatchEventType;
  const std::pair<std::string, Type> rows[] = {
      {"ADDED", Type::kAdded}, {"MODIFIED", Type::kModified}, {"DELETED", Type::kDeleted}};
  for (const auto& [name, type] : rows) {
    const auto read_event = event(name, kGolden);
    ASSERT_TRUE(read_event) << read_event.error().message;
    EXPECT_EQ(read_event->type, type);
    EXPECT_EQ(read_event->pod, golden_view());
    EXPECT_EQ(read_event->resource_version, "17");
  }
  const auto bookmark = event("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"20"}})");
  ASSERT_TRUE(bookmark);
  EXPECT_EQ(bookmark->type, Type::kBookmark);
  EXPECT_EQ(bookmark->resource_version, "20");
  const auto error = event("ERROR", R"({"kind":"Status","code":410,"message":"too old"})");
  ASSERT_TRUE(error);
  EXPECT_EQ(error->type, Type::kError);
  EXPECT_EQ(error->error_code, 410);
  EXPECT_EQ(error->error_message, "too old");
  EXPECT_THAT(event("CHANGED", "{}").error().message, HasSubstr("event.type must be ADDED"));
  EXPECT_THAT(event("ADDED", "null").error().message, HasSubstr("event.object is missing"));
  EXPECT_THAT(event("BOOKMARK", "{}").error().message,
              HasSubstr("event.object.metadata.resourceVersion is missing"));
  EXPECT_THAT(event("ADDED", pod_with("")).error().message,
              HasSubstr("resourceVersion is missing"));
}

}  // namespace
}  // namespace snug::node_pods_test

// Pods, nodes and watch events as the API server, kubectl and Go clients write them.
#include "snug/codec/kube_objects.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace snug::kube_objects_test {
namespace {

constexpr std::string_view kFullPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "train-0", "namespace": "ml", "uid": "u-1", "resourceVersion": "42",
    "creationTimestamp": "2026-11-20T08:00:00Z", "deletionTimestamp": null,
    "labels": {"app": "train"},
    "annotations": {"gpu-fraction": "0.25", "gpu-memory.side": "4G", "snug.dev/x": "1",
      "kubectl.kubernetes.io/default-container": "main",
      "kubectl.kubernetes.io/last-applied-configuration": "{}", "gpus": "no", "note": 7}},
  "spec": {
    "nodeName": "n1", "schedulerName": "snug", "priority": -5,
    "initContainers": [
      {"name": "fetch"},
      {"name": "side", "restartPolicy": "Always", "resources": {}}],
    "containers": [
      {"name": "main", "image": "x", "resources": {
        "limits": {"nvidia.com/gpu": 2, "cpu": "1"},
        "requests": {"nvidia.com/gpu": "9", "nvidia.com/mig-1g.5gb": "1", "memory": "1Gi"}}}]},
  "status": {"phase": "Running", "nominatedNodeName": "n2"}})";

TEST(KubeObjectsTest, APodIsReadWithEveryFieldThatSnugUses) {
  codec::KubeObjectReader reader{base::Limits{}};
  const auto pod = reader.read_pod(kFullPod);
  ASSERT_TRUE(pod) << pod.error().message;
  model::PodFacts expected;
  expected.name_space = "ml";
  expected.name = "train-0";
  expected.uid = "u-1";
  expected.node_name = "n1";
  expected.scheduler_name = "snug";
  expected.nominated_node_name = "n2";
  expected.creation_timestamp = "2026-11-20T08:00:00Z";
  expected.resource_version = "42";
  expected.priority = -5;
  expected.containers = {{"fetch", model::ContainerType::kInit, {}},
                         {"side", model::ContainerType::kSidecar, {}},
                         {"main",
                          model::ContainerType::kApp,
                          {{"nvidia.com/gpu", "2"}, {"nvidia.com/mig-1g.5gb", "1"}},
                          {.cpu_milli = 1'000, .memory_bytes = 1'073'741'824}}};
  expected.annotations = {{"gpu-fraction", "0.25"},
                          {"gpu-memory.side", "4G"},
                          {"snug.dev/x", "1"},
                          {"kubectl.kubernetes.io/default-container", "main"}};
  expected.labels = {{"app", "train"}};
  expected.annotation_bytes = pod->annotation_bytes;
  EXPECT_EQ(*pod, expected);
}

TEST(KubeObjectsTest, StrayKeysAreFewAndShort) {
  struct Row {
    std::string annotations;
    std::string limits;
    model::StringMap expected;
  };
  std::string many = R"("gpufraction":"1")";
  model::StringMap eight;
  for (int i = 10; i < 30; ++i) {
    const std::string key = "nvidia.com/container." + std::to_string(i);
    many += ",\"" + key + R"(":"x")";
    if (i < 17) eight[key] = "x";
  }
  eight["gpufraction"] = "1";
  std::string most_compared;
  for (std::size_t i = 1; i < base::kMaxComparedKeys; ++i)
    most_compared += "\"gpx" + std::to_string(i) + R"(":"",)";
  const std::string misspelled = R"("gpufraction":"1")";
  const Row rows[] = {
      {R"("gpu_fraction":"0.5","other":"x","gpufraction":null)", "", {{"gpu_fraction", "0.5"}}},
      {R"("snug.dev/gpu-fraction":"0.5")", "", {}},  // Snug's own keys are kept anyway
      {"", R"("aliyun.com/gpu-mem":3,"cpu":"1","x.io/y":"1")", {{"aliyun.com/gpu-mem", "3"}}},
      {R"("nvidia.com/container.)" + std::string(200, 'a') + R"(":"x")", "", {}},
      {R"("gpu_fraction":")" + std::string(500, 'v') + R"(")",
       "",
       {{"gpu_fraction", std::string(64, 'v')}}},
      {many, R"("aliyun.com/gpu-mem":"3")", eight},
      {most_compared + misspelled, "", {{"gpufraction", "1"}}},
      {most_compared + R"("gpx":"",)" + misspelled, "", {}},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const Row& row : rows) {
    const auto pod = reader.read_pod(
        R"({"metadata":{"name":"p","namespace":"d","uid":"u","annotations":{)" + row.annotations +
        R"(}},"spec":{"containers":[{"name":"m","resources":{"limits":{)" + row.limits + "}}}]}}");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->stray_keys, row.expected) << row.annotations << row.limits;
  }
}

TEST(KubeObjectsTest, EveryAnnotationCountsForTheirSize) {
  codec::KubeObjectReader reader{base::Limits{}};
  const auto pod =
      reader.read_pod(R"({"metadata":{"name":"p","namespace":"d","uid":"u","annotations":
      {"gpu-fraction":"0.5","other":"abc","none":null}},"spec":{"containers":[{"name":"m"}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->annotation_bytes, 12U + 3 + 5 + 3 + 4);
}

TEST(KubeObjectsTest, OfVeryManyLabelsTheFirstAreKept) {
  std::string labels;
  for (int i = 0; i < 3000; ++i) {
    labels += (i > 0 ? ",\"" : "\"") + std::to_string(10000 + i) + "\":\"\"";
  }
  codec::KubeObjectReader reader{base::Limits{}};
  const auto pod = reader.read_pod(R"({"metadata":{"name":"p","namespace":"d","labels":{)" +
                                   labels + R"(}},"spec":{"containers":[{"name":"m"}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  ASSERT_EQ(pod->labels.size(), 1024U);
  EXPECT_TRUE(pod->labels.contains("11023"));
}

TEST(KubeObjectsTest, NullCountsAsAbsentAsGoClientsWriteIt) {
  codec::KubeObjectReader reader{base::Limits{}};
  const auto pod = reader.read_pod(
      R"({"metadata":{"name":"p","namespace":"d","uid":null,"creationTimestamp":null,
          "annotations":null,"labels":null},
          "spec":{"priority":null,"nodeName":null,"initContainers":null,"affinity":null,
          "topologySpreadConstraints":null,"overhead":null,"resources":null,"volumes":null,
          "resourceClaims":null,
          "containers":[{"name":"c","resources":{"limits":null,"requests":null},"ports":null},
                        {"name":"d","resources":null}]},
          "status":null})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->name, "p");
  EXPECT_EQ(pod->uid, "");
  EXPECT_FALSE(pod->terminating);
  EXPECT_EQ(pod->containers.size(), 2U);
}

TEST(KubeObjectsTest, DeletionAndPhaseSayWhetherThePodStillHolds) {
  struct Row {
    std::string deletion, phase;
    bool terminating, finished;
  };
  const std::vector<Row> rows = {
      {"null", "Pending", false, false},  {R"("2026-11-20T08:00:00Z")", "Running", true, false},
      {"null", "Succeeded", false, true}, {R"("2026-11-20T08:00:00Z")", "Failed", true, true},
      {"null", "Unknown", false, false},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const Row& row : rows) {
    const auto pod =
        reader.read_pod(R"({"metadata":{"name":"p","namespace":"d",)"
                        R"("deletionTimestamp":)" +
                        row.deletion + R"(},"status":{"phase":")" + row.phase + R"("}})");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->terminating, row.terminating) << row.phase;
    EXPECT_EQ(pod->finished, row.finished) << row.phase;
  }
}

TEST(KubeObjectsTest, AnySchedulingGateGatesAPod) {
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [spec, gated] : std::vector<std::pair<std::string, bool>>{
           {R"({})", false},
           {R"({"schedulingGates":null})", false},
           {R"({"schedulingGates":[]})", false},
           {R"({"schedulingGates":[{"name":"quota"}]})", true}}) {
    const auto pod =
        reader.read_pod(R"({"metadata":{"name":"p","namespace":"d"},"spec":)" + spec + "}");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->gated, gated) << spec;
  }
}

TEST(KubeObjectsTest, SoftPreferencesAreSeenAndHardOnesAreNot) {
  const std::vector<std::pair<std::string, bool>> rows = {
      {R"({})", false},
      {R"({"affinity":{}})", false},
      {R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}}})",
       false},
      {R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}}})",
       false},
      {R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}]}}})",
       true},
      {R"({"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{}]}}})",
       true},
      {R"({"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[1]}}})",
       true},
      {R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]})", false},
      {R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"},
           {"whenUnsatisfiable":"ScheduleAnyway"}]})",
       true},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [spec, soft] : rows) {
    const auto pod =
        reader.read_pod(R"({"metadata":{"name":"p","namespace":"d"},"spec":)" + spec + "}");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->has_soft_preferences, soft) << spec;
  }
}

TEST(KubeObjectsTest, QuantitiesKeepTheirText) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"("1")", "1"}, {"1", "1"}, {"-1", "-1"}, {R"("1k")", "1k"}, {"0.5", "0.5"}, {R"("")", ""}};
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [json, text] : rows) {
    const auto pod = reader.read_pod(
        R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c",)"
        R"("resources":{"limits":{"nvidia.com/gpu":)" +
        json + "}}}]}}");
    ASSERT_TRUE(pod) << pod.error().message;
    EXPECT_EQ(pod->containers.at(0).gpu_resources.at("nvidia.com/gpu"), text);
  }
}

TEST(KubeObjectsTest, ABadPodIsRefusedWithItsPlace) {
  const std::string ok = R"("name":"p","namespace":"d")";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "the JSON text is empty"},
      {"   ", "the JSON text is empty"},
      {"[]", "pod must be an object, not an array"},
      {"7", "pod must be an object, not a number"},
      {"{}", "pod.metadata is missing"},
      {R"({"metadata":null})", "pod.metadata is missing"},
      {R"({"metadata":[]})", "pod.metadata must be an object, not an array"},
      {R"({"metadata":{"namespace":"d"}})", "pod.metadata has no name"},
      {R"({"metadata":{"name":"p"}})", "pod.metadata has no namespace"},
      {R"({"metadata":{"name":5}})", "pod.metadata.name must be a string, not a number"},
      {R"({"metadata":{"name":"p","name":"q"}})", "pod.metadata.name is given twice"},
      {R"({"metadata":{)" + ok + R"(},"metadata":{)" + ok + "}}", "pod.metadata is given twice"},
      {R"({"metadata":{)" + ok + R"(,"annotations":[]}})",
       "pod.metadata.annotations must be an object, not an array"},
      {R"({"metadata":{)" + ok + R"(,"annotations":{"gpu-fraction":0.5}}})",
       "pod.metadata.annotations.gpu-fraction must be a string, not a number"},
      {R"({"metadata":{)" + ok + R"(,"annotations":{"gpu-memory":"1","gpu-memory":"1"}}})",
       "pod.metadata.annotations.gpu-memory is given twice"},
      {R"({"metadata":{)" + ok + R"(},"spec":"x"})", "pod.spec must be an object, not a string"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"priority":"high"}})",
       "pod.spec.priority must be an integer of 32 bits"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"priority":2147483648}})",
       "pod.spec.priority must be an integer of 32 bits"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"priority":1.5}})",
       "pod.spec.priority must be an integer of 32 bits"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"containers":{}}})",
       "pod.spec.containers must be an array, not an object"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"containers":[{"name":"a"},{}]}})",
       "pod.spec.containers[1] has no name"},
      {R"({"metadata":{)" + ok + R"(},"spec":{"containers":[null]}})",
       "pod.spec.containers[0] must be an object, not null"},
      {R"({"metadata":{)" + ok +
           R"(},"spec":{"initContainers":[{"name":"a","resources":{"limits":{"nvidia.com/gpu":true}}}]}})",
       "pod.spec.initContainers[0].resources.limits.nvidia.com/gpu must be a string, not a "
       "boolean"},
      {R"({"metadata":{)" + ok + R"(},"status":{"phase":[]}})",
       "pod.status.phase must be a string, not an array"},
      {R"({"metadata":{)" + ok + R"(}} trailing)", "the text is not valid JSON"},
      {R"({"metadata":{)" + ok, "the text is not valid JSON"},
      {"{\"metadata\":{\"name\":\"\xff\",\"namespace\":\"d\"}}",
       "the JSON text is not valid UTF-8"},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [json, problem] : rows) {
    const auto pod = reader.read_pod(json);
    ASSERT_FALSE(pod) << json;
    EXPECT_EQ(pod.error().code, base::ErrorCode::kInvalid) << json;
    EXPECT_TRUE(pod.error().message.starts_with(problem)) << json << "\n" << pod.error().message;
  }
  EXPECT_TRUE(reader.read_pod(kFullPod)) << "an error spoils nothing for the next text";
}

TEST(KubeObjectsTest, NestingUpToTheLimitIsReadAndOneMoreIsTooLarge) {
  base::Limits limits;
  limits.max_json_depth = 16;
  codec::KubeObjectReader reader{limits};
  const auto nested = [](std::size_t levels) {
    return R"({"metadata":{"name":"p","namespace":"d"},"x":)" + std::string(levels - 1, '[') +
           std::string(levels - 1, ']') + "}";
  };
  EXPECT_TRUE(reader.read_pod(nested(16)));
  for (const std::size_t levels : {17U, 10'000U, 1'000'000U}) {
    const auto pod = reader.read_pod(nested(levels));
    ASSERT_FALSE(pod) << levels;
    EXPECT_EQ(pod.error().code, base::ErrorCode::kTooLarge) << pod.error().message;
  }
}

TEST(KubeObjectsTest, WhateverStandsInManagedFieldsNothingElseIsLost) {
  const auto deep = [](std::size_t levels) {
    std::string text;
    for (std::size_t i = 0; i < levels; ++i) text += R"({"f:a":)";
    return text + "{}" + std::string(levels, '}');
  };
  const std::string fields[] = {"",
                                deep(60),
                                deep(1'200),
                                "{\"f:\xff\xfe\":{}}",
                                R"({"f:]\"":[[{"]":1e999}]]})",
                                R"({"managedFields":[]})"};
  codec::KubeObjectReader reader{base::Limits{}};
  for (const std::string& text : fields) {
    for (const std::string space : {"", " ", "\n  "}) {
      const std::string managed = R"("managedFields":)" + space + "[" + text + "]";
      const std::string metadata = R"("metadata":{)" + managed +
                                   R"(,"name":"p","namespace":"d","annotations":)" +
                                   R"({"a":"\"managedFields\":[","gpu-fraction":"0.5"}})";
      const std::string pod = "{" + metadata + R"(,"spec":{"nodeName":"n1"}})";
      const auto read = reader.read_pod(pod);
      ASSERT_TRUE(read) << text.substr(0, 40) << ": " << read.error().message;
      EXPECT_EQ(read->name, "p");
      EXPECT_EQ(read->node_name, "n1");
      EXPECT_EQ(read->annotations.at("gpu-fraction"), "0.5");
      const auto event = reader.read_node_event(R"({"type":"ADDED","object":{)" + metadata +
                                                R"(,"kind":"Node"}})");
      ASSERT_TRUE(event) << text.substr(0, 40) << ": " << event.error().message;
      EXPECT_EQ(event->node.name, "p");
    }
  }
  EXPECT_FALSE(reader.read_pod(R"({"metadata":{"managedFields":[{"f:a":"]"}})"));
}

TEST(KubeObjectsTest, AnObjectOverTheLimitIsTooLarge) {
  base::Limits limits;
  limits.max_object_bytes = 65'536;
  codec::KubeObjectReader reader{limits};
  const auto pod = reader.read_pod(std::string(65'537, ' '));
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().code, base::ErrorCode::kTooLarge);
}

TEST(KubeObjectsTest, AHugeObjectAndThenASmallOneAreBothRead) {
  codec::KubeObjectReader reader{base::Limits{}};
  const std::string huge = R"({"metadata":{"name":"p","namespace":"d"},"x":")" +
                           std::string(6 * 1024 * 1024, 'x') + R"("})";
  EXPECT_TRUE(reader.read_pod(huge));
  EXPECT_TRUE(reader.read_pod(kFullPod));
  EXPECT_TRUE(reader.read_pod(huge));
}

TEST(KubeObjectsTest, ANodeIsReadWithItsGpusAndItsHost) {
  codec::KubeObjectReader reader{base::Limits{}};
  const auto node = reader.read_node(R"({
    "metadata": {"name": "n1", "resourceVersion": "7",
      "annotations": {"snug.dev/inventory": "{}", "other": "x"},
      "labels": {"snug.dev/pool": "shares", "nvidia.com/gpu.count": "8", "zone": "a"}},
    "status": {"capacity": {"cpu": "8", "nvidia.com/gpu": "8"},
      "allocatable": {"cpu": "7500m", "memory": "1Gi", "pods": "110", "nvidia.com/gpu": 7, "nvidia.com/mig-1g.5gb": "2"},
      "nodeInfo": {"bootID": "b-1", "kernelVersion": "6"}}})");
  ASSERT_TRUE(node) << node.error().message;
  model::NodeFacts expected;
  expected.name = "n1";
  expected.boot_id = "b-1";
  expected.resource_version = "7";
  expected.annotations = {{"snug.dev/inventory", "{}"}};
  expected.labels = {{"snug.dev/pool", "shares"}, {"nvidia.com/gpu.count", "8"}};
  expected.capacity = {{"nvidia.com/gpu", "8"}};
  expected.allocatable = {{"nvidia.com/gpu", "7"}, {"nvidia.com/mig-1g.5gb", "2"}};
  expected.host = {{7'500, 1'073'741'824}, 110, true};
  EXPECT_EQ(*node, expected);
}

TEST(KubeObjectsTest, ABadNodeIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"{}", "node.metadata is missing"},
      {R"({"metadata":{}})", "node.metadata has no name"},
      {R"({"metadata":{"name":"n","labels":{"snug.dev/pool":1}}})",
       "node.metadata.labels.snug.dev/pool must be a string, not a number"},
      {R"({"metadata":{"name":"n"},"status":{"capacity":[]}})",
       "node.status.capacity must be an object, not an array"},
      {R"({"metadata":{"name":"n"},"status":{"nodeInfo":{"bootID":1}}})",
       "node.status.nodeInfo.bootID must be a string, not a number"},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [json, problem] : rows) {
    const auto node = reader.read_node(json);
    ASSERT_FALSE(node) << json;
    EXPECT_TRUE(node.error().message.starts_with(problem)) << node.error().message;
  }
}

TEST(KubeObjectsTest, WatchEventsOfEveryKindAreRead) {
  codec::KubeObjectReader reader{base::Limits{}};
  const std::string pod = R"({"metadata":{"name":"p","namespace":"d","resourceVersion":"9"}})";
  const std::vector<std::pair<std::string, codec::WatchEventType>> rows = {
      {"ADDED", codec::WatchEventType::kAdded},
      {"MODIFIED", codec::WatchEventType::kModified},
      {"DELETED", codec::WatchEventType::kDeleted},
  };
  for (const auto& [type, kind] : rows) {
    const auto event = reader.read_pod_event(R"({"type":")" + type + R"(","object":)" + pod + "}");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->type, kind);
    EXPECT_EQ(event->pod.name, "p");
    EXPECT_EQ(event->resource_version, "9");
  }
  const auto node = reader.read_node_event(
      R"({"type":"ADDED","object":{"metadata":{"name":"n","resourceVersion":"3"}}})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->node.name, "n");
  EXPECT_EQ(node->resource_version, "3");
}

TEST(KubeObjectsTest, BookmarksAndErrorsCarryNoObjectOfTheResource) {
  codec::KubeObjectReader reader{base::Limits{}};
  const auto bookmark = reader.read_node_event(
      R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"12",
          "creationTimestamp":null}}})");
  ASSERT_TRUE(bookmark) << bookmark.error().message;
  EXPECT_EQ(bookmark->type, codec::WatchEventType::kBookmark);
  EXPECT_EQ(bookmark->resource_version, "12");
  const auto expired = reader.read_pod_event(
      R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",
          "message":"too old resource version"}})");
  ASSERT_TRUE(expired) << expired.error().message;
  EXPECT_EQ(expired->type, codec::WatchEventType::kError);
  EXPECT_EQ(expired->error_code, 410);
  EXPECT_EQ(expired->error_message, "too old resource version");
}

TEST(KubeObjectsTest, ABadWatchEventIsRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"{}", "the watch event's type must be"},
      {R"({"type":"NEW","object":{}})", "the watch event's type must be"},
      {R"({"type":"ADDED"})", "the watch event's object is missing"},
      {R"({"type":"ADDED","object":null})", "the watch event's object is missing"},
      {R"({"type":"BOOKMARK","object":{}})", "object.metadata has no resourceVersion"},
      {R"({"type":"ERROR","object":{"code":"x"}})", "object.code must be an integer"},
      {R"({"type":"ADDED","object":{"metadata":{"name":"p"}}})", "pod.metadata has no namespace"},
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const auto& [json, problem] : rows) {
    const auto event = reader.read_pod_event(json);
    ASSERT_FALSE(event) << json;
    EXPECT_TRUE(event.error().message.starts_with(problem)) << event.error().message;
  }
}

}  // namespace
}  // namespace snug::kube_objects_test

// The pods' watch in protobuf: what it says, what is wrong with it, and bytes that are neither.
#include "support/kube_proto.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "snug/codec/kube_objects.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::kube_proto_test {
namespace {

using nlohmann::json;
using proto::bytes_field;
using proto::number_field;

constexpr std::string_view kFullPod = R"({
  "metadata": {
    "name": "train-0", "namespace": "ml", "uid": "u-1", "resourceVersion": "42", "generation": 3,
    "creationTimestamp": "2026-11-20T08:00:00Z", "labels": {"gpu-label": "train"},
    "annotations": {"gpu-fraction": "0.25", "gpu-memory.side": "4G", "snug.dev/x": "\u00e4\u2603",
      "kubectl.kubernetes.io/default-container": "main",
      "kubectl.kubernetes.io/last-applied-configuration": "{}", "gpus": "no", "note": ""}},
  "spec": {
    "nodeName": "n1", "schedulerName": "snug", "priority": -5, "restartPolicy": "Always",
    "initContainers": [
      {"name": "fetch", "restartPolicy": "Never"},
      {"name": "side", "restartPolicy": "Always", "resources": {}}],
    "containers": [
      {"name": "main", "image": "x", "restartPolicy": "Always", "resources": {
        "limits": {"nvidia.com/gpu": "2", "cpu": "1"},
        "requests": {"nvidia.com/gpu": "9", "nvidia.com/mig-1g.5gb": "1", "memory": "1Gi"}}}],
    "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
      [{"weight": 1}]}}},
  "status": {"phase": "Running", "nominatedNodeName": "n2"}})";

json full_pod() { return json::parse(kFullPod); }

base::Result<codec::WatchEvent> read(std::string_view frame) {
  return codec::KubeObjectReader{base::Limits{}}.read_pod_event(frame,
                                                                codec::WireFormat::kProtobuf);
}

/// A watch event about the pod in these bytes.
std::string added(std::string_view pod) {
  return proto::event_of("ADDED", proto::envelope("Pod", pod));
}

const std::string kNames = bytes_field(1, "p") + bytes_field(3, "d");

/// A pod with names, and what else its metadata, spec and status have.
std::string pod_with(std::string_view metadata, std::string_view spec = {},
                     std::string_view status = {}) {
  return bytes_field(1, kNames + std::string{metadata}) + bytes_field(2, spec) +
         bytes_field(3, status);
}

model::PodFacts facts_of(std::string_view pod) {
  const auto event = read(added(pod));
  EXPECT_TRUE(event) << event.error().message;
  return event ? event->pod : model::PodFacts{};
}

TEST(KubeProtoTest, APodIsReadWithEveryFieldThatSnugUses) {
  const auto event = read(proto::event("MODIFIED", full_pod()));
  ASSERT_TRUE(event) << event.error().message;
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
  expected.has_soft_preferences = true;
  expected.containers = {{"fetch", model::ContainerType::kInit, {}},
                         {"side", model::ContainerType::kSidecar, {}},
                         {"main",
                          model::ContainerType::kApp,
                          {{"nvidia.com/gpu", "2"}, {"nvidia.com/mig-1g.5gb", "1"}},
                          {.cpu_milli = 1'000, .memory_bytes = 1'073'741'824}}};
  expected.annotations = {{"gpu-fraction", "0.25"},
                          {"gpu-memory.side", "4G"},
                          {"snug.dev/x", "\u00e4\u2603"},
                          {"kubectl.kubernetes.io/default-container", "main"}};
  expected.labels = {{"gpu-label", "train"}};
  expected.annotation_bytes = 12 + 4 + 15 + 2 + 10 + 5 + 39 + 4 + 48 + 2 + 4 + 2 + 4;
  EXPECT_EQ(event->pod, expected);
  EXPECT_EQ(event->type, codec::WatchEventType::kModified);
  EXPECT_EQ(event->resource_version, "42");
}

TEST(KubeProtoTest, EachFieldGivesTheFactsThatJsonGives) {
  const std::vector<std::string> rows = {
      R"({})",
      R"({"status":{"phase":"Succeeded"}})",
      R"({"status":{"phase":"Failed","nominatedNodeName":"n"}})",
      R"({"status":{"phase":"Unknown"}})",
      R"({"metadata":{"deletionTimestamp":"2026-11-20T08:00:00Z"}})",
      R"({"metadata":{"creationTimestamp":"1969-12-31T23:59:59Z"}})",
      R"({"metadata":{"creationTimestamp":"0000-01-01T00:00:00Z"}})",
      R"({"metadata":{"creationTimestamp":"9999-12-31T23:59:59Z"}})",
      R"({"metadata":{"creationTimestamp":"2024-02-29T12:34:56Z"}})",
      R"({"metadata":{"annotations":{"gpu-x":"","other":"abc"}}})",
      R"({"metadata":{"labels":{"gpu-x":"1"}}})",
      R"({"spec":{"priority":-2147483648}})",
      R"({"spec":{"priority":2147483647}})",
      R"({"spec":{"containers":[{"name":"a","resources":{"requests":{"nvidia.com/gpu":"1"}}},
                                {"name":"a"}]}})",
      R"({"metadata":{"annotations":{"gpu_fraction":"0.5","nvidia.com/use-gputype":"A100",
          "other":"x","nvidia.com/container.a.gpu-memory.limit":"8Gi"}}})",
      R"({"spec":{"containers":[{"name":"a","resources":{"limits":
          {"aliyun.com/gpu-mem":"3","nvidia.com/gpumem":"3000","example.com/x":"1"}}},
          {"name":"b","resources":{"requests":{"volcano.sh/vgpu-memory":"4k"}}}]}})",
      R"({"spec":{"affinity":{}}})",
      R"({"spec":{"affinity":{"nodeAffinity":{}}}})",
      R"({"spec":{"affinity":{"nodeAffinity":
          {"preferredDuringSchedulingIgnoredDuringExecution":[{}]}}}})",
      R"({"spec":{"affinity":{"podAntiAffinity":
          {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":2},{}]}}}})",
      R"({"spec":{"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]}})",
      R"({"spec":{"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"},
          {"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway"}]}})",
  };
  codec::KubeObjectReader reader{base::Limits{}};
  for (const std::string& row : rows) {
    json pod = json::parse(row);
    pod["metadata"]["name"] = "p";
    pod["metadata"]["namespace"] = "d";
    const auto from_json = reader.read_pod(pod.dump());
    ASSERT_TRUE(from_json) << from_json.error().message;
    EXPECT_EQ(facts_of(proto::Writer{}.message(pod, "Pod")), *from_json) << row;
  }
}

TEST(KubeProtoTest, AnEventMayStandInAnEnvelopeOfItsOwn) {
  const std::string bare = proto::event("DELETED", full_pod());
  const auto event = read(proto::envelope("WatchEvent", bare));
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, codec::WatchEventType::kDeleted);
  EXPECT_EQ(event->pod, read(bare)->pod);
}

TEST(KubeProtoTest, BookmarksAndErrorsCarryNoPod) {
  const auto bookmark = read(proto::event("BOOKMARK", {{"metadata", {{"resourceVersion", "12"}}}}));
  ASSERT_TRUE(bookmark) << bookmark.error().message;
  EXPECT_EQ(bookmark->type, codec::WatchEventType::kBookmark);
  EXPECT_EQ(bookmark->resource_version, "12");
  const auto expired = read(proto::event(
      "ERROR", {{"code", 410}, {"message", "too old \u00e4"}, {"status", "Failure"}}, "Status"));
  ASSERT_TRUE(expired) << expired.error().message;
  EXPECT_EQ(expired->type, codec::WatchEventType::kError);
  EXPECT_EQ(expired->error_code, 410);
  EXPECT_EQ(expired->error_message, "too old \u00e4");
}

TEST(KubeProtoTest, OfAScalarGivenTwiceTheLastCountsAndMessagesAreMerged) {
  const auto container = [](std::string_view more) {
    return bytes_field(2, bytes_field(1, "c") + std::string{more});
  };
  const auto limit = [](std::string_view key, std::string_view quantity) {
    return bytes_field(
        8, bytes_field(1, bytes_field(1, key) + bytes_field(2, bytes_field(1, quantity))));
  };
  const std::string affinity = bytes_field(18, bytes_field(1, bytes_field(2, ""))) +
                               bytes_field(18, bytes_field(1, "")) + bytes_field(18, "");
  const std::string pod =
      pod_with(bytes_field(5, "old") + bytes_field(5, "u") + bytes_field(8, number_field(1, 1)) +
                   bytes_field(8, ""),
               number_field(25, 7) + bytes_field(10, "n1")) +
      pod_with(bytes_field(1, "q"),
               number_field(25, 8) + affinity +
                   container(limit("nvidia.com/gpu", "1") + limit("nvidia.com/a", "2") +
                             limit("nvidia.com/gpu", "3")));
  const model::PodFacts facts = facts_of(pod);
  EXPECT_EQ(facts.name, "q");
  EXPECT_EQ(facts.name_space, "d");
  EXPECT_EQ(facts.uid, "u");
  EXPECT_EQ(facts.creation_timestamp, "");
  EXPECT_EQ(facts.node_name, "n1");
  EXPECT_EQ(facts.priority, 8);
  EXPECT_TRUE(facts.has_soft_preferences);
  const std::vector<model::ContainerFacts> expected{
      {"c", model::ContainerType::kApp, {{"nvidia.com/a", "2"}, {"nvidia.com/gpu", "3"}}}};
  EXPECT_EQ(facts.containers, expected);
}

TEST(KubeProtoTest, WhatIsNotWrittenIsEmpty) {
  const model::PodFacts facts = facts_of(
      pod_with(bytes_field(8, "") + bytes_field(12, bytes_field(1, "gpu-a")) +
                   bytes_field(12, bytes_field(2, "value of no key")),
               bytes_field(2, bytes_field(1, "c") +
                                  bytes_field(8, bytes_field(1, bytes_field(1, "nvidia.com/a"))))));
  EXPECT_EQ(facts.creation_timestamp, "");
  EXPECT_FALSE(facts.terminating);
  EXPECT_EQ(facts.annotations, (model::StringMap{{"gpu-a", ""}}));
  EXPECT_EQ(facts.annotation_bytes, 5U + 15);
  EXPECT_EQ(facts.containers.at(0).gpu_resources, (model::StringMap{{"nvidia.com/a", ""}}));
}

TEST(KubeProtoTest, ADeletionTimestampOfAnyTimeMeansTerminating) {
  for (const std::string& time : {std::string{}, number_field(1, 0), number_field(2, 5)}) {
    EXPECT_TRUE(facts_of(pod_with(bytes_field(9, time))).terminating);
  }
}

TEST(KubeProtoTest, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  const std::string bad = "\xFF\xED\xA0\x80\xC3z\xC3\xA4\xE2\x98";
  const std::string shown =
      "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz\u00e4\uFFFD\uFFFD";  // as encoding/json writes it
  const model::PodFacts facts = facts_of(pod_with(
      bytes_field(5, bad) + bytes_field(12, bytes_field(1, "gpu-" + bad) + bytes_field(2, bad))));
  EXPECT_EQ(facts.uid, shown);
  EXPECT_EQ(facts.annotations, (model::StringMap{{"gpu-" + shown, shown}}));
  EXPECT_EQ(facts.annotation_bytes, 4 + 2 * shown.size());
  codec::KubeObjectReader reader{base::Limits{}};
  const auto same =
      reader.read_pod(R"({"metadata":{"name":"p","namespace":"d","uid":")" + shown +
                      R"(","annotations":{"gpu-)" + shown + R"(":")" + shown + R"("}}})");
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(facts, *same);
}

TEST(KubeProtoTest, ABadPodIsRefusedWithItsPlace) {
  const std::string two_types = bytes_field(5, "u") + number_field(5, 1);
  const std::string long_varint = "\x08" + std::string(10, '\xFF') + "\x01";
  const auto limits = [](std::string_view entry) {
    return pod_with({},
                    bytes_field(20, bytes_field(1, "c") + bytes_field(8, bytes_field(1, entry))));
  };
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "pod.metadata is missing"},
      {number_field(1, 1), "pod.metadata must be a message, not a varint"},
      {bytes_field(1, ""), "pod.metadata has no name; a pod must have one"},
      {bytes_field(1, bytes_field(1, "p")), "pod.metadata has no namespace; a pod must have one"},
      {bytes_field(1, number_field(1, 1)), "pod.metadata.name must be a string, not a varint"},
      {pod_with(two_types), "pod.metadata.uid is given in two wire types"},
      {pod_with("\x2D"
                "1234"),
       "pod.metadata.uid must be a string, not a number of 32 bits"},
      {pod_with("\x29"
                "12345678"),
       "pod.metadata.uid must be a string, not a number of 64 bits"},
      {pod_with("\x2A\x05"
                "1234"),
       "pod.metadata is truncated"},
      {pod_with("\x2A\xFF\xFF\xFF\xFF\x0F"), "pod.metadata is truncated"},
      {pod_with("\x2B"), "pod.metadata is not a valid protobuf message"},
      {pod_with(std::string(1, '\0')), "pod.metadata is not a valid protobuf message"},
      {pod_with(long_varint), "pod.metadata is not a valid protobuf message"},
      {pod_with(number_field(8, 1)),
       "pod.metadata.creationTimestamp must be a message, not a varint"},
      {pod_with(bytes_field(8, bytes_field(1, ""))),
       "pod.metadata.creationTimestamp.seconds must be an integer, not bytes"},
      {pod_with(bytes_field(8, number_field(1, 253'402'300'800))),
       "pod.metadata.creationTimestamp must be in the years 0 to 9999"},
      {pod_with(bytes_field(9, number_field(1, -62'167'219'201))),
       "pod.metadata.deletionTimestamp must be in the years 0 to 9999"},
      {pod_with(bytes_field(9, number_field(1, INT64_MIN))),
       "pod.metadata.deletionTimestamp must be in the years 0 to 9999"},
      {pod_with(number_field(12, 1)),
       "pod.metadata.annotations[0] must be a message, not a varint"},
      {pod_with(bytes_field(12, "") + bytes_field(12, number_field(1, 1))),
       "pod.metadata.annotations[1].key must be a string, not a varint"},
      {pod_with({}, bytes_field(25, "1")), "pod.spec.priority must be an integer, not bytes"},
      {pod_with({}, bytes_field(2, bytes_field(1, "c")) + bytes_field(2, "")),
       "pod.spec.containers[1] has no name; a container must have one"},
      {pod_with({}, number_field(2, 1)), "pod.spec.containers[0] must be a message"},
      {limits(bytes_field(1, "nvidia.com/gpu") + number_field(2, 1)),
       "pod.spec.initContainers[0].resources.limits.nvidia.com/gpu must be a message"},
      {pod_with({}, {}, number_field(1, 1)), "pod.status.phase must be a string, not a varint"},
      {pod_with({}, {}, "\x0A"), "pod.status is truncated"},
  };
  for (const auto& [pod, problem] : rows) {
    const auto event = read(added(pod));
    ASSERT_FALSE(event) << problem;
    EXPECT_EQ(event.error().code, base::ErrorCode::kInvalid) << problem;
    EXPECT_TRUE(event.error().message.starts_with(problem)) << problem << "\n"
                                                            << event.error().message;
  }
}

TEST(KubeProtoTest, ABadWatchEventIsRefused) {
  const json status{{"code", 410}};
  const std::string pod = proto::Writer{}.message(full_pod(), "Pod");
  const std::string packed = std::string("k8s\0", 4) + bytes_field(1, bytes_field(2, "Pod")) +
                             bytes_field(2, pod) + bytes_field(3, "gzip");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "the watch event's type must be"},
      {proto::event("NEW", full_pod()), "the watch event's type must be"},
      {bytes_field(1, "ADDED"), "the watch event's object is missing"},
      {bytes_field(1, "ADDED") + bytes_field(2, ""), "the watch event's object must begin with"},
      {bytes_field(1, "ADDED") + number_field(2, 1), "the watch event's object must be a message"},
      {bytes_field(1, "ADDED") + bytes_field(2, number_field(1, 1)),
       "the watch event's object.raw must be bytes, not a varint"},
      {proto::event_of("ADDED", pod), "the watch event's object must begin with"},
      {proto::event_of("ADDED", proto::envelope("Node", pod)),
       "the watch event's object must be a Pod, not \"Node\""},
      {proto::event("ERROR", full_pod()), "the watch event's object must be a Status, not \"Pod\""},
      {proto::event("ADDED", status, "Status"), "the watch event's object must be a Pod"},
      {proto::event_of("ADDED", packed),
       "the watch event's object has the unsupported contentEncoding \"gzip\""},
      {proto::envelope("Pod", pod), "the watch event must be a WatchEvent, not \"Pod\""},
      {proto::event("BOOKMARK", json::object()), "object.metadata has no resourceVersion"},
      {proto::event_of("ERROR", proto::envelope("Status", bytes_field(6, "1"))),
       "object.code must be an integer, not bytes"},
      {R"({"type":"ADDED","object":{}})", "the watch event is not a valid protobuf message"},
  };
  for (const auto& [frame, problem] : rows) {
    const auto event = read(frame);
    ASSERT_FALSE(event) << problem;
    EXPECT_TRUE(event.error().message.starts_with(problem)) << problem << "\n"
                                                            << event.error().message;
  }
}

TEST(KubeProtoTest, AFrameOverTheLimitIsTooLarge) {
  base::Limits limits;
  limits.max_object_bytes = 65'536;
  codec::KubeObjectReader reader{limits};
  json pod = full_pod();
  pod["metadata"]["annotations"]["note"] = std::string(65'536, 'x');
  const auto event =
      reader.read_pod_event(proto::event("ADDED", pod), codec::WireFormat::kProtobuf);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, base::ErrorCode::kTooLarge);
}

TEST(KubeProtoTest, EveryFrameThatWasCutIsRefused) {
  for (const std::string& frame :
       {proto::event("ADDED", full_pod()),
        proto::envelope("WatchEvent", proto::event("ADDED", full_pod()))}) {
    ASSERT_TRUE(read(frame));
    // The last two fields of an envelope are empty, so that nothing is missed without them.
    const std::size_t needed = frame.starts_with("k8s") ? frame.size() - 4 : frame.size();
    for (std::size_t size = 0; size < needed; ++size) {
      const std::string cut = frame.substr(0, size);
      ASSERT_FALSE(read(cut)) << size;
      const codec::ObjectNames names = codec::proto_object_names(cut);
      ASSERT_TRUE(names.name.empty() || names.name == "train-0") << size;
      ASSERT_TRUE(names.name_space.empty() || names.name_space == "ml") << size;
    }
  }
}

TEST(KubeProtoTest, ABrokenByteIsReadOrRefusedAndNothingElse) {
  const std::string frame = proto::event("ADDED", full_pod());
  for (std::size_t at = 0; at < frame.size(); ++at) {
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string broken = frame;
      broken[at] = static_cast<char>(broken[at] ^ flip);
      const auto event = read(broken);
      if (!event) {
        EXPECT_FALSE(event.error().message.empty());
      }
      (void)codec::proto_object_names(broken);
    }
  }
}

TEST(KubeProtoTest, NamesAreFoundInWhatIsThere) {
  const std::string frame = proto::event("ADDED", full_pod());
  const std::string pod = proto::envelope("Pod", proto::Writer{}.message(full_pod(), "Pod"));
  const std::string namesless =
      proto::event("BOOKMARK", {{"metadata", {{"resourceVersion", "12"}}}});
  struct Case {
    std::string bytes, name_space, name;
  };
  const std::vector<Case> rows = {
      {frame, "ml", "train-0"},
      {frame.substr(0, frame.find("n1")), "ml", "train-0"},
      {proto::envelope("WatchEvent", frame), "ml", "train-0"},
      {pod, "ml", "train-0"},
      {pod.substr(0, 150), "ml", "train-0"},
      {namesless, "", ""},
      {"", "", ""},
      {"k8s", "", ""},
      {std::string("k8s\0", 4), "", ""},
      {R"({"type":"ADDED"})", "", ""},
      {std::string(100, '\xFF'), "", ""},
  };
  for (const Case& row : rows) {
    const codec::ObjectNames names = codec::proto_object_names(row.bytes);
    EXPECT_EQ(names.name, row.name);
    EXPECT_EQ(names.name_space, row.name_space);
  }
}

}  // namespace
}  // namespace snug::kube_proto_test

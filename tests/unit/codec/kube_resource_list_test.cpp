// What a pod asks of its host, and what else ties it to what is there: each row in both wires.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/codec/kube_objects.hpp"
#include "support/kube_proto.hpp"

namespace snug::kube_amounts_test {
namespace {

using nlohmann::json;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

json pod_with(const std::string& spec) {
  json pod{{"metadata", {{"name", "p"}, {"namespace", "d"}}}};
  pod["spec"] = json::parse(spec);
  return pod;
}

base::Result<codec::WatchEvent> read_proto(const json& pod) {
  return codec::KubeObjectReader{base::Limits{}}.read_pod_event(proto::event("ADDED", pod),
                                                                codec::WireFormat::kProtobuf);
}

base::Result<model::NodeFacts> read_node_with(const std::string& status) {
  return codec::KubeObjectReader{base::Limits{}}.read_node(R"({"metadata":{"name":"n"},"status":)" +
                                                           status + "}");
}

/// The facts, which both wires give.
model::PodFacts facts_of(const std::string& spec) {
  const json pod = pod_with(spec);
  const auto from_json = codec::KubeObjectReader{base::Limits{}}.read_pod(pod.dump());
  const auto from_proto = read_proto(pod);
  EXPECT_TRUE(from_json) << from_json.error().message;
  EXPECT_TRUE(from_proto) << from_proto.error().message;
  if (!from_json || !from_proto) return {};
  EXPECT_EQ(*from_json, from_proto->pod) << spec;
  return *from_json;
}

TEST(KubeAmountsTest, AContainerAsksItsRequestsElseItsLimits) {
  const std::vector<std::pair<std::string, model::HostResources>> rows = {
      {R"({})", {0, 0}},
      {R"({"requests":{}})", {0, 0}},
      {R"({"requests":{"cpu":"2","memory":"1Gi"}})", {2'000, kGi}},
      {R"({"requests":{"cpu":"250m","memory":"128974848000m"}})", {250, 128'974'848}},
      {R"({"requests":{"cpu":"0.0001","memory":"0.5"}})", {1, 1}},
      {R"({"requests":{"cpu":"100n","memory":"1500m"}})", {1, 2}},
      {R"({"requests":{"cpu":"1e1","memory":"8Ei"}})", {10'000, INT64_MAX}},
      {R"({"limits":{"cpu":"2","memory":"1Gi"}})", {2'000, kGi}},
      {R"({"limits":{"cpu":"2","memory":"2Gi"},"requests":{"memory":"1Gi"}})", {2'000, kGi}},
      {R"({"limits":{"cpu":"2"},"requests":{"cpu":"0"}})", {0, 0}},
      {R"({"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}})", {0, 0}},
  };
  for (const auto& [resources, host] : rows) {
    const std::string list = R"([{"name":"c","resources":)" + resources + "}]";
    for (const char* kind : {"containers", "initContainers"}) {
      const model::PodFacts pod = facts_of("{\"" + std::string(kind) + "\":" + list + "}");
      ASSERT_EQ(pod.containers.size(), 1U);
      EXPECT_EQ(pod.containers[0].host, host) << resources;
      EXPECT_FALSE(pod.has_other_constraints) << resources;
    }
  }
}

TEST(KubeAmountsTest, ThePodAsAWholeMayAskToo) {
  struct Row {
    std::string spec;
    std::optional<std::int64_t> cpu, memory;
    model::HostResources overhead;
  };
  const std::string containers =
      R"("containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}])";
  const std::vector<Row> rows = {
      {"{}", {}, {}, {}},
      {R"({"resources":{}})", {}, {}, {}},
      {R"({"resources":{"requests":{"cpu":"2"}}})", 2'000, {}, {}},
      {R"({"resources":{"limits":{"nvidia.com/gpu":"1"},"requests":{"nvidia.com/gpu":"1"}}})",
       {},
       {},
       {}},
      {R"({"resources":{"requests":{"cpu":"0","memory":"1Gi"}}})", 0, kGi, {}},
      {R"({"resources":{"limits":{"cpu":"2","memory":"1Gi"}}})", 2'000, kGi, {}},
      {R"({"resources":{"limits":{"cpu":"2","memory":"1Gi"}},)" + containers + "}", {}, kGi, {}},
      {R"({"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"}},)" + containers + "}",
       1'000,
       {},
       {}},
      {R"({"overhead":{"cpu":"10m","memory":"1Gi"}})", {}, {}, {10, kGi}},
      {R"({"overhead":{"memory":"1Gi"}})", {}, {}, {0, kGi}},
  };
  for (const Row& row : rows) {
    const model::PodFacts pod = facts_of(row.spec);
    EXPECT_EQ(pod.pod_level_cpu_milli, row.cpu) << row.spec;
    EXPECT_EQ(pod.pod_level_memory_bytes, row.memory) << row.spec;
    EXPECT_EQ(pod.overhead, row.overhead) << row.spec;
    EXPECT_FALSE(pod.has_other_constraints) << row.spec;
  }
}

TEST(KubeAmountsTest, WhatElseTiesAPodToItsNodeIsSeen) {
  const auto container = [](const std::string& more, const char* kind = "containers") {
    return "{\"" + std::string(kind) + R"(":[{"name":"a"},{"name":"c",)" + more + "}]}";
  };
  const auto affinity = [](const std::string& kind, const std::string& terms) {
    return R"({"affinity":{")" + kind + R"(":{"requiredDuringSchedulingIgnoredDuringExecution":)" +
           terms + "}}}";
  };
  const std::vector<std::pair<std::string, bool>> rows = {
      {"{}", false},
      {container(R"("ports":[])"), false},
      {container(R"("ports":[{"containerPort":80},{"hostPort":0}])"), false},
      {container(R"("ports":[{"containerPort":80},{"hostPort":8080}])"), true},
      {container(R"("ports":[{"hostPort":8080},{"containerPort":80}])", "initContainers"), true},
      {container(R"("resources":{"requests":{"cpu":"1","nvidia.com/gpu":"1"}})"), false},
      {container(R"("resources":{"requests":{"ephemeral-storage":"1Gi"}})"), true},
      {container(R"("resources":{"requests":{"hugepages-2Mi":"4Mi"}})", "initContainers"), true},
      {container(R"("resources":{"limits":{"rdma/hca":"1"}})"), true},
      {container(R"("resources":{"limits":{"snug.dev/gpu-milli":"1","snug.dev/gpu-memory-mib":"1"},
          "requests":{"snug.dev/gpu-milli":"1","snug.dev/gpu-memory-mib":"1"}})"),
       false},
      {container(R"("resources":{"limits":{"snug.dev/gpu":"1"}})"), true},
      {R"({"resources":{"requests":{"snug.dev/gpu-milli":"1"}}})", true},
      {R"({"overhead":{"snug.dev/gpu-memory-mib":"1"}})", true},
      {R"({"resources":{"requests":{"hugepages-2Mi":"4Mi"}}})", true},
      {R"({"overhead":{"ephemeral-storage":"1"}})", true},
      {R"({"volumes":[]})", false},
      {R"({"volumes":[{"name":"v","emptyDir":{}}]})", false},
      {R"({"volumes":[{"name":"v","persistentVolumeClaim":null,"ephemeral":null}]})", false},
      {R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}},{"name":"w"}]})",
       true},
      {R"({"volumes":[{"name":"w"},{"name":"v","ephemeral":{}}]})", true},
      {R"({"resourceClaims":[]})", false},
      {R"({"resourceClaims":[{"name":"gpu"}]})", true},
      {affinity("nodeAffinity", "{}"), false},
      {affinity("podAffinity", "[]"), false},
      {affinity("podAffinity", R"([{"topologyKey":"zone"}])"), true},
      {affinity("podAntiAffinity", "[{},{}]"), true},
      {R"({"affinity":{"podAffinity":
          {"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1}]}}})",
       false},
      {R"({"topologySpreadConstraints":[]})", false},
      {R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"ScheduleAnyway"}]})", false},
      {R"({"topologySpreadConstraints":[{"whenUnsatisfiable":"DoNotSchedule"}]})", true},
      {R"({"topologySpreadConstraints":[{"maxSkew":1}]})", true},
  };
  for (const auto& [spec, constrained] : rows) {
    EXPECT_EQ(facts_of(spec).has_other_constraints, constrained) << spec;
  }
}

TEST(KubeAmountsTest, AContainerShowsItsLimitsOfTheResourcesThatMirrorShares) {
  const std::vector<std::pair<std::string, model::MirroredAmounts>> rows = {
      {R"({})", {}},
      {R"({"limits":{"snug.dev/gpu-milli":"250"}})", {{250}, {0}}},
      {R"({"limits":{"snug.dev/gpu-milli":"1k","snug.dev/gpu-memory-mib":"4Ki"}})",
       {{1'000}, {4'096}}},
      {R"({"requests":{"snug.dev/gpu-memory-mib":"7"}})", {{0}, {7}}},
      {R"({"limits":{"snug.dev/gpu-milli":"5"},"requests":{"snug.dev/gpu-milli":"3"}})",
       {{5}, {0}}},
      {R"({"limits":{"snug.dev/gpu-milli":"8Ei","snug.dev/gpu-memory-mib":"1000000001"}})",
       {{base::kLargestQuantity}, {base::kLargestQuantity}}},
  };
  for (const auto& [resources, mirrored] : rows) {
    const model::PodFacts pod =
        facts_of(R"({"containers":[{"name":"c","resources":)" + resources + "}]}");
    ASSERT_EQ(pod.containers.size(), 1U);
    EXPECT_EQ(pod.containers[0].mirrored, mirrored) << resources;
    EXPECT_TRUE(pod.containers[0].gpu_resources.empty()) << resources;
  }
}

TEST(KubeAmountsTest, AllLabelsAreKept) {
  json pod = pod_with("{}");
  pod["metadata"]["labels"] = {{"app", "train"}, {"tier", ""}, {"snug.dev/x", "1"}};
  const model::StringMap expected{{"app", "train"}, {"tier", ""}, {"snug.dev/x", "1"}};
  const auto from_json = codec::KubeObjectReader{base::Limits{}}.read_pod(pod.dump());
  const auto from_proto = read_proto(pod);
  ASSERT_TRUE(from_json && from_proto);
  EXPECT_EQ(from_json->labels, expected);
  EXPECT_EQ(from_proto->pod.labels, expected);
  EXPECT_EQ(from_json->annotation_bytes, 0U);
}

TEST(KubeAmountsTest, WhatIsNoQuantityIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"two"}}}]})",
       "pod.spec.containers[0].resources.requests.cpu must be a Kubernetes quantity of 0 or more, "
       "not \"two\""},
      {R"({"initContainers":[{"name":"c","resources":{"limits":{"memory":"-1"},
          "requests":{"memory":"1"}}}]})",
       "pod.spec.initContainers[0].resources.limits.memory must be a Kubernetes quantity of 0 or "
       "more, not \"-1\""},
      {R"({"resources":{"requests":{"memory":""}}})",
       "pod.spec.resources.requests.memory must be a Kubernetes quantity of 0 or more, not \"\""},
      {R"({"overhead":{"cpu":"1x"}})",
       "pod.spec.overhead.cpu must be a Kubernetes quantity of 0 or more, not \"1x\""},
  };
  for (const auto& [spec, problem] : rows) {
    const json pod = pod_with(spec);
    const auto from_json = codec::KubeObjectReader{base::Limits{}}.read_pod(pod.dump());
    const auto from_proto = read_proto(pod);
    ASSERT_FALSE(from_json) << spec;
    ASSERT_FALSE(from_proto) << spec;
    EXPECT_EQ(from_json.error().message, problem);
    EXPECT_EQ(from_proto.error().message, problem);
  }
}

TEST(KubeAmountsTest, AFieldOfAnotherTypeIsRefusedWithItsPlace) {
  using proto::bytes_field;
  using proto::number_field;
  const std::vector<std::pair<std::string, std::string>> json_rows = {
      {R"({"volumes":[7]})", "pod.spec.volumes[0] must be an object, not a number"},
      {R"({"containers":[{"name":"a","ports":[{"hostPort":"x"}]}]})",
       "pod.spec.containers[0].ports[0].hostPort must be an integer of 32 bits"},
      {R"({"overhead":{"cpu":true}})", "pod.spec.overhead.cpu must be a string, not a boolean"},
  };
  for (const auto& [spec, problem] : json_rows) {
    const auto pod = codec::KubeObjectReader{base::Limits{}}.read_pod(pod_with(spec).dump());
    ASSERT_FALSE(pod) << spec;
    EXPECT_EQ(pod.error().message, problem);
  }
  const std::vector<std::pair<std::string, std::string>> proto_rows = {
      {bytes_field(1, number_field(2, 1)),
       "pod.spec.volumes[0].volumeSource must be a message, not a varint"},
      {bytes_field(1, bytes_field(2, "\x0A")), "pod.spec.volumes[0] is truncated"},
      {bytes_field(2, bytes_field(1, "c") + bytes_field(6, bytes_field(2, "1"))),
       "pod.spec.containers[0].ports[0].hostPort must be an integer, not bytes"},
      {number_field(32, 1), "pod.spec.overhead[0] must be a message, not a varint"},
  };
  const std::string metadata = bytes_field(1, bytes_field(1, "p") + bytes_field(3, "d"));
  for (const auto& [spec, problem] : proto_rows) {
    const auto event = codec::KubeObjectReader{base::Limits{}}.read_pod_event(
        proto::event_of("ADDED", proto::envelope("Pod", metadata + bytes_field(2, spec))),
        codec::WireFormat::kProtobuf);
    ASSERT_FALSE(event) << problem;
    EXPECT_EQ(event.error().message, problem);
  }
}

TEST(KubeAmountsTest, ANumberInAManifestIsAQuantity) {
  const auto pod = codec::KubeObjectReader{base::Limits{}}.read_pod(
      R"({"metadata":{"name":"p","namespace":"d"},"spec":{"containers":[{"name":"c",
          "resources":{"requests":{"cpu":1.5,"memory":1024}}}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->containers.at(0).host, (model::HostResources{1'500, 1'024}));
}

TEST(KubeAmountsTest, ANodeShowsTheResourcesThatMirrorShares) {
  struct Row {
    std::string status;
    model::ShownAmounts mirrored;
  };
  const std::vector<Row> rows = {
      {"{}", {}},
      {R"({"capacity":{"nvidia.com/gpu":"1"}})", {}},
      {R"({"capacity":{"snug.dev/gpu-milli":"2k","snug.dev/gpu-memory-mib":"81920"},
           "allocatable":{"snug.dev/gpu-milli":"0","snug.dev/gpu-memory-mib":"81920"}})",
       {{2'000, 81'920}, {0, 81'920}}},
      {R"({"capacity":{"snug.dev/gpu-memory-mib":"64000000000"}})",
       {{std::nullopt, 64'000'000'000}, {}}},
      {R"({"allocatable":{"snug.dev/gpu-milli":7}})", {{}, {7, std::nullopt}}},
  };
  for (const Row& row : rows) {
    const auto node = read_node_with(row.status);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->mirrored, row.mirrored) << row.status;
    EXPECT_FALSE(node->capacity.contains("snug.dev/gpu-milli"));
    EXPECT_FALSE(node->allocatable.contains("snug.dev/gpu-milli"));
  }
  const auto node = read_node_with(R"({"capacity":{"snug.dev/gpu-milli":"x"}})");
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().message,
            "node.status.capacity.snug.dev/gpu-milli must be a Kubernetes quantity of 0 or more, "
            "not \"x\"");
}

TEST(KubeAmountsTest, ANodeHasWhatIsAllocatable) {
  struct Row {
    std::string status;
    model::HostAllocatable host;
  };
  const std::vector<Row> rows = {
      {"{}", {}},
      {R"({"capacity":{"cpu":"8","memory":"1Gi","pods":"110"}})", {}},
      {R"({"allocatable":{}})", {}},
      {R"({"allocatable":{"nvidia.com/gpu":"1"}})", {}},
      {R"({"allocatable":{"cpu":"7910m","memory":"1Gi","pods":"110","nvidia.com/gpu":"1"}})",
       {{7'910, kGi}, 110, true}},
      {R"({"allocatable":{"cpu":8}})", {{8'000, 0}, 0, true}},
      {R"({"allocatable":{"memory":"0"}})", {{0, 0}, 0, true}},
      {R"({"allocatable":{"pods":"1k"}})", {{0, 0}, 1'000, true}},
  };
  for (const Row& row : rows) {
    const auto node = read_node_with(row.status);
    ASSERT_TRUE(node) << node.error().message;
    EXPECT_EQ(node->host, row.host) << row.status;
    EXPECT_FALSE(node->allocatable.contains("cpu"));
  }
  for (const char* name : {"cpu", "memory", "pods"}) {
    const auto node = read_node_with(R"({"allocatable":{")" + std::string(name) + R"(":"x"}})");
    ASSERT_FALSE(node) << name;
    EXPECT_EQ(node.error().message, "node.status.allocatable." + std::string(name) +
                                        " must be a Kubernetes quantity of 0 or more, not \"x\"");
  }
}

}  // namespace
}  // namespace snug::kube_amounts_test

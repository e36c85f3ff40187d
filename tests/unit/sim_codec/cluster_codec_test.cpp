#include "snug/sim_codec/cluster_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace snug::cluster_codec_test {
namespace {

using Texts = std::vector<std::string>;

base::Result<sim_codec::ReadCluster> read(const Texts& files) {
  const base::Limits limits;
  sim_codec::ClusterReader reader(limits);
  for (const std::string& file : files) {
    if (auto added = reader.add({file, "c.json"}); !added) return std::unexpected(added.error());
  }
  return reader.finish();
}

std::string list_of(const Texts& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
  return R"({"kind":"List","items":[)" + list + "]}";
}

sim_codec::ReadCluster read_items(const Texts& items) {
  auto cluster = read({list_of(items)});
  EXPECT_TRUE(cluster.has_value()) << cluster.error().message;
  return cluster ? *std::move(cluster) : sim_codec::ReadCluster{};
}

/// A node with two GPUs of 16384 MiB; `more` continues its metadata.
std::string node(const std::string& name, const std::string& more = "",
                 const std::string& spec = "{}") {
  return R"({"kind":"Node","metadata":{"name":")" + name + R"(","annotations":{)" +
         R"("snug.dev/inventory":"{\"version\":1,\"gpus\":[)" +
         R"({\"index\":0,\"model\":\"T4\",\"memoryMiB\":16384,\"healthy\":true},)" +
         R"({\"index\":1,\"model\":\"T4\",\"memoryMiB\":16384,\"healthy\":true}]}"})" + more +
         R"(},"spec":)" + spec + "}";
}

struct PodText {
  std::string name;
  std::string metadata = "";   // continues the metadata
  std::string resources = "";  // the limits of the container `main`
  std::string spec = "";       // continues the spec
};

std::string pod(const PodText& text) {
  return R"({"kind":"Pod","metadata":{"namespace":"ml","name":")" + text.name + R"(","uid":")" +
         text.name + '"' + text.metadata +
         R"(},"spec":{"containers":[{"name":"main","resources":{"limits":{)" + text.resources +
         "}}}]" + text.spec + "}}";
}

const std::string kQuarter = R"(,"annotations":{"gpu-fraction":"0.25"})";

Texts names_of(const sim_codec::ReadCluster& read_cluster) {
  Texts names;
  for (const sim::ClusterPod& pod : read_cluster.cluster.pods)
    names.push_back(pod.info->facts.name);
  return names;
}

std::string request_of(const sim_codec::ReadCluster& read_cluster, std::size_t at = 0) {
  if (read_cluster.cluster.pods.size() <= at) return "no pod";
  const auto& request = read_cluster.cluster.pods[at].info->request;
  return request ? model::to_text(*request) : request.error().sentence;
}

bool warns(const sim_codec::ReadCluster& read_cluster, const std::string& sentence) {
  return std::ranges::find(read_cluster.warnings, sentence) != read_cluster.warnings.end();
}

TEST(ClusterCodecTest, PodsAreInTheOrderOfTheirCreation) {
  const auto created = [](const std::string& name, const std::string& time) {
    return pod({.name = name, .metadata = kQuarter + R"(,"creationTimestamp":")" + time + '"'});
  };
  const auto cluster = read_items(
      {node("b"), node("a"), created("third", "2026-01-01T00:00:02Z"),
       created("first", "2025-01-01T00:00:00Z"), pod({.name = "undated", .metadata = kQuarter}),
       created("second", "2026-01-01T00:00:01Z"), created("fourth", "2026-01-01T00:00:02Z"),
       pod({.name = "cpu"})});
  EXPECT_EQ(names_of(cluster), (Texts{"first", "second", "third", "fourth", "undated"}));
  EXPECT_EQ(cluster.cluster.nodes.front().inventory.name, "a");
  EXPECT_EQ(cluster.other_pods, 1);
  EXPECT_EQ(cluster.warnings, Texts{});
}

TEST(ClusterCodecTest, WhatKubeSchedulerLooksAtIsRead) {
  const auto cluster = read_items(
      {node("a", R"(,"labels":{"zone":"a"})",
            R"({"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]})"),
       pod({.name = "p",
            .metadata = kQuarter,
            .spec =
                R"(,"nodeSelector":{"zone":"a"},"tolerations":[{"key":"k","operator":"Exists"}],)"
                R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In",)"
                R"("values":["a","b"]}]},{"matchFields":[{"key":"metadata.name",)"
                R"("operator":"NotIn","values":["x"]}]}]}}})"})});
  const sim::NodeTraits& traits = cluster.cluster.nodes.at(0).traits;
  EXPECT_TRUE(traits.unschedulable);
  EXPECT_EQ(traits.labels, (model::StringMap{{"zone", "a"}}));
  EXPECT_EQ(traits.taints.at(0).value, "v");
  const sim::NodeSelection expected{
      .node_selector = {{"zone", "a"}},
      .required_terms = {{{.labels = {{"zone", sim::LabelOperator::kIn, {"a", "b"}}}},
                          {.fields = {{"metadata.name", sim::LabelOperator::kNotIn, {"x"}}}}}},
      .tolerations = {{.key = "k", .exists = true}}};
  EXPECT_TRUE(cluster.cluster.pods.at(0).selection == expected);
}

TEST(ClusterCodecTest, TheLabelOfAnotherEnforcerCounts) {
  const auto cluster =
      read_items({node("a", R"(,"labels":{"snug.dev/enforcer":"koordlet"})"), node("b"),
                  node("c", R"(,"labels":{"snug.dev/enforcer":"nvfractions"})")});
  const auto& nodes = cluster.cluster.nodes;
  EXPECT_EQ(nodes.at(0).inventory.other_enforcer, model::OtherEnforcer::kKoordlet);
  EXPECT_EQ(nodes.at(0).traits.labels, (model::StringMap{{"snug.dev/enforcer", "koordlet"}}));
  EXPECT_EQ(nodes.at(1).inventory.other_enforcer, std::nullopt);
  EXPECT_EQ(nodes.at(2).inventory.closed_to_annotated, model::ReasonCode::kBadInventory)
      << "its GPUs have no uuids";
}

TEST(ClusterCodecTest, BoundPodsHoldWhatTheyWereGiven) {
  const std::string reservation =
      R"(,"annotations":{"gpu-fraction":"0.25","snug.dev/reservation":"{\"version\":1,)"
      R"(\"uid\":\"p\",\"node\":\"a\",\"containers\":[{\"name\":\"main\",)"
      R"(\"request\":\"gpu-fraction=0.25\",\"devices\":[{\"index\":1,\"mode\":\"time-slicing\",)"
      R"(\"memoryMiB\":4096,\"computeMilli\":250}]}]}"})";
  const auto cluster = read_items(
      {node("a"), pod({.name = "p", .metadata = reservation, .spec = R"(,"nodeName":"a")"}),
       pod({.name = "units", .resources = R"("nvidia.com/gpu":"1")", .spec = R"(,"nodeName":"a")"}),
       pod({.name = "lost", .metadata = kQuarter, .spec = R"(,"nodeName":"gone")"})});
  ASSERT_EQ(names_of(cluster), (Texts{"p", "units", "lost"}));
  EXPECT_EQ(cluster.cluster.pods[0].holding->reservation.containers[0].devices()[0].index, 1);
  EXPECT_FALSE(cluster.cluster.pods[1].holding->unplaced);
  EXPECT_EQ(cluster.cluster.pods[2].holding, nullptr);
  EXPECT_TRUE(warns(cluster, "1 pod bound to a node that is not in the files (ml/lost)"));
}

/// A pod that requests GPUs in the form of another system, on a node of Snug's.
TEST(ClusterCodecTest, RequestsOfOtherSystemsMeanTheSame) {
  struct Row {
    PodText pod;
    std::string request;
  };
  for (const Row& row :
       {Row{{.name = "hami",
             .resources =
                 R"("nvidia.com/gpu":1,"nvidia.com/gpumem":"3000","nvidia.com/gpucores":"30")"},
            "gpu-memory=3000;gpu-compute=30"},
        Row{{.name = "hami", .resources = R"("nvidia.com/gpu":2,"nvidia.com/gpumem":3000)"},
            "gpu-memory=3000;gpu-count=2"},
        Row{{.name = "hami",
             .resources = R"("nvidia.com/gpu":"1","nvidia.com/gpumem-percentage":"5")"},
            "gpu-fraction=0.05"},
        Row{{.name = "hami",
             .resources = R"("nvidia.com/gpu":"1","nvidia.com/gpumem-percentage":"100")"},
            "gpu-fraction=1"},
        Row{{.name = "volcano",
             .resources = R"("volcano.sh/vgpu-number":"1","volcano.sh/vgpu-memory":"1024")"},
            "gpu-memory=1024"},
        Row{{.name = "vgpu-manager",
             .resources = R"("nvidia.com/vgpu-number":"1","nvidia.com/vgpu-memory":"1024",)"
                          R"("nvidia.com/vgpu-cores":"50")"},
            "gpu-memory=1024;gpu-compute=50"},
        Row{{.name = "gpushare", .resources = R"("aliyun.com/gpu-mem":"3")"}, "gpu-memory=3072"},
        Row{{.name = "koordinator",
             .resources =
                 R"("koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory-ratio":"50")"},
            "gpu-fraction=0.50;gpu-compute=50"},
        Row{{.name = "koordinator",
             .resources =
                 R"("koordinator.sh/gpu-core":"200","koordinator.sh/gpu-memory-ratio":"200")"},
            "gpu-fraction=2"},
        Row{{.name = "kai",
             .metadata =
                 R"(,"annotations":{"nvidia.com/container.main.gpu-memory.request":"2Gi"})"},
            "gpu-memory=2Gi"},
        Row{{.name = "snug", .resources = R"("nvidia.com/gpu":"2")"}, "nvidia.com/gpu=2"}}) {
    const auto cluster = read_items({node("a"), pod(row.pod)});
    EXPECT_EQ(request_of(cluster), row.request) << row.pod.resources;
    EXPECT_EQ(cluster.warnings.size(), row.pod.name == "snug" ? 0U : 1U) << row.pod.resources;
  }
}

TEST(ClusterCodecTest, WhatIsNotUnderstoodIsCounted) {
  const auto cluster = read_items(
      {node("a"), pod({.name = "amd", .resources = R"("amd.com/gpu":"1")"}),
       pod({.name = "amd2", .resources = R"("amd.com/gpu":"2")"}),
       pod({.name = "none", .resources = R"("amd.com/gpu":"0")"}),
       pod({.name = "slice", .resources = R"("mig.das.com/mig-1g.5gb":"1")"}),
       pod({.name = "disk", .resources = R"("example.com/disk":"1")"}),
       pod({.name = "claim", .spec = R"(,"resourceClaims":[{"name":"gpu"}])"}),
       pod({.name = "gated", .metadata = kQuarter, .spec = R"(,"schedulingGates":[{"name":"g"}])"}),
       pod({.name = "port",
            .metadata = kQuarter,
            .spec = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])"})});
  EXPECT_EQ(names_of(cluster), Texts{"port"});
  EXPECT_EQ(
      cluster.warnings,
      (Texts{"2 pods requesting amd.com/gpu, which the simulation cannot read: left where they "
             "are (ml/amd, ml/amd2)",
             "1 pod claiming devices by a ResourceClaim, which the simulation does not read "
             "(ml/claim)",
             "1 pod requesting mig.das.com/mig-1g.5gb, which the simulation cannot read: left "
             "where they are (ml/slice)",
             "1 pod with host ports, volume claims, pod affinity, spreading or other "
             "resources, which the simulation ignores (ml/port)",
             "1 pod with scheduling gates: not simulated (ml/gated)"}));
}

TEST(ClusterCodecTest, ModelsThatNobodyHasAreCounted) {
  const auto cluster = read_items(
      {node("a"),
       R"({"kind":"Node","metadata":{"name":"m","annotations":{"snug.dev/inventory":)"
       R"("{\"version\":1,\"gpus\":[{\"index\":0,\"model\":\"X9000\",\"memoryMiB\":16384,)"
       R"(\"healthy\":true,\"mig\":true}]}"}}})",
       pod({.name = "h100",
            .metadata = R"(,"annotations":{"gpu-fraction":"0.5","gpu-model":"H100*,!T4"})"}),
       pod({.name = "t4",
            .metadata = R"(,"annotations":{"gpu-fraction":"0.5","gpu-model":"T?"})"})});
  EXPECT_EQ(
      cluster.warnings,
      (Texts{"1 node with the model \"X9000\" in MIG mode: Snug has no MIG table for this model, "
             "and the inventory states none (migProfiles), so its GPUs take no pods (m)",
             "1 pod with gpu-model \"H100*,!T4\", which no GPU of the cluster matches (ml/h100)"}));
}

std::string hami_node(const std::string& text) {
  return R"({"kind":"Node","metadata":{"name":"h","annotations":{"hami.io/node-nvidia-register":")" +
         text +
         R"("}},"status":{"capacity":{"nvidia.com/gpu":"20"},"allocatable":{"nvidia.com/gpu":"20"}}})";
}

TEST(ClusterCodecTest, GpusAndAssignmentsOfHamiAreRead) {
  const std::string assigned =
      R"(,"annotations":{"hami.io/vgpu-devices-allocated":"GPU-b,NVIDIA,3000,30:;"})";
  for (const std::string& text :
       {std::string(R"([{\"id\":\"GPU-a\",\"devmem\":16384,\"type\":\"T4\",\"health\":true},)"
                    R"({\"id\":\"GPU-b\",\"index\":1,\"devmem\":16384,\"type\":\"T4\"}])"),
        std::string("GPU-a,10,16384,100,T4,0,true:GPU-b,10,16384,100,T4,0,false:")}) {
    const auto cluster =
        read_items({hami_node(text),
                    pod({.name = "share",
                         .metadata = assigned,
                         .resources = R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"3000")",
                         .spec = R"(,"nodeName":"h")"}),
                    pod({.name = "whole", .resources = R"("nvidia.com/gpu":"1")"})});
    const auto& gpus = cluster.cluster.nodes.at(0).inventory.gpus;
    ASSERT_EQ(gpus.size(), 2U) << text;
    EXPECT_EQ(gpus[1].uuid, "GPU-b");
    EXPECT_EQ(gpus[1].memory.value, 16384);
    EXPECT_TRUE(gpus[0].healthy);
    EXPECT_FALSE(gpus[1].healthy);
    EXPECT_EQ(request_of(cluster, 1), "gpu-fraction=1");
    const auto& held = cluster.cluster.pods.at(0).holding->reservation.containers.at(0);
    EXPECT_EQ(held.name, "main");
    EXPECT_EQ(held.devices()[0].uuid, "GPU-b");
    EXPECT_EQ(held.devices()[0].memory.value, 3000);
    const sim::GpuCounts now = sim::count_gpus_now(cluster.cluster, base::ManualClock{});
    EXPECT_EQ(
        now,
        (sim::GpuCounts{
            .gpus = 2, .in_use = 1, .free = 1, .most_free_on_a_node = 1, .reserved_milli = 300}))
        << text << ": the GPU is unhealthy, and the pod holds 30 % of it";
  }
}

/// A cluster with one pod, which HAMi gave the device `device`.
sim_codec::ReadCluster read_pod_of_hami(const std::string& device) {
  return read_items({hami_node("GPU-a,10,16384,100,T4,0,true:"),
                     pod({.name = "share",
                          .metadata = R"(,"annotations":{"hami.io/vgpu-devices-allocated":")" +
                                      device + R"(:;"})",
                          .resources = R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"3000")",
                          .spec = R"(,"nodeName":"h")"})});
}

TEST(ClusterCodecTest, AnAssignmentWithAmountsThatNoGpuHasIsNotRead) {
  for (const char* device : {"GPU-a,NVIDIA,0,0", "GPU-a,NVIDIA,1000000000,100"})
    EXPECT_FALSE(read_pod_of_hami(device).cluster.pods.at(0).holding->unplaced) << device;
  for (const char* device :
       {"GPU-a,NVIDIA,-1,30", "GPU-a,NVIDIA,1000000001,30", "GPU-a,NVIDIA,3000,-1",
        "GPU-a,NVIDIA,3000,101", "GPU-a,NVIDIA,3000,9223372036854775807", "GPU-a,NVIDIA,,30",
        "GPU-a,NVIDIA,3000,x", "GPU-a,NVIDIA,3000", ",NVIDIA,3000,30"}) {
    const auto cluster = read_pod_of_hami(device);
    EXPECT_TRUE(cluster.cluster.pods.at(0).holding->unplaced) << device;
    EXPECT_TRUE(warns(cluster,
                      "1 pod with devices of another system that the simulation cannot "
                      "read: they count as free (ml/share)"))
        << device;
  }
  EXPECT_TRUE(warns(read_pod_of_hami(""),
                    "1 pod bound without an assignment that the simulation can read: counted as "
                    "holding no GPU now (ml/share)"));
  // A GPU that the node does not register is no GPU of the cluster.
  const auto elsewhere = read_pod_of_hami("GPU-gone,NVIDIA,3000,30");
  EXPECT_EQ(sim::count_gpus_now(elsewhere.cluster, base::ManualClock{}),
            (sim::GpuCounts{.gpus = 1, .free = 1, .most_free_on_a_node = 1}));
  EXPECT_TRUE(warns(elsewhere,
                    "1 pod on a GPU that its node does not list: counted as holding nothing of it "
                    "now (ml/share)"));
  const auto partly = read_pod_of_hami("GPU-a,NVIDIA,3000,30:GPU-a,NVIDIA,3000");
  EXPECT_FALSE(partly.cluster.pods.at(0).holding->unplaced);
  EXPECT_EQ(partly.warnings.size(), 2U);  // also about the form of its request
}

TEST(ClusterCodecTest, CardsInMigModeAreToldFromLabels) {
  const std::string labelled =
      R"({"kind":"Node","metadata":{"name":"m","labels":{"nvidia.com/gpu.product":)"
      R"("NVIDIA-A100-SXM4-40GB","nvidia.com/gpu.count":"3","nvidia.com/gpu.memory":"40960",)"
      R"("nvidia.com/mig.strategy":"mixed"}},"status":{"capacity":{"nvidia.com/gpu":"1",)"
      R"("nvidia.com/mig-3g.20gb":"4"},"allocatable":{"nvidia.com/gpu":"1",)"
      R"("nvidia.com/mig-3g.20gb":"4"}}})";
  const auto cluster = read_items({labelled, pod({.name = "a",
                                                  .resources = R"("nvidia.com/mig-3g.20gb":"1")",
                                                  .spec = R"(,"nodeName":"m")"})});
  const sim::GpuCounts now = sim::count_gpus_now(cluster.cluster, base::ManualClock{});
  EXPECT_EQ(now.gpus, 3);
  EXPECT_EQ(now.in_use, 1);
  EXPECT_EQ(now.free, 1);
  EXPECT_EQ(now.free_mig, 1);
}

TEST(ClusterCodecTest, LikelyMistakesAreCounted) {
  const auto cluster = read_items(
      {node("a"), pod({.name = "typo", .metadata = R"(,"annotations":{"gpu-fracton":"0.5"})"}),
       pod({.name = "label", .metadata = R"(,"labels":{"gpu-fraction":"0.5"})"}),
       pod({.name = "right", .metadata = kQuarter})});
  EXPECT_EQ(
      cluster.warnings,
      (Texts{"1 pod with a likely mistake: Snug does not read the annotation gpu-fracton; if "
             "the pod needs a GPU, use gpu-fraction (ml/typo)",
             "1 pod with a likely mistake: gpu-fraction (\"0.5\") is a label of this pod, and "
             "Snug reads it only as an annotation, under metadata.annotations (ml/label)"}));
}

TEST(ClusterCodecTest, ARegisterThatCannotBeReadIsNoInventory) {
  for (const char* text : {"", "nonsense", "[1]", "[", "GPU-a,10"}) {
    const auto cluster = read_items({hami_node(text), pod({.name = "p", .metadata = kQuarter})});
    EXPECT_TRUE(cluster.cluster.nodes.at(0).inventory.gpus.empty()) << text;
  }
}

TEST(ClusterCodecTest, GpusAndAssignmentsOfGpushareAreRead) {
  const auto cluster = read_items(
      {R"({"kind":"Node","metadata":{"name":"g"},"status":{"capacity":{"aliyun.com/gpu-mem":"30",)"
       R"("aliyun.com/gpu-count":"2"}}})",
       pod({.name = "p",
            .metadata = R"(,"annotations":{"ALIYUN_COM_GPU_MEM_IDX":"1"})",
            .resources = R"("aliyun.com/gpu-mem":"3")",
            .spec = R"(,"nodeName":"g")"})});
  EXPECT_EQ(cluster.cluster.nodes.at(0).inventory.gpus.at(1).memory.value, 15 * 1024);
  EXPECT_EQ(cluster.cluster.pods.at(0).holding->reservation.containers[0].devices()[0].index, 1);
  EXPECT_EQ(request_of(cluster), "gpu-memory=3072");
  for (const char* index : {"-1", "64", "4294967296", "x"}) {
    const auto unread =
        read_items({R"({"kind":"Node","metadata":{"name":"g"},"status":{"capacity":)"
                    R"({"aliyun.com/gpu-mem":"30","aliyun.com/gpu-count":"2"}}})",
                    pod({.name = "p",
                         .metadata = std::string(R"(,"annotations":{"ALIYUN_COM_GPU_MEM_IDX":")") +
                                     index + R"("})",
                         .resources = R"("aliyun.com/gpu-mem":"3")",
                         .spec = R"(,"nodeName":"g")"})});
    EXPECT_TRUE(unread.cluster.pods.at(0).holding->unplaced) << index;
  }
  // So many units for each GPU are MiB.
  const auto in_mib = read_items(
      {R"({"kind":"Node","metadata":{"name":"g"},"status":{"capacity":{"aliyun.com/gpu-mem":"30000",)"
       R"("aliyun.com/gpu-count":"2"}}})",
       pod({.name = "p", .resources = R"("aliyun.com/gpu-mem":"3000")"})});
  EXPECT_EQ(in_mib.cluster.nodes.at(0).inventory.gpus.at(0).memory.value, 15000);
  EXPECT_EQ(request_of(in_mib), "gpu-memory=3000");
}

TEST(ClusterCodecTest, PlaceholdersOfKaiLeaveAndTheirPodsAreSimulated) {
  const auto cluster =
      read_items({node("a"),
                  pod({.name = "keeper",
                       .metadata = R"(,"labels":{"app":"kai-resource-reservation"})",
                       .resources = R"("nvidia.com/gpu":"1")",
                       .spec = R"(,"nodeName":"a")"}),
                  pod({.name = "half", .metadata = kQuarter, .spec = R"(,"nodeName":"a")"})});
  EXPECT_EQ(names_of(cluster), Texts{"half"});
  EXPECT_EQ(cluster.cluster.leaving.size(), 1U);
  EXPECT_EQ(sim::count_gpus_now(cluster.cluster, base::ManualClock{}).in_use, 1);
}

TEST(ClusterCodecTest, AllFormsOfKubectlAreRead) {
  const std::string yaml =
      "apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata: {name: y}\n"
      "- kind: Pod\n  metadata: {namespace: ml, name: y, annotations: {gpu-fraction: \"0.5\"}}\n"
      "  spec: {nodeSelector: {zone: a}, containers: [{name: main}]}\n";
  const auto from_yaml = read({yaml});
  ASSERT_TRUE(from_yaml.has_value()) << from_yaml.error().message;
  EXPECT_EQ(from_yaml->cluster.pods.at(0).selection.node_selector.at("zone"), "a");

  const auto files =
      read({node("a", R"(,"labels":{"zone":"a"})"),
            R"({"kind":"PodList","items":[{"metadata":{"namespace":"ml","name":"p",)"
            R"("annotations":{"gpu-fraction":"0.5"}},"spec":{"nodeSelector":{"zone":"a"},)"
            R"("containers":[{"name":"main"}]}}]})"});
  ASSERT_TRUE(files.has_value()) << files.error().message;
  EXPECT_EQ(files->cluster.nodes.at(0).traits.labels.at("zone"), "a");
  EXPECT_EQ(files->cluster.pods.at(0).selection.node_selector.at("zone"), "a");
}

TEST(ClusterCodecTest, SaysWhereAFileIsWrong) {
  struct Row {
    Texts files;
    std::string message;
  };
  for (const Row& row :
       {Row{{R"({"kind":"List","items":[]})"},
            "--cluster has no node; expected the output of kubectl get nodes,pods -A -o json"},
        Row{{R"({"kind":"Deployment"})"},
            "c.json: the manifest is of kind \"Deployment\"; expected List, NodeList, PodList, "
            "Node "
            "or Pod"},
        Row{{node("a"), node("a")}, "c.json: the node a is given twice in the manifests"},
        Row{{list_of({node("a"), R"({"kind":"Pod","metadata":{"namespace":"ml"}})"})},
            "c.json: items[1].metadata has no name; a pod must have one"}}) {
    const auto cluster = read(row.files);
    ASSERT_FALSE(cluster.has_value());
    EXPECT_EQ(cluster.error().message, row.message);
  }
}

}  // namespace
}  // namespace snug::cluster_codec_test

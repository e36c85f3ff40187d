#include "snug/codec/pod_templates.hpp"

#include <gtest/gtest.h>

#include <string>

#include "snug/codec/explain_codec.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug::codec::pod_templates_test {
namespace {

/// The pods as `namespace/name fraction`, or the error.
std::string read(const std::string& text) {
  const auto pods = read_pod_templates(text, "f", "here", {});
  if (!pods) return pods.error().message;
  std::string names;
  for (const auto& [pod, workload, misplaced_keys] : *pods) {
    const auto fraction = pod.annotations.find("gpu-fraction");
    names += (names.empty() ? "" : ", ") + pod.name_space + "/" + pod.name + " " +
             (fraction == pod.annotations.end() ? "-" : fraction->second);
    if (!workload.empty()) names += " of " + workload;
    for (const std::string& sentence : misplaced_keys) names += "; " + sentence;
  }
  return names;
}

constexpr const char* kPod =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {gpu-fraction: \"0.5\"}}\n"
    "spec: {containers: [{name: main}]}\n";
constexpr const char* kDeployment =
    "kind: Deployment\nmetadata: {name: d, namespace: ml}\nspec:\n  template:\n"
    "    metadata: {annotations: {gpu-fraction: \"0.25\"}}\n"
    "    spec: {containers: [{name: main}]}\n";

TEST(PodTemplatesTest, ReadsPodsAndWorkloads) {
  EXPECT_EQ(read(kPod), "here/p 0.5");
  EXPECT_EQ(read(kDeployment), "ml/d 0.25 of Deployment");
  EXPECT_EQ(read(std::string("# two\n---\n") + kPod + "---\nkind: Service\n---\n" + kDeployment),
            "here/p 0.5, ml/d 0.25 of Deployment");
  EXPECT_EQ(read(R"({"kind":"List","items":[{"kind":"Pod","metadata":{"name":"a"},)"
                 R"("spec":{"containers":[{"name":"c"}]}}]})"),
            "here/a -");
  EXPECT_EQ(read(R"({"kind":"CronJob","metadata":{"name":"c"},"spec":{"jobTemplate":{"spec":)"
                 R"({"template":{"spec":{"containers":[{"name":"c"}]}}}}}})"),
            "here/c - of CronJob");
}

TEST(PodTemplatesTest, ASeparatorMayHaveAComment) {
  EXPECT_EQ(read(std::string("--- # first\n") + kPod + "--- # second\n" + kDeployment),
            "here/p 0.5, ml/d 0.25 of Deployment");
}

TEST(PodTemplatesTest, FindsGpuAnnotationsOfTheWorkloadItself) {
  const std::string head =
      "kind: CronJob\nmetadata: {name: c, annotations: {gpu-fraction: \"0.5\"}}\n"
      "spec: {jobTemplate: {spec: {template: {";
  const std::string spec = "spec: {containers: [{name: main}]}}}}}\n";
  EXPECT_EQ(read(head + spec),
            "here/c - of CronJob; the CronJob c has the annotation gpu-fraction, and Snug reads "
            "annotations "
            "of pods only; expected it under spec.jobTemplate.spec.template.metadata.annotations");
  EXPECT_EQ(read(head + "metadata: {annotations: {gpu-fraction: \"0.25\"}}, " + spec),
            "here/c 0.25 of CronJob");
}

TEST(PodTemplatesTest, FindsGpuAnnotationsOfTheJobTemplate) {
  EXPECT_EQ(read("kind: CronJob\nmetadata: {name: c}\nspec: {jobTemplate: {metadata: {annotations: "
                 "{gpu-memory: 4Gi}}, spec: {template: {spec: {containers: [{name: main}]}}}}}\n"),
            "here/c - of CronJob; the CronJob c has the annotation gpu-memory under "
            "spec.jobTemplate.metadata, "
            "and Snug reads annotations of pods only; expected it under "
            "spec.jobTemplate.spec.template.metadata.annotations");
}

TEST(PodTemplatesTest, CountsLinesInTheWholeText) {
  const std::string broken = "kind: Pod\nmetadata: {name: x\n";
  const std::string alone = read(broken);
  ASSERT_TRUE(alone.starts_with("f:")) << alone;
  const std::string behind = read(std::string(kPod) + "---\n" + broken);
  const auto line_of = [](const std::string& message) { return std::stoi(message.substr(2)); };
  EXPECT_EQ(line_of(behind), line_of(alone) + 5) << behind;
}

TEST(PodTemplatesTest, EmptyDocumentsAreSkipped) {
  EXPECT_EQ(read(std::string("---\nnull\n---\n~\n---\n") + kPod), "here/p 0.5");
}

TEST(PodTemplatesTest, SaysWhatIsWrong) {
  EXPECT_EQ(read(""), "f: there is no pod and no workload that makes pods (Deployment, Job…)");
  EXPECT_EQ(read("kind: Service\n---\nkind: ConfigMap\n"),
            "f: there is no pod and no workload that makes pods (Deployment, Job…); it has "
            "Service, ConfigMap");
  EXPECT_EQ(read("kind: Job\nspec: {}\n"), "f: Job has no spec.template");
  EXPECT_EQ(read("{"), "f: it is not valid JSON");
  EXPECT_EQ(read("3"), "f: the manifest must be an object");
}

TEST(PodTemplatesTest, AWrittenManifestHasTheSameFacts) {
  const auto pods = read_pod_templates(
      R"({"kind":"Pod","metadata":{"name":"a","namespace":"n","labels":{"x":"y"},)"
      R"("annotations":{"gpu-memory.c":"4G","gpu_fraction":"0.5"}},)"
      R"("spec":{"schedulerName":"snug","priority":7,"schedulingGates":[{"name":"g"}],)"
      R"("overhead":{"cpu":"10m","memory":"16Mi"},"resources":{"requests":{"cpu":"3","memory":"2Gi"}},)"
      R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}],)"
      R"("preferredDuringSchedulingIgnoredDuringExecution":[{}]}},)"
      R"("initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always",)"
      R"("resources":{"requests":{"cpu":"250m"}}}],"containers":[{"name":"c","resources":)"
      R"({"requests":{"memory":"1Gi"},"limits":{"aliyun.com/gpu-mem":"4","nvidia.com/gpu":"2","snug.dev/gpu-milli":"250",)"
      R"("snug.dev/gpu-memory-mib":"4"}}}]}})",
      "f", "here", {});
  ASSERT_TRUE(pods);
  KubeObjectReader reader{base::Limits{}};
  model::PodFacts before = pods->front().pod;
  before.annotation_bytes = 0;
  auto after = reader.read_pod(write_pod_manifest(before));
  ASSERT_TRUE(after) << after.error().message;
  after->annotation_bytes = 0;
  EXPECT_EQ(*after, before);
  EXPECT_EQ(before.stray_keys.size(), 2U);
  EXPECT_EQ(before.overhead, (model::HostResources{10, 16 << 20}));
  EXPECT_EQ(before.pod_level_cpu_milli, 3000);
}

TEST(PodTemplatesTest, AWrittenManifestHasTheConstraintsAndPreferencesOfThePod) {
  for (const bool constrained : {false, true}) {
    for (const bool prefers : {false, true}) {
      model::PodFacts before{.name_space = "n", .name = "a"};
      before.has_other_constraints = constrained;
      before.has_soft_preferences = prefers;
      before.containers.emplace_back().name = "c";
      const std::string manifest = write_pod_manifest(before);
      const auto after = KubeObjectReader(base::Limits{}).read_pod(manifest);
      ASSERT_TRUE(after) << after.error().message;
      EXPECT_EQ(*after, before) << manifest;
    }
  }
}

}  // namespace
}  // namespace snug::codec::pod_templates_test

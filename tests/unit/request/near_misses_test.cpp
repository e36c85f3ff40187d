#include "snug/request/near_misses.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "unit/request/asked.hpp"

namespace snug::near_misses_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool is_stray(const std::string& key) {
  std::size_t compared = 0;
  return request::is_stray_annotation(key, compared);
}

/// The pod as the codec would keep it.
model::PodFacts pod_with_annotation(const std::string& key, const std::string& value) {
  model::PodFacts pod = make_pod("p", {});
  if (key.starts_with("gpu-") || key.starts_with("snug.dev/")) {
    pod.annotations[key] = value;
  } else if (is_stray(key)) {
    pod.stray_keys[key] = value;
  }
  return pod;
}

TEST(NearMissesTest, AMisspelledAnnotationNamesTheRightKey) {
  struct Row {
    std::string key;
    std::string_view meant;  // empty: nothing is said
  };
  const Row rows[] = {
      {"gpu-fracton", "gpu-fraction"},
      {"gpu-fractions", "gpu-fraction"},
      {"gpu-farction", "gpu-fraction"},
      {"gpu-fracton.main", "gpu-fraction"},
      {"gpu_fraction", "gpu-fraction"},
      {"gpufraction", "gpu-fraction"},
      {"GPU-Fraction", "gpu-fraction"},
      {"gpu-Memory", "gpu-memory"},
      {"gpu-memroy", "gpu-memory"},
      {"gpu-mem", "gpu-memory"},
      {"gpu-cuont", "gpu-count"},
      {"gpu-modle", "gpu-model"},
      {"gpu-type", "gpu-model"},
      {"gpu-mig-profil", "gpu-mig-profile"},
      {"gpu-profile", "gpu-mig-profile"},
      {"snug.dev/gpu-fraction", "gpu-fraction"},
      {"nvidia.com/gpu-memory", "gpu-memory"},
      {"gp-fraction", "gpu-fraction"},
      {"nvidia.com/gpu-fracton", "gpu-fraction"},
      {"gpu_type", "gpu-model"},
      {"gpu-fraction", ""},
      {"gpu-memory.main", ""},
      // The domain of somebody else.
      {"team/gpu-fracton", ""},
      {"example.com/gpu-fraction", ""},
      {"example.com/gpu-type", ""},
      {"example.com/gpu-profile", ""},
      {"scheduling.example.com/gpu-num", ""},
      {"a.nvidia.com/gpu-memory", ""},
      // Words that others use too, with a domain.
      {"nvidia.com/gpu-type", ""},
      {"nvidia.com/gpu-cores", ""},
      {"snug.dev/gpu-number", ""},
      {"gpu-temperature", ""},
      {"gpu-", ""},
      {"snug.dev/reservation", ""},
      {"prometheus.io/scrape", ""},
      {"fraction", ""},
      {"gpu-" + std::string(300, 'x'), ""},
  };
  for (const Row& row : rows) {
    const auto found = request::near_misses(pod_with_annotation(row.key, "0.25"));
    if (row.meant.empty()) {
      EXPECT_THAT(found, IsEmpty()) << row.key;
      EXPECT_FALSE(is_stray(row.key)) << row.key;
      continue;
    }
    ASSERT_THAT(found, SizeIs(1)) << row.key;
    EXPECT_FALSE(found[0].of_other_system);
    EXPECT_EQ(found[0].sentence, "Snug does not read the annotation " + row.key +
                                     "; if the pod needs a GPU, use " + std::string(row.meant));
  }
}

TEST(NearMissesTest, ALabelInPlaceOfAnAnnotationIsSaid) {
  model::PodFacts pod = make_pod("p", {});
  pod.labels = {{"app", "x"}, {"gpu-fraction", "0.5"}, {"gpu-nodes", "a"}};
  const auto found = request::near_misses(pod);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(
      found[0].sentence,
      "gpu-fraction (\"0.5\") is a label of this pod, and Snug reads it only as an annotation, "
      "under metadata.annotations");
  pod.annotations["gpu-fraction"] = "0.5";  // the label repeats the annotation
  EXPECT_THAT(request::near_misses(pod), IsEmpty());
}

TEST(NearMissesTest, KeysOfOtherSystemsNameWhatSnugReads) {
  struct Row {
    std::string key;
    bool resource;
    std::string_view system;
    std::string_view instead;
  };
  const Row rows[] = {
      {"nvidia.com/gpumem", true, "HAMi", "gpu-memory"},
      {"nvidia.com/gpumem-percentage", true, "HAMi", "gpu-fraction"},
      {"nvidia.com/gpucores", true, "HAMi", "gpu-compute"},
      {"nvidia.com/vgpu-memory", true, "vgpu-manager", "gpu-memory"},
      {"aliyun.com/gpu-mem", true, "gpushare", "gpu-memory"},
      {"volcano.sh/vgpu-memory", true, "Volcano", "gpu-memory"},
      {"volcano.sh/vgpu-number", true, "Volcano", "gpu-fraction"},
      {"nvidia.com/vgpu-cores", true, "vgpu-manager", "gpu-compute"},
      {"nvidia.com/vgpu-number", true, "vgpu-manager", "gpu-fraction"},
      {"volcano.sh/vgpu-memory-percentage", true, "Volcano", "gpu-fraction"},
      {"volcano.sh/vgpu-cores", true, "Volcano", "gpu-compute"},
      {"volcano.sh/gpu-memory", true, "Volcano", "gpu-fraction"},
      {"koordinator.sh/gpu-memory", true, "Koordinator", "gpu-memory"},
      {"koordinator.sh/gpu", true, "Koordinator", "gpu-fraction"},
      {"koordinator.sh/gpu-core", true, "Koordinator", "gpu-compute"},
      {"koordinator.sh/gpu-memory-ratio", true, "Koordinator", "gpu-fraction"},
      {"elasticgpu.io/gpu-core", true, "Elastic GPU", "gpu-fraction"},
      {"tke.cloud.tencent.com/qgpu-core", true, "qGPU", "gpu-fraction"},
      {"k8s.amazonaws.com/vgpu", true, "AWS", "gpu-fraction"},
      {"nvshare.com/gpu", true, "nvshare", "gpu-fraction"},
      {"nvidia.com/use-gputype", false, "HAMi", "gpu-model"},
      {"nvidia.com/container.main.gpu-memory.limit", false, "KAI Scheduler", "gpu-memory."},
      {"kai.scheduler/gpu-compute-sharing-mode", false, "KAI Scheduler", "gpu-isolation"},
  };
  for (const Row& row : rows) {
    model::PodFacts pod = make_pod("p", {});
    EXPECT_EQ(request::is_stray_resource(row.key), row.resource) << row.key;
    EXPECT_EQ(is_stray(row.key), !row.resource) << row.key;
    if (row.resource && row.key.starts_with("nvidia.com/")) {
      pod.containers[0].gpu_resources[row.key] = "3000";
    } else {
      pod.stray_keys[row.key] = "3000";
    }
    const auto found = request::near_misses(pod);
    ASSERT_THAT(found, SizeIs(1)) << row.key;
    EXPECT_TRUE(found[0].of_other_system);
    EXPECT_THAT(found[0].sentence, HasSubstr(row.key + " (\"3000\") belongs to "));
    EXPECT_THAT(found[0].sentence, HasSubstr(row.system));
    EXPECT_THAT(found[0].sentence, HasSubstr(", and Snug does not read it; use the annotation " +
                                             std::string(row.instead)));
  }
}

TEST(NearMissesTest, OrdinaryResourcesAndUnprintableValuesAreSafe) {
  model::PodFacts pod = make_pod("p", {{"gpu-fracton", "x"}});
  pod.containers[0].gpu_resources = {{"nvidia.com/gpu", "1"}, {"nvidia.com/mig-1g.5gb", "1"}};
  EXPECT_THAT(request::near_misses(pod), SizeIs(1));
  for (const char* name : {"cpu", "nvidia.com/gpu", "example.com/gpu-mem", "gpu-mem"})
    EXPECT_FALSE(request::is_stray_resource(name)) << name;
  pod = make_pod("p", {});
  for (int i = 0; i < 100; ++i)
    pod.annotations["gpu-fractio" + std::string(1, char('A' + i % 26))] = "";
  EXPECT_THAT(request::near_misses(pod), SizeIs(base::kMaxNearMisses));
  pod = make_pod("p", {});
  pod.stray_keys["nvidia.com/use-gputype"] = "A100\n\x1B[31m";
  EXPECT_EQ(request::near_misses(pod)[0].sentence.find('\n'), std::string::npos);
}

TEST(NearMissesTest, WhatTheBindingWroteForAnotherEnforcerIsNoMistake) {
  model::PodFacts pod = make_pod("p", {{"gpu-fraction", "0.5"}});
  pod.stray_keys["nvidia.com/container.main.gpu-memory.limit"] = "512Mi";
  EXPECT_THAT(request::near_misses(pod), SizeIs(1));
  pod.annotations["snug.dev/reservation"] = "{}";
  EXPECT_THAT(request::near_misses(pod), IsEmpty());
}

TEST(NearMissesTest, FewKeysOfAPodAreCompared) {
  model::PodFacts pod = make_pod("p", {{"gpu-fracton", "0.5"}});
  for (std::size_t i = 1; i < base::kMaxComparedKeys; ++i)
    pod.annotations["gpu-a" + std::to_string(i)] = "";  // before the misspelled key
  EXPECT_THAT(request::near_misses(pod), SizeIs(1));
  pod.annotations["gpu-a"] = "";
  EXPECT_THAT(request::near_misses(pod), IsEmpty());
}

TEST(NearMissesTest, AModelThatNoNodeHasNamesTheNearest) {
  const std::vector<std::string> models{"NVIDIA-A100-SXM4-40GB", "NVIDIA-H100-80GB-HBM3",
                                        "Tesla-T4"};
  struct Row {
    std::string_view filter;
    std::string_view nearest;  // empty: a model matches
  };
  const Row rows[] = {
      {"A100*", ""},
      {"h100*", ""},
      {"A100*,B200", ""},
      {"!A100*", ""},
      {"H1000*", "no GPU in the cluster matches gpu-model \"H1000*\"; the models are "},
      {"NVIDIA-H100-80GB-HBM",
       "\"NVIDIA-H100-80GB-HBM*\" would match; the models are NVIDIA-H100-80GB-HBM3, "},
      {"Tesla-T40", "; the models are Tesla-T4, "},
      {"A100", "gpu-model \"A100\"; \"A100*\" would match; the models are "},
      {"40GB", "gpu-model \"40GB\"; \"*40GB*\" would match; the models are "},
      {"B200,B300", "no GPU in the cluster matches gpu-model \"B200,…\"; "},
  };
  for (const Row& row : rows) {
    const auto request = request::parse_request(
        make_pod("p", {{"gpu-fraction", "0.5"}, {"gpu-model", std::string(row.filter)}}));
    ASSERT_TRUE(request) << row.filter;
    const std::string sentence = request::unmatched_models(*request, models);
    if (row.nearest.empty()) {
      EXPECT_EQ(sentence, "") << row.filter;
    } else {
      EXPECT_THAT(sentence, HasSubstr(std::string(row.nearest)));
    }
    EXPECT_EQ(request::unmatched_models(*request, {}), "") << "an empty cluster has no models";
  }
}

}  // namespace
}  // namespace snug::near_misses_test

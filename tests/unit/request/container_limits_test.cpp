#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"
#include "support/test_objects.hpp"

namespace snug::resources_test {
namespace {

constexpr model::ContainerType kApp = model::ContainerType::kApp;
constexpr model::ContainerType kInit = model::ContainerType::kInit;
constexpr model::ContainerType kSidecar = model::ContainerType::kSidecar;

struct Asked {
  std::string name;
  model::ContainerType kind = kApp;
  model::StringMap resources;
};

model::PodFacts pod_of(const std::vector<Asked>& containers) {
  model::PodFacts pod = make_pod("p");
  pod.containers.clear();
  for (const Asked& asked : containers) {
    pod.containers.push_back(
        {.name = asked.name, .type = asked.kind, .gpu_resources = asked.resources});
  }
  return pod;
}

model::StringMap gpus(int count) { return {{"nvidia.com/gpu", std::to_string(count)}}; }

/// `container:resource=count` of each part, in order, without the common prefix of resources.
std::string held(const model::PodFacts& pod) {
  const auto request = request::parse_request(pod);
  if (!request) return request.error().sentence;
  std::string text;
  for (const model::ContainerRequest& container : request->containers) {
    std::string resource = std::get<model::KubeletRequest>(container.device).resource;
    EXPECT_TRUE(resource.starts_with("nvidia.com/"));
    EXPECT_EQ(container.text, resource + "=" + std::to_string(container.count));
    if (!text.empty()) text += " ";
    text += container.container + ":" + resource.substr(11) + "=" + std::to_string(container.count);
  }
  EXPECT_EQ(request->empty(), text.empty());
  EXPECT_EQ(request->is_kubelet_assigned(), !text.empty());
  return text;
}

TEST(ResourcesTest, APodHoldsWhatItHasAtAnyOneTime) {
  struct Row {
    std::string_view why;
    std::vector<Asked> containers;
    std::string_view held;
  };
  const std::vector<Row> rows = {
      {"one container", {{"a", kApp, gpus(2)}}, "a:gpu=2"},
      {"apps add up", {{"a", kApp, gpus(2)}, {"b", kApp, gpus(1)}}, "a:gpu=2 b:gpu=1"},
      {"zero asks for nothing", {{"a", kApp, gpus(0)}}, ""},
      {"zero beside one", {{"a", kApp, gpus(0)}, {"b", kApp, gpus(1)}}, "b:gpu=1"},
      {"other resources are not Snug's", {{"a", kApp, {{"nvidia.com/hostdev", "1"}}}}, ""},
      {"a smaller init container reuses", {{"i", kInit, gpus(1)}, {"a", kApp, gpus(2)}}, "a:gpu=2"},
      {"an equal one too", {{"i", kInit, gpus(2)}, {"a", kApp, gpus(2)}}, "a:gpu=2"},
      {"a larger one adds the rest",
       {{"i", kInit, gpus(3)}, {"a", kApp, gpus(2)}},
       "a:gpu=2 i:gpu=1"},
      {"only the largest of several",
       {{"i", kInit, gpus(3)}, {"j", kInit, gpus(5)}, {"k", kInit, gpus(4)}, {"a", kApp, gpus(2)}},
       "a:gpu=2 j:gpu=3"},
      {"an init container alone", {{"i", kInit, gpus(3)}, {"a", kApp, {}}}, "i:gpu=3"},
      {"sidecars run beside the apps",
       {{"s", kSidecar, gpus(1)}, {"a", kApp, gpus(2)}},
       "s:gpu=1 a:gpu=2"},
      {"a sidecar started before runs beside the init container",
       {{"s", kSidecar, gpus(1)}, {"i", kInit, gpus(3)}, {"a", kApp, gpus(2)}},
       "s:gpu=1 a:gpu=2 i:gpu=1"},
      {"one started after does not",
       {{"i", kInit, gpus(3)}, {"s", kSidecar, gpus(1)}, {"a", kApp, gpus(2)}},
       "s:gpu=1 a:gpu=2"},
      {"each resource on its own",
       {{"i", kInit, {{"nvidia.com/gpu", "1"}}},
        {"a", kApp, {{"nvidia.com/mig-1g.5gb", "2"}, {"nvidia.com/gpu.shared", "1"}}}},
       "i:gpu=1 a:gpu.shared=1 a:mig-1g.5gb=2"},
      {"the largest number", {{"a", kApp, gpus(1'000'000'000)}}, "a:gpu=1000000000"}};
  for (const Row& row : rows) EXPECT_EQ(held(pod_of(row.containers)), row.held) << row.why;
}

TEST(ResourcesTest, MalformedCountsAreRefused) {
  for (const std::string_view value :
       {"", "-1", "+1", "1.5", "0.5", "1K", "k", "1000m", "1e1", "one", " 1", "1 ", "1000000001",
        "2G", "1001M", "99999999999999999999", "99999999999999999999G"}) {
    EXPECT_EQ(held(pod_of({{"a", kApp, {{"nvidia.com/gpu", std::string(value)}}}})),
              "nvidia.com/gpu is \"" + std::string(value) +
                  "\"; expected a whole number of units, at most 1000000000");
  }
}

TEST(ResourcesTest, CountsAreReadAsTheApiServerWritesThem) {
  EXPECT_EQ(request::parse_unit_count("8"), 8);
  EXPECT_EQ(request::parse_unit_count("1k"), 1000);
  EXPECT_EQ(request::parse_unit_count("2M"), 2'000'000);
  EXPECT_EQ(request::parse_unit_count("1G"), 1'000'000'000);
  EXPECT_EQ(request::parse_unit_count("1000000"), 1'000'000);
  EXPECT_EQ(request::parse_unit_count("0"), 0);
}

TEST(ResourcesTest, APodAsksInAtMost64Places) {
  std::vector<Asked> containers;
  for (int i = 0; i < 64; ++i) containers.push_back({"c" + std::to_string(i), kApp, gpus(1)});
  EXPECT_TRUE(request::parse_request(pod_of(containers)).has_value());
  containers.front().resources.emplace("nvidia.com/mig-1g.5gb", "1");
  EXPECT_EQ(held(pod_of(containers)),
            "65 containers of the pod, each counted once for each resource, ask for nvidia.com/* "
            "units; expected at most 64");
}

TEST(ResourcesTest, AskingBothWaysIsRefused) {
  for (const std::string_view key : {"gpu-fraction", "gpu-memory"}) {
    model::PodFacts pod = pod_of({{"a", kApp, gpus(1)}});
    pod.annotations.emplace(key, "1");
    const auto request = request::parse_request(pod);
    ASSERT_FALSE(request.has_value());
    EXPECT_EQ(
        request.error(),
        (model::Refusal{model::ReasonCode::kMalformed,
                        "the pod asks for GPUs by annotation and by nvidia.com/gpu; expected one "
                        "of the two"}));
  }
}

TEST(ResourcesTest, AZeroCountBesideAnAnnotationAsksOneWayOnly) {
  model::PodFacts pod = pod_of({{"a", kApp, gpus(0)}});
  pod.annotations.emplace("gpu-fraction", "0.5");
  const auto request = request::parse_request(pod);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(model::to_text(*request), "gpu-fraction=0.5");
}

TEST(ResourcesTest, AMalformedCountIsRefusedBesideAnAnnotationToo) {
  model::PodFacts pod = pod_of({{"a", kApp, {{"nvidia.com/gpu", "x"}}}});
  pod.annotations.emplace("gpu-fraction", "0.5");
  EXPECT_FALSE(request::parse_request(pod).has_value());
}

TEST(ResourcesTest, AnyOtherKeyIsRefusedBesideAResource) {
  for (const std::string_view key :
       {"gpu-model", "gpu-count", "gpu-container", "gpu-isolation.a", "gpu-mig-profile"}) {
    model::PodFacts pod = pod_of({{"a", kApp, gpus(1)}});
    pod.annotations = {{std::string(key), "a"}, {"gpu-policy", "spread"}};
    const auto request = request::parse_request(pod);
    ASSERT_FALSE(request.has_value()) << key;
    EXPECT_EQ(request.error().code, model::ReasonCode::kMalformed);
  }
}

TEST(ResourcesTest, APolicyMayStandBesideAResource) {
  model::PodFacts pod = pod_of({{"a", kApp, gpus(1)}, {"b", kApp, gpus(2)}});
  const auto without = request::parse_request(pod);
  pod.annotations.emplace("gpu-policy", "spread");
  const auto request = request::parse_request(pod);
  ASSERT_TRUE(request.has_value()) << request.error().sentence;
  EXPECT_EQ(request->policy, "spread");
  EXPECT_EQ(request->containers, without->containers);
  EXPECT_EQ(request->main_container, without->main_container);
}

TEST(ResourcesTest, APolicyBesideAZeroCountIsRefused) {
  model::PodFacts pod = pod_of({{"a", kApp, gpus(0)}});
  pod.annotations.emplace("gpu-policy", "spread");
  EXPECT_EQ(held(pod),
            "gpu-policy is \"spread\" on a pod that asks for no GPU; expected gpu-policy with "
            "gpu-fraction, gpu-memory, gpu-mig-profile or nvidia.com/* limits");
}

}  // namespace
}  // namespace snug::resources_test

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "unit/request/asked.hpp"

namespace snug::containers_test {
namespace {

const std::string kDefault = "kubectl.kubernetes.io/default-container";

struct Row {
  model::StringMap annotations;
  std::string_view asked;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    std::string said;
    for (const auto& [key, value] : row.annotations) said += key + ": " + value + "\n";
    EXPECT_EQ(asked_by(make_pod_of_five(row.annotations)), row.asked) << said;
  }
}

TEST(ContainersTest, TheReceiverIsNamedOrDefaultOrTheFirstAppContainer) {
  expect_rows({
      {{{"gpu-fraction", "1"}}, "first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction", "1"}, {"gpu-container", "second"}}, "second{gpu-fraction=1} main=second"},
      {{{"gpu-fraction", "1"}, {"gpu-container", "setup"}}, "setup{gpu-fraction=1} main=setup"},
      {{{"gpu-fraction", "1"}, {"gpu-container", "proxy"}}, "proxy{gpu-fraction=1} main=proxy"},
      {{{"gpu-fraction", "1"}, {kDefault, "second"}}, "second{gpu-fraction=1} main=second"},
      {{{"gpu-fraction", "1"}, {kDefault, "setup"}}, "setup{gpu-fraction=1} main=setup"},
      {{{"gpu-fraction", "1"}, {kDefault, "unknown"}}, "first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction", "1"}, {kDefault, ""}}, "first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction", "1"}, {"gpu-container", "first"}, {kDefault, "second"}},
       "first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction", "1"}, {"gpu-fraction-container-name", "second"}, {kDefault, "proxy"}},
       "second{gpu-fraction=1} main=second"},
  });
}

TEST(ContainersTest, AKeyWithAContainerIsThatContainersInThePodsOrder) {
  expect_rows({
      {{{"gpu-fraction.second", "0.5"}}, "second{gpu-fraction=0.5} main=first"},
      {{{"gpu-fraction.second", "0.5"}, {kDefault, "second"}},
       "second{gpu-fraction=0.5} main=second"},
      {{{"gpu-fraction.second", "0.5"}, {"gpu-container", "second"}},
       "second{gpu-fraction=0.5} main=second"},
      {{{"gpu-fraction", "0.5"}, {"gpu-memory.proxy", "4G"}},
       "proxy{gpu-memory=4G} first{gpu-fraction=0.5} main=first"},
      {{{"gpu-fraction.first", "2"},
        {"gpu-fraction.late", "0.5"},
        {"gpu-fraction.proxy", "0.25"},
        {"gpu-fraction.second", "0.125"},
        {"gpu-fraction.setup", "0.1"}},
       "setup{gpu-fraction=0.1} proxy{gpu-fraction=0.25} late{gpu-fraction=0.5} "
       "first{gpu-fraction=2} second{gpu-fraction=0.125} main=first"},
      {{{"gpu-memory", "4G"},
        {"gpu-compute.first", "30"},
        {"gpu-fraction.second", "0.5"},
        {"gpu-model.second", "A100*"},
        {"gpu-count", "2"}},
       "first{gpu-memory=4G;gpu-count=2;gpu-compute=30} "
       "second{gpu-fraction=0.5;gpu-model=A100*} main=first"},
      {{{"gpu-fraction.second", "0.5"}, {"gpu-fraction-num-devices.second", "2"}},
       "second{gpu-fraction=0.5;gpu-count=2} main=first"},
      {{{"gpu-fraction", "0.5"},
        {"gpu-count", "2"},
        {"gpu-memory.late", "1G"},
        {"gpu-count.late", "3"}},
       "late{gpu-memory=1G;gpu-count=3} first{gpu-fraction=0.5;gpu-count=2} main=first"},
  });
}

TEST(ContainersTest, TheKindOfTheContainerStandsInTheRequest) {
  const auto request = request::parse_request(make_pod_of_five({{"gpu-fraction.setup", "0.5"},
                                                                {"gpu-fraction.proxy", "0.5"},
                                                                {"gpu-fraction.second", "0.5"}}));
  ASSERT_TRUE(request.has_value());
  ASSERT_EQ(request->containers.size(), 3U);
  EXPECT_EQ(request->containers[0].type, model::ContainerType::kInit);
  EXPECT_EQ(request->containers[1].type, model::ContainerType::kSidecar);
  EXPECT_EQ(request->containers[2].type, model::ContainerType::kApp);
  EXPECT_EQ(model::to_text(*request),
            "setup: gpu-fraction=0.5; proxy: gpu-fraction=0.5; second: gpu-fraction=0.5");
}

TEST(ContainersTest, UnknownContainersAreRefused) {
  expect_rows({
      {{{"gpu-fraction.other", "0.5"}},
       "gpu-fraction.other is for the container \"other\"; expected the name of one of the pod's "
       "containers"},
      {{{"gpu-fraction", "0.5"}, {"gpu-model.First", "A"}},
       "gpu-model.First is for the container \"First\"; expected the name of one of the pod's "
       "containers"},
      {{{"gpu-memory.", "4G"}},
       "gpu-memory. is for the container \"\"; expected the name of one of the pod's containers"},
      {{{"gpu-fraction", "0.5"}, {"gpu-container", "other"}},
       "gpu-container is \"other\"; expected the name of one of the pod's containers"},
      {{{"gpu-fraction", "0.5"}, {"gpu-container", ""}},
       "gpu-container is \"\"; expected the name of one of the pod's containers"},
      {{{"gpu-fraction", "0.5"}, {"gpu-container", "First"}},
       "gpu-container is \"First\"; expected the name of one of the pod's containers"},
      {{{"gpu-fraction.first", "0.5"}, {"gpu-fraction-container-name", "other"}},
       "gpu-fraction-container-name is \"other\"; expected the name of one of the pod's "
       "containers"},
  });
}

TEST(ContainersTest, KeysOfTheWholePodTakeNoContainer) {
  expect_rows({
      {{{"gpu-fraction", "0.5"}, {"gpu-policy.first", "spread"}},
       "gpu-policy.first names a container; expected gpu-policy, which is for the whole pod"},
      {{{"gpu-policy.first", "spread"}},
       "gpu-policy.first names a container; expected gpu-policy, which is for the whole pod"},
      {{{"gpu-policy", "spread"}, {"gpu-fraction", "0.5"}, {"gpu-policy.other", "spread"}},
       "gpu-policy.other names a container; expected gpu-policy, which is for the whole pod"},
      {{{"gpu-container.first", "second"}, {"gpu-fraction", "0.5"}},
       "gpu-container.first names a container; expected gpu-container, which is for the whole "
       "pod"},
      {{{"gpu-container.", "second"}, {"gpu-fraction", "0.5"}},
       "gpu-container. names a container; expected gpu-container, which is for the whole pod"},
      {{{"gpu-fraction-container-name.first", "first"}, {"gpu-fraction", "0.5"}},
       "gpu-fraction-container-name.first names a container; expected "
       "gpu-fraction-container-name, which is for the whole pod"},
  });
}

TEST(ContainersTest, AReceiverOfNothingIsRefused) {
  expect_rows({
      {{{"gpu-container", "first"}},
       "gpu-container is \"first\", and no annotation requests a GPU for that container; expected "
       "gpu-fraction, gpu-memory or gpu-mig-profile for it"},
      {{{"gpu-fraction-container-name", "second"}, {"gpu-fraction.first", "0.5"}},
       "gpu-fraction-container-name is \"second\", and no annotation requests a GPU for that "
       "container; expected gpu-fraction, gpu-memory or gpu-mig-profile for it"},
      {{{"gpu-container", "second"}, {"gpu-policy", "spread"}},
       "gpu-container is \"second\", and no annotation requests a GPU for that container; expected "
       "gpu-fraction, gpu-memory or gpu-mig-profile for it"},
  });
}

TEST(ContainersTest, OneSettingSaidTwiceIsRefused) {
  expect_rows({
      {{{"gpu-fraction", "0.5"}, {"gpu-fraction.first", "0.5"}},
       "gpu-fraction.first and gpu-fraction are two names of one setting; expected one of the "
       "two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-model", "A"}, {"gpu-model.first", "A"}},
       "gpu-model.first and gpu-model are two names of one setting; expected one of the two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-fraction.second", "0.5"}, {"gpu-container", "second"}},
       "gpu-fraction.second and gpu-fraction are two names of one setting; expected one of the "
       "two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-count", "2"}, {"gpu-fraction-num-devices", "2"}},
       "gpu-count and gpu-fraction-num-devices are two names of one setting; expected one of the "
       "two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-count.first", "2"}, {"gpu-fraction-num-devices", "2"}},
       "gpu-count.first and gpu-fraction-num-devices are two names of one setting; expected one "
       "of the two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-count.first", "2"}, {"gpu-fraction-num-devices.first", "2"}},
       "gpu-count.first and gpu-fraction-num-devices.first are two names of one setting; "
       "expected one of the two"},
      {{{"gpu-fraction", "0.5"},
        {"gpu-container", "first"},
        {"gpu-fraction-container-name", "first"}},
       "gpu-container and gpu-fraction-container-name are two names of one setting; expected one "
       "of the two"},
  });
}

TEST(ContainersTest, AFractionAndAMemoryOfDifferentContainersAreNoContradiction) {
  expect_rows({
      {{{"gpu-fraction", "0.5"}, {"gpu-memory.second", "4G"}},
       "first{gpu-fraction=0.5} second{gpu-memory=4G} main=first"},
      {{{"gpu-fraction", "0.5"}, {"gpu-memory.first", "4G"}},
       "gpu-fraction and gpu-memory.first both request GPUs for the same container; expected one "
       "of the two"},
      {{{"gpu-fraction.second", "0.5"}, {"gpu-memory.second", "4G"}},
       "gpu-fraction.second and gpu-memory.second both request GPUs for the same container; "
       "expected one of the two"},
      {{{"gpu-fraction", "0.5"}, {"gpu-memory", ""}},
       "gpu-fraction and gpu-memory both request GPUs for the same container; expected one of "
       "the two"},
  });
}

TEST(ContainersTest, AnInitContainerCannotHaveWholeWhatOthersShare) {
  const std::string_view refused =
      "the init container \"late\" asks for whole GPUs (gpu-fraction=1) and the container "
      "\"first\" for a share (gpu-fraction=0.5); expected a share for the init container too";
  expect_rows({
      {{{"gpu-fraction.late", "1"}, {"gpu-fraction.first", "0.5"}}, refused},
      {{{"gpu-fraction.late", "1"}, {"gpu-fraction.first", "0.5"}, {"gpu-fraction.second", "1"}},
       refused},
      {{{"gpu-fraction.setup", "2"}, {"gpu-memory.proxy", "4G"}},
       "the init container \"setup\" asks for whole GPUs (gpu-fraction=2) and the container "
       "\"proxy\" for a share (gpu-memory=4G); expected a share for the init container too"},
      {{{"gpu-fraction.setup", "0.5"}, {"gpu-fraction.first", "1"}},
       "setup{gpu-fraction=0.5} first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction.setup", "2"}, {"gpu-fraction.first", "1"}},
       "setup{gpu-fraction=2} first{gpu-fraction=1} main=first"},
      {{{"gpu-fraction.setup", "2"}, {"gpu-fraction.late", "0.5"}},
       "setup{gpu-fraction=2} late{gpu-fraction=0.5} main=first"},
      {{{"gpu-fraction.proxy", "1"}, {"gpu-fraction.first", "0.5"}},
       "proxy{gpu-fraction=1} first{gpu-fraction=0.5} main=first"},
  });
}

model::PodFacts pod_of_many(int containers, std::string_view fraction) {
  model::PodFacts pod = make_pod("p");
  pod.containers.clear();
  for (int i = 0; i < containers; ++i) {
    const std::string name = "c" + std::to_string(i);
    pod.containers.push_back({.name = name});
    pod.annotations.emplace("gpu-fraction." + name, fraction);
  }
  return pod;
}

TEST(ContainersTest, AtMost8ContainersAskByAnnotation) {
  EXPECT_TRUE(request::parse_request(pod_of_many(8, "0.5")).has_value());
  EXPECT_EQ(asked_by(pod_of_many(9, "0.5")),
            "9 containers of the pod ask for GPUs by annotation; expected at most 8");
  model::PodFacts pod = pod_of_many(8, "0.5");
  for (int i = 0; i < 50; ++i) pod.containers.push_back({.name = "idle" + std::to_string(i)});
  EXPECT_TRUE(request::parse_request(pod).has_value()) << "what asks for nothing does not count";
}

TEST(ContainersTest, SeveralContainersAskForAtMost64DevicesInAll) {
  EXPECT_TRUE(request::parse_request(pod_of_many(8, "8")).has_value());
  model::PodFacts pod = pod_of_many(2, "32");
  EXPECT_TRUE(request::parse_request(pod).has_value());
  pod.annotations["gpu-fraction.c0"] = "33";
  EXPECT_EQ(asked_by(pod),
            "several containers of the pod ask for 65 GPUs in all; expected at most 64");
  pod.annotations = {{"gpu-fraction.c0", "0.1"}, {"gpu-count.c0", "64"}, {"gpu-memory.c1", "1G"}};
  EXPECT_EQ(asked_by(pod),
            "several containers of the pod ask for 65 GPUs in all; expected at most 64");
  pod.annotations.erase("gpu-memory.c1");
  EXPECT_TRUE(request::parse_request(pod).has_value())
      << "one container may ask for as many as it likes";
  pod.annotations["gpu-count.c0"] = "999";
  EXPECT_TRUE(request::parse_request(pod).has_value());
}

TEST(ContainersTest, APodWithoutAnyAppContainerIsRefused) {
  model::PodFacts pod = make_pod("p", {{"gpu-fraction", "0.5"}});
  pod.containers.clear();
  EXPECT_EQ(asked_by(pod), "the pod asks for a GPU and has no container");
}

}  // namespace
}  // namespace snug::containers_test

// What pods of each shape get: the additions as lines `path value`, in their order.
#include "snug/admission/pod_additions.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "snug/request/pod_request_parser.hpp"
#include "support/source_file.hpp"

namespace snug::pod_additions_test {
namespace {

using admission::AdmittedPod;
using admission::ContainerFields;
using nlohmann::json;
using Lines = std::vector<std::string>;

constexpr admission::CardRange kCards{.smallest = {16384}, .largest = {81920}};
const admission::PodDefaults kDefaults;

AdmittedPod pod_of(model::StringMap annotations, const std::vector<std::string>& names = {"main"},
                   const std::vector<std::string>& init_names = {}) {
  AdmittedPod pod;
  pod.facts.annotations = std::move(annotations);
  for (const std::string& name : init_names) {
    pod.facts.containers.push_back({.name = name, .type = model::ContainerType::kInit});
    pod.init_containers.push_back({.name = name});
  }
  for (const std::string& name : names) {
    pod.facts.containers.push_back({.name = name});
    pod.containers.push_back({.name = name});
  }
  pod.facts.scheduler_name = "default-scheduler";
  return pod;
}

struct ToLine {
  std::string operator()(const admission::EmptyList& /*value*/) const { return "[]"; }
  std::string operator()(const admission::EmptyObject& /*value*/) const { return "{}"; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const admission::NewToleration& added) const { return added.key; }
  std::string operator()(const admission::NewVariable& added) const {
    return added.name + "=" + added.field_path;
  }
};

std::vector<admission::Addition> additions_of(
    const AdmittedPod& pod, const admission::PodDefaults& defaults = kDefaults,
    const std::optional<admission::CardRange>& cards = std::nullopt) {
  const auto request = request::parse_request(pod.facts);
  return admission::pod_additions(pod, defaults, request ? &*request : nullptr, cards);
}

Lines lines_of(const AdmittedPod& pod, const admission::PodDefaults& defaults = kDefaults,
               const std::optional<admission::CardRange>& cards = std::nullopt) {
  Lines lines;
  for (const admission::Addition& addition : additions_of(pod, defaults, cards)) {
    std::string line;
    for (const std::string& part : addition.path) line += "/" + part;
    lines.push_back(line + " " + std::visit(ToLine{}, addition.value));
  }
  return lines;
}

std::string variable(const std::string& list, const std::string& name, const std::string& key,
                     const std::string& container) {
  return "/spec/" + list + "/env/- " + name + "=metadata.annotations['snug.dev/" + key + "." +
         container + "']";
}

/// The lines of a container without variables.
Lines all_variables(const std::string& list, const std::string& container) {
  return {"/spec/" + list + "/env []",
          variable(list, "NVIDIA_VISIBLE_DEVICES", "visible-devices", container),
          variable(list, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "memory-limit", container),
          variable(list, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "compute-percent", container)};
}

Lines operator+(Lines lines, const Lines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

const Lines kPodLines{"/spec/schedulerName snug", "/spec/tolerations []",
                      "/spec/tolerations/- nvidia.com/gpu", "/spec/tolerations/- snug.dev/only"};

TEST(PodAdditions, OfTheMinimalPod) {
  EXPECT_EQ(lines_of(pod_of({{"gpu-fraction", "0.25"}})),
            kPodLines + all_variables("containers/0", "main"));
}

TEST(PodAdditions, OfEachContainerThatAsks) {
  const AdmittedPod pod =
      pod_of({{"gpu-fraction", "0.25"}, {"gpu-memory.setup", "1Gi"}, {"gpu-fraction.third", "1"}},
             {"main", "second", "third"}, {"idle", "setup"});
  EXPECT_EQ(lines_of(pod), kPodLines + all_variables("containers/0", "main") +
                               all_variables("containers/2", "third") +
                               all_variables("initContainers/1", "setup"));
}

TEST(PodAdditions, GoToTheContainerThatTheKeysDescribe) {
  const auto described = [](model::StringMap annotations) {
    annotations.emplace("gpu-memory", "1Gi");
    const Lines lines = lines_of(pod_of(std::move(annotations), {"a", "b"}, {"i"}));
    return lines.size() > kPodLines.size() ? lines[kPodLines.size()] : "none";
  };
  EXPECT_EQ(described({}), "/spec/containers/0/env []");
  EXPECT_EQ(described({{"gpu-container", "b"}}), "/spec/containers/1/env []");
  EXPECT_EQ(described({{"gpu-fraction-container-name", "i"}}), "/spec/initContainers/0/env []");
  const std::string by_default = "kubectl.kubernetes.io/default-container";
  EXPECT_EQ(described({{by_default, "b"}}), "/spec/containers/1/env []");
  EXPECT_EQ(described({{by_default, "nobody"}}), "/spec/containers/0/env []");
  EXPECT_EQ(described({{"gpu-container", "nobody"}}), "none");
}

TEST(PodAdditions, KeepWhatThePodHas) {
  AdmittedPod pod = pod_of({{"gpu-fraction", "0.25"}});
  pod.facts.scheduler_name = "another";
  pod.runtime_class = "mine";
  pod.tolerations = {{.key = "nvidia.com/gpu", .op = "Exists", .effect = "NoSchedule"},
                     {.key = "snug.dev/only", .op = "Equal", .effect = ""}};
  pod.containers[0].variables = {"MINE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"};
  const Lines variables = all_variables("containers/0", "main");
  EXPECT_EQ(lines_of(pod, {.runtime_class = "nvidia"}),
            (Lines{"/spec/tolerations/- snug.dev/only", variables[1], variables[3]}));
}

TEST(PodAdditions, OneTolerationMayBeForAllKeys) {
  AdmittedPod pod = pod_of({{"gpu-fraction", "0.25"}});
  pod.tolerations = {{.key = std::nullopt, .op = "Exists", .effect = ""}};
  EXPECT_EQ(lines_of(pod)[1], "/spec/containers/0/env []");
  pod.tolerations->front().effect = "NoExecute";
  EXPECT_EQ(lines_of(pod)[1], "/spec/tolerations/- nvidia.com/gpu");
}

TEST(PodAdditions, FollowTheOperator) {
  const AdmittedPod pod = pod_of({{"gpu-fraction", "0.25"}});
  EXPECT_EQ(lines_of(pod, {.scheduler = "", .tolerations = {}, .runtime_class = "nvidia"}),
            (Lines{"/spec/runtimeClassName nvidia", "/spec/tolerations []"} +
             all_variables("containers/0", "main")));
  EXPECT_EQ(lines_of(pod, {.scheduler = "default-scheduler"})[0], "/spec/tolerations []");
  EXPECT_EQ(lines_of(pod, {.scheduler = "packer"})[0], "/spec/schedulerName packer");
}

TEST(PodAdditions, AreNoneForOtherPods) {
  for (const model::StringMap& annotations : std::vector<model::StringMap>{
           {}, {{"gpu-fractions", "0.5"}}, {{"snug.dev/x", "gpu-fraction"}}}) {
    EXPECT_EQ(lines_of(pod_of(annotations), kDefaults, kCards), Lines{});
  }
  AdmittedPod shown = pod_of({{"gpu-fraction", "0.5"}});
  shown.is_mirror_pod = true;
  EXPECT_EQ(lines_of(shown), Lines{});
  EXPECT_EQ(lines_of(pod_of({{"gpu-fraction", "0.5"}}, {})), Lines{});
}

TEST(PodAdditions, GoToNoContainerWhoseGpusTheKubeletAssigns) {
  AdmittedPod pod = pod_of({{"gpu-policy", "tight"}});
  pod.facts.containers[0].gpu_resources = {{"nvidia.com/gpu", "1"}};
  EXPECT_EQ(lines_of(pod, kDefaults, kCards), kPodLines);
}

TEST(PodAdditions, WithoutADeviceOnlyThePodIsSentToSnug) {
  EXPECT_EQ(lines_of(pod_of({{"gpu-count", "2"}}), kDefaults, kCards), kPodLines);
}

/// Makes the additions, so that what comes out can be looked at again.
void apply(AdmittedPod& pod, const admission::Addition& addition) {
  const std::vector<std::string>& path = addition.path;
  const auto text = [&] { return std::get<std::string>(addition.value); };
  if (path[1] == "schedulerName") {
    pod.facts.scheduler_name = text();
  } else if (path[1] == "runtimeClassName") {
    pod.runtime_class = text();
  } else if (path[1] == "tolerations") {
    if (path.size() == 2) {
      pod.tolerations.emplace();
    } else {
      pod.tolerations->push_back(
          {std::get<admission::NewToleration>(addition.value).key, "Exists", ""});
    }
  } else {
    ContainerFields& container =
        (path[1] == "containers" ? pod.containers : pod.init_containers)[std::stoul(path[2])];
    std::optional<model::StringMap>& amounts =
        path.size() > 4 && path[4] == "limits" ? container.limits : container.requests;
    if (path[3] == "env" && path.size() == 4) {
      container.variables.emplace();
    } else if (path[3] == "env") {
      container.variables->push_back(std::get<admission::NewVariable>(addition.value).name);
    } else if (path.size() == 4) {
      container.has_resources = true;
    } else if (path.size() == 5) {
      amounts.emplace();
    } else {
      (*amounts)[path[5]] = text();
    }
  }
}

json read_amount_rows() {
  std::ifstream file(source_file("tests/contract/mirrored_amounts.json"));
  return json::parse(file)["rows"];
}

json amounts_in(const AdmittedPod& pod) {
  json amounts = json::object();
  for (const auto* list : {&pod.containers, &pod.init_containers}) {
    for (const ContainerFields& container : *list) {
      if (!container.limits) continue;
      EXPECT_EQ(container.limits, container.requests);
      for (const std::string_view key : {model::kMilliResource, model::kMemoryResource}) {
        amounts[container.name].push_back(std::stoll(container.limits->find(key)->second));
      }
    }
  }
  return amounts;
}

TEST(PodAdditions, AmountsAreThoseOfTheRowsAndASecondTimeNothingIsAdded) {
  const admission::PodDefaults defaults{.runtime_class = "nvidia"};
  const json rows = read_amount_rows();
  ASSERT_GT(rows.size(), 30U);
  for (const json& row : rows) {
    AdmittedPod pod =
        pod_of(row["annotations"].get<model::StringMap>(), {"main", "second"}, {"setup", "proxy"});
    pod.facts.containers[1].type = model::ContainerType::kSidecar;
    const auto additions = additions_of(pod, defaults, kCards);
    for (const admission::Addition& addition : additions) apply(pod, addition);
    EXPECT_EQ(amounts_in(pod), row["amounts"]) << row.dump();
    EXPECT_EQ(lines_of(pod, defaults, kCards), Lines{}) << row.dump();
  }
}

TEST(PodAdditions, AmountsReplaceThoseOfTheAuthor) {
  AdmittedPod pod = pod_of({{"gpu-fraction", "1"}});
  pod.tolerations.emplace();
  pod.containers[0].variables = {"NVIDIA_VISIBLE_DEVICES", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                                 "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"};
  pod.containers[0].has_resources = true;
  // 1k is how the API server writes 1000.
  pod.containers[0].limits = {{"snug.dev/gpu-milli", "1k"}, {"snug.dev/gpu-memory-mib", "1"}};
  EXPECT_EQ(lines_of(pod, {.scheduler = "", .tolerations = {}}, kCards),
            (Lines{"/spec/containers/0/resources/limits/snug.dev/gpu-memory-mib 16384",
                   "/spec/containers/0/resources/requests {}",
                   "/spec/containers/0/resources/requests/snug.dev/gpu-milli 1000",
                   "/spec/containers/0/resources/requests/snug.dev/gpu-memory-mib 16384"}));
}

}  // namespace
}  // namespace snug::pod_additions_test

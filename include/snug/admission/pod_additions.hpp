// What is added to a pod that asks for GPUs by annotation when it is created. For every request
// that CEL can read, the pod that results is the same as with the MutatingAdmissionPolicies
// (codec/admission_policies). What is missing is added, and amounts of mirrored resources that
// differ are replaced, so a second application changes nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "snug/admission/mirrored_resources.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/request.hpp"

namespace snug::admission {

/// A toleration of a pod. Absent texts are empty, except for the key.
struct PodToleration {
  std::optional<std::string> key;  // nullopt: all keys
  std::string op;                  // `operator`
  std::string effect;
};

/// The fields of a container that additions depend on. Nullopt: the container lacks the field.
struct ContainerFields {
  std::string name;
  std::optional<std::vector<std::string>> variables;  // the names in `env`
  bool has_resources = false;
  std::optional<model::StringMap> limits;  // of kMilliResource and kMemoryResource alone
  std::optional<model::StringMap> requests;
};

/// A pod that is to be created or updated.
struct AdmittedPod {
  /// Name, namespace and uid are empty: a pod may get them after its admission.
  model::PodFacts facts;
  bool is_mirror_pod = false;  // shows a static pod of a kubelet
  std::optional<std::string> runtime_class;
  std::optional<std::vector<PodToleration>> tolerations;
  std::vector<ContainerFields> containers;
  std::vector<ContainerFields> init_containers;
};

// Added values that are not plain texts.
struct EmptyList {
  friend bool operator==(const EmptyList&, const EmptyList&) = default;
};
struct EmptyObject {
  friend bool operator==(const EmptyObject&, const EmptyObject&) = default;
};
/// The toleration of all taints with this key.
struct NewToleration {
  std::string key;
  friend bool operator==(const NewToleration&, const NewToleration&) = default;
};
/// A variable whose value the kubelet reads from a field of the pod.
struct NewVariable {
  std::string name;
  std::string field_path;
  friend bool operator==(const NewVariable&, const NewVariable&) = default;
};
using AddedValue = std::variant<EmptyList, EmptyObject, std::string, NewToleration, NewVariable>;

/// One element that is added to the pod or replaces a value in it. `path` leads to it from the pod;
/// the last part `-` stands for the end of a list.
struct Addition {
  std::vector<std::string> path;
  AddedValue value;

  friend bool operator==(const Addition&, const Addition&) = default;
};

/// Whether the pod has an annotation that is part of a GPU request, and is not the mirror pod by
/// which a kubelet shows one of its static pods. To other pods nothing is added, and none of them
/// is refused.
[[nodiscard]] bool asks_for_gpus(const AdmittedPod& pod);

/// Returns the additions in the order in which they must be made. `request`: the parsed request of
/// the pod; null: it is malformed, and no container gets anything. `cards`: nullopt: the pod gets
/// no amounts of mirrored resources.
[[nodiscard]] std::vector<Addition> pod_additions(const AdmittedPod& pod,
                                                  const PodDefaults& defaults,
                                                  const model::GpuRequest* request,
                                                  const std::optional<CardRange>& cards);

/// Returns the additions that give an updated pod the tolerations back which pod_additions() gave
/// it when it was created. Whoever updates a pod with its original manifest removes them, and the
/// API server refuses an update without them. `before`: the tolerations before the update.
[[nodiscard]] std::vector<Addition> kept_tolerations(const AdmittedPod& pod,
                                                     const std::vector<PodToleration>& before,
                                                     const PodDefaults& defaults);

}  // namespace snug::admission

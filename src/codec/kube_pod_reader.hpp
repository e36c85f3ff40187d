// Reads the fields of pods and watch events that Snug needs. The code is the same for JSON and
// protobuf, so the same object gives the same facts. `Walk` is DomWalk or ProtoWalk. The field
// numbers are those of Kubernetes' generated.proto. The walk keeps the first error.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/kube_resource_list.hpp"
#include "codec/kube_walk_errors.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug::codec {

/// The maximum number of labels of a pod that Snug keeps. The rules of a policy do not see the
/// other labels. Real pods have far fewer labels. The maximum bounds the memory that a maliciously
/// large pod takes.
inline constexpr std::size_t kMaxLabels = 1'024;

inline bool accept_any_key(std::string_view) { return true; }

inline bool is_relevant_annotation(std::string_view key) {
  return key.starts_with("gpu-") || key.starts_with("snug.dev/") ||
         key == "kubectl.kubernetes.io/default-container";
}

template <typename Walk>
void read_pod_metadata(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                       model::PodFacts& pod) {
  const FieldPath here{&parent, field.key};
  std::array<typename Walk::Field, 8> wanted{{{"name", 1},
                                              {"namespace", 3},
                                              {"uid", 5},
                                              {"resourceVersion", 6},
                                              {"creationTimestamp", 8},
                                              {"deletionTimestamp", 9},
                                              {"labels", 11},
                                              {"annotations", 12}}};
  const auto& [name, name_space, uid, version, created, deleted, labels, annotations] = wanted;
  if (!field.present) return walk.fail_at(here, "is missing");
  walk.fields(field.value, here, wanted);
  walk.text(name, here, pod.name);
  walk.text(name_space, here, pod.name_space);
  walk.text(uid, here, pod.uid);
  walk.text(version, here, pod.resource_version);
  walk.time(created, here, pod.creation_timestamp);
  std::string deletion;
  pod.terminating = walk.time(deleted, here, deletion);
  walk.map(labels, here, {.keep = accept_any_key, .most = kMaxLabels}, pod.labels);
  walk.map(annotations, here, {.keep = is_relevant_annotation, .bytes = &pod.annotation_bytes},
           pod.annotations);
  if (pod.name.empty()) walk.fail_at(here, "has no name; a pod must have one");
  if (pod.name_space.empty()) walk.fail_at(here, "has no namespace; a pod must have one");
}

/// Returns the requests for cpu and memory. If a resource has a limit but no request, the limit is
/// its request. Writes the nvidia.com/* resources to `gpu_resources`; if one of them has both a
/// request and a limit, writes the limit.
template <typename Walk>
HostRequests read_resources(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                            model::StringMap& gpu_resources) {
  if (!field.present) return {};
  const FieldPath here{&parent, field.key};
  std::array<typename Walk::Field, 2> lists{{{"limits", 1}, {"requests", 2}}};
  walk.fields(field.value, here, lists);
  model::StringMap requested;
  const HostRequests limits = read_host_requests(walk, lists[0], here, gpu_resources);
  HostRequests requests = read_host_requests(walk, lists[1], here, requested);
  gpu_resources.merge(requested);
  default_requests_to(requests, limits);
  return requests;
}

template <typename Walk>
bool has_host_port(Walk& walk, const typename Walk::Field& ports, const FieldPath& parent) {
  bool found = false;
  walk.each_item(ports, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 1> wanted{{{"hostPort", 2}}};
    walk.fields(item, where, wanted);
    std::int32_t port = 0;
    walk.number(wanted[0], where, port);
    found = found || port != 0;
  });
  return found;
}

/// Adds the container to `pod`. `kind` is kInit for every entry of initContainers, even a sidecar,
/// and kApp otherwise.
template <typename Walk>
void read_container(Walk& walk, const typename Walk::Value& value, const FieldPath& where,
                    model::ContainerType kind, model::PodFacts& pod) {
  std::array<typename Walk::Field, 4> wanted{
      {{"name", 1}, {"restartPolicy", 24}, {"resources", 8}, {"ports", 6}}};
  const auto& [name, restart_policy, resources, ports] = wanted;
  model::ContainerFacts& container = pod.containers.emplace_back();
  walk.fields(value, where, wanted);
  walk.text(name, where, container.name);
  std::string policy;
  walk.text(restart_policy, where, policy);
  const bool sidecar = kind == model::ContainerType::kInit && policy == "Always";
  container.type = sidecar ? model::ContainerType::kSidecar : kind;
  const HostRequests requests = read_resources(walk, resources, where, container.gpu_resources);
  container.host = requests.resources();
  const bool host_port = has_host_port(walk, ports, where);
  pod.has_other_constraints = pod.has_other_constraints || requests.has_others || host_port;
  if (container.name.empty()) walk.fail_at(where, "has no name; a container must have one");
}

/// Reads the pod-level requests, with the defaults of the API server: if a resource has a pod-level
/// limit but no pod-level request, the limit is the request, unless a container requests the
/// resource. `pod.containers` must have been read before.
template <typename Walk>
void read_pod_resources(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                        model::PodFacts& pod) {
  if (!field.present) return;
  const FieldPath here{&parent, field.key};
  std::array<typename Walk::Field, 2> lists{{{"limits", 1}, {"requests", 2}}};
  walk.fields(field.value, here, lists);
  HostRequests limits = read_host_requests(walk, lists[0], here);
  HostRequests requests = read_host_requests(walk, lists[1], here);
  for (const model::ContainerFacts& container : pod.containers) {
    if (container.host.cpu_milli > 0) limits.cpu_milli.reset();
    if (container.host.memory_bytes > 0) limits.memory_bytes.reset();
  }
  default_requests_to(requests, limits);
  pod.pod_level_cpu_milli = requests.cpu_milli;
  pod.pod_level_memory_bytes = requests.memory_bytes;
  pod.has_other_constraints = pod.has_other_constraints || requests.has_others;
}

template <typename Walk>
bool is_non_empty(Walk& walk, const typename Walk::Field& list, const FieldPath& parent) {
  bool found = false;
  walk.each_item(list, parent, [&](const auto&, const FieldPath&) { found = true; });
  return found;
}

/// Sets pod.has_soft_preferences if node affinity, pod affinity or pod anti-affinity has a
/// preference. Sets pod.has_other_constraints if pod affinity or pod anti-affinity has a
/// requirement.
template <typename Walk>
void read_affinity(Walk& walk, const typename Walk::Field& affinity, const FieldPath& parent,
                   model::PodFacts& pod) {
  if (!affinity.present) return;
  const FieldPath here{&parent, affinity.key};
  std::array<typename Walk::Field, 3> kinds{
      {{"nodeAffinity", 1}, {"podAffinity", 2}, {"podAntiAffinity", 3}}};
  walk.fields(affinity.value, here, kinds);
  for (const auto& kind : kinds) {
    if (!kind.present) continue;
    const FieldPath place{&here, kind.key};
    std::array<typename Walk::Field, 2> wanted{
        {{"preferredDuringSchedulingIgnoredDuringExecution", 2},
         {"requiredDuringSchedulingIgnoredDuringExecution", 1}}};
    walk.fields(kind.value, place, wanted);
    if (is_non_empty(walk, wanted[0], place)) pod.has_soft_preferences = true;
    if (&kind == kinds.data()) continue;  // required node affinity does not depend on other pods
    if (is_non_empty(walk, wanted[1], place)) pod.has_other_constraints = true;
  }
}

/// A topology spread constraint is a preference if its `whenUnsatisfiable` is ScheduleAnyway, and
/// otherwise a requirement.
template <typename Walk>
void read_spreading(Walk& walk, const typename Walk::Field& constraints, const FieldPath& parent,
                    model::PodFacts& pod) {
  walk.each_item(constraints, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 1> wanted{{{"whenUnsatisfiable", 3}}};
    walk.fields(item, where, wanted);
    std::string when;
    walk.text(wanted[0], where, when);
    (when == "ScheduleAnyway" ? pod.has_soft_preferences : pod.has_other_constraints) = true;
  });
}

/// Whether the pod has a volume with a claim, which some nodes may be unable to mount.
template <typename Walk>
bool has_volume_claims(Walk& walk, const typename Walk::Field& volumes, const FieldPath& parent) {
  bool found = false;
  walk.each_item(volumes, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 2> kinds{{{"persistentVolumeClaim", 10}, {"ephemeral", 29}}};
    walk.fields(walk.embedded(item, {"volumeSource", 2}, where), where, kinds);
    found = found || kinds[0].present || kinds[1].present;
  });
  return found;
}

template <typename Walk>
void read_pod_spec(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                   model::PodFacts& pod) {
  if (!field.present) return;
  const FieldPath here{&parent, field.key};
  std::array<typename Walk::Field, 12> wanted{{{"nodeName", 10},
                                               {"schedulerName", 19},
                                               {"priority", 25},
                                               {"initContainers", 20},
                                               {"containers", 2},
                                               {"resources", 40},
                                               {"overhead", 32},
                                               {"affinity", 18},
                                               {"topologySpreadConstraints", 33},
                                               {"volumes", 1},
                                               {"resourceClaims", 39},
                                               {"schedulingGates", 38}}};
  const auto& [node, scheduler, priority, init_containers, containers, resources, overhead,
               affinity, spreading, volumes, resource_claims, gates] = wanted;
  walk.fields(field.value, here, wanted);
  walk.text(node, here, pod.node_name);
  walk.text(scheduler, here, pod.scheduler_name);
  walk.number(priority, here, pod.priority);
  walk.each_item(init_containers, here, [&](const auto& item, const FieldPath& where) {
    read_container(walk, item, where, model::ContainerType::kInit, pod);
  });
  walk.each_item(containers, here, [&](const auto& item, const FieldPath& where) {
    read_container(walk, item, where, model::ContainerType::kApp, pod);
  });
  read_pod_resources(walk, resources, here, pod);
  const HostRequests overheads = read_host_requests(walk, overhead, here);
  pod.overhead = overheads.resources();
  read_affinity(walk, affinity, here, pod);
  read_spreading(walk, spreading, here, pod);
  if (has_volume_claims(walk, volumes, here)) pod.has_other_constraints = true;
  if (is_non_empty(walk, resource_claims, here)) pod.has_other_constraints = true;
  if (overheads.has_others) pod.has_other_constraints = true;
  pod.gated = is_non_empty(walk, gates, here);
}

template <typename Walk>
void read_pod_status(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                     model::PodFacts& pod) {
  if (!field.present) return;
  const FieldPath here{&parent, field.key};
  std::array<typename Walk::Field, 2> wanted{{{"phase", 1}, {"nominatedNodeName", 11}}};
  walk.fields(field.value, here, wanted);
  std::string phase;
  walk.text(wanted[0], here, phase);
  walk.text(wanted[1], here, pod.nominated_node_name);
  pod.finished = phase == "Succeeded" || phase == "Failed";
}

template <typename Walk>
model::PodFacts read_pod_facts(Walk& walk, const typename Walk::Value& value,
                               const FieldPath& where) {
  model::PodFacts pod;
  std::array<typename Walk::Field, 3> wanted{{{"metadata", 1}, {"spec", 2}, {"status", 3}}};
  walk.fields(value, where, wanted);
  if (walk.ok()) read_pod_metadata(walk, wanted[0], where, pod);
  if (walk.ok()) read_pod_spec(walk, wanted[1], where, pod);
  if (walk.ok()) read_pod_status(walk, wanted[2], where, pod);
  return pod;
}

/// Whether the event has an object of the watched resource.
inline bool carries_object(const WatchEvent& event) {
  return event.type != WatchEventType::kError && event.type != WatchEventType::kBookmark;
}

/// Reads the type of a watch event, and sets `object` to the event's field `object`. The kind of
/// this object depends on the type of the event.
template <typename Walk>
WatchEvent read_event_head(Walk& walk, const typename Walk::Value& root, const FieldPath& where,
                           typename Walk::Value& object) {
  std::array<typename Walk::Field, 2> wanted{{{"type", 1}, {"object", 2}}};
  std::string type;
  walk.fields(root, where, wanted);
  walk.text(wanted[0], where, type);
  const std::optional<WatchEventType> kind = kWatchKindNames.find(type);
  if (!kind) {
    walk.fail_at(FieldPath{&where, "type"}, "must be ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  if (!wanted[1].present) walk.fail_at(FieldPath{&where, wanted[1].key}, "is missing");
  object = wanted[1].value;
  WatchEvent event;
  event.type = kind.value_or(WatchEventType::kError);
  return event;
}

/// Reads the Status of an ERROR event, or the resourceVersion of a BOOKMARK event.
template <typename Walk>
void read_event_without_object(Walk& walk, const typename Walk::Value& object, WatchEvent& event) {
  const FieldPath where{nullptr, "object"};
  if (event.type == WatchEventType::kError) {
    std::array<typename Walk::Field, 2> wanted{{{"code", 6}, {"message", 3}}};
    walk.fields(object, where, wanted);
    walk.number(wanted[0], where, event.error_code);
    walk.text(wanted[1], where, event.error_message);
    return;
  }
  std::array<typename Walk::Field, 1> metadata{{{"metadata", 1}}};
  std::array<typename Walk::Field, 1> version{{{"resourceVersion", 6}}};
  walk.fields(object, where, metadata);
  const FieldPath here{&where, metadata[0].key};
  if (metadata[0].present) walk.fields(metadata[0].value, here, version);
  walk.text(version[0], here, event.resource_version);
  if (event.resource_version.empty()) walk.fail_at(here, "has no resourceVersion");
}

/// Reads a metav1.WatchEvent in protobuf. The object of the event, a pod or a Status, is in an
/// envelope. The API server sends the event itself without an envelope; an event in an envelope is
/// accepted too. Decodes protobuf as Go does: unknown fields are skipped, the last value of a
/// scalar field counts, the parts of a message field are merged, and each invalid UTF-8 byte
/// becomes U+FFFD. A known field of a wrong wire type is an error. Does not throw.
[[nodiscard]] base::Result<WatchEvent> pod_event_from_proto(std::string_view frame);

}  // namespace snug::codec

// Reads the fields of pods and watch events that Snug needs. The code is the same for JSON and
// protobuf, so the same object gives the same facts. `Walk` is DomWalk or ProtoWalk. The field
// numbers are those of Kubernetes' generated.proto. The walk keeps the first error.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/kube_resource_list.hpp"
#include "codec/kube_walk_errors.hpp"
#include "snug/codec/kube_objects.hpp"
#include "snug/request/near_misses.hpp"

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
  const FieldPath metadata_path{&parent, field.key};
  std::array<typename Walk::Field, 8> metadata_fields{{{"name", 1},
                                                       {"namespace", 3},
                                                       {"uid", 5},
                                                       {"resourceVersion", 6},
                                                       {"creationTimestamp", 8},
                                                       {"deletionTimestamp", 9},
                                                       {"labels", 11},
                                                       {"annotations", 12}}};
  const auto& [name, name_space, uid, version, created, deleted, labels, annotations] =
      metadata_fields;
  if (!field.present) return walk.fail_at(metadata_path, "is missing");
  walk.fields(field.value, metadata_path, metadata_fields);
  walk.text(name, metadata_path, pod.name);
  walk.text(name_space, metadata_path, pod.name_space);
  walk.text(uid, metadata_path, pod.uid);
  walk.text(version, metadata_path, pod.resource_version);
  walk.time(created, metadata_path, pod.creation_timestamp);
  std::string deletion;
  pod.terminating = walk.time(deleted, metadata_path, deletion);
  walk.map(labels, metadata_path, {.keep = accept_any_key, .most = kMaxLabels}, pod.labels);
  walk.map(annotations, metadata_path,
           {.keep = is_relevant_annotation,
            .bytes = &pod.annotation_bytes,
            .stray = {.keep = request::is_stray_annotation, .out = &pod.stray_keys}},
           pod.annotations);
  if (pod.name.empty()) walk.fail_at(metadata_path, "has no name; a pod must have one");
  if (pod.name_space.empty()) walk.fail_at(metadata_path, "has no namespace; a pod must have one");
}

/// Returns the requests for cpu and memory, and the limits of the resources that mirror shares. If
/// a resource has a limit but no request, the limit is its request, and the reverse. Writes the
/// nvidia.com/* resources to `gpu_resources`; if one of them has both a request and a limit, writes
/// the limit. Writes resources of other systems that share GPUs to `stray_keys`.
template <typename Walk>
HostRequests read_resources(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                            model::StringMap& gpu_resources, model::StringMap& stray_keys) {
  if (!field.present) return {};
  const FieldPath resources_path{&parent, field.key};
  std::array<typename Walk::Field, 2> lists{{{"limits", 1}, {"requests", 2}}};
  walk.fields(field.value, resources_path, lists);
  model::StringMap gpu_requests;
  const HostRequests limits =
      read_host_requests(walk, lists[0], resources_path, gpu_resources, &stray_keys);
  HostRequests requests =
      read_host_requests(walk, lists[1], resources_path, gpu_requests, &stray_keys);
  gpu_resources.merge(gpu_requests);
  default_requests_to(requests, limits);
  if (limits.mirrored.milli) requests.mirrored.milli = limits.mirrored.milli;
  if (limits.mirrored.memory_mib) requests.mirrored.memory_mib = limits.mirrored.memory_mib;
  return requests;
}

/// The amounts that a pod's sum can contain without an overflow.
inline model::MirroredAmounts mirrored_amounts(const model::ListedAmounts& listed) {
  return {.milli = {std::min(listed.milli.value_or(0), base::kLargestQuantity)},
          .memory = {std::min(listed.memory_mib.value_or(0), base::kLargestQuantity)}};
}

template <typename Walk>
bool has_host_port(Walk& walk, const typename Walk::Field& ports, const FieldPath& parent) {
  bool has_port = false;
  walk.each_item(ports, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 1> port_fields{{{"hostPort", 2}}};
    walk.fields(item, where, port_fields);
    std::int32_t port = 0;
    walk.number(port_fields[0], where, port);
    has_port = has_port || port != 0;
  });
  return has_port;
}

/// Adds the container to `pod`. `kind` is kInit for every entry of initContainers, even a sidecar,
/// and kApp otherwise.
template <typename Walk>
void read_container(Walk& walk, const typename Walk::Value& value, const FieldPath& where,
                    model::ContainerType kind, model::PodFacts& pod) {
  std::array<typename Walk::Field, 4> container_fields{
      {{"name", 1}, {"restartPolicy", 24}, {"resources", 8}, {"ports", 6}}};
  const auto& [name, restart_policy, resources, ports] = container_fields;
  model::ContainerFacts& container = pod.containers.emplace_back();
  walk.fields(value, where, container_fields);
  walk.text(name, where, container.name);
  std::string policy;
  walk.text(restart_policy, where, policy);
  const bool sidecar = kind == model::ContainerType::kInit && policy == "Always";
  container.type = sidecar ? model::ContainerType::kSidecar : kind;
  const HostRequests requests =
      read_resources(walk, resources, where, container.gpu_resources, pod.stray_keys);
  container.host = requests.resources();
  container.mirrored = mirrored_amounts(requests.mirrored);
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
  const FieldPath resources_path{&parent, field.key};
  std::array<typename Walk::Field, 2> lists{{{"limits", 1}, {"requests", 2}}};
  walk.fields(field.value, resources_path, lists);
  HostRequests limits = read_host_requests(walk, lists[0], resources_path);
  HostRequests requests = read_host_requests(walk, lists[1], resources_path);
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
  bool has_items = false;
  walk.each_item(list, parent, [&](const auto&, const FieldPath&) { has_items = true; });
  return has_items;
}

/// Sets pod.has_soft_preferences if node affinity, pod affinity or pod anti-affinity has a
/// preference. Sets pod.has_other_constraints if pod affinity or pod anti-affinity has a
/// requirement.
template <typename Walk>
void read_affinity(Walk& walk, const typename Walk::Field& affinity, const FieldPath& parent,
                   model::PodFacts& pod) {
  if (!affinity.present) return;
  const FieldPath affinity_path{&parent, affinity.key};
  std::array<typename Walk::Field, 3> kinds{
      {{"nodeAffinity", 1}, {"podAffinity", 2}, {"podAntiAffinity", 3}}};
  walk.fields(affinity.value, affinity_path, kinds);
  for (const auto& kind : kinds) {
    if (!kind.present) continue;
    const FieldPath kind_path{&affinity_path, kind.key};
    std::array<typename Walk::Field, 2> term_fields{
        {{"preferredDuringSchedulingIgnoredDuringExecution", 2},
         {"requiredDuringSchedulingIgnoredDuringExecution", 1}}};
    walk.fields(kind.value, kind_path, term_fields);
    if (is_non_empty(walk, term_fields[0], kind_path)) pod.has_soft_preferences = true;
    if (&kind == kinds.data()) continue;  // required node affinity does not depend on other pods
    if (is_non_empty(walk, term_fields[1], kind_path)) pod.has_other_constraints = true;
  }
}

/// A topology spread constraint is a preference if its `whenUnsatisfiable` is ScheduleAnyway, and
/// otherwise a requirement.
template <typename Walk>
void read_spreading(Walk& walk, const typename Walk::Field& constraints, const FieldPath& parent,
                    model::PodFacts& pod) {
  walk.each_item(constraints, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 1> constraint_fields{{{"whenUnsatisfiable", 3}}};
    walk.fields(item, where, constraint_fields);
    std::string when;
    walk.text(constraint_fields[0], where, when);
    (when == "ScheduleAnyway" ? pod.has_soft_preferences : pod.has_other_constraints) = true;
  });
}

/// Whether the pod has a volume with a claim, which some nodes may be unable to mount.
template <typename Walk>
bool has_volume_claims(Walk& walk, const typename Walk::Field& volumes, const FieldPath& parent) {
  bool has_claim = false;
  walk.each_item(volumes, parent, [&](const auto& item, const FieldPath& where) {
    std::array<typename Walk::Field, 2> kinds{{{"persistentVolumeClaim", 10}, {"ephemeral", 29}}};
    walk.fields(walk.embedded(item, {"volumeSource", 2}, where), where, kinds);
    has_claim = has_claim || kinds[0].present || kinds[1].present;
  });
  return has_claim;
}

template <typename Walk>
void read_pod_spec(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                   model::PodFacts& pod) {
  if (!field.present) return;
  const FieldPath spec_path{&parent, field.key};
  std::array<typename Walk::Field, 12> spec_fields{{{"nodeName", 10},
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
               affinity, spreading, volumes, resource_claims, gates] = spec_fields;
  walk.fields(field.value, spec_path, spec_fields);
  walk.text(node, spec_path, pod.node_name);
  walk.text(scheduler, spec_path, pod.scheduler_name);
  walk.number(priority, spec_path, pod.priority);
  walk.each_item(init_containers, spec_path, [&](const auto& item, const FieldPath& where) {
    read_container(walk, item, where, model::ContainerType::kInit, pod);
  });
  walk.each_item(containers, spec_path, [&](const auto& item, const FieldPath& where) {
    read_container(walk, item, where, model::ContainerType::kApp, pod);
  });
  read_pod_resources(walk, resources, spec_path, pod);
  const HostRequests overheads = read_host_requests(walk, overhead, spec_path);
  pod.overhead = overheads.resources();
  read_affinity(walk, affinity, spec_path, pod);
  read_spreading(walk, spreading, spec_path, pod);
  if (has_volume_claims(walk, volumes, spec_path)) pod.has_other_constraints = true;
  if (is_non_empty(walk, resource_claims, spec_path)) pod.has_other_constraints = true;
  if (overheads.has_others) pod.has_other_constraints = true;
  pod.gated = is_non_empty(walk, gates, spec_path);
}

template <typename Walk>
void read_pod_status(Walk& walk, const typename Walk::Field& field, const FieldPath& parent,
                     model::PodFacts& pod) {
  if (!field.present) return;
  const FieldPath status_path{&parent, field.key};
  std::array<typename Walk::Field, 2> status_fields{{{"phase", 1}, {"nominatedNodeName", 11}}};
  walk.fields(field.value, status_path, status_fields);
  std::string phase;
  walk.text(status_fields[0], status_path, phase);
  walk.text(status_fields[1], status_path, pod.nominated_node_name);
  pod.finished = phase == "Succeeded" || phase == "Failed";
}

template <typename Walk>
model::PodFacts read_pod_facts(Walk& walk, const typename Walk::Value& value,
                               const FieldPath& pod_path) {
  model::PodFacts pod;
  std::array<typename Walk::Field, 3> pod_fields{{{"metadata", 1}, {"spec", 2}, {"status", 3}}};
  walk.fields(value, pod_path, pod_fields);
  if (walk.ok()) read_pod_metadata(walk, pod_fields[0], pod_path, pod);
  if (walk.ok()) read_pod_spec(walk, pod_fields[1], pod_path, pod);
  if (walk.ok()) read_pod_status(walk, pod_fields[2], pod_path, pod);
  return pod;
}

/// Whether the event has an object of the watched resource.
inline bool carries_object(const WatchEvent& event) {
  return event.type != WatchEventType::kError && event.type != WatchEventType::kBookmark;
}

/// Reads the type of a watch event, and sets `object` to the event's field `object`. The kind of
/// this object depends on the type of the event.
template <typename Walk>
WatchEvent read_event_head(Walk& walk, const typename Walk::Value& root,
                           const FieldPath& event_path, typename Walk::Value& object) {
  std::array<typename Walk::Field, 2> event_fields{{{"type", 1}, {"object", 2}}};
  std::string type;
  walk.fields(root, event_path, event_fields);
  walk.text(event_fields[0], event_path, type);
  const std::optional<WatchEventType> kind = kWatchKindNames.find(type);
  if (!kind) {
    walk.fail_at(FieldPath{&event_path, "type"},
                 "must be ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  if (!event_fields[1].present)
    walk.fail_at(FieldPath{&event_path, event_fields[1].key}, "is missing");
  object = event_fields[1].value;
  WatchEvent event;
  event.type = kind.value_or(WatchEventType::kError);
  return event;
}

/// Reads the Status of an ERROR event, or the resourceVersion of a BOOKMARK event.
template <typename Walk>
void read_event_without_object(Walk& walk, const typename Walk::Value& object, WatchEvent& event) {
  const FieldPath where{nullptr, "object"};
  if (event.type == WatchEventType::kError) {
    std::array<typename Walk::Field, 2> status_fields{{{"code", 6}, {"message", 3}}};
    walk.fields(object, where, status_fields);
    walk.number(status_fields[0], where, event.error_code);
    walk.text(status_fields[1], where, event.error_message);
    return;
  }
  std::array<typename Walk::Field, 1> metadata{{{"metadata", 1}}};
  std::array<typename Walk::Field, 1> version{{{"resourceVersion", 6}}};
  walk.fields(object, where, metadata);
  const FieldPath metadata_path{&where, metadata[0].key};
  if (metadata[0].present) walk.fields(metadata[0].value, metadata_path, version);
  walk.text(version[0], metadata_path, event.resource_version);
  if (event.resource_version.empty()) walk.fail_at(metadata_path, "has no resourceVersion");
}

/// Reads a metav1.WatchEvent in protobuf. The object of the event, a pod or a Status, is in an
/// envelope. The API server sends the event itself without an envelope; an event in an envelope is
/// accepted too. Decodes protobuf as Go does: unknown fields are skipped, the last value of a
/// scalar field counts, the parts of a message field are merged, and each invalid UTF-8 byte
/// becomes U+FFFD. A known field of a wrong wire type is an error. Does not throw.
[[nodiscard]] base::Result<WatchEvent> pod_event_from_proto(std::string_view frame);

}  // namespace snug::codec

// What Snug reads of a pod and of a watch event, and by which rules: the one place for both wires,
// so that the same object gives the same facts in each. `Walk` is DomWalk or ProtoWalk; the numbers
// are those of Kubernetes' generated.proto. The first error stays in the walk.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/kube_walk.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug {

inline bool kept_pod_annotation(std::string_view key) {
  return key.starts_with("gpu-") || key.starts_with("snug.dev/") ||
         key == "kubectl.kubernetes.io/default-container";
}

inline bool nvidia_key(std::string_view key) { return key.starts_with("nvidia.com/"); }

template <typename Walk>
void read_pod_metadata(Walk& walk, const typename Walk::Field& field, const Where& parent,
                       PodFacts& pod) {
  const Where here{&parent, field.key};
  std::array<typename Walk::Field, 7> wanted{{{"name", 1},
                                              {"namespace", 3},
                                              {"uid", 5},
                                              {"resourceVersion", 6},
                                              {"creationTimestamp", 8},
                                              {"deletionTimestamp", 9},
                                              {"annotations", 12}}};
  const auto& [name, name_space, uid, version, created, deleted, annotations] = wanted;
  if (!field.present) return walk.fail_at(here, "is missing");
  walk.fields(field.value, here, wanted);
  walk.text(name, here, pod.name);
  walk.text(name_space, here, pod.name_space);
  walk.text(uid, here, pod.uid);
  walk.text(version, here, pod.resource_version);
  walk.time(created, here, pod.creation_timestamp);
  std::string deletion;
  pod.terminating = walk.time(deleted, here, deletion);
  walk.map(annotations, here, {.keep = kept_pod_annotation, .bytes = &pod.annotation_bytes},
           pod.annotations);
  if (pod.name.empty()) walk.fail_at(here, "has no name; a pod must have one");
  if (pod.name_space.empty()) walk.fail_at(here, "has no namespace; a pod must have one");
}

/// `kind`: kInit, also for what may turn out to be a sidecar, or kApp.
template <typename Walk>
ContainerFacts read_container(Walk& walk, const typename Walk::Value& value, const Where& where,
                              ContainerKind kind) {
  std::array<typename Walk::Field, 3> wanted{
      {{"name", 1}, {"restartPolicy", 24}, {"resources", 8}}};
  const auto& [name, restart_policy, resources] = wanted;
  ContainerFacts container;
  walk.fields(value, where, wanted);
  walk.text(name, where, container.name);
  std::string policy;
  walk.text(restart_policy, where, policy);
  const bool sidecar = kind == ContainerKind::kInit && policy == "Always";
  container.kind = sidecar ? ContainerKind::kSidecar : kind;
  if (resources.present) {
    const Where here{&where, resources.key};
    std::array<typename Walk::Field, 2> lists{{{"limits", 1}, {"requests", 2}}};
    walk.fields(resources.value, here, lists);
    StringMap requests;
    walk.map(lists[0], here, {nvidia_key, true}, container.gpu_resources);
    walk.map(lists[1], here, {nvidia_key, true}, requests);
    container.gpu_resources.merge(requests);
  }
  if (container.name.empty()) walk.fail_at(where, "has no name; a container must have one");
  return container;
}

/// Whether any of the three affinities states a preference.
template <typename Walk>
bool has_preferred_affinity(Walk& walk, const typename Walk::Field& affinity, const Where& parent) {
  if (!affinity.present) return false;
  const Where here{&parent, affinity.key};
  std::array<typename Walk::Field, 3> kinds{
      {{"nodeAffinity", 1}, {"podAffinity", 2}, {"podAntiAffinity", 3}}};
  walk.fields(affinity.value, here, kinds);
  bool found = false;
  for (const auto& kind : kinds) {
    if (!kind.present) continue;
    const Where place{&here, kind.key};
    std::array<typename Walk::Field, 1> wanted{
        {{"preferredDuringSchedulingIgnoredDuringExecution", 2}}};
    walk.fields(kind.value, place, wanted);
    walk.each_item(wanted[0], place, [&](const auto&, const Where&) { found = true; });
  }
  return found;
}

template <typename Walk>
bool has_soft_spreading(Walk& walk, const typename Walk::Field& constraints, const Where& parent) {
  bool found = false;
  walk.each_item(constraints, parent, [&](const auto& item, const Where& where) {
    std::array<typename Walk::Field, 1> wanted{{{"whenUnsatisfiable", 3}}};
    walk.fields(item, where, wanted);
    std::string when;
    walk.text(wanted[0], where, when);
    found = found || when == "ScheduleAnyway";
  });
  return found;
}

template <typename Walk>
void read_pod_spec(Walk& walk, const typename Walk::Field& field, const Where& parent,
                   PodFacts& pod) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<typename Walk::Field, 7> wanted{{{"nodeName", 10},
                                              {"schedulerName", 19},
                                              {"priority", 25},
                                              {"initContainers", 20},
                                              {"containers", 2},
                                              {"affinity", 18},
                                              {"topologySpreadConstraints", 33}}};
  const auto& [node, scheduler, priority, init_containers, containers, affinity, spreading] =
      wanted;
  walk.fields(field.value, here, wanted);
  walk.text(node, here, pod.node_name);
  walk.text(scheduler, here, pod.scheduler_name);
  walk.number(priority, here, pod.priority);
  walk.each_item(init_containers, here, [&](const auto& item, const Where& where) {
    pod.containers.push_back(read_container(walk, item, where, ContainerKind::kInit));
  });
  walk.each_item(containers, here, [&](const auto& item, const Where& where) {
    pod.containers.push_back(read_container(walk, item, where, ContainerKind::kApp));
  });
  const bool preferred = has_preferred_affinity(walk, affinity, here);
  pod.soft_preferences = has_soft_spreading(walk, spreading, here) || preferred;
}

template <typename Walk>
void read_pod_status(Walk& walk, const typename Walk::Field& field, const Where& parent,
                     PodFacts& pod) {
  if (!field.present) return;
  const Where here{&parent, field.key};
  std::array<typename Walk::Field, 2> wanted{{{"phase", 1}, {"nominatedNodeName", 11}}};
  walk.fields(field.value, here, wanted);
  std::string phase;
  walk.text(wanted[0], here, phase);
  walk.text(wanted[1], here, pod.nominated_node_name);
  pod.finished = phase == "Succeeded" || phase == "Failed";
}

template <typename Walk>
PodFacts read_pod_facts(Walk& walk, const typename Walk::Value& value, const Where& where) {
  PodFacts pod;
  std::array<typename Walk::Field, 3> wanted{{{"metadata", 1}, {"spec", 2}, {"status", 3}}};
  walk.fields(value, where, wanted);
  if (walk.ok()) read_pod_metadata(walk, wanted[0], where, pod);
  if (walk.ok()) read_pod_spec(walk, wanted[1], where, pod);
  if (walk.ok()) read_pod_status(walk, wanted[2], where, pod);
  return pod;
}

inline std::optional<WatchKind> watch_kind(std::string_view type) {
  if (type == "ADDED") return WatchKind::kAdded;
  if (type == "MODIFIED") return WatchKind::kModified;
  if (type == "DELETED") return WatchKind::kDeleted;
  if (type == "BOOKMARK") return WatchKind::kBookmark;
  if (type == "ERROR") return WatchKind::kError;
  return std::nullopt;
}

inline bool carries_object(const WatchEvent& event) {
  return event.kind != WatchKind::kError && event.kind != WatchKind::kBookmark;
}

/// The event's kind; `object` gets what it carries, to be read by that kind.
template <typename Walk>
WatchEvent read_event_head(Walk& walk, const typename Walk::Value& root, const Where& where,
                           typename Walk::Value& object) {
  std::array<typename Walk::Field, 2> wanted{{{"type", 1}, {"object", 2}}};
  std::string type;
  walk.fields(root, where, wanted);
  walk.text(wanted[0], where, type);
  const std::optional<WatchKind> kind = watch_kind(type);
  if (!kind) {
    walk.fail_at(Where{&where, "type"}, "must be ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  if (!wanted[1].present) walk.fail_at(Where{&where, wanted[1].key}, "is missing");
  object = wanted[1].value;
  WatchEvent event;
  event.kind = kind.value_or(WatchKind::kError);
  return event;
}

/// The Status object of an ERROR event; the resourceVersion of a bookmark, which has nothing else.
template <typename Walk>
void read_event_without_object(Walk& walk, const typename Walk::Value& object, WatchEvent& event) {
  const Where where{nullptr, "object"};
  if (event.kind == WatchKind::kError) {
    std::array<typename Walk::Field, 2> wanted{{{"code", 6}, {"message", 3}}};
    walk.fields(object, where, wanted);
    walk.number(wanted[0], where, event.error_code);
    walk.text(wanted[1], where, event.error_message);
    return;
  }
  std::array<typename Walk::Field, 1> metadata{{{"metadata", 1}}};
  std::array<typename Walk::Field, 1> version{{{"resourceVersion", 6}}};
  walk.fields(object, where, metadata);
  const Where here{&where, metadata[0].key};
  if (metadata[0].present) walk.fields(metadata[0].value, here, version);
  walk.text(version[0], here, event.resource_version);
  if (event.resource_version.empty()) walk.fail_at(here, "has no resourceVersion");
}

}  // namespace snug

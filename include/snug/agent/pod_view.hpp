// What the API server tells the agent about a pod of its node. Plain data; agent_codec/node_pods
// reads it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "snug/model/node_inventory.hpp"

namespace snug::agent {

struct PodContainerView {
  std::string name;
  /// Whether it has a limit of a resource by which a device plug-in gives GPUs or slices
  /// (request::is_kubelet_gpu_resource).
  bool kubelet_assigned = false;
  /// Whether it has claims, for which drivers of Dynamic Resource Allocation (DRA) give devices.
  bool has_claims = false;
  bool privileged = false;
  /// The first capability that it adds by which its root can control the node, without `CAP_` and
  /// in capital letters; empty: none.
  std::string host_capability;
  /// Whether the container's `env` in the pod's specification sets NVIDIA_VISIBLE_DEVICES. The
  /// value in an image does not count.
  bool sets_visible_devices = false;
  bool has_env_from = false;   // which may set it, too
  std::string waiting_reason;  // status.containerStatuses[].state.waiting; empty: not waiting
  std::string waiting_message;

  friend bool operator==(const PodContainerView&, const PodContainerView&) = default;
};

struct PodView {
  std::string name_space;
  std::string name;
  std::string uid;
  /// The uid that the container runtime knows: the kubelet's, for static pods (the annotation
  /// kubernetes.io/config.hash); otherwise `uid`.
  std::string runtime_uid;
  std::string service_account;
  bool finished = false;                     // phase Succeeded or Failed
  bool terminating = false;                  // metadata.deletionTimestamp is set
  std::vector<std::string> host_paths;       // of its hostPath volumes
  model::StringMap annotations;              // only snug.dev/*
  std::vector<PodContainerView> containers;  // init and ephemeral containers too

  friend bool operator==(const PodView&, const PodView&) = default;
};

}  // namespace snug::agent

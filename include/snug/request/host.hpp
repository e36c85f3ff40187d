// What a pod asks of its node's cpu and memory. Pure.
#pragma once

#include "snug/model/host.hpp"
#include "snug/model/pod.hpp"

namespace snug {

/// As kube-scheduler counts it (k8s.io/component-helpers/resource, PodRequests): in each of the
/// two, the larger of
///   - the sum of the app containers and the sidecars, and
///   - each plain init container with the sidecars started before it;
/// a request of the pod as a whole replaces that; the overhead comes on top.
[[nodiscard]] HostAmounts host_request(const PodFacts& pod);

}  // namespace snug

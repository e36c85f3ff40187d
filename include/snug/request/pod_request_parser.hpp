// Parses the requests of a pod: GPUs (annotations or container limits → GpuRequest), CPU and
// memory. Pure; arithmetic that depends on a GPU's size is in fit/charge. A malformed value is
// refused with one sentence that names the key, the value and what is allowed; no default replaces
// it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/model/host_resources.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"

namespace snug::request {

/// The request is empty if the pod asks for no GPU. The refusal is always Malformed.
[[nodiscard]] std::expected<model::GpuRequest, model::Refusal> parse_request(
    const model::PodFacts& pod);

/// The pod's CPU and memory requests, computed as in kube-scheduler
/// (k8s.io/component-helpers/resource, PodRequests). For each resource the maximum of
///   - the sum over the app containers and the sidecars, and
///   - the sum over each plain init container and the sidecars started before it.
/// A pod-level request replaces this maximum. The pod's overhead is added.
[[nodiscard]] model::HostResources host_requests_of(const model::PodFacts& pod);

/// Whether the annotation key is part of a GPU request (`gpu-fraction`, `gpu-memory.main`…).
[[nodiscard]] bool is_request_key(std::string_view key);

/// Parses ContainerRequest::text, which a reservation repeats. The result lacks the container's
/// name and kind. nullopt: this version does not write such a text.
[[nodiscard]] std::optional<model::ContainerRequest> parse_request_text(std::string_view text);

/// Whether the kubelet assigns GPUs or MIG slices under this resource name.
[[nodiscard]] bool is_kubelet_gpu_resource(std::string_view name);

}  // namespace snug::request

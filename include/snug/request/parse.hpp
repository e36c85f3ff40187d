// What a pod requests of GPUs (annotations or container limits → GpuRequest) and of its node's CPU
// and memory. Pure; the arithmetic that needs a GPU's size is in fit/charge. A malformed value is
// refused with one sentence that names the key, the value and what is allowed; it is never replaced
// by a default.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/model/host.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// An empty request: the pod asks for no GPU. The refusal is always Malformed.
[[nodiscard]] std::expected<GpuRequest, Refusal> parse_request(const PodFacts& pod);

/// As kube-scheduler counts CPU and memory (k8s.io/component-helpers/resource, PodRequests): of
/// each the larger of
///   - the sum of the app containers and the sidecars, and
///   - each plain init container with the sidecars started before it;
/// a request of the pod as a whole replaces that; the overhead is added.
[[nodiscard]] HostAmounts host_request(const PodFacts& pod);

/// Whether the annotation is part of a GPU request (`gpu-fraction`, `gpu-memory.main`…).
[[nodiscard]] bool is_request_key(std::string_view key);

/// Reads ContainerRequest::text back, as a reservation repeats it: everything except the container
/// and its kind. Nothing: this version writes no such text.
[[nodiscard]] std::optional<ContainerRequest> parse_request_text(std::string_view text);

/// Whether the kubelet hands out GPUs under this resource name.
[[nodiscard]] bool is_kubelet_resource(std::string_view name);

}  // namespace snug

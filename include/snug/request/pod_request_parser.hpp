// Parses a pod's requests: GPUs (from annotations or container limits), CPU and memory. Arithmetic
// that depends on the size of a GPU is in fit/charge. A malformed value is refused with a sentence
// that names the key, the value and what is allowed. It is never replaced by a default. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "snug/model/host_resources.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"

namespace snug::request {

/// Parses the GPU request of `pod`. It is empty if the pod requests no GPU. Refusals always have
/// the reason kMalformed.
[[nodiscard]] std::expected<model::GpuRequest, model::Refusal> parse_request(
    const model::PodFacts& pod);

/// The pod's CPU and memory requests, computed as in kube-scheduler
/// (k8s.io/component-helpers/resource, PodRequests). For each resource, this is the maximum of
///   - the sum over all app containers and sidecars, and
///   - for each plain init container, the sum over it and the sidecars started before it.
/// A pod-level request replaces this maximum. The pod's overhead is then added.
[[nodiscard]] model::HostResources host_requests_of(const model::PodFacts& pod);

/// The pod's requests of the two resources that mirror shares, computed as in kube-scheduler: the
/// same maximum as in host_requests_of(), over the containers' limits. Pod-level requests and the
/// overhead are not counted.
[[nodiscard]] model::MirroredAmounts mirrored_amounts_of(const model::PodFacts& pod);

/// Whether the annotation `key` is part of a GPU request (`gpu-fraction`, `gpu-memory.main`, …).
[[nodiscard]] bool is_request_key(std::string_view key);

/// The names of the keys for which is_request_key() is true, without the suffix `.<container>`.
[[nodiscard]] std::vector<std::string_view> request_keys();

/// Parses a copy of ContainerRequest::text, from a reservation. The result has no container name or
/// type. Nullopt if this version of Snug would not write exactly this text.
[[nodiscard]] std::optional<model::ContainerRequest> parse_request_text(
    std::string_view request_text);

/// Whether the kubelet assigns GPUs or MIG slices under this resource name.
[[nodiscard]] bool is_kubelet_gpu_resource(std::string_view name);

}  // namespace snug::request

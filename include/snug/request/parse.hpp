// What a pod asks: annotations and container limits → GpuRequest. Pure; the arithmetic that needs a
// GPU's size is in fit/charge. A malformed value is refused with one sentence that names the key,
// the value and what is allowed; it never falls back to another meaning.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/base/units.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// An empty request: the pod asks for no GPU. The refusal is always Malformed.
[[nodiscard]] std::expected<GpuRequest, Refusal> parse_request(const PodFacts& pod);

/// Whether the annotation key is one that a pod asks with (`gpu-fraction`, `gpu-memory.main`…).
[[nodiscard]] bool is_request_key(std::string_view key);

/// What one container's request means by its text alone (ContainerRequest::text, as a reservation
/// repeats it): all but the container and its kind. Nothing: this version writes no such text.
[[nodiscard]] std::optional<ContainerRequest> parse_request_text(std::string_view text);

/// A Kubernetes quantity with a suffix (`4G`, `4Gi`, `0.5Gi`) or a bare integer, meaning MiB,
/// rounded up to MiB and capped at 2^63 bytes. At least 1 byte; no exponent and no `m`, `u`, `n`
/// suffix; any other text gets what is allowed instead.
[[nodiscard]] std::expected<MebiBytes, std::string_view> parse_memory(std::string_view text);

/// Whether the kubelet hands out GPUs under this resource name.
[[nodiscard]] bool is_kubelet_resource(std::string_view name);

/// A whole number of units as the API server writes it (`8`, `1k`, `2M`), at most kLargestQuantity;
/// nothing for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_units(std::string_view text);

}  // namespace snug

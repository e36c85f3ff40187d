// Kubernetes quantities of a host's cpu, memory and pods, as requests and nodes state them. Pure.
// gpu-memory has rules of its own: request/parse.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace snug {

/// A quantity of any resource (`2`, `500m`, `1.5Gi`, `12e6`) rounded up to a whole number, as
/// Kubernetes counts memory in bytes; nothing: it is no quantity, or below 0. What is more than 64
/// bits hold is their largest number.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

/// The same in thousandths, as Kubernetes counts cpu.
[[nodiscard]] std::optional<std::int64_t> parse_quantity_milli(std::string_view text);

}  // namespace snug

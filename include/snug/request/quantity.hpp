// Parses the Kubernetes quantities in pods and nodes. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug::request {

/// Parses a quantity of any resource (`2`, `500m`, `1.5Gi`, `12e6`) and rounds it up to an integer,
/// as Kubernetes does. Saturates at 2^63 - 1. Nullopt if malformed or negative.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

/// Parses a quantity like parse_quantity() and returns it in thousandths, the unit of CPU requests.
[[nodiscard]] std::optional<std::int64_t> parse_quantity_milli(std::string_view text);

/// Parses the value of `gpu-memory`: a quantity with a suffix (`4G`, `4Gi`, `0.5Gi`), or an integer
/// without one, which means MiB. Exponents, the suffixes `m`, `u` and `n`, and quantities below 1
/// byte are errors. Rounds up to MiB and saturates at 2^63 bytes. The error states what is allowed.
[[nodiscard]] std::expected<base::MebiBytes, std::string_view> parse_gpu_memory(
    std::string_view text);

/// Parses a number of units in the form that the API server writes (`8`, `1k`, `2M`). Nullopt for
/// any other text and for numbers above kLargestQuantity.
[[nodiscard]] std::optional<std::int64_t> parse_unit_count(std::string_view text);

}  // namespace snug::request

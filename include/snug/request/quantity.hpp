// Parses Kubernetes quantities in requests and in node status. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug::request {

/// A quantity of any resource (`2`, `500m`, `1.5Gi`, `12e6`), rounded up to an integer as in
/// Kubernetes; saturates at 2^63 - 1. nullopt: malformed or negative.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

/// The same in thousandths, the unit of CPU requests.
[[nodiscard]] std::optional<std::int64_t> parse_quantity_milli(std::string_view text);

/// The value of `gpu-memory`: a quantity with a suffix (`4G`, `4Gi`, `0.5Gi`) or an integer without
/// one, which means MiB. Rounded up to MiB; saturates at 2^63 bytes. At least 1 byte; no exponent
/// and no suffix `m`, `u` or `n`. The error states what is allowed.
[[nodiscard]] std::expected<base::MebiBytes, std::string_view> parse_gpu_memory(
    std::string_view text);

/// A number of units as the API server writes it (`8`, `1k`, `2M`), at most kLargestQuantity;
/// nullopt for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_unit_count(std::string_view text);

}  // namespace snug::request

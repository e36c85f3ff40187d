// Kubernetes quantities, as requests and nodes have them. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug {

/// A quantity of any resource (`2`, `500m`, `1.5Gi`, `12e6`) rounded up to a whole number, as
/// Kubernetes counts memory in bytes; saturates at 2^63 - 1. Nothing: no quantity, or negative.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

/// The same in thousandths, as Kubernetes counts cpu.
[[nodiscard]] std::optional<std::int64_t> parse_quantity_milli(std::string_view text);

/// The value of `gpu-memory`: a quantity with a suffix (`4G`, `4Gi`, `0.5Gi`) or a bare integer,
/// which means MiB; rounded up to MiB, saturates at 2^63 bytes. At least 1 byte; no exponent and no
/// suffix `m`, `u` or `n`. The error says what is allowed.
[[nodiscard]] std::expected<MebiBytes, std::string_view> parse_memory(std::string_view text);

/// A whole number of units as the API server writes it (`8`, `1k`, `2M`), at most kLargestQuantity;
/// nothing for any other text.
[[nodiscard]] std::optional<std::int64_t> parse_units(std::string_view text);

}  // namespace snug

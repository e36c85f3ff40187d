// Distinct types for numbers that must not be confused.
#pragma once

#include <compare>
#include <cstdint>

namespace snug::base {

/// A node's slot in the ledger and in every snapshot taken from it; stable while the node exists.
struct NodeIndex {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(NodeIndex, NodeIndex) = default;
};

/// Counts changes of the ledger. A snapshot has the generation of the ledger that it shows.
struct Generation {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(Generation, Generation) = default;
};
/// Later than any.
inline constexpr Generation kNever{UINT64_MAX};

}  // namespace snug::base

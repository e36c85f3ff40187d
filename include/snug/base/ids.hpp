// Distinct types for integers that must not be mixed up, so that the compiler finds mistakes.
#pragma once

#include <compare>
#include <cstdint>

namespace snug::base {

/// The position of a node in the ledger and in all its snapshots. It is stable while the node
/// exists.
struct NodeIndex {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(NodeIndex, NodeIndex) = default;
};

/// A counter of changes of the ledger. Each snapshot stores the value that the counter had when the
/// snapshot was made.
struct Generation {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(Generation, Generation) = default;
};
/// A generation that is later than all others.
inline constexpr Generation kNever{UINT64_MAX};

}  // namespace snug::base

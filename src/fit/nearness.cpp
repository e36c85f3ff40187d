#include "snug/fit/nearness.hpp"

#include <algorithm>
#include <array>

namespace snug {
namespace {

/// Any other reason comes last.
constexpr auto kNearestFirst = std::to_array<ReasonCode>(
    {ReasonCode::kPromised, ReasonCode::kNominated, ReasonCode::kOtherNamespace,
     ReasonCode::kNoRoom, ReasonCode::kOtherKind, ReasonCode::kCapReached, ReasonCode::kUnhealthy,
     ReasonCode::kReconfiguring, ReasonCode::kNodeClosed, ReasonCode::kNotEnforced,
     ReasonCode::kWrongPool, ReasonCode::kWrongMode, ReasonCode::kBadInventory,
     ReasonCode::kModelExcluded, ReasonCode::kNoProfile, ReasonCode::kTooLarge});

}  // namespace

std::size_t distance_by(ReasonCode reason) {
  const auto found = std::ranges::find(kNearestFirst, reason);
  return static_cast<std::size_t>(found - kNearestFirst.begin());
}

}  // namespace snug

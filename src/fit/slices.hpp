// The charge of MIG slices, and the search for placements of several slices on one GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/mig/profile_choice.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

[[nodiscard]] constexpr bool may_be_slice(model::Isolation isolation) {
  return isolation == model::Isolation::kAny || isolation == model::Isolation::kMig;
}

/// The memory and compute that the holder of a slice of this profile is charged.
[[nodiscard]] Charge slice_charge(const model::MigTable& table, std::uint16_t profile);

/// Returns the allocation of a slice on a card whose idle memory slices are `idle`. The caller sets
/// the container and the GPU of the allocation.
[[nodiscard]] model::DeviceAllocation slice_take(const model::MigTable& table, model::AxisMask idle,
                                                 model::MigPlacement slice);

/// Caches the order in which the starts of a profile are tried (mig::least_blocking_starts()). Not
/// thread-safe.
class StartOrders {
 public:
  /// Returns the starts of the profile, the best first. The result is valid as long as this object.
  [[nodiscard]] std::span<const std::uint16_t> of(const model::MigTableRef& table,
                                                  std::uint16_t profile);

 private:
  struct Order {
    model::MigTablePtr table;  // owns the table that the key points to
    std::vector<std::uint16_t> starts;
  };
  std::map<std::pair<const model::MigTable*, std::uint16_t>, Order> orders_;
};

/// Finds placements for slices of all these profiles together and returns them in the order of the
/// profiles; nullopt: there are none, or the search reached its limit (kMaxSliceSteps). Adds the
/// number of search steps to `steps`. The search is fast if equal profiles are adjacent and large
/// profiles come first.
[[nodiscard]] std::optional<std::vector<model::MigPlacement>> place_together(
    const MigFree& free, std::span<const std::uint16_t> profiles, StartOrders& orders,
    std::int64_t& steps);

}  // namespace snug::fit

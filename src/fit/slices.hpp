// What slices of a GPU cost, and where several can be placed together.
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

/// What a slice costs its holder.
[[nodiscard]] Charge slice_charge(const model::MigTable& table, std::uint16_t profile);

/// The slice on a card that has these memory slices idle. The caller sets the container and the
/// GPU.
[[nodiscard]] model::DeviceAllocation slice_take(const model::MigTable& table, model::AxisMask idle,
                                                 model::MigPlacement slice);

/// The order in which the starts of a profile are tried: least_blocking_starts(), cached. Not
/// thread-safe.
class StartOrders {
 public:
  /// Valid as long as this is.
  [[nodiscard]] std::span<const std::uint16_t> of(const model::MigTableRef& table,
                                                  std::uint16_t profile);

 private:
  struct Order {
    model::MigTablePtr table;  // keeps the key valid
    std::vector<std::uint16_t> starts;
  };
  std::map<std::pair<const model::MigTable*, std::uint16_t>, Order> orders_;
};

/// Places for slices of all these profiles, in their order; nothing: there are none, or the search
/// came to its limit (kMaxSliceSteps). Adds the steps that it took to `steps`. It is fast if equal
/// profiles are adjacent and the larger ones come first.
[[nodiscard]] std::optional<std::vector<model::MigPlacement>> place_together(
    const MigFree& free, std::span<const std::uint16_t> profiles, StartOrders& orders,
    std::int64_t& steps);

}  // namespace snug::fit

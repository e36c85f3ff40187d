// What slices of a GPU cost, and where several go together.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fit/levels.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_room.hpp"
#include "snug/mig/choose.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// As mig_room(), by the constraints up to this one.
[[nodiscard]] MigRoom mig_room_by(const NodeInventory& node, const GpuState& gpu, Level level);

[[nodiscard]] constexpr bool may_be_slice(Isolation isolation) {
  return isolation == Isolation::kAny || isolation == Isolation::kMig;
}

/// What a slice costs its holder.
[[nodiscard]] Charge slice_charge(const MigTable& table, std::uint16_t profile);

/// The slice of a card of which these memory slices are idle; whose it is, and of which GPU, is for
/// the caller to say.
[[nodiscard]] DeviceTake slice_take(const MigTable& table, AxisMask idle, MigPlacement slice);

/// In which order the starts of a profile are tried: starts_that_block_least(), remembered. Not
/// thread-safe.
class StartOrders {
 public:
  /// Valid as long as this is.
  [[nodiscard]] std::span<const std::uint16_t> of(const MigTableRef& table, std::uint16_t profile);

 private:
  struct Order {
    MigTablePtr table;  // keeps the key valid
    std::vector<std::uint16_t> starts;
  };
  std::map<std::pair<const MigTable*, std::uint16_t>, Order> orders_;
};

/// Places for slices of these profiles together, in their order; nothing: there are none, or the
/// search came to its bound (kMostSliceSteps). `steps` grows by what it took. It is quick where
/// equal profiles stand together and the larger ones first.
[[nodiscard]] std::optional<std::vector<MigPlacement>> place_together(
    const MigRoom& room, std::span<const std::uint16_t> profiles, StartOrders& orders,
    std::int64_t& steps);

}  // namespace snug

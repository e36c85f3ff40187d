// What a GPU in MIG mode has for slices, by the constraints up to a level. A dynamic one has every
// placement of its table, any other the slices that exist.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fit/levels.hpp"
#include "snug/fit/charge.hpp"
#include "snug/mig/choose.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct MigRoom {
  MigTableRef table;  // null: the GPU takes no slices
  MigUse use;         // what is taken, or not to be had
  bool dynamic = true;
  std::vector<MigPlacement> existing;    // where it is not dynamic
  ProfileSet profiles = kAllProfiles;    // that it has, taken or not

  /// Whether the slice can be had beside what is taken and `use`, which holds that.
  [[nodiscard]] bool open(const MigUse& beside, MigPlacement slice) const;
  /// Memory slices of which nobody has a part yet.
  [[nodiscard]] AxisMask idle() const;

  /// A total order by content.
  friend auto operator<=>(const MigRoom&, const MigRoom&) = default;
};

[[nodiscard]] MigRoom mig_room(const NodeInventory& node, const GpuState& gpu, Level level);

/// Whether the GPU could serve slices, if it had room.
[[nodiscard]] inline bool takes_slices(const GpuInfo& gpu) {
  return gpu.mig && static_cast<bool>(gpu.mig_table);
}
[[nodiscard]] constexpr bool may_be_slice(Isolation isolation) {
  return isolation == Isolation::kAny || isolation == Isolation::kMig;
}

/// What a slice costs its holder.
[[nodiscard]] Charge slice_charge(const MigTable& table, std::uint16_t profile);

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
/// search came to its bound (kMostSliceSteps). It is quick where equal profiles stand together and
/// the larger ones first.
[[nodiscard]] std::optional<std::vector<MigPlacement>> place_together(
    const MigRoom& room, std::span<const std::uint16_t> profiles, StartOrders& orders);

}  // namespace snug

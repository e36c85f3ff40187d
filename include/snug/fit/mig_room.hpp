// What a GPU in MIG mode has for slices: a dynamic one every placement of its table, any other the
// slices that exist. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "snug/mig/choose.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

struct MigRoom {
  MigTableRef table;  // null: the GPU takes no slices
  MigUse use;         // what is taken, or not to be had
  bool dynamic = true;
  std::vector<MigPlacement> existing;  // where it is not dynamic
  ProfileSet profiles = kAllProfiles;  // that it has, taken or not

  /// Whether the slice can be had beside this, which holds what is taken.
  [[nodiscard]] bool open(const MigUse& beside, MigPlacement slice) const;
  /// Whether a slice of the profile can be had at any of its starts.
  [[nodiscard]] bool open_anywhere(std::uint16_t profile) const;
  /// Memory slices of which nobody has a part yet.
  [[nodiscard]] AxisMask idle() const;

  /// A total order by content.
  friend auto operator<=>(const MigRoom&, const MigRoom&) = default;
};

/// By all that its holders have, its agent could not create, and its device plug-in gives. Whether
/// the GPU is open is not looked at.
[[nodiscard]] MigRoom mig_room(const NodeInventory& node, const GpuState& gpu);

/// Whether the GPU could serve slices, if it had room.
[[nodiscard]] inline bool takes_slices(const GpuInfo& gpu) {
  return gpu.mig && static_cast<bool>(gpu.mig_table);
}

}  // namespace snug

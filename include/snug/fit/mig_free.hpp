// What a GPU in MIG mode can give: which profiles, at which starts, and what is idle. The rules of
// what makes a slice unavailable stand here and nowhere else. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "snug/mig/profile_choice.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Whether the GPU can serve slices when it is empty.
[[nodiscard]] inline bool serves_slices(const model::GpuInfo& gpu) {
  return gpu.mig_enabled && static_cast<bool>(gpu.mig_table);
}

struct MigFree {
  model::MigTableRef table;  // null: the GPU takes no slices
  model::MigUse use;         // taken, or unavailable for another reason
  bool dynamic = true;       // any placement of the table can be created; false: `existing` is all
  std::vector<model::MigPlacement> existing;
  mig::ProfileSet profiles = mig::kAllProfiles;  // that the GPU has, taken or not

  /// Not constexpr: GCC would initialize an Allocatable by `rep stos`, which takes as long as
  /// judging the GPU.
  MigFree() {}
  /// Every placement of the card's table.
  [[nodiscard]] static MigFree empty_card(const model::GpuInfo& gpu);
  // What makes slices unavailable, one after another.
  void keep_what_node_offers(const model::NodeInventory& node, const model::GpuInfo& gpu);
  void remove_failed(const model::GpuInfo& gpu);
  void remove_taken(const model::GpuState& gpu);

  /// The smallest profile of the GPU that has what is needed; nothing: none has.
  [[nodiscard]] std::optional<std::uint16_t> profile_for(
      const mig::SliceRequirement& requirement) const;
  /// Whether the slice is free when `beside` is what is taken.
  [[nodiscard]] bool open(const model::MigUse& beside, model::MigPlacement slice) const;
  /// Whether a slice of the profile is free at any of its starts.
  [[nodiscard]] bool open_anywhere(std::uint16_t profile) const;
  /// Those of the starts at which a slice of the profile is free, in their order.
  [[nodiscard]] std::vector<std::uint16_t> open_starts(std::uint16_t profile,
                                                       std::span<const std::uint16_t> starts) const;
  /// Memory slices that are in no use and that a new slice can get.
  [[nodiscard]] model::AxisMask idle() const;

  /// A total order by content.
  friend auto operator<=>(const MigFree&, const MigFree&) = default;
};

/// What is free beside all that makes slices unavailable. GpuState::closure is not considered.
[[nodiscard]] MigFree mig_free(const model::NodeInventory& node, const model::GpuState& gpu);

}  // namespace snug::fit

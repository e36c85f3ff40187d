// The slices and the idle memory slices that a GPU in MIG mode has for new pods. The rules that
// make single slices unavailable are in src/fit/mig_free.cpp. Pure.
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

/// Whether the GPU serves slices: MIG mode is on and the table of the card is known.
[[nodiscard]] inline bool serves_slices(const model::GpuInfo& gpu) {
  return gpu.mig_enabled && static_cast<bool>(gpu.mig_table);
}

struct MigFree {
  model::MigTableRef table;  // null: the GPU serves no slices
  model::MigUse use;         // memory slices and engines that are taken or otherwise unavailable
  bool dynamic = true;  // whether slices can be created; if not, only those in `existing` are used
  std::vector<model::MigPlacement> existing;     // existing slices, sorted; empty if `dynamic`
  mig::ProfileSet profiles = mig::kAllProfiles;  // profiles of the GPU's slices, taken or free

  /// Not constexpr, because g++ would then initialize a GpuOffer by the instruction `rep stos`,
  /// which takes as long as judging the GPU.
  MigFree() {}
  /// The GPU as if it were empty: every placement of the card's table is available.
  [[nodiscard]] static MigFree empty_card(const model::GpuInfo& gpu);
  // These functions make slices unavailable: those that the node does not offer, those with failed
  // memory slices, and those that are taken.
  void keep_what_node_offers(const model::NodeInventory& node, const model::GpuInfo& gpu);
  void remove_failed(const model::GpuInfo& gpu);
  void remove_taken(const model::GpuState& gpu);

  /// The smallest profile of the GPU that meets the requirement; nullopt: no profile does.
  [[nodiscard]] std::optional<std::uint16_t> profile_for(
      const mig::SliceRequirement& requirement) const;
  /// Whether the slice is available if `beside` is in use on the card.
  [[nodiscard]] bool open(const model::MigUse& beside, model::MigPlacement slice) const;
  /// Whether a slice of the profile is available at any of its starts.
  [[nodiscard]] bool open_anywhere(std::uint16_t profile) const;
  /// The elements of `starts` at which a slice of the profile is available, in the same order.
  [[nodiscard]] std::vector<std::uint16_t> open_starts(std::uint16_t profile,
                                                       std::span<const std::uint16_t> starts) const;
  /// The unused memory slices that a new slice can get.
  [[nodiscard]] model::AxisMask idle() const;

  /// A total order by the values of all fields.
  friend auto operator<=>(const MigFree&, const MigFree&) = default;
};

/// Returns the slices of the GPU that are available now. The result has no table if the GPU serves
/// no slices. Ignores GpuState::closure.
[[nodiscard]] MigFree mig_free(const model::NodeInventory& node, const model::GpuState& gpu);

}  // namespace snug::fit

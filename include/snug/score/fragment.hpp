// FGD's measure of fragmentation (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "snug/fit/mig_free.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// A node as the measure sees it.
struct FragmentView {
  std::int64_t cpu_milli = 0;  // idle
  struct Gpu {
    std::int32_t left = 0;  // milli-GPU
    ModelSet model = 0;
    std::uint8_t mig_number = 0;
    std::optional<MigFree> slices{};  // of a GPU that takes nothing else
  };
  std::vector<Gpu> gpus;
};
[[nodiscard]] FragmentView fragment_view(const NodeState& node);

/// Idle milli-GPU of the node that a typical pod cannot use, in the mean over typical pods, in
/// parts of kOne: all of it where the pod asks for no GPU or cannot be placed on the node, else
/// that of the GPUs with less than it asks for on each, or no place for its slice.
[[nodiscard]] std::int64_t fragment(const FragmentView& node, std::span<const TypicalPod> typical);

}  // namespace snug

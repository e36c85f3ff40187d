// FGD's measure of fragmentation (Weng et al., "Beware of Fragmentation", USENIX ATC 2023).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "snug/fit/mig_free.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::score {

/// The part of a node's state that fragmentation() reads.
struct FragmentationView {
  std::int64_t free_cpu_milli = 0;
  struct Gpu {
    std::int32_t free_milli = 0;
    model::ModelSet model = 0;
    std::uint8_t mig_number = 0;
    std::optional<fit::MigFree> slices{};  // free MIG slices; nullopt: the GPU serves no slices
  };
  std::vector<Gpu> gpus;
};
[[nodiscard]] FragmentationView fragmentation_view(const model::NodeState& node);

/// Returns the node's fragmentation F: the free milli-GPU that typical pods cannot use, multiplied
/// by kFixedPointOne.
///
///   F = sum over the typical pods m of share_m * F_m
///   F_m = the free milli-GPU of the whole node if m requests no GPU or does not fit on the node,
///         else the free milli-GPU of those GPUs that cannot serve one GPU of m's request
[[nodiscard]] std::int64_t fragmentation(const FragmentationView& node,
                                         std::span<const model::TypicalPod> typical);

}  // namespace snug::score

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

/// A node as the measure sees it.
struct FragmentationView {
  std::int64_t free_cpu_milli = 0;
  struct Gpu {
    std::int32_t free_milli = 0;
    model::ModelSet model = 0;
    std::uint8_t mig_number = 0;
    std::optional<fit::MigFree> slices{};  // set if the GPU takes nothing but slices
  };
  std::vector<Gpu> gpus;
};
[[nodiscard]] FragmentationView fragmentation_view(const model::NodeState& node);

/// Free milli-GPU of the node that typical pods cannot use, in parts of kOne:
///
///   F = sum over typical pods m of share_m * F_m
///   F_m = all free milli-GPU, if m asks for no GPU or does not fit on the node;
///         else those of the GPUs that cannot hold one GPU's part of m
[[nodiscard]] std::int64_t fragmentation(const FragmentationView& node,
                                         std::span<const model::TypicalPod> typical);

}  // namespace snug::score

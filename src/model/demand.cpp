#include "snug/model/demand.hpp"

#include <algorithm>

namespace snug::model {
namespace {

/// More CPU (thousandths of a core) or memory (MiB) than any node has. Free amounts are limited to
/// this, so that products with them fit into 64 bits.
constexpr std::int64_t kMostFree = 1'000'000'000;

}  // namespace

StrandingTable::StrandingTable(const Bins& bins, std::int64_t width) : bin_width_(width) {
  for (std::size_t i = kBins; i-- > 0;) {
    suffix_sums_[i] = suffix_sums_[i + 1];
    suffix_sums_[i].oversized_per_unit += bins[i].served_per_unit;
    if (bins[i].share == 0) continue;
    suffix_sums_[i].share += bins[i].share;
    suffix_sums_[i].served_per_unit += bins[i].share * 1000 * kServedScale / bins[i].mean_need;
  }
}

std::int64_t StrandingTable::stranded(std::int64_t free, std::int64_t allocatable,
                                      std::int64_t gpu) const {
  if (gpu <= 0) return 0;
  free = std::clamp<std::int64_t>(free, 0, kMostFree);
  allocatable = std::max(allocatable, free);
  return std::min(unserved(free, gpu) + oversized(free, allocatable, gpu),
                  gpu * suffix_sums_[0].share);
}

std::int64_t StrandingTable::unserved(std::int64_t free, std::int64_t gpu) const {
  // Pods that need more of the resource than the critical need, 1000 * free / gpu, cannot use all
  // of `gpu`. `critical` is the bin of the critical need.
  const std::int64_t critical = free * 1000 / gpu / bin_width_;
  if (critical >= static_cast<std::int64_t>(kBins)) return 0;
  const auto bin = static_cast<std::size_t>(critical);
  const Tail& above = suffix_sums_[bin + 1];
  const std::int64_t of_above = gpu * above.share - free * above.served_per_unit / kServedScale;
  // The critical bin has needs below and above the critical need. The mean need of the bin stands
  // for all of them.
  const Tail own{suffix_sums_[bin].share - above.share,
                 suffix_sums_[bin].served_per_unit - above.served_per_unit};
  return of_above +
         std::max<std::int64_t>(0, gpu * own.share - free * own.served_per_unit / kServedScale);
}

std::int64_t StrandingTable::oversized(std::int64_t free, std::int64_t allocatable,
                                       std::int64_t gpu) const {
  // The first bin in which all needs exceed `allocatable`.
  const std::int64_t first = allocatable / bin_width_ + 1;
  if (first >= static_cast<std::int64_t>(kBins)) return 0;
  const std::int64_t served =
      free * suffix_sums_[static_cast<std::size_t>(first)].oversized_per_unit / kServedScale;
  // If less than one whole GPU is free, many oversized pods would not fit on the GPU even with
  // enough CPU and memory.
  return served * std::min<std::int64_t>(gpu, 1000) / 1000;
}

}  // namespace snug::model

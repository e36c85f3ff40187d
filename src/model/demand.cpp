#include "snug/model/demand.hpp"

#include <algorithm>

namespace snug {
namespace {

/// More than any node has: sums stay far inside 64 bits.
constexpr std::int64_t kMostCpuMilli = 100'000'000;

}  // namespace

StrandTable::StrandTable(const std::array<Bin, kBins>& bins) {
  for (std::size_t i = kBins; i-- > 0;) {
    from_[i] = from_[i + 1];
    if (bins[i].share == 0) continue;
    from_[i].share += bins[i].share;
    from_[i].fed += bins[i].share * 1000 / bins[i].need_milli;
  }
}

std::int64_t StrandTable::stranded(std::int64_t cpu_milli, std::int64_t gpu_milli) const {
  if (gpu_milli <= 0) return 0;
  const std::int64_t cpu = std::clamp<std::int64_t>(cpu_milli, 0, kMostCpuMilli);
  const auto bin = static_cast<std::size_t>(cpu * 1000 / gpu_milli / kBinMilli);
  if (bin >= kBins) return 0;
  const Sum& above = from_[bin + 1];
  const std::int64_t surely = gpu_milli * above.share - cpu * above.fed;
  // The bin in which the ratio itself lies may need more than there is, or less.
  const Sum own{from_[bin].share - above.share, from_[bin].fed - above.fed};
  return surely + std::max<std::int64_t>(0, gpu_milli * own.share - cpu * own.fed);
}

}  // namespace snug

#include "snug/model/demand.hpp"

#include <algorithm>

namespace snug {
namespace {

/// More than any node has: sums stay far inside 64 bits.
constexpr std::int64_t kMostHave = 1'000'000'000;

}  // namespace

StrandTable::StrandTable(const Bins& bins, std::int64_t width) : width_(width) {
  for (std::size_t i = kBins; i-- > 0;) {
    from_[i] = from_[i + 1];
    from_[i].lost += bins[i].fed;
    if (bins[i].share == 0) continue;
    from_[i].share += bins[i].share;
    from_[i].fed += bins[i].share * 1000 * kFine / bins[i].need;
  }
}

std::int64_t StrandTable::stranded(std::int64_t have, std::int64_t has,
                                   std::int64_t gpu_milli) const {
  if (gpu_milli <= 0) return 0;
  have = std::clamp<std::int64_t>(have, 0, kMostHave);
  has = std::max(has, have);
  return std::min(unfed(have, gpu_milli) + lost(have, has, gpu_milli), gpu_milli * from_[0].share);
}

std::int64_t StrandTable::unfed(std::int64_t have, std::int64_t gpu_milli) const {
  const std::int64_t ratio = have * 1000 / gpu_milli / width_;
  if (ratio >= static_cast<std::int64_t>(kBins)) return 0;
  const auto bin = static_cast<std::size_t>(ratio);
  const Sum& above = from_[bin + 1];
  const std::int64_t surely = gpu_milli * above.share - have * above.fed / kFine;
  // The bin in which the ratio itself lies may need more than there is, or less.
  const Sum own{from_[bin].share - above.share, from_[bin].fed - above.fed};
  return surely + std::max<std::int64_t>(0, gpu_milli * own.share - have * own.fed / kFine);
}

std::int64_t StrandTable::lost(std::int64_t have, std::int64_t has, std::int64_t gpu_milli) const {
  const std::int64_t first = has / width_ + 1;  // of the bins of which all need more
  if (first >= static_cast<std::int64_t>(kBins)) return 0;
  const std::int64_t feeds = have * from_[static_cast<std::size_t>(first)].lost / kFine;
  // Of less than a GPU in part: many of these pods it is too small for anyway.
  return feeds * std::min<std::int64_t>(gpu_milli, 1000) / 1000;
}

}  // namespace snug

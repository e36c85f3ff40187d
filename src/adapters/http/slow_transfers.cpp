#include "adapters/http/slow_transfers.hpp"

#include <algorithm>

namespace snug::http {

std::vector<std::size_t> pick_slow_transfers(std::span<const Transfer> all, base::TimePoint now,
                                             std::int64_t min_bytes_per_s, std::size_t most) {
  const auto rate = [&](std::size_t i) {
    const std::chrono::duration<double> elapsed = now - all[i].started;
    return static_cast<double>(all[i].bytes) / elapsed.count();
  };
  std::vector<std::size_t> slow;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_blocked || now - all[i].started < kSlowTransferGrace) continue;
    if (rate(i) < static_cast<double>(min_bytes_per_s)) slow.push_back(i);
  }
  std::ranges::sort(slow, {}, rate);
  slow.resize(std::min(slow.size(), most));
  return slow;
}

}  // namespace snug::http

#include "adapters/http/slow_transfers.hpp"

#include <algorithm>

namespace snug::http {

std::vector<std::size_t> pick_slow_transfers(std::span<const Transfer> transfers,
                                             base::TimePoint now, std::int64_t min_bytes_per_s,
                                             std::size_t max_aborts) {
  const auto rate = [&](std::size_t i) {
    const std::chrono::duration<double> elapsed = now - transfers[i].started;
    return static_cast<double>(transfers[i].bytes) / elapsed.count();
  };
  std::vector<std::size_t> slow_transfers;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!transfers[i].is_blocked || now - transfers[i].started < kSlowTransferGrace) continue;
    if (rate(i) < static_cast<double>(min_bytes_per_s)) slow_transfers.push_back(i);
  }
  std::ranges::sort(slow_transfers, {}, rate);
  slow_transfers.resize(std::min(slow_transfers.size(), max_aborts));
  return slow_transfers;
}

}  // namespace snug::http

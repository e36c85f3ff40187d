// Chooses the connections to close if requests wait for threads or memory: those whose client sends
// a body, or receives a reply, at less than min_bytes_per_s. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/base/clock.hpp"

namespace snug::http {

/// The progress of a body that is being received, or of a reply that is being sent.
struct Transfer {
  base::TimePoint started;
  std::uint64_t bytes = 0;
  bool is_blocked = false;  // the thread is waiting for the client
};

/// A transfer does not count as slow until it has lasted this long. The value is well below the
/// timeout of a probe and above the pauses of healthy clients and networks, so it need not be
/// configurable.
inline constexpr std::chrono::milliseconds kSlowTransferGrace{250};

/// Returns the indexes in `transfers` of at most `max_aborts` slow transfers, the slowest first.
[[nodiscard]] std::vector<std::size_t> pick_slow_transfers(std::span<const Transfer> transfers,
                                                           base::TimePoint now,
                                                           std::int64_t min_bytes_per_s,
                                                           std::size_t max_aborts);

}  // namespace snug::http

// Chooses the connections that are closed while requests wait for threads or memory: those that
// send a body, or receive a reply, at less than min_bytes_per_s. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/base/clock.hpp"

namespace snug::http {

/// A body or a reply that is under way.
struct Transfer {
  base::TimePoint started;
  std::uint64_t bytes = 0;
  bool is_blocked = false;  // the thread is blocked on the client's socket
};

/// A transfer younger than this is never slow. Well below a probe's time-out, and above the pauses
/// of healthy clients and networks, so that it is no limit to set.
inline constexpr std::chrono::milliseconds kSlowTransferGrace{250};

/// At most `most` indexes of `all`, the slowest first.
[[nodiscard]] std::vector<std::size_t> pick_slow_transfers(std::span<const Transfer> all,
                                                           base::TimePoint now,
                                                           std::int64_t min_bytes_per_s,
                                                           std::size_t most);

}  // namespace snug::http

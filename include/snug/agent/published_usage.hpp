// How much of a GPU is in use, as the agent publishes it: in percent, in steps of 10. Pure.
#pragma once

#include <optional>
#include <string>

namespace snug::agent {

struct PublishedUsage {
  std::string uuid;
  int memory_percent = 0;   // 0, 10, … 100
  int compute_percent = 0;  // 0, 10, … 100

  friend bool operator==(const PublishedUsage&, const PublishedUsage&) = default;
};

/// Returns the step for a measurement of `percent`, from 0 to 100. `before` is the step of the last
/// measurement; nullopt: there was none. It is kept while `percent` is less than 8 away from it, so
/// that a value that swings around the middle of two steps is not published each time.
[[nodiscard]] int usage_step(int percent, std::optional<int> before);

}  // namespace snug::agent

// An interface for reading the time, so that tests can replace the clock. Code that makes decisions
// never reads the time. All clocks are thread-safe.
#pragma once

#include <atomic>
#include <chrono>

namespace snug::base {

using TimePoint = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// A clock for tests. It moves only when advance() is called.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override {
    return TimePoint{std::chrono::nanoseconds{nanoseconds_.load()}};
  }
  void advance(std::chrono::nanoseconds by) { nanoseconds_ += by.count(); }

 private:
  std::atomic<std::int64_t> nanoseconds_{0};
};

/// The time of day, which other machines know too. The validity of certificates needs it.
class WallClock {
 public:
  virtual ~WallClock() = default;
  [[nodiscard]] virtual std::chrono::sys_seconds now() const = 0;
};

class SystemClock final : public WallClock {
 public:
  [[nodiscard]] std::chrono::sys_seconds now() const override {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  }
};

}  // namespace snug::base

// Shows the progress of a long run in one line on stderr, if stderr is a terminal. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/clock.hpp"

namespace snug {

class Progress {
 public:
  /// `all`: the number of arrivals that the run has.
  Progress(std::string name, std::size_t all, const Clock& clock);
  /// Clears the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more arrival is done.
  void step();

 private:
  void draw(TimePoint now);

  const std::string name_;
  const std::size_t all_;
  const Clock& clock_;
  const bool shown_;
  const TimePoint start_;
  TimePoint drawn_;
  std::size_t done_ = 0;
  bool on_screen_ = false;
};

}  // namespace snug

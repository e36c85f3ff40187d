// How far a long run is, in one line on stderr that is drawn anew; nothing where stderr is no
// terminal. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/clock.hpp"

namespace snug {

class Progress {
 public:
  /// `all` arrivals are to come, under this name.
  Progress(std::string name, std::size_t all, const Clock& clock);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// One more has come.
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

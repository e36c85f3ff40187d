// Shows the progress of a long simulation in one line on stderr, if stderr is a terminal. Not
// thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/clock.hpp"

namespace snug::ctl {

class Progress {
 public:
  /// `name` is the text at the start of the line. `arrivals` is the number of arrivals in the
  /// simulation.
  Progress(std::string name, std::size_t arrivals, const base::Clock& clock);
  /// Clears the line on the terminal.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Counts one more simulated arrival, and redraws the line if it is due.
  void advance();

 private:
  void draw(base::TimePoint now);

  const std::string name_;
  const std::size_t total_;
  const base::Clock& clock_;
  const bool is_terminal_;
  const base::TimePoint start_;
  base::TimePoint last_drawn_;
  std::size_t done_ = 0;
  bool on_screen_ = false;
};

}  // namespace snug::ctl

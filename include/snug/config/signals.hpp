// The signals that the main function of a program waits for.
#pragma once

#include <csignal>
#include <initializer_list>

namespace snug::config {

/// Blocks the signals and returns them, and ignores SIGPIPE. Must be called before any thread
/// starts, so that every thread inherits this.
[[nodiscard]] sigset_t block_signals(std::initializer_list<int> numbers);

}  // namespace snug::config

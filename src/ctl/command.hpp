// What the subcommands share: how one enters the command line, and how snugctl ends.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

namespace snug {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrong = 2;  // flags, or a file that a flag names

/// What the command line asks for, once it is read; gives the exit code. A subcommand's
/// `add_…(app, chosen)` adds its flags, and sets `chosen` where the command line names it.
using Action = std::function<int()>;

/// Says what is wrong, and gives the exit code back.
inline int complain(int code, const std::string& what) {
  std::fprintf(stderr, "snugctl: %s\n", what.c_str());
  return code;
}

}  // namespace snug

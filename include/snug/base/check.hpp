// SNUG_CHECK verifies our own invariants, never input. If one is broken it prints where and why and
// aborts the process; a restart rebuilds the ledger from the API server.
#pragma once

namespace snug::base {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace snug::base

#define SNUG_CHECK(condition)                                     \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::snug::base::check_failed(#condition, __FILE__, __LINE__); \
    }                                                             \
  } while (false)

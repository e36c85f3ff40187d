// SNUG_CHECK verifies an invariant of Snug's own code; it must not be used to validate input. If
// the condition is false, it prints the condition and its location and aborts the process. After
// the restart, Snug rebuilds the ledger from the API server.
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

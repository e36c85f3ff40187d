#include "snug/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace snug::base {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "broken invariant: %s (%s:%d)\n", condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace snug::base

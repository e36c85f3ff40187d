#include "ctl/commands.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace snug::ctl {

base::Result<void> print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return base::fail(base::ErrorCode::kUnavailable,
                    std::string("stdout: cannot be written: ") + std::strerror(errno));
}

int report_error(int code, const std::string& what) {
  std::fprintf(stderr, "snugctl: %s\n", what.c_str());
  return code;
}

}  // namespace snug::ctl

// What the service answers, free of any transport.
#pragma once

#include <string>

namespace snug {

struct Reply {
  int status = 200;  // as in HTTP
  std::string body;
};

}  // namespace snug

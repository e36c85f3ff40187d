// Asks the admin port of a running extender, for programs of people. No threads; one question at a
// time.
#pragma once

#include <map>
#include <string>

#include "snug/base/result.hpp"

namespace snug {

struct AdminAnswer {
  int status = 0;  // as in HTTP
  std::string body;
};

/// GET. `server`: `http://HOST:PORT`; another form is kInvalid. kUnavailable: it does not answer;
/// kTooLarge: its reply is larger than anything that it would say. The message says so of this
/// server in one sentence.
[[nodiscard]] Result<AdminAnswer> ask_admin(const std::string& server, const std::string& path,
                                            const std::multimap<std::string, std::string>& query);

}  // namespace snug

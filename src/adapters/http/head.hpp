// A request's head, from its first line to the empty line: finds its end, and refuses what is no
// valid HTTP/1.1 but would pass httplib's parser. Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"

namespace snug {

/// Why a request is refused: the status, and a sentence for a person.
struct Refused {
  int status = 400;
  std::string sentence;
};

/// The length of the head with its empty line; nothing: that line has not come yet. `seen` is how
/// many of the bytes an earlier search has looked at in vain.
[[nodiscard]] std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t seen);

/// Views into the head.
struct HeadFacts {
  std::string_view method;
  std::string_view path;    // without the query
  std::string_view expect;  // the line Expect: 100-continue, with its CR LF; empty: there is none
};

/// Checks a head that ends with its empty line, or is longer than maxHeaderBytes (and so refused).
[[nodiscard]] std::expected<HeadFacts, Refused> read_head(std::string_view head,
                                                          const Limits& limits);

/// Method and path of a head that may be incomplete or invalid.
[[nodiscard]] HeadFacts read_first_line(std::string_view head);

}  // namespace snug

// The head of an HTTP/1.1 request, from its first line to the empty line (RFC 9112): finds its end
// and parses it. The parser is stricter than the RFC requires: it refuses whatever servers and
// proxies are known to interpret differently. Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/limits.hpp"

namespace snug::http {

/// Why a request is refused: the status, and one sentence for a person.
struct HttpRefusal {
  int status = 400;
  std::string sentence;
};

/// Longest header line with its CR LF, and longest request target, in bytes. Common HTTP servers
/// have the same bounds, so that these are not settable.
inline constexpr std::size_t kMaxHeaderLine = 8'192;
inline constexpr std::size_t kMaxTarget = 8'192;

/// The names and values are views into the head.
struct RequestHead {
  struct Header {
    std::string_view name;
    std::string_view value;  // without the blanks around it
  };

  std::string_view method;
  std::string path;  // percent-decoded, without the query
  /// The query's keys and values, decoded, in their order.
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<Header> headers;
  bool expects_continue = false;  // Expect: 100-continue
  bool keep_alive = true;         // HTTP/1.1 without Connection: close

  /// Names are compared without regard to case.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// The value of the first header of that name; empty: there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

/// The length of the head with its empty line; nullopt: that line has not arrived. `seen` is the
/// number of bytes that earlier calls have searched.
[[nodiscard]] std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t seen);

/// Parses a head that ends with its empty line, or is longer than max_header_bytes (and so
/// refused).
[[nodiscard]] std::expected<RequestHead, HttpRefusal> read_head(std::string_view head,
                                                                const base::Limits& limits);

/// The first two words of a head that may be incomplete or invalid, for the reply to it.
struct RequestLine {
  std::string_view method;
  std::string_view path;  // without the query, not decoded
};
[[nodiscard]] RequestLine read_request_line(std::string_view head);

}  // namespace snug::http

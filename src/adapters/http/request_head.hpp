// Finds and parses the head of an HTTP/1.1 request, from the request line to the empty line (RFC
// 9112). The parser is stricter than the RFC: it refuses input that servers and proxies are known
// to interpret in different ways. Pure.
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

/// Why a request is refused: the HTTP status, and one sentence for people.
struct HttpRefusal {
  int status = 400;
  std::string sentence;
};

/// A parsed head. The method and the headers are views into the text that was parsed.
struct RequestHead {
  struct Header {
    std::string_view name;
    std::string_view value;  // without leading and trailing blanks
  };

  std::string_view method;
  std::string path;  // percent-decoded, without the query
  /// The keys and values of the query, percent-decoded, in the order of the request.
  std::vector<std::pair<std::string, std::string>> query;
  std::vector<Header> headers;
  bool expects_continue = false;  // the client sent Expect: 100-continue
  bool keep_alive = true;         // true for HTTP/1.1 without Connection: close

  /// Returns the number of headers with this name. Case is ignored.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// Returns the value of the first header with this name, or an empty text. Case is ignored.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

/// Returns the length of the head, including its empty line, or nullopt if `bytes` has no empty
/// line yet. `searched_bytes` is the number of bytes that earlier calls have searched.
[[nodiscard]] std::optional<std::size_t> find_head_end(std::string_view bytes,
                                                       std::size_t searched_bytes);

/// Parses a head, which must end with the empty line unless it is longer than max_header_bytes.
/// Refuses a head that is invalid or longer than that.
[[nodiscard]] std::expected<RequestHead, HttpRefusal> read_head(std::string_view head,
                                                                const base::Limits& limits);

/// The first two words of a head, which may be incomplete or invalid. An error reply depends on
/// these words.
struct RequestLine {
  std::string_view method;
  std::string_view path;  // without the query, not decoded
};
[[nodiscard]] RequestLine read_request_line(std::string_view head);

}  // namespace snug::http

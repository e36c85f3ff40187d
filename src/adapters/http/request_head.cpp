#include "adapters/http/request_head.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equals_ignoring_case(std::string_view header_text, std::string_view expected_text) {
  return std::ranges::equal(header_text, expected_text, {}, lower, lower);
}

/// Returns whether the text is a token (RFC 9110, section 5.6.2).
bool is_token(std::string_view token) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !token.empty() && std::ranges::all_of(token, [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || kMarks.contains(c);
  });
}

std::string_view trim_blanks(std::string_view header_text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t from = header_text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return header_text.substr(from, header_text.find_last_not_of(kBlanks) + 1 - from);
}

/// Removes the first line, including its LF, from `head_rest` and returns it. Without an LF, all of
/// `head_rest` is the line.
std::string_view take_head_line(std::string_view& head_rest) {
  const std::size_t end = head_rest.find('\n');
  const std::string_view head_line =
      head_rest.substr(0, end == std::string_view::npos ? end : end + 1);
  head_rest.remove_prefix(head_line.size());
  return head_line;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

/// Decodes each %XX into a byte. A % that is not followed by two hexadecimal digits is kept.
std::string percent_decoded(std::string_view encoded, bool plus_is_blank) {
  std::string decoded;
  decoded.reserve(encoded.size());
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const int high = encoded[i] == '%' && i + 2 < encoded.size() ? hex_value(encoded[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(encoded[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus_is_blank && encoded[i] == '+' ? ' ' : encoded[i];
    }
  }
  return decoded;
}

HttpRefusal header_too_long() {
  return {431, "a header is longer than the " + std::to_string(base::kMaxHeaderLineBytes) +
                   " bytes that are allowed"};
}

HttpRefusal head_too_large(std::string_view head, const base::Limits& limits) {
  std::string_view head_rest =
      head.substr(0, static_cast<std::size_t>(limits.max_header_bytes) + 1);
  take_head_line(head_rest);
  while (!head_rest.empty()) {
    if (take_head_line(head_rest).size() > base::kMaxHeaderLineBytes) return header_too_long();
  }
  return {431, "the request line and the headers are larger than the " +
                   std::to_string(limits.max_header_bytes) + " bytes that are allowed"};
}

/// Parses one head line by line. Parsing stops at the first error, which becomes the refusal.
class HeadReader {
 public:
  explicit HeadReader(const base::Limits& limits)
      : max_headers_(static_cast<std::size_t>(limits.max_headers)) {}

  /// Parses the request line, `METHOD TARGET HTTP/1.1` (or 1.0).
  [[nodiscard]] std::optional<HttpRefusal> parse_request_line(std::string_view request_line) {
    const std::size_t method_end = std::min(request_line.find(' '), request_line.size());
    const std::size_t target_end = request_line.rfind(' ');
    if (target_end == std::string_view::npos || target_end <= method_end) return invalid_line();
    head_.method = request_line.substr(0, method_end);
    const std::string_view target =
        request_line.substr(method_end + 1, target_end - method_end - 1);
    const std::string_view version = request_line.substr(target_end + 1);
    is_http_1_0_ = version == "HTTP/1.0";
    if (version != "HTTP/1.1" && !is_http_1_0_) return invalid_line();
    const bool printable = std::ranges::none_of(
        target, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
    if (!is_token(head_.method) || target.empty() || !printable) return invalid_line();
    if (target.size() > base::kMaxTargetBytes)
      return HttpRefusal{414, "the request's path is too long"};
    parse_target(target);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<HttpRefusal> parse_header(std::string_view header_line) {
    if (header_line.size() + kLineEnd.size() > base::kMaxHeaderLineBytes) return header_too_long();
    if (head_.headers.size() == max_headers_) {
      return HttpRefusal{431, "the request has more than the " + std::to_string(max_headers_) +
                                  " headers that are allowed"};
    }
    if (header_line.starts_with(' ') || header_line.starts_with('\t')) {
      return HttpRefusal{400,
                         "a header continues on a second line; each header must be on one line"};
    }
    const std::size_t colon = header_line.find(':');
    const std::string_view name = header_line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) {
      return HttpRefusal{400, "a header must be NAME: VALUE, with no blank before the colon"};
    }
    head_.headers.push_back({name, trim_blanks(header_line.substr(colon + 1))});
    return std::nullopt;
  }

  /// Checks the headers and returns the parsed head. Call it after the last header.
  [[nodiscard]] std::expected<RequestHead, HttpRefusal> finish() {
    const std::size_t hosts = head_.count("Host");
    if (hosts > 1) return refuse_header("the header Host came more than once");
    if (hosts == 0 && !is_http_1_0_) {
      return refuse_header("the header Host is missing; a request must have one");
    }
    for (const auto& [name, value] : head_.headers) {
      if (equals_ignoring_case(name, "Connection") && !parse_connection_header(value)) {
        return refuse_header("the header Connection must be a list of names");
      }
      if (!equals_ignoring_case(name, "Expect") || value.empty()) continue;
      if (head_.expects_continue || !equals_ignoring_case(value, "100-continue")) {
        return refuse_header("the header Expect must be 100-continue and occur only once", 417);
      }
      head_.expects_continue = true;
    }
    head_.keep_alive = !connection_close_ && !is_http_1_0_;
    return std::move(head_);
  }

 private:
  static HttpRefusal invalid_line() { return {400, "the request line is not valid HTTP/1.1"}; }

  static std::unexpected<HttpRefusal> refuse_header(std::string sentence, int status = 400) {
    return std::unexpected(HttpRefusal{status, std::move(sentence)});
  }

  void parse_target(std::string_view target) {
    const std::size_t mark = std::min(target.find('?'), target.size());
    head_.path = percent_decoded(target.substr(0, mark), false);
    if (mark == target.size()) return;
    for (const auto query_part : std::views::split(target.substr(mark + 1), '&')) {
      const std::string_view pair{query_part.begin(), query_part.end()};
      if (pair.empty()) continue;
      const std::size_t equals = std::min(pair.find('='), pair.size());
      head_.query.emplace_back(
          percent_decoded(pair.substr(0, equals), true),
          percent_decoded(pair.substr(std::min(equals + 1, pair.size())), true));
    }
  }

  /// Parses the header Connection, a list of options. Only the option `close` has an effect. False:
  /// the value is not a list of tokens.
  [[nodiscard]] bool parse_connection_header(std::string_view value) {
    for (const auto option_part : std::views::split(value, ',')) {
      const std::string_view option =
          trim_blanks(std::string_view{option_part.begin(), option_part.end()});
      if (!option.empty() && !is_token(option)) return false;
      if (equals_ignoring_case(option, "close")) connection_close_ = true;
    }
    return true;
  }

  const std::size_t max_headers_;
  RequestHead head_;
  bool is_http_1_0_ = false;
  bool connection_close_ = false;
};

/// Removes the CR LF at the end of `head_line`. Refuses a line that ends with a bare LF or that
/// contains control characters, because servers and proxies interpret these in different ways.
std::optional<HttpRefusal> take_line_end(std::string_view& head_line) {
  if (!head_line.ends_with(kLineEnd)) {
    return HttpRefusal{400, "a line of the request's head does not end with CR LF"};
  }
  head_line.remove_suffix(kLineEnd.size());
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  };
  if (std::ranges::any_of(head_line, is_control)) {
    return HttpRefusal{400, "the request's head has a control character within a line"};
  }
  return std::nullopt;
}

}  // namespace

std::size_t RequestHead::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const Header& header) { return equals_ignoring_case(header.name, name); }));
}

std::string_view RequestHead::value(std::string_view name) const {
  const auto first_header = std::ranges::find_if(
      headers, [&](const Header& header) { return equals_ignoring_case(header.name, name); });
  return first_header == headers.end() ? std::string_view{} : first_header->value;
}

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t searched_bytes) {
  constexpr std::string_view kEmptyLine = "\n\r\n";
  if (bytes.starts_with(kLineEnd)) return kLineEnd.size();
  const std::size_t search_start = searched_bytes - std::min(searched_bytes, kEmptyLine.size() - 1);
  const std::size_t empty_line = bytes.find(kEmptyLine, search_start);
  if (empty_line == std::string_view::npos) return std::nullopt;
  return empty_line + kEmptyLine.size();
}

RequestLine read_request_line(std::string_view head) {
  const std::string_view first_line = head.substr(0, head.find_first_of("\r\n"));
  RequestLine request_line{.method = first_line.substr(0, first_line.find(' ')), .path = {}};
  request_line.path =
      first_line.substr(std::min(first_line.size(), request_line.method.size() + 1));
  request_line.path = request_line.path.substr(0, request_line.path.find_first_of(" ?"));
  return request_line;
}

std::expected<RequestHead, HttpRefusal> read_head(std::string_view head,
                                                  const base::Limits& limits) {
  if (head.size() > static_cast<std::size_t>(limits.max_header_bytes)) {
    return std::unexpected(head_too_large(head, limits));
  }
  HeadReader reader(limits);
  std::string_view head_rest = head;
  for (bool is_first = true; is_first || head_rest.size() > kLineEnd.size(); is_first = false) {
    std::string_view head_line = take_head_line(head_rest);
    std::optional<HttpRefusal> refusal = take_line_end(head_line);
    if (!refusal)
      refusal = is_first ? reader.parse_request_line(head_line) : reader.parse_header(head_line);
    if (refusal) return std::unexpected(std::move(*refusal));
  }
  return reader.finish();
}

}  // namespace snug::http

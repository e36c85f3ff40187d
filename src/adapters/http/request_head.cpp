#include "adapters/http/request_head.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace snug::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equals_ignoring_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

/// Returns whether the text is a token (RFC 9110, section 5.6.2).
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || kMarks.contains(c);
  });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) + 1 - from);
}

/// Removes the first line, including its LF, from `rest` and returns it. Without an LF, all of
/// `rest` is the line.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end == std::string_view::npos ? end : end + 1);
  rest.remove_prefix(line.size());
  return line;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (lower(c) >= 'a' && lower(c) <= 'f') return lower(c) - 'a' + 10;
  return -1;
}

/// Decodes each %XX into a byte. A % that is not followed by two hexadecimal digits is kept.
std::string percent_decoded(std::string_view text, bool plus_is_blank) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low >= 0) {
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += plus_is_blank && text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

HttpRefusal header_too_long() {
  return {431, "a header is longer than the " + std::to_string(kMaxHeaderLine) +
                   " bytes that are allowed"};
}

HttpRefusal head_too_large(std::string_view head, const base::Limits& limits) {
  std::string_view rest = head.substr(0, static_cast<std::size_t>(limits.max_header_bytes) + 1);
  take_line(rest);
  while (!rest.empty()) {
    if (take_line(rest).size() > kMaxHeaderLine) return header_too_long();
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
  [[nodiscard]] std::optional<HttpRefusal> parse_request_line(std::string_view line) {
    const std::size_t method_end = std::min(line.find(' '), line.size());
    const std::size_t target_end = line.rfind(' ');
    if (target_end == std::string_view::npos || target_end <= method_end) return invalid_line();
    head_.method = line.substr(0, method_end);
    const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
    const std::string_view version = line.substr(target_end + 1);
    is_http_1_0_ = version == "HTTP/1.0";
    if (version != "HTTP/1.1" && !is_http_1_0_) return invalid_line();
    const bool printable = std::ranges::none_of(
        target, [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
    if (!is_token(head_.method) || target.empty() || !printable) return invalid_line();
    if (target.size() > kMaxTarget) return HttpRefusal{414, "the request's path is too long"};
    parse_target(target);
    return std::nullopt;
  }

  [[nodiscard]] std::optional<HttpRefusal> parse_header(std::string_view line) {
    if (line.size() + kLineEnd.size() > kMaxHeaderLine) return header_too_long();
    if (head_.headers.size() == max_headers_) {
      return HttpRefusal{431, "the request has more than the " + std::to_string(max_headers_) +
                                  " headers that are allowed"};
    }
    if (line.starts_with(' ') || line.starts_with('\t')) {
      return HttpRefusal{400,
                         "a header continues on a second line; each header must be on one line"};
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) {
      return HttpRefusal{400, "a header must be NAME: VALUE, with no blank before the colon"};
    }
    head_.headers.push_back({name, trim(line.substr(colon + 1))});
    return std::nullopt;
  }

  /// Checks the headers and returns the parsed head. Call it after the last header.
  [[nodiscard]] std::expected<RequestHead, HttpRefusal> finish() {
    const std::size_t hosts = head_.count("Host");
    if (hosts > 1) return refused("the header Host came more than once");
    if (hosts == 0 && !is_http_1_0_) {
      return refused("the header Host is missing; a request must have one");
    }
    for (const auto& [name, value] : head_.headers) {
      if (equals_ignoring_case(name, "Connection") && !parse_connection_header(value)) {
        return refused("the header Connection must be a list of names");
      }
      if (!equals_ignoring_case(name, "Expect") || value.empty()) continue;
      if (head_.expects_continue || !equals_ignoring_case(value, "100-continue")) {
        return refused("the header Expect must be 100-continue and occur only once", 417);
      }
      head_.expects_continue = true;
    }
    head_.keep_alive = !connection_close_ && !is_http_1_0_;
    return std::move(head_);
  }

 private:
  static HttpRefusal invalid_line() { return {400, "the request line is not valid HTTP/1.1"}; }

  static std::unexpected<HttpRefusal> refused(std::string sentence, int status = 400) {
    return std::unexpected(HttpRefusal{status, std::move(sentence)});
  }

  void parse_target(std::string_view target) {
    const std::size_t mark = std::min(target.find('?'), target.size());
    head_.path = percent_decoded(target.substr(0, mark), false);
    if (mark == target.size()) return;
    for (const auto part : std::views::split(target.substr(mark + 1), '&')) {
      const std::string_view pair{part.begin(), part.end()};
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
    for (const auto part : std::views::split(value, ',')) {
      const std::string_view option = trim(std::string_view{part.begin(), part.end()});
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

/// Removes the CR LF at the end of `line`. Refuses a line that ends with a bare LF or that contains
/// control characters, because servers and proxies interpret these in different ways.
std::optional<HttpRefusal> take_line_end(std::string_view& line) {
  if (!line.ends_with(kLineEnd)) {
    return HttpRefusal{400, "a line of the request's head does not end with CR LF"};
  }
  line.remove_suffix(kLineEnd.size());
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  };
  if (std::ranges::any_of(line, is_control)) {
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
  const auto found = std::ranges::find_if(
      headers, [&](const Header& header) { return equals_ignoring_case(header.name, name); });
  return found == headers.end() ? std::string_view{} : found->value;
}

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t seen) {
  constexpr std::string_view kEmptyLine = "\n\r\n";
  if (bytes.starts_with(kLineEnd)) return kLineEnd.size();
  const std::size_t from = seen - std::min(seen, kEmptyLine.size() - 1);
  const std::size_t found = bytes.find(kEmptyLine, from);
  if (found == std::string_view::npos) return std::nullopt;
  return found + kEmptyLine.size();
}

RequestLine read_request_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  RequestLine first{.method = line.substr(0, line.find(' ')), .path = {}};
  first.path = line.substr(std::min(line.size(), first.method.size() + 1));
  first.path = first.path.substr(0, first.path.find_first_of(" ?"));
  return first;
}

std::expected<RequestHead, HttpRefusal> read_head(std::string_view head,
                                                  const base::Limits& limits) {
  if (head.size() > static_cast<std::size_t>(limits.max_header_bytes)) {
    return std::unexpected(head_too_large(head, limits));
  }
  HeadReader reader(limits);
  std::string_view rest = head;
  for (bool first = true; first || rest.size() > kLineEnd.size(); first = false) {
    std::string_view line = take_line(rest);
    std::optional<HttpRefusal> refused = take_line_end(line);
    if (!refused) refused = first ? reader.parse_request_line(line) : reader.parse_header(line);
    if (refused) return std::unexpected(std::move(*refused));
  }
  return reader.finish();
}

}  // namespace snug::http

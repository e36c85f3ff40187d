#include "adapters/http/head.hpp"

#include <httplib.h>

#include <algorithm>
#include <utility>

namespace snug {
namespace {

/// Longest header line, CR LF included: httplib takes a longer one for malformed. The number is
/// compiled into httplib, so that it is no limit to set.
constexpr std::size_t kMaxLine = CPPHTTPLIB_HEADER_MAX_LENGTH;

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kVersion = " HTTP/1.1";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool same_word(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

/// Whether it is a token of RFC 9110, section 5.6.2.
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

/// Takes the first line with its LF off `rest`; all of it where there is no LF.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end == std::string_view::npos ? end : end + 1);
  rest.remove_prefix(line.size());
  return line;
}

Refused too_large(std::string_view head, const Limits& limits) {
  std::string_view rest = head.substr(0, static_cast<std::size_t>(limits.max_header_bytes) + 1);
  take_line(rest);
  while (!rest.empty()) {
    if (take_line(rest).size() > kMaxLine) {
      return {431, "a header is longer than the " + std::to_string(kMaxLine) +
                       " bytes that are allowed"};
    }
  }
  return {431, "the request's line and headers are larger than the " +
                   std::to_string(limits.max_header_bytes) +
                   " bytes that are allowed (limit maxHeaderBytes)"};
}

/// Checks the headers, one call for each.
class HeaderReader {
 public:
  HeaderReader(HeadFacts& facts, const Limits& limits)
      : facts_(facts), most_(static_cast<std::size_t>(limits.max_headers)) {}

  [[nodiscard]] std::optional<Refused> take(std::string_view line) {
    if (line.size() > kMaxLine) {
      return Refused{431, "a header is longer than the " + std::to_string(kMaxLine) +
                              " bytes that are allowed"};
    }
    if (++count_ > most_) {
      return Refused{431, "the request has more than the " + std::to_string(most_) +
                              " headers that are allowed"};
    }
    if (line.starts_with(' ') || line.starts_with('\t')) {
      return Refused{400, "a header goes on in a second line; each must stand on one line"};
    }
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || !is_token(name)) {
      return Refused{400, "a header must be NAME: VALUE, with no blank before the colon"};
    }
    if (same_word(name, "Host")) ++hosts_;
    if (!same_word(name, "Expect")) return std::nullopt;
    return take_expect(line,
                       trim(line.substr(colon + 1, line.size() - kLineEnd.size() - colon - 1)));
  }

  /// To be called after the last header.
  [[nodiscard]] std::optional<Refused> end(bool host_needed) const {
    if (hosts_ > 1) return Refused{400, "the header Host came more than once"};
    if (hosts_ == 0 && host_needed) {
      return Refused{400, "the header Host is missing; a request must have one"};
    }
    return std::nullopt;
  }

 private:
  std::optional<Refused> take_expect(std::string_view line, std::string_view value) {
    if (value.empty()) return std::nullopt;
    if (!facts_.expect.empty() || !same_word(value, "100-continue")) {
      return Refused{417, "the header Expect may only be 100-continue, and come once"};
    }
    facts_.expect = line;
    return std::nullopt;
  }

  HeadFacts& facts_;
  const std::size_t most_;
  std::size_t count_ = 0;
  std::size_t hosts_ = 0;
};

/// Refuses what servers and proxies read in different ways: a bare LF, and CR or NUL within a line.
std::optional<Refused> check_line(std::string_view line) {
  if (!line.ends_with(kLineEnd)) {
    return Refused{400, "a line of the request's head does not end with CR LF"};
  }
  line.remove_suffix(kLineEnd.size());
  if (line.contains('\0') || line.contains('\r')) {
    return Refused{400, "the request's head has a NUL or a CR within a line"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_head_end(std::string_view bytes, std::size_t seen) {
  constexpr std::string_view kEmptyLine = "\n\r\n";
  if (bytes.starts_with(kLineEnd)) return kLineEnd.size();
  const std::size_t from = seen - std::min(seen, kEmptyLine.size() - 1);
  const std::size_t found = bytes.find(kEmptyLine, from);
  if (found == std::string_view::npos) return std::nullopt;
  return found + kEmptyLine.size();
}

HeadFacts read_first_line(std::string_view head) {
  const std::string_view line = head.substr(0, head.find_first_of("\r\n"));
  HeadFacts facts{.method = line.substr(0, line.find(' ')), .path = {}, .expect = {}};
  facts.path = line.substr(std::min(line.size(), facts.method.size() + 1));
  facts.path = facts.path.substr(0, facts.path.find_first_of(" ?"));
  return facts;
}

std::expected<HeadFacts, Refused> read_head(std::string_view head, const Limits& limits) {
  if (head.size() > static_cast<std::size_t>(limits.max_header_bytes)) {
    return std::unexpected(too_large(head, limits));
  }
  HeadFacts facts = read_first_line(head);
  HeaderReader headers(facts, limits);
  std::string_view rest = head;
  const std::string_view first = take_line(rest);
  std::optional<Refused> refused = check_line(first);
  while (!refused && rest.size() > kLineEnd.size()) {
    const std::string_view line = take_line(rest);
    refused = check_line(line);
    if (!refused) refused = headers.take(line);
  }
  const bool host_needed = first.substr(0, first.size() - kLineEnd.size()).ends_with(kVersion);
  if (!refused) refused = headers.end(host_needed);
  if (refused) return std::unexpected(std::move(*refused));
  return facts;
}

}  // namespace snug

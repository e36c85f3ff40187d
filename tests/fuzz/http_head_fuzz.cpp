// Heads of HTTP requests: what is accepted means the same to Boost.Beast.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/http/request_head.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

namespace beast = boost::beast;
using Fields = std::vector<std::pair<std::string_view, std::string_view>>;
using BeastRequest = beast::http::request<beast::http::empty_body>;

std::string_view text_of(beast::string_view text) { return {text.data(), text.size()}; }

std::optional<BeastRequest> read_by_beast(std::string_view head) {
  beast::http::request_parser<beast::http::empty_body> parser;
  parser.body_limit(boost::none);
  parser.header_limit(static_cast<std::uint32_t>(head.size()) + 1);
  beast::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error || !parser.is_header_done()) return std::nullopt;
  return parser.get();
}

void compare_with_beast(std::string_view text, const http::RequestHead& ours) {
  // The servers check these two themselves, after the head is read.
  if (ours.count("Content-Length") > 0 || ours.count("Transfer-Encoding") > 0) return;
  const auto theirs = read_by_beast(text);
  require(theirs.has_value(), "Beast accepts it, too");
  require(ours.method == text_of(theirs->method_string()), "the method");
  Fields fields;
  for (const auto& field : *theirs) {
    fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
  }
  Fields headers;
  for (const auto& header : ours.headers) headers.emplace_back(header.name, header.value);
  std::ranges::sort(fields);
  std::ranges::sort(headers);
  require(headers == fields, "the headers");
}

}  // namespace

void take_input(std::string_view input) {
  const auto end = http::find_head_end(input, 0);
  for (std::size_t size = 0; size < input.size(); ++size) {
    const auto found = http::find_head_end(input.substr(0, size + 1), size);
    if (!found) continue;
    require(end && found == end, "the end is found however the bytes arrive");
    break;
  }
  const std::string_view text = input.substr(0, end.value_or(input.size()));
  const http::RequestLine line = http::read_request_line(text);
  require(line.method.size() + line.path.size() <= text.size(), "the words are in the head");
  if (!end) return;
  const auto head = http::read_head(text, base::Limits{});
  if (!head) {
    require(head.error().status >= 400 && head.error().status < 600, "the status of a refusal");
    return require(!head.error().sentence.empty(), "a refusal has a sentence");
  }
  require(head->method == line.method, "both read the same method");
  compare_with_beast(text, *head);
}

}  // namespace snug::fuzz

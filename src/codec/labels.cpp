#include "codec/labels.hpp"

#include <string>

#include "codec/text.hpp"

namespace snug {

std::string_view value_of(const StringMap& map, std::string_view key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string_view{} : std::string_view{found->second};
}

Result<std::int64_t> read_number(const NodeFacts& node, std::string_view key, IntegerRange range) {
  const std::string_view text = value_of(node.labels, key);
  const auto number = parse_integer(text);
  if (number && *number >= range.smallest && *number <= range.largest) return *number;
  const std::string stands = node.labels.contains(key) ? in_quotes(text) : "missing";
  return fail(ErrorCode::kInvalid,
              "the label " + printable(key) + " is " + stands + "; it must be an integer from " +
                  std::to_string(range.smallest) + " to " + std::to_string(range.largest));
}

}  // namespace snug

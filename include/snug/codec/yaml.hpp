// Parses YAML with yaml-cpp into a tree of plain values with their positions. Refuses aliases,
// anchors, tags, merge keys, duplicate keys, several documents, and texts over max_config_bytes. An
// error states its position. The tree contains scalars as text: parsing does not convert `012` into
// a number or `no` into a boolean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::codec {

struct YamlEntry;

struct YamlNode {
  enum class Type : std::uint8_t { kNull, kScalar, kSequence, kMap };
  Type type = Type::kNull;
  std::string text;                // the text of a scalar
  bool quoted = false;             // whether a scalar is in quotes and therefore a string
  std::vector<YamlNode> items;     // the items of a sequence
  std::vector<YamlEntry> entries;  // the entries of a map, in the order of the file
  int line = 1;                    // 1-based
  int column = 1;                  // 1-based

  /// Returns the value of `key`. Null if this is not a map or has no such key.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

/// `source` is the name of the text in messages. An empty text is a node of type kNull.
[[nodiscard]] base::Result<YamlNode> parse_yaml(std::string_view yaml_text, std::string_view source,
                                                const base::Limits& limits);

/// Returns the error `SOURCE:LINE:COLUMN: PROBLEM` with the position of the node `at`.
[[nodiscard]] base::Error yaml_error(std::string_view source, const YamlNode& at,
                                     std::string_view problem);

/// Writes the tree as JSON. The core schema of YAML 1.2 decides whether a scalar without quotes is
/// a boolean, a number or a string.
[[nodiscard]] std::string to_json(const YamlNode& node);

}  // namespace snug::codec

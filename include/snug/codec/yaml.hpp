// Parses YAML, with yaml-cpp, into a tree of plain values with positions; an error has its
// position. Refused: aliases and anchors, duplicate keys, several documents, texts over the limit.
// Scalars keep their text, so that `012` and `no` are not reinterpreted.
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
  std::string text;                // kScalar
  bool quoted = false;             // kScalar in quotes: always a string
  std::vector<YamlNode> items;     // kSequence
  std::vector<YamlEntry> entries;  // kMap, in the order of the file
  int line = 1;                    // 1-based
  int column = 1;                  // 1-based

  /// Null: the map has no such key.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

[[nodiscard]] base::Result<YamlNode> parse_yaml(std::string_view text, std::string_view source,
                                                const base::Limits& limits);

/// `source:line:column: problem`.
[[nodiscard]] base::Error yaml_error(std::string_view source, const YamlNode& at,
                                     std::string_view problem);

/// The tree as JSON text, with YAML 1.2's core rules for plain scalars (manifests).
[[nodiscard]] std::string to_json(const YamlNode& node);

}  // namespace snug::codec

#include "codec/policy_yaml.hpp"

#include <algorithm>

#include "snug/base/text.hpp"

namespace snug::codec {

std::string join(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::unexpected<base::Error> PolicyYaml::error_at(const YamlNode& at,
                                                  const std::string& text) const {
  return std::unexpected(yaml_error(source_, at, text));
}

base::Result<void> PolicyYaml::check_keys(const YamlNode& map, std::string_view map_name,
                                          std::span<const std::string_view> keys) const {
  if (map.type != YamlNode::Type::kMap) {
    return error_at(map, std::string(map_name) + " must be a map with the keys " + join(keys));
  }
  for (const auto& [key, value] : map.entries) {
    if (std::ranges::find(keys, key.text) != keys.end()) continue;
    return error_at(key, "unknown key " + base::in_quotes(key.text) + "; " + std::string(map_name) +
                             " has the keys " + join(keys));
  }
  return {};
}

base::Result<void> PolicyYaml::check_list(const YamlNode& list, std::string_view key,
                                          std::string_view entries) const {
  const auto most = static_cast<std::size_t>(limits_.max_policy_rows);
  if (list.type == YamlNode::Type::kSequence && !list.items.empty() && list.items.size() <= most) {
    return {};
  }
  return error_at(list, std::string(key) + " must be a list of 1 to " + std::to_string(most) + " " +
                            std::string(entries) + " (limit maxPolicyRows)");
}

base::Result<std::vector<std::string>> PolicyYaml::string_list(const YamlNode& list,
                                                               std::string_view key,
                                                               std::string_view entries) const {
  if (auto checked = check_list(list, key, entries); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<std::string> texts;
  for (const YamlNode& entry_node : list.items) {
    // The texts must be printable, because they appear in logs.
    if (entry_node.type != YamlNode::Type::kScalar || entry_node.text.empty() ||
        !is_printable(entry_node.text)) {
      return error_at(entry_node, "each entry of " + std::string(key) +
                                      " must be a non-empty text of printable ASCII characters");
    }
    if (std::ranges::find(texts, entry_node.text) != texts.end()) {
      return error_at(entry_node,
                      base::in_quotes(entry_node.text) + " is in " + std::string(key) + " twice");
    }
    texts.push_back(entry_node.text);
  }
  return texts;
}

base::Result<std::vector<std::string>> PolicyYaml::namespaces(const YamlNode& list) const {
  auto patterns = string_list(list, "namespaces", "namespaces' names or patterns");
  if (!patterns) return patterns;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-*?";
  for (const YamlNode& pattern_node : list.items) {
    if (pattern_node.text.find_first_not_of(kAllowed) == std::string::npos) continue;
    return error_at(pattern_node,
                    base::in_quotes(pattern_node.text) +
                        " matches no namespace; a pattern has lower-case letters, digits, "
                        "-, * (any text) and ? (any character)");
  }
  return patterns;
}

base::Result<std::vector<std::string>> PolicyYaml::required_namespaces(const YamlNode& map) const {
  const YamlNode* list = map.find("namespaces");
  if (list != nullptr) return namespaces(*list);
  return error_at(map, "the key namespaces is missing; [\"*\"] means all of them");
}

bool PolicyYaml::matches_every_namespace(const std::vector<std::string>& patterns) {
  return std::ranges::any_of(patterns, [](const std::string& pattern) {
    return pattern.find_first_not_of('*') == std::string::npos;
  });
}

std::unexpected<base::Error> PolicyYaml::unreachable_error(const YamlNode& item,
                                                           const YamlNode& catch_all_row,
                                                           std::string_view row_name) const {
  return error_at(item,
                  "this " + std::string(row_name) + " has no effect, because the one in line " +
                      std::to_string(catch_all_row.line) + " matches every pod; put that one last");
}

}  // namespace snug::codec

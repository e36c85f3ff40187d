#include <algorithm>

#include "config/option_table.hpp"
#include "snug/codec/yaml.hpp"
#include "snug/config/options.hpp"

namespace snug::config {
namespace {

class ConfigReader {
 public:
  ConfigReader(std::string_view source, Options& options) : source_(source), options_(options) {}

  base::Result<void> read(const codec::YamlNode& root) {
    if (root.type != codec::YamlNode::Type::kMap) {
      return problem(root, "a configuration file must be a map with the key version");
    }
    const codec::YamlNode* version = root.find("version");
    if (version == nullptr) return problem(root, "the key version is missing; it must be 1");
    if (version->type != codec::YamlNode::Type::kScalar || version->quoted ||
        version->text != "1") {
      return problem(*version, "version must be 1" + unquoted(*version));
    }
    for (const auto& [key, value] : root.entries) {
      if (key.text == "version") continue;
      const auto read = key.text == "limits" ? read_limits(value) : read_key(key, value);
      if (!read) return read;
    }
    return {};
  }

 private:
  /// Returns the end of an error message about a number or a boolean: `, without quotes` if the
  /// value is quoted, otherwise an empty text.
  static std::string unquoted(const codec::YamlNode& value) {
    return value.quoted ? ", without quotes" : "";
  }

  std::unexpected<base::Error> problem(const codec::YamlNode& yaml_node,
                                       const std::string& text) const {
    return std::unexpected(codec::yaml_error(source_, yaml_node, text));
  }

  base::Result<void> read_key(const codec::YamlNode& key, const codec::YamlNode& value) {
    const auto rows = option_rows();
    const auto row = std::ranges::find(rows, key.text, &OptionRow::key);
    if (row == rows.end()) {
      std::string allowed = "version";
      for (const OptionRow& option : rows) allowed += ", " + std::string(option.key);
      return problem(key, "unknown key \"" + key.text + "\"; the keys are " + allowed + ", limits");
    }
    if (row->list_member == nullptr) return set(*row, value);
    (options_.*row->list_member).clear();
    if (value.type != codec::YamlNode::Type::kSequence) {
      return problem(value,
                     key.text + " must be a list, like [" + std::string(row->placeholder) + "]");
    }
    if (value.items.empty() && !row->refuse_no_items.empty())
      return problem(value, key.text + " " + std::string(row->refuse_no_items));
    for (const codec::YamlNode& list_item : value.items) {
      if (auto done = set(*row, list_item); !done) return done;
    }
    return {};
  }

  base::Result<void> set(const OptionRow& row, const codec::YamlNode& value) {
    const std::string key(row.key);
    if (value.type != codec::YamlNode::Type::kScalar) {
      return problem(value, (row.list_member == nullptr ? "" : "each of ") + key +
                                " must be one value: " + std::string(row.placeholder));
    }
    if (row.is_unquoted && value.quoted)
      return problem(value, key + " " + row.parse(options_, "") + unquoted(value));
    const std::string complaint = row.parse(options_, value.text);
    if (complaint.empty()) return {};
    return problem(value, key + " " + complaint);
  }

  base::Result<void> read_limits(const codec::YamlNode& limits) {
    if (limits.type != codec::YamlNode::Type::kMap) {
      return problem(limits, "limits must be a map from names of limits to integers");
    }
    for (const auto& [key, value] : limits.entries) {
      const bool plain = value.type == codec::YamlNode::Type::kScalar && !value.quoted;
      const std::string complaint =
          set_limit(options_, key.text, plain ? std::string_view(value.text) : "");
      if (!complaint.empty()) return problem(value, key.text + " " + complaint + unquoted(value));
    }
    return {};
  }

  std::string_view source_;
  Options& options_;
};

}  // namespace

base::Result<void> read_config(std::string_view yaml, std::string_view source, Options& options) {
  const auto root = codec::parse_yaml(yaml, source, options.limits);
  if (!root) return std::unexpected(root.error());
  return ConfigReader(source, options).read(*root);
}

}  // namespace snug::config

#include <algorithm>

#include "config/option_rows.hpp"
#include "snug/codec/yaml.hpp"
#include "snug/config/options.hpp"

namespace snug {
namespace {

class ConfigReader {
 public:
  ConfigReader(std::string_view source, Options& options) : source_(source), options_(options) {}

  Result<void> read(const YamlNode& root) {
    if (root.kind != YamlNode::Kind::kMap) {
      return problem(root, "a configuration file must be a map with the key version");
    }
    const YamlNode* version = root.find("version");
    if (version == nullptr) return problem(root, "the key version is missing; it must be 1");
    if (version->kind != YamlNode::Kind::kScalar || version->quoted || version->text != "1") {
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
  /// What ends the sentence about a number or a boolean.
  static std::string unquoted(const YamlNode& value) {
    return value.quoted ? ", without quotes" : "";
  }

  std::unexpected<Error> problem(const YamlNode& at, const std::string& text) const {
    return std::unexpected(yaml_error(source_, at, text));
  }

  Result<void> read_key(const YamlNode& key, const YamlNode& value) {
    const auto rows = option_rows();
    const auto row = std::ranges::find(rows, key.text, &OptionRow::key);
    if (row == rows.end()) {
      std::string allowed = "version";
      for (const OptionRow& each : rows) allowed += ", " + std::string(each.key);
      return problem(key, "unknown key \"" + key.text + "\"; the keys are " + allowed + ", limits");
    }
    if (row->list == nullptr) return set(*row, value);
    (options_.*row->list).clear();
    if (value.kind != YamlNode::Kind::kSequence) {
      return problem(value,
                     key.text + " must be a list, like [" + std::string(row->placeholder) + "]");
    }
    for (const YamlNode& item : value.items) {
      if (auto done = set(*row, item); !done) return done;
    }
    return {};
  }

  Result<void> set(const OptionRow& row, const YamlNode& value) {
    const std::string key(row.key);
    if (value.kind != YamlNode::Kind::kScalar) {
      return problem(value, (row.list == nullptr ? "" : "each of ") + key +
                                " must be one value: " + std::string(row.placeholder));
    }
    if (row.plain && value.quoted)
      return problem(value, key + " " + row.set(options_, "") + unquoted(value));
    const std::string wrong = row.set(options_, value.text);
    if (wrong.empty()) return {};
    return problem(value, key + " " + wrong);
  }

  Result<void> read_limits(const YamlNode& limits) {
    if (limits.kind != YamlNode::Kind::kMap) {
      return problem(limits, "limits must be a map of limits to integers");
    }
    for (const auto& [key, value] : limits.entries) {
      const bool plain = value.kind == YamlNode::Kind::kScalar && !value.quoted;
      const std::string wrong =
          set_limit(options_, {.key = key.text,
                               .value = plain ? std::string_view(value.text) : "",
                               .place = yaml_error(source_, value, "").message});
      if (!wrong.empty()) return problem(value, key.text + " " + wrong + unquoted(value));
    }
    return {};
  }

  std::string_view source_;
  Options& options_;
};

}  // namespace

Result<void> read_config(std::string_view yaml, std::string_view source, Options& options) {
  const auto root = parse_yaml(yaml, source, options.limits);
  if (!root) return std::unexpected(root.error());
  return ConfigReader(source, options).read(*root);
}

}  // namespace snug

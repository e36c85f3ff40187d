// What the readers of a policy's parts share: the form of its errors, and of its maps and lists.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/yaml.hpp"

namespace snug {

/// The words with commas between them.
[[nodiscard]] std::string join(std::span<const std::string_view> words);

/// Whether the text has only ASCII characters that one can see, or blanks.
[[nodiscard]] bool is_printable(std::string_view text);

class PolicyYaml {
 public:
  /// Both outlive it; `source` names the text in messages.
  PolicyYaml(std::string_view source, const Limits& limits) : source_(source), limits_(limits) {}

  [[nodiscard]] std::unexpected<Error> problem(const YamlNode& at, const std::string& text) const;

  /// That `map`, in words `what`, is a map without other keys than these.
  [[nodiscard]] Result<void> check_keys(const YamlNode& map, std::string_view what,
                                        std::span<const std::string_view> keys) const;
  /// That `list`, the value of `key`, has 1 to maxPolicyRows entries.
  [[nodiscard]] Result<void> check_list(const YamlNode& list, std::string_view key,
                                        std::string_view entries) const;
  /// The entries of a list: texts, none empty and none twice.
  [[nodiscard]] Result<std::vector<std::string>> texts(const YamlNode& list, std::string_view key,
                                                       std::string_view entries) const;

  /// A list of patterns, each of which some namespace can match.
  [[nodiscard]] Result<std::vector<std::string>> namespaces(const YamlNode& list) const;
  /// The map's key `namespaces`, in rows that open or close something: nobody is meant by leaving
  /// it out.
  [[nodiscard]] Result<std::vector<std::string>> needed_namespaces(const YamlNode& map) const;
  /// Whether one of the patterns is of stars alone.
  [[nodiscard]] static bool every_namespace(const std::vector<std::string>& patterns);
  /// `what` comes after one that matches every pod.
  [[nodiscard]] std::unexpected<Error> never_reached(const YamlNode& item,
                                                     const YamlNode& takes_all,
                                                     std::string_view what) const;

  [[nodiscard]] const Limits& limits() const { return limits_; }

 private:
  std::string_view source_;
  const Limits& limits_;
};

}  // namespace snug

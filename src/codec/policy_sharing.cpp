#include <array>
#include <optional>
#include <utility>

#include "codec/policy_yaml.hpp"
#include "codec/shadowed_namespaces.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"

namespace snug::codec {
namespace {

constexpr std::array<std::string_view, 4> kSharingKeys{"namespaces", "neighbours", "capMilli",
                                                       "requireEnforcement"};

bool is_plain(const YamlNode& node) { return node.type == YamlNode::Type::kScalar && !node.quoted; }

base::Result<void> read_neighbours(const YamlNode& value, const PolicyYaml& yaml,
                                   model::SharingRule& rule) {
  const bool text = value.type == YamlNode::Type::kScalar;
  if (!text || (value.text != "any" && value.text != "namespace")) {
    return yaml.error_at(value, "neighbours must be any or namespace");
  }
  rule.own_namespace_only = value.text == "namespace";
  return {};
}

base::Result<void> read_cap(const YamlNode& value, const PolicyYaml& yaml,
                            model::SharingRule& rule) {
  const auto cap = is_plain(value) ? base::parse_integer(value.text) : std::nullopt;
  if (!cap || *cap < 0 || *cap > base::kLargestQuantity) {
    return yaml.error_at(value, "capMilli must be an integer from 0 to " +
                                    std::to_string(base::kLargestQuantity) +
                                    ", without quotes; 1000 is one GPU");
  }
  rule.cap = base::MilliGpu{*cap};
  return {};
}

base::Result<void> read_enforcement(const YamlNode& value, const PolicyYaml& yaml,
                                    model::SharingRule& rule) {
  if (!is_plain(value) || (value.text != "true" && value.text != "false")) {
    return yaml.error_at(value, "requireEnforcement must be true or false, without quotes");
  }
  rule.require_enforcement = value.text == "true";
  return {};
}

base::Result<model::SharingRow> read_row(const YamlNode& node, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_keys(node, "a row of sharing", kSharingKeys); !checked) {
    return std::unexpected(checked.error());
  }
  auto namespaces = yaml.required_namespaces(node);
  if (!namespaces) return std::unexpected(namespaces.error());
  if (node.entries.size() < 2) {
    return yaml.error_at(node, "a row of sharing must have at least one of the keys " +
                                   join(std::span(kSharingKeys).subspan(1)));
  }
  model::SharingRow row{*std::move(namespaces), {}};
  for (const auto& [key, value] : node.entries) {
    base::Result<void> read;
    if (key.text == "neighbours") read = read_neighbours(value, yaml, row.rule);
    if (key.text == "capMilli") read = read_cap(value, yaml, row.rule);
    if (key.text == "requireEnforcement") read = read_enforcement(value, yaml, row.rule);
    if (!read) return std::unexpected(read.error());
  }
  return row;
}

}  // namespace

base::Result<model::SharingRules> read_sharing(const YamlNode& list, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_list(list, "sharing", "rows"); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<model::SharingRow> rows;
  ShadowedNamespaces taken(yaml, "row");
  const YamlNode* takes_all = nullptr;
  for (const YamlNode& item : list.items) {
    if (takes_all != nullptr) return yaml.unreachable_error(item, *takes_all, "row");
    auto row = read_row(item, yaml);
    if (!row) return std::unexpected(row.error());
    if (auto checked = taken.check_row(item); !checked) return std::unexpected(checked.error());
    taken.add_row(item);
    if (PolicyYaml::matches_every_namespace(row->namespaces)) takes_all = &item;
    rows.push_back(*std::move(row));
  }
  return model::SharingRules(std::move(rows));
}

}  // namespace snug::codec

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

base::Result<void> read_neighbours(const YamlNode& neighbours_node, const PolicyYaml& yaml,
                                   model::SharingRule& rule) {
  const bool text = neighbours_node.type == YamlNode::Type::kScalar;
  if (!text || (neighbours_node.text != "any" && neighbours_node.text != "namespace")) {
    return yaml.error_at(neighbours_node, "neighbours must be any or namespace");
  }
  rule.own_namespace_only = neighbours_node.text == "namespace";
  return {};
}

base::Result<void> read_cap(const YamlNode& cap_node, const PolicyYaml& yaml,
                            model::SharingRule& rule) {
  const auto cap = is_plain(cap_node) ? base::parse_integer(cap_node.text) : std::nullopt;
  if (!cap || *cap < 0 || *cap > base::kLargestQuantity) {
    return yaml.error_at(cap_node, "capMilli must be an integer from 0 to " +
                                       std::to_string(base::kLargestQuantity) +
                                       ", without quotes; 1000 is one GPU");
  }
  rule.cap = base::MilliGpu{*cap};
  return {};
}

base::Result<void> read_enforcement(const YamlNode& enforcement_node, const PolicyYaml& yaml,
                                    model::SharingRule& rule) {
  if (!is_plain(enforcement_node) ||
      (enforcement_node.text != "true" && enforcement_node.text != "false")) {
    return yaml.error_at(enforcement_node,
                         "requireEnforcement must be true or false, without quotes");
  }
  rule.require_enforcement = enforcement_node.text == "true";
  return {};
}

base::Result<model::SharingRow> read_row(const YamlNode& row_node, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_keys(row_node, "a row of sharing", kSharingKeys); !checked) {
    return std::unexpected(checked.error());
  }
  auto namespaces = yaml.required_namespaces(row_node);
  if (!namespaces) return std::unexpected(namespaces.error());
  if (row_node.entries.size() < 2) {
    return yaml.error_at(row_node, "a row of sharing must have at least one of the keys " +
                                       join(std::span(kSharingKeys).subspan(1)));
  }
  model::SharingRow sharing_row{*std::move(namespaces), {}};
  for (const auto& [key, value] : row_node.entries) {
    base::Result<void> setting_read;
    if (key.text == "neighbours") setting_read = read_neighbours(value, yaml, sharing_row.rule);
    if (key.text == "capMilli") setting_read = read_cap(value, yaml, sharing_row.rule);
    if (key.text == "requireEnforcement")
      setting_read = read_enforcement(value, yaml, sharing_row.rule);
    if (!setting_read) return std::unexpected(setting_read.error());
  }
  return sharing_row;
}

}  // namespace

base::Result<model::SharingRules> read_sharing(const YamlNode& list, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_list(list, "sharing", "rows"); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<model::SharingRow> rows;
  ShadowedNamespaces earlier_namespaces(yaml, "row");
  const YamlNode* catch_all_row = nullptr;
  for (const YamlNode& row_node : list.items) {
    if (catch_all_row != nullptr) return yaml.unreachable_error(row_node, *catch_all_row, "row");
    auto sharing_row = read_row(row_node, yaml);
    if (!sharing_row) return std::unexpected(sharing_row.error());
    if (auto checked = earlier_namespaces.check_row(row_node); !checked)
      return std::unexpected(checked.error());
    earlier_namespaces.add_row(row_node);
    if (PolicyYaml::matches_every_namespace(sharing_row->namespaces)) catch_all_row = &row_node;
    rows.push_back(*std::move(sharing_row));
  }
  return model::SharingRules(std::move(rows));
}

}  // namespace snug::codec

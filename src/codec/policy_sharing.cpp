#include <array>
#include <optional>
#include <utility>

#include "codec/policy_yaml.hpp"
#include "codec/taken_namespaces.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"

namespace snug {
namespace {

constexpr std::array<std::string_view, 4> kKeys{"namespaces", "neighbours", "capMilli",
                                                "requireEnforcement"};

bool plain(const YamlNode& node) { return node.kind == YamlNode::Kind::kScalar && !node.quoted; }

Result<void> read_neighbours(const YamlNode& value, const PolicyYaml& yaml, SharingRule& rule) {
  const bool text = value.kind == YamlNode::Kind::kScalar;
  if (!text || (value.text != "any" && value.text != "namespace")) {
    return yaml.problem(value, "neighbours must be any or namespace");
  }
  rule.own_namespace_only = value.text == "namespace";
  return {};
}

Result<void> read_cap(const YamlNode& value, const PolicyYaml& yaml, SharingRule& rule) {
  const auto cap = plain(value) ? parse_integer(value.text) : std::nullopt;
  if (!cap || *cap < 0 || *cap > kLargestQuantity) {
    return yaml.problem(value, "capMilli must be an integer from 0 to " +
                                   std::to_string(kLargestQuantity) +
                                   ", without quotes; 1000 is one GPU");
  }
  rule.cap = MilliGpu{*cap};
  return {};
}

Result<void> read_enforcement(const YamlNode& value, const PolicyYaml& yaml, SharingRule& rule) {
  if (!plain(value) || (value.text != "true" && value.text != "false")) {
    return yaml.problem(value, "requireEnforcement must be true or false, without quotes");
  }
  rule.require_enforcement = value.text == "true";
  return {};
}

Result<SharingRow> read_row(const YamlNode& node, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_keys(node, "a row of sharing", kKeys); !checked) {
    return std::unexpected(checked.error());
  }
  auto namespaces = yaml.needed_namespaces(node);
  if (!namespaces) return std::unexpected(namespaces.error());
  if (node.entries.size() < 2) {
    return yaml.problem(
        node, "a row of sharing must say at least one of " + join(std::span(kKeys).subspan(1)));
  }
  SharingRow row{*std::move(namespaces), {}};
  for (const auto& [key, value] : node.entries) {
    Result<void> read;
    if (key.text == "neighbours") read = read_neighbours(value, yaml, row.rule);
    if (key.text == "capMilli") read = read_cap(value, yaml, row.rule);
    if (key.text == "requireEnforcement") read = read_enforcement(value, yaml, row.rule);
    if (!read) return std::unexpected(read.error());
  }
  return row;
}

}  // namespace

Result<SharingRules> read_sharing(const YamlNode& list, const PolicyYaml& yaml) {
  if (auto checked = yaml.check_list(list, "sharing", "rows"); !checked) {
    return std::unexpected(checked.error());
  }
  std::vector<SharingRow> rows;
  TakenNamespaces taken(yaml, "row");
  const YamlNode* takes_all = nullptr;
  for (const YamlNode& item : list.items) {
    if (takes_all != nullptr) return yaml.never_reached(item, *takes_all, "row");
    auto row = read_row(item, yaml);
    if (!row) return std::unexpected(row.error());
    if (auto checked = taken.check(item); !checked) return std::unexpected(checked.error());
    taken.take(item);
    if (PolicyYaml::every_namespace(row->namespaces)) takes_all = &item;
    rows.push_back(*std::move(row));
  }
  return SharingRules(std::move(rows));
}

}  // namespace snug

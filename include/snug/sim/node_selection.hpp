// The rules of kube-scheduler that exclude nodes by their labels and taints: node selectors,
// required node affinity, taints and unschedulable nodes. Snug leaves these rules to
// kube-scheduler, so only a simulation needs them. Plain data and one pure function.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/enum_names.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::sim {

enum class LabelOperator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt, kUnknown };

inline constexpr base::EnumNames kLabelOperatorNames{std::array{
    base::EnumName{LabelOperator::kIn, "In"}, base::EnumName{LabelOperator::kNotIn, "NotIn"},
    base::EnumName{LabelOperator::kExists, "Exists"},
    base::EnumName{LabelOperator::kDoesNotExist, "DoesNotExist"},
    base::EnumName{LabelOperator::kGt, "Gt"}, base::EnumName{LabelOperator::kLt, "Lt"},
    base::EnumName{LabelOperator::kUnknown, ""}}};

/// One of matchExpressions or matchFields. An unknown operator matches no node.
struct LabelRequirement {
  std::string key;
  LabelOperator op = LabelOperator::kUnknown;
  std::vector<std::string> values;
  friend auto operator<=>(const LabelRequirement&, const LabelRequirement&) = default;
};

/// One of nodeSelectorTerms. A term without requirements matches no node.
struct NodeTerm {
  std::vector<LabelRequirement> labels;
  std::vector<LabelRequirement> fields;  // the only field is metadata.name
  friend auto operator<=>(const NodeTerm&, const NodeTerm&) = default;
};

struct Toleration {
  std::string key;  // empty: every key
  std::string value;
  std::string effect;   // empty: every effect
  bool exists = false;  // operator Exists: every value
  friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

/// What a pod demands of its node.
struct NodeSelection {
  model::StringMap node_selector;
  /// The terms of the required node affinity, of which one must match. Nullopt: there is none.
  std::optional<std::vector<NodeTerm>> required_terms;
  std::vector<Toleration> tolerations;
  friend auto operator<=>(const NodeSelection&, const NodeSelection&) = default;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
};

struct NodeTraits {
  model::StringMap labels;
  std::vector<Taint> taints;
  bool unschedulable = false;  // spec.unschedulable
};

/// Whether kube-scheduler would let the pod run on the node, by these rules alone.
[[nodiscard]] bool may_run_on(const NodeSelection& pod, const NodeTraits& node,
                              std::string_view node_name);

}  // namespace snug::sim

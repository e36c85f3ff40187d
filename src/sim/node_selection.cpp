#include "snug/sim/node_selection.hpp"

#include <algorithm>

#include "snug/base/text.hpp"

namespace snug::sim {
namespace {

/// Whether `value` (null: the node has no such label) meets the requirement.
bool meets(const LabelRequirement& requirement, const std::string* value) {
  const std::vector<std::string>& values = requirement.values;
  const auto is_listed = [&] {
    return value != nullptr && std::ranges::find(values, *value) != values.end();
  };
  switch (requirement.op) {
    case LabelOperator::kIn:
      return is_listed();
    case LabelOperator::kNotIn:
      return !is_listed();
    case LabelOperator::kExists:
      return value != nullptr;
    case LabelOperator::kDoesNotExist:
      return value == nullptr;
    case LabelOperator::kGt:
    case LabelOperator::kLt: {
      if (value == nullptr || values.size() != 1) return false;
      const auto label = base::parse_integer(*value);
      const auto bound = base::parse_integer(values.front());
      if (!label || !bound) return false;
      return requirement.op == LabelOperator::kGt ? *label > *bound : *label < *bound;
    }
    case LabelOperator::kUnknown:
      return false;
  }
  return false;
}

bool meets_term(const NodeTerm& term, const NodeTraits& node, const std::string& node_name) {
  if (term.labels.empty() && term.fields.empty()) return false;
  const auto meets_label = [&](const LabelRequirement& requirement) {
    const auto label = node.labels.find(requirement.key);
    return meets(requirement, label == node.labels.end() ? nullptr : &label->second);
  };
  const auto meets_field = [&](const LabelRequirement& requirement) {
    return requirement.key == "metadata.name" && meets(requirement, &node_name);
  };
  return std::ranges::all_of(term.labels, meets_label) &&
         std::ranges::all_of(term.fields, meets_field);
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::ranges::any_of(tolerations, [&](const Toleration& toleration) {
    return (toleration.effect.empty() || toleration.effect == taint.effect) &&
           (toleration.key.empty() ? toleration.exists : toleration.key == taint.key) &&
           (toleration.exists || toleration.value == taint.value);
  });
}

bool repels(const Taint& taint, const std::vector<Toleration>& tolerations) {
  const bool is_hard = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
  return is_hard && !tolerates(tolerations, taint);
}

}  // namespace

bool may_run_on(const NodeSelection& pod, const NodeTraits& node, std::string_view node_name) {
  // kube-scheduler treats an unschedulable node like one with this taint.
  static const Taint unschedulable{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  if (node.unschedulable && repels(unschedulable, pod.tolerations)) return false;
  if (std::ranges::any_of(node.taints,
                          [&](const Taint& taint) { return repels(taint, pod.tolerations); })) {
    return false;
  }
  for (const auto& [key, value] : pod.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  return !pod.required_terms ||
         std::ranges::any_of(*pod.required_terms,
                             [&, name = std::string(node_name)](const NodeTerm& term) {
                               return meets_term(term, node, name);
                             });
}

}  // namespace snug::sim

#include "snug/sim/node_selection.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace snug::node_selection_test {
namespace {

using sim::LabelOperator;
using sim::LabelRequirement;
using sim::NodeSelection;
using sim::NodeTerm;
using sim::NodeTraits;

NodeSelection with_terms(std::vector<NodeTerm> terms) {
  return {.required_terms = std::move(terms)};
}

NodeSelection with_label(const std::string& key, LabelOperator op,
                         std::vector<std::string> values = {}) {
  return with_terms({NodeTerm{.labels = {LabelRequirement{key, op, std::move(values)}}}});
}

/// Rows about the node `n1` with the labels zone=a, disk=ssd, gpus=8.
TEST(NodeSelectionTest, LabelsDecideAsInKubeScheduler) {
  const NodeTraits node{.labels = {{"zone", "a"}, {"disk", "ssd"}, {"gpus", "8"}}};
  struct Row {
    const char* what;
    NodeSelection pod;
    bool may_run;
  };
  const LabelRequirement zone_a{"zone", LabelOperator::kIn, {"a", "b"}};
  const LabelRequirement zone_b{"zone", LabelOperator::kIn, {"b"}};
  const std::vector<Row> rows{
      {"no demand", {}, true},
      {"selector", {.node_selector = {{"zone", "a"}, {"disk", "ssd"}}}, true},
      {"selector with another value", {.node_selector = {{"zone", "b"}}}, false},
      {"selector with an unknown label", {.node_selector = {{"rack", ""}}}, false},
      {"In", with_label("zone", LabelOperator::kIn, {"b", "a"}), true},
      {"In, other values", with_label("zone", LabelOperator::kIn, {"b"}), false},
      {"In, no label", with_label("rack", LabelOperator::kIn, {"a"}), false},
      {"NotIn", with_label("zone", LabelOperator::kNotIn, {"a"}), false},
      {"NotIn, no label", with_label("rack", LabelOperator::kNotIn, {"a"}), true},
      {"Exists", with_label("zone", LabelOperator::kExists), true},
      {"Exists, no label", with_label("rack", LabelOperator::kExists), false},
      {"DoesNotExist", with_label("zone", LabelOperator::kDoesNotExist), false},
      {"DoesNotExist, no label", with_label("rack", LabelOperator::kDoesNotExist), true},
      {"Gt", with_label("gpus", LabelOperator::kGt, {"7"}), true},
      {"Gt, equal", with_label("gpus", LabelOperator::kGt, {"8"}), false},
      {"Lt", with_label("gpus", LabelOperator::kLt, {"9"}), true},
      {"Lt, no number", with_label("zone", LabelOperator::kLt, {"9"}), false},
      {"unknown operator", with_label("zone", LabelOperator::kUnknown, {"a"}), false},
      {"no terms", with_terms({}), false},
      {"an empty term", with_terms({NodeTerm{}}), false},
      {"one of two terms", with_terms({{.labels = {zone_b}}, {.labels = {zone_a}}}), true},
      {"both in one term", with_terms({{.labels = {zone_b, zone_a}}}), false},
      {"the node's name", with_terms({{.fields = {{"metadata.name", LabelOperator::kIn, {"n1"}}}}}),
       true},
      {"another name", with_terms({{.fields = {{"metadata.name", LabelOperator::kIn, {"n2"}}}}}),
       false},
      {"selector and affinity both count",
       {.node_selector = {{"zone", "b"}}, .required_terms = {{{.labels = {zone_a}}}}},
       false}};
  for (const Row& row : rows)
    EXPECT_EQ(sim::may_run_on(row.pod, node, "n1"), row.may_run) << row.what;
}

TEST(NodeSelectionTest, TaintsRepelPodsThatDoNotTolerateThem) {
  const NodeTraits hard{.taints = {{"nvidia.com/gpu", "present", "NoSchedule"}}};
  const NodeTraits soft{.taints = {{"nvidia.com/gpu", "present", "PreferNoSchedule"}}};
  const NodeTraits evicting{.taints = {{"maintenance", "", "NoExecute"}}};
  const NodeTraits cordoned{.unschedulable = true};
  struct Row {
    const char* what;
    NodeTraits node;
    std::vector<sim::Toleration> tolerations;
    bool may_run;
  };
  const std::vector<Row> rows{
      {"no toleration", hard, {}, false},
      {"a soft taint", soft, {}, true},
      {"exists", hard, {{.key = "nvidia.com/gpu", .exists = true}}, true},
      {"equal", hard, {{.key = "nvidia.com/gpu", .value = "present"}}, true},
      {"another value", hard, {{.key = "nvidia.com/gpu", .value = "x"}}, false},
      {"another key", hard, {{.key = "gpu", .exists = true}}, false},
      {"another effect",
       hard,
       {{.key = "nvidia.com/gpu", .effect = "NoExecute", .exists = true}},
       false},
      {"all taints", hard, {{.exists = true}}, true},
      {"no key and no operator", hard, {{}}, false},
      {"NoExecute", evicting, {}, false},
      {"NoExecute, equal to nothing", evicting, {{.key = "maintenance"}}, true},
      {"unschedulable", cordoned, {}, false},
      {"unschedulable, as DaemonSets tolerate it",
       cordoned,
       {{.key = "node.kubernetes.io/unschedulable", .effect = "NoSchedule", .exists = true}},
       true}};
  for (const Row& row : rows) {
    EXPECT_EQ(sim::may_run_on({.tolerations = row.tolerations}, row.node, "n1"), row.may_run)
        << row.what;
  }
}

}  // namespace
}  // namespace snug::node_selection_test

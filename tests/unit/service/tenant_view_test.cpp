#include "service/tenant_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "snug/codec/explain_codec.hpp"
#include "snug/explain/explanation.hpp"

namespace snug::tenant_view_test {
namespace {

using explain::AdviceKind;
using ::testing::HasSubstr;

/// An explanation in which everything that a tenant must not read contains `theirs`.
codec::ExplainReply explanation() {
  codec::ExplainReply reply{.generation = 7,
                            .name_space = "ml",
                            .pod = "mine",
                            .uid = "u",
                            .state = "pending",
                            .node = "",
                            .request = {{.container = "main", .text = "gpu-fraction=1"}},
                            .nodes = 3,
                            .feasible = 0,
                            .reasons = {{"NoRoom", "no room", 3}},
                            .nearest = codec::ExplainReply::Node{"theirs", "NoRoom", "theirs"},
                            .blockers = {{.node = "theirs", .pod = "theirs"}}};
  for (const auto kind : explain::kAdviceKindNames.values()) {
    reply.advice.push_back({.kind = std::string(explain::kAdviceKindNames[kind]),
                            .sentence = "a sentence",
                            .place = ", on node theirs",
                            .command = "kubectl theirs"});
  }
  reply.placement.emplace();
  reply.placement->comparison.chosen.node = "theirs";
  reply.notes = {"theirs"};
  reply.per_node.emplace().push_back({"theirs", "NoRoom", "theirs"});
  return reply;
}

TEST(TenantViewTest, NothingOfOthersIsLeft) {
  const std::string text = codec::write_explanation(service::tenant_view(explanation()));
  EXPECT_THAT(text, Not(HasSubstr("theirs")));
}

TEST(TenantViewTest, WhatIsAboutTheOwnPodStays) {
  const codec::ExplainReply view = service::tenant_view(explanation());
  EXPECT_EQ(view.pod, "mine");
  EXPECT_EQ(view.request.size(), 1U);
  EXPECT_EQ(view.nodes, 3);
  EXPECT_EQ(view.reasons.size(), 1U);
  std::string kinds;
  for (const codec::ExplainReply::Advice& advice : view.advice) kinds += advice.kind + " ";
  EXPECT_EQ(kinds, "smaller-request profile model isolation ");
  EXPECT_EQ(view.advice.front().sentence, "a sentence");
}

}  // namespace
}  // namespace snug::tenant_view_test

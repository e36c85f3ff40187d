#include "snug/model/sharing_rules.hpp"

#include <gtest/gtest.h>

namespace snug::sharing_test {
namespace {

model::SharingRules make_rules() {
  return model::SharingRules(
      {{{"secret", "key-*"}, {.own_namespace_only = true}},
       {{"key-*"}, {.require_enforcement = true}},
       {{"team-?"}, {.cap = base::MilliGpu{4000}, .require_enforcement = true}},
       {{"closed"}, {.cap = base::MilliGpu{0}}}});
}

TEST(SharingRulesTest, TheFirstRowThatMatchesCounts) {
  const model::SharingRules rules = make_rules();
  EXPECT_EQ(rules.rule_for("secret"), (model::SharingRule{.own_namespace_only = true}));
  EXPECT_EQ(rules.rule_for("key-store"), (model::SharingRule{.own_namespace_only = true}));
  EXPECT_EQ(rules.rule_for("team-a"),
            (model::SharingRule{.cap = base::MilliGpu{4000}, .require_enforcement = true}));
  EXPECT_EQ(rules.rule_for("closed").cap, base::MilliGpu{0});
}

TEST(SharingRulesTest, WhereNoRowMatchesNothingIsRestricted) {
  const model::SharingRules rules = make_rules();
  for (const char* name_space : {"", "team-ab", "Secret", "secret2", "default"}) {
    EXPECT_EQ(rules.rule_for(name_space), model::SharingRule{}) << name_space;
  }
  EXPECT_EQ(model::SharingRules{}.rule_for("secret"), model::SharingRule{});
}

TEST(SharingRulesTest, WhetherAnybodyKeepsApartIsKnownBeforehand) {
  EXPECT_TRUE(make_rules().isolates_any_namespace());
  EXPECT_FALSE(model::SharingRules{}.isolates_any_namespace());
  EXPECT_FALSE(model::SharingRules({{{"*"}, {.cap = base::MilliGpu{1}}}}).isolates_any_namespace());
}

}  // namespace
}  // namespace snug::sharing_test

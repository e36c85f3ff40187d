#include "snug/model/sharing.hpp"

#include <gtest/gtest.h>

namespace snug::sharing_test {
namespace {

SharingRules make_rules() {
  return SharingRules({{{"secret", "key-*"}, {.own_namespace_only = true}},
                       {{"key-*"}, {.require_enforcement = true}},
                       {{"team-?"}, {.cap = MilliGpu{4000}, .require_enforcement = true}},
                       {{"closed"}, {.cap = MilliGpu{0}}}});
}

TEST(SharingRulesTest, TheFirstRowThatMatchesCounts) {
  const SharingRules rules = make_rules();
  EXPECT_EQ(rules.of("secret"), (SharingRule{.own_namespace_only = true}));
  EXPECT_EQ(rules.of("key-store"), (SharingRule{.own_namespace_only = true}));
  EXPECT_EQ(rules.of("team-a"), (SharingRule{.cap = MilliGpu{4000}, .require_enforcement = true}));
  EXPECT_EQ(rules.of("closed").cap, MilliGpu{0});
}

TEST(SharingRulesTest, WhereNoRowMatchesNothingIsRestricted) {
  const SharingRules rules = make_rules();
  for (const char* name_space : {"", "team-ab", "Secret", "secret2", "default"}) {
    EXPECT_EQ(rules.of(name_space), SharingRule{}) << name_space;
  }
  EXPECT_EQ(SharingRules{}.of("secret"), SharingRule{});
}

TEST(SharingRulesTest, WhetherAnybodyKeepsApartIsKnownBeforehand) {
  EXPECT_TRUE(make_rules().any_apart());
  EXPECT_FALSE(SharingRules{}.any_apart());
  EXPECT_FALSE(SharingRules({{{"*"}, {.cap = MilliGpu{1}}}}).any_apart());
}

}  // namespace
}  // namespace snug::sharing_test

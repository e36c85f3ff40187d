#include "snug/model/namespace_usage.hpp"

#include <gtest/gtest.h>

#include <string>

namespace snug::namespace_use_test {
namespace {

TEST(NamespaceUseTest, AddsUpByNamespace) {
  model::NamespaceUsage use;
  EXPECT_EQ(use.of("a"), base::MilliGpu{0});
  use.add("a", {300});
  use.add("b", {1000});
  use.add("a", {200});
  EXPECT_EQ(use.of("a"), base::MilliGpu{500});
  EXPECT_EQ(use.of("b"), base::MilliGpu{1000});
  EXPECT_EQ(use.of(""), base::MilliGpu{0});
  EXPECT_EQ(use.of("A"), base::MilliGpu{0});
}

TEST(NamespaceUseTest, WhatIsGivenBackIsNotHeld) {
  model::NamespaceUsage use;
  use.add("a", {300});
  use.add("a", {-100});
  EXPECT_EQ(use.of("a"), base::MilliGpu{200});
  use.add("a", {-200});
  EXPECT_EQ(use.of("a"), base::MilliGpu{0});
  use.add("b", {0});
  EXPECT_EQ(use.of("b"), base::MilliGpu{0});
  use.add("a", {50});
  EXPECT_EQ(use.of("a"), base::MilliGpu{50});
}

TEST(NamespaceUseTest, ACopyStaysAsItWasWhateverHappensToTheOther) {
  model::NamespaceUsage use;
  for (int i = 0; i < 500; ++i) use.add("team-" + std::to_string(i), {i});
  const model::NamespaceUsage before = use;
  for (int i = 0; i < 500; i += 2) use.add("team-" + std::to_string(i), {-i});
  use.add("new", {7});
  for (int i = 0; i < 500; ++i) {
    const std::string name = "team-" + std::to_string(i);
    EXPECT_EQ(before.of(name), base::MilliGpu{i});
    EXPECT_EQ(use.of(name), base::MilliGpu{i % 2 == 0 ? 0 : i});
  }
  EXPECT_EQ(before.of("new"), base::MilliGpu{0});
}

}  // namespace
}  // namespace snug::namespace_use_test

// Which step of a daemon's namespaces follows which, and when a namespace counts as there.
#include "snug/mps/namespace_keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

const NamespaceLimits kHalf{{100}, 50};
const NamespaceLimits kAll{{200}, 100};

NamespaceStep step(NamespaceAction action, const std::string& name, NamespaceLimits limits = {}) {
  return {action, name, limits};
}

class NamespaceKeeperTest : public ::testing::Test {
 protected:
  /// Does all that is to be done; what it has done.
  std::vector<NamespaceStep> run(const Namespaces& wanted) {
    std::vector<NamespaceStep> steps;
    while (const auto next = keeper.next(wanted)) {
      steps.push_back(*next);
      keeper.done(*next, "");
    }
    return steps;
  }

  NamespaceKeeper keeper;
};

TEST_F(NamespaceKeeperTest, NothingIsDoneBeforeTheDaemonHasListedItsNamespaces) {
  EXPECT_EQ(keeper.next({{"a", kHalf}}), std::nullopt);
  EXPECT_THAT(keeper.states({{"a", kHalf}}), IsEmpty());
}

TEST_F(NamespaceKeeperTest, ANamespaceIsThereWhenItsLimitsAreSet) {
  const Namespaces wanted{{"a", kHalf}, {"b", std::nullopt}};
  keeper.listed({}, wanted);
  EXPECT_EQ(keeper.next(wanted), step(NamespaceAction::kCreate, "a"));
  keeper.done(*keeper.next(wanted), "");
  EXPECT_THAT(keeper.states(wanted), IsEmpty());
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kSetLimits, "a", kHalf),
                                       step(NamespaceAction::kCreate, "b")));
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", ""), Pair("b", "")));
  keeper.listed({"a", "b"}, wanted);
  EXPECT_THAT(run(wanted), IsEmpty());
}

TEST_F(NamespaceKeeperTest, AnAdoptedNamespaceGetsItsLimitsAgainAndOneTooManyGoes) {
  const Namespaces wanted{{"a", kHalf}};
  keeper.listed({"a", "old"}, wanted);
  EXPECT_THAT(keeper.states(wanted), IsEmpty()) << "an earlier snug-mps may have set others";
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kSetLimits, "a", kHalf),
                                       step(NamespaceAction::kDelete, "old")));
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", "")));
}

TEST_F(NamespaceKeeperTest, ANamespaceThatIsBeingRemovedIsNotThere) {
  const Namespaces wanted{{"a", kHalf}};
  keeper.listed({}, wanted);
  run(wanted);
  const NamespaceStep removal = step(NamespaceAction::kDelete, "a");
  ASSERT_EQ(keeper.next({}), removal);
  keeper.begun(removal);
  EXPECT_THAT(keeper.states(wanted), IsEmpty()) << "wanted again meanwhile";
  keeper.done(removal, "in use");
  EXPECT_FALSE(keeper.next(wanted)) << "the daemon may do it still: the next list says so";
  keeper.listed({"a"}, wanted);
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kSetLimits, "a", kHalf)));
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", "")));
}

TEST_F(NamespaceKeeperTest, OtherLimitsAreSetAndNoneLeaveThoseThatThereAre) {
  keeper.listed({}, {});
  run({{"a", kHalf}});
  EXPECT_THAT(run({{"a", kAll}}), ElementsAre(step(NamespaceAction::kSetLimits, "a", kAll)));
  EXPECT_THAT(run({{"a", std::nullopt}}), IsEmpty());
}

TEST_F(NamespaceKeeperTest, ANamespaceThatTheDaemonHasLostIsMadeAgain) {
  const Namespaces wanted{{"a", kHalf}};
  keeper.listed({}, wanted);
  run(wanted);
  keeper.listed({}, wanted);
  EXPECT_THAT(keeper.states(wanted), IsEmpty());
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kCreate, "a"),
                                       step(NamespaceAction::kSetLimits, "a", kHalf)));
  keeper.forget();
  EXPECT_EQ(keeper.next(wanted), std::nullopt);
  keeper.listed({"a"}, wanted);
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kSetLimits, "a", kHalf)))
      << "another daemon may have other limits";
}

TEST_F(NamespaceKeeperTest, AFailureKeepsNoOtherAndIsTriedAgainAfterTheNextList) {
  const Namespaces wanted{{"a", kHalf}, {"b", kHalf}};
  keeper.listed({}, wanted);
  keeper.done(*keeper.next(wanted), "no room");
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kCreate, "b"),
                                       step(NamespaceAction::kSetLimits, "b", kHalf)));
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", "no room"), Pair("b", "")));
  keeper.listed({"b"}, wanted);
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", "no room"), Pair("b", "")));
  EXPECT_THAT(run(wanted), ElementsAre(step(NamespaceAction::kCreate, "a"),
                                       step(NamespaceAction::kSetLimits, "a", kHalf)));
  EXPECT_THAT(keeper.states(wanted), ElementsAre(Pair("a", ""), Pair("b", "")));
}

TEST_F(NamespaceKeeperTest, OneThatCannotBeRemovedYetIsTriedAgain) {
  keeper.listed({"a"}, {});
  keeper.done(*keeper.next({}), "clients run");
  EXPECT_EQ(keeper.next({}), std::nullopt);
  keeper.listed({"a"}, {});
  EXPECT_THAT(run({}), ElementsAre(step(NamespaceAction::kDelete, "a")));
  keeper.listed({}, {});
  EXPECT_EQ(keeper.next({}), std::nullopt);
}

}  // namespace
}  // namespace snug::mps

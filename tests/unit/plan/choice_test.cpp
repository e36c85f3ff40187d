#include "snug/plan/choice.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/claims.hpp"
#include "support/states.hpp"

namespace snug::choice_test {
namespace {

TEST(OfferTest, OthersIntentsLeaveWhatPodsThatAreNotListedHave) {
  const NodeStatePtr node =
      add_up(std::make_shared<const NodeInventory>(make_node("n1: A 40960 x2")), {},
             {.used = {.cpu_milli = 3000, .memory_bytes = 4096}, .pods = 1100, .listed = {}});
  auto other = make_holding("other", "n1", {make_share(0, 20480, 500)});
  other->host = {.cpu_milli = 500, .memory_bytes = 1024};
  const Intents intents = {other};
  const OwnClaim own(make_fraction(500));
  const Claim claim = own.view();
  const NamespaceUse nobody;
  const Tenant tenant = tenant_of(claim.name_space, claim.sharing, nobody);
  FitMemo memo(claim.request);
  PlacementList options;
  const Offered offered =
      Offer(*node, {claim, tenant, memo}, {.held = nobody, .intents = &intents}, options).find();
  ASSERT_NE(offered.later, nullptr);
  EXPECT_EQ(offered.later->host_used, (HostAmounts{.cpu_milli = 3500, .memory_bytes = 5120}));
  EXPECT_EQ(offered.later->pods, 1101);
}

}  // namespace
}  // namespace snug::choice_test

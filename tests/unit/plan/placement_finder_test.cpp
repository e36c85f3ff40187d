#include "snug/plan/placement_finder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::choice_test {
namespace {

TEST(OfferTest, OthersIntentsLeaveWhatPodsThatAreNotListedHave) {
  const model::NodeStatePtr node = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(make_node("n1: A 40960 x2")), {},
      {.requested = {.cpu_milli = 3000, .memory_bytes = 4096}, .pod_count = 1100, .listed = {}});
  auto other = make_holding("other", "n1", {make_share(0, 20480, 500)});
  other->host = {.cpu_milli = 500, .memory_bytes = 1024};
  const model::Intents intents = {other};
  const OwnedIncomingPod own(make_fraction(500));
  const plan::IncomingPod incoming = own.view();
  const model::NamespaceUsage nobody;
  const fit::Tenant tenant = fit::tenant_of(incoming.name_space, incoming.sharing, nobody);
  fit::FitMemo memo(incoming.request);
  model::PlacementList options;
  const plan::FoundPlacements found =
      plan::PlacementFinder(*node, {incoming, tenant, memo},
                            {.namespace_usage = nobody, .intents = &intents}, options)
          .find();
  ASSERT_NE(found.with_intents, nullptr);
  EXPECT_EQ(found.with_intents->host_used,
            (model::HostResources{.cpu_milli = 3500, .memory_bytes = 5120}));
  EXPECT_EQ(found.with_intents->pod_count, 1101);
}

}  // namespace
}  // namespace snug::choice_test

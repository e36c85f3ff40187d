// On a node with an agent, a container cannot have shares of several GPUs in the mode mps.
#include <gtest/gtest.h>

#include "pods.hpp"

namespace snug::agent_modes_test {
namespace {

constexpr std::string_view kMpsOnly = "n1: A 40960 modes=mps, A 40960 modes=mps";
constexpr std::string_view kMpsFirst =
    "n1: A 40960 modes=mps+time-slicing, A 40960 modes=mps+time-slicing";
constexpr std::string_view kMixed = "n1: A 40960 modes=mps, A 40960, A 40960";

struct Row {
  std::string_view why;
  std::string_view node;
  std::vector<model::HoldingPtr> holdings;
  std::string_view asks;
  std::string_view with_agent;
  std::string_view without;
};

std::vector<Row> rows() {
  const model::ReservedDevice shared{.index = 0,
                                     .uuid = make_gpu_uuid("n1", 0),
                                     .mode = model::GpuMode::kMps,
                                     .memory = {1024},
                                     .compute = {25}};
  const std::vector<model::HoldingPtr> held = {make_holding("h", "n1", {shared})};
  return {
      {"one share", kMpsOnly, {}, "app 0.5 mps", "0m", "0m"},
      {"shares of two GPUs", kMpsOnly, {}, "app 0.5 x2 mps", "WrongMode", "0m+1m"},
      {"without a wish", kMpsOnly, {}, "app 0.5 x2", "WrongMode", "0m+1m"},
      {"another mode, which the operator prefers less",
       kMpsFirst,
       {},
       "app 0.5 x2",
       "0+1",
       "0m+1m"},
      {"the wish for mps", kMpsFirst, {}, "app 0.5 x2 mps", "WrongMode", "0m+1m"},
      {"GPUs in the mode mps are left out", kMixed, {}, "app 0.5 x2", "1+2", "0m+1 1+2"},
      {"a GPU that is shared by mps already", kMpsFirst, held, "app 0.5 x2", "WrongMode", "0m+1m"},
      {"whole GPUs",
       "n1: A 40960 modes=whole+mps, A 40960 modes=whole+mps",
       {},
       "app whole2",
       "0w+1w",
       "0w+1w"},
      {"several containers with one share each",
       kMpsOnly,
       {},
       "app 0.5 mps; app 0.9 mps",
       "0m/1m",
       "0m/1m"},
      {"one of several containers",
       kMpsOnly,
       {},
       "app 0.5 mps; app 0.4 x2 mps",
       "WrongMode",
       "0m/0m+1m"},
      {"one that may be time-sliced beside one that may not",
       kMpsFirst,
       {},
       "app 0.5 mps; app 0.2 x2",
       "WrongMode",
       "0m/0m+1m"},
      {"slices",
       "n1: A100 40960 mig, A100 40960 mig | dynamic",
       {},
       "app 0.1 x2",
       "0:1g.5gb@6+1:1g.5gb@6",
       "0:1g.5gb@6+1:1g.5gb@6"},
  };
}

model::NodeStatePtr state_of(const Row& row, bool has_agent) {
  model::NodeInventory inventory = make_mig_node(row.node);
  if (has_agent) inventory.enforcement = model::Enforcement::kOpen;
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(inventory)),
                               row.holdings);
}

TEST(AgentModesTest, NoContainerGetsSharesOfSeveralGpusByMps) {
  for (const Row& row : rows()) {
    const model::GpuRequest request = make_asks(row.asks);
    EXPECT_EQ(takes_text(*state_of(row, true), request), row.with_agent) << row.why;
    EXPECT_EQ(takes_text(*state_of(row, false), request), row.without) << row.why;
  }
}

TEST(AgentModesTest, ItCanFitIfAndOnlyIfThereIsAPlacement) {
  for (const Row& row : rows()) {
    const model::GpuRequest request = make_asks(row.asks);
    for (const bool has_agent : {false, true}) {
      fit::FitMemo memo(request);
      const model::NodeStatePtr node = state_of(row, has_agent);
      EXPECT_EQ(fit::can_fit(*node, {}, memo),
                fit_all(*node, request).reason == model::ReasonCode::kNone)
          << row.why;
    }
  }
}

}  // namespace
}  // namespace snug::agent_modes_test

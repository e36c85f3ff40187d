// The terms on MIG cards.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/demand/demand_tables.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/score/terms.hpp"
#include "support/mig_nodes.hpp"
#include "support/node_states.hpp"

namespace snug::slice_terms_test {
namespace {

constexpr std::string_view kCard = "A100-40GB";

/// Profile and start, as `1g.5gb@6`.
struct At {
  std::string profile;
  int start = 0;
};

const model::MigTablePtr& table() {
  static const model::MigTablePtr known = mig::find_mig_card(kCard, {})->table;
  return known;
}

model::HoldingPtr holder_of(int gpu, const At& at) {
  return make_slice_holding(std::to_string(gpu) + at.profile + std::to_string(at.start), "n1",
                            make_slice_device(gpu, *table(), at.profile, at.start));
}

/// A dynamic node of so many cards, with what is held of each, and idle slices of the first.
model::NodeStatePtr node_of(const std::vector<std::vector<At>>& held,
                            const std::vector<At>& idle = {}) {
  auto inventory = std::make_shared<model::NodeInventory>();
  inventory->name = "n1";
  inventory->dynamic_mig = true;
  std::vector<model::HoldingPtr> holdings;
  for (std::size_t i = 0; i < held.size(); ++i) {
    inventory->gpus.push_back({.index = static_cast<int>(i),
                               .model = std::string(kCard),
                               .memory = {40960},
                               .mig_enabled = true,
                               .mig_table = table(),
                               .mig_table_id = 1});
    for (const At& at : held[i]) holdings.push_back(holder_of(static_cast<int>(i), at));
  }
  for (const At& at : idle) {
    const int size = table()->profiles[*table()->find_profile(at.profile)].size;
    inventory->gpus.front().mig_instances.push_back(
        {at.profile, at.start, size, "MIG-" + at.profile});
  }
  return fit::build_node_state(inventory, holdings);
}

/// These profiles are asked for alike.
model::Demand asked_for(const std::vector<std::string>& profiles, int churn) {
  demand::Supply supply;
  supply.mig_tables = std::make_shared<const std::vector<model::MigTableRef>>(
      std::vector<model::MigTableRef>{model::MigTableRef{}, table()});
  supply.gpus = 1;
  supply.gpus_by_mig_table[1] = 1;
  demand::ShapeCounts pods;
  for (const std::string& profile : profiles) {
    demand::PodShape shape;
    shape.mig_profile = profile;
    shape.slice_count = 1;
    pods[shape] = 100'000;
  }
  return demand::DemandTables(pods, supply).at_churn(churn);
}

/// `gpu:profile@start` of the placement that one term likes best.
std::string best_by(std::string_view term, const model::NodeState& node,
                    const model::GpuRequest& request, const model::Demand& demand) {
  fit::FitMemo memo(request);
  model::PlacementList options;
  if (fit::fit(node, {}, memo, options) != model::ReasonCode::kNone) return "none";
  std::size_t best = 0;
  const auto points = [&](std::size_t i) {
    return score::find_term(term)->function({node, request, options[i], {}, demand});
  };
  for (std::size_t i = 1; i < options.size(); ++i) {
    if (points(i) > points(best)) best = i;
  }
  const model::DeviceAllocation& allocation = options[best].allocations.front();
  return std::to_string(allocation.gpu) + ":" + table()->profiles[allocation.slice.profile].name +
         "@" + std::to_string(allocation.slice.start);
}

struct Row {
  std::string why;
  std::vector<std::string> demand;
  std::vector<std::vector<At>> held;
  std::string asks;
  std::string expected;
  bool in_fill = true;  // and not only where pods leave
};

TEST(SliceValueTest, CardAndStartAreChosenByWhatTheyLeavePossible) {
  for (const Row& row : std::vector<Row>{
           {"no start of a 4g", {"1g.5gb", "4g.20gb"}, {{}}, "2g.10gb", "0:2g.10gb@4"},
           {"no start of a 4g", {"1g.5gb", "4g.20gb"}, {{}}, "3g.20gb", "0:3g.20gb@4"},
           {"not where a 1g.10gb may use the last slice",
            {"1g.5gb", "1g.10gb", "4g.20gb"},
            {{}},
            "1g.5gb",
            "0:1g.5gb@5"},
           {"a used card, so that a whole one is left",
            {"1g.5gb", "7g.40gb"},
            {{}, {{"1g.5gb", 3}}},
            "1g.5gb",
            "1:1g.5gb@6"},
           {"the other half",
            {"3g.20gb", "7g.40gb"},
            {{}, {{"3g.20gb", 4}}},
            "3g.20gb",
            "1:3g.20gb@0",
            false},
           {"the hole of its size",
            {"1g.5gb", "2g.10gb", "3g.20gb"},
            {{{"3g.20gb", 0}}, {{"4g.20gb", 0}, {"2g.10gb", 4}}},
            "1g.5gb",
            "1:1g.5gb@6"},
       }) {
    for (const int churn : {0, model::Demand::kFullChurn}) {
      if (churn == 0 && !row.in_fill) continue;
      EXPECT_EQ(best_by("slice-value", *node_of(row.held), make_slice_request(row.asks),
                        asked_for(row.demand, churn)),
                row.expected)
          << row.why << ", churn " << churn;
    }
  }
}

TEST(SliceValueTest, WithoutDemandAllIsAlikeAndTheOrderOfFitDecides) {
  EXPECT_EQ(best_by("slice-value", *node_of({{}}), make_slice_request("1g.5gb"), model::kNoDemand),
            "0:1g.5gb@6");
  EXPECT_EQ(best_by("spread", *node_of({{}}), make_slice_request("2g.10gb"), model::kNoDemand),
            "0:2g.10gb@4");
}

TEST(BestFitTest, TakesTheFullerCard) {
  const model::NodeStatePtr node = node_of({{}, {{"3g.20gb", 4}}, {{"1g.5gb", 6}}});
  EXPECT_EQ(best_by("best-fit", *node, make_slice_request("1g.5gb"), model::kNoDemand),
            "1:1g.5gb@3");
  EXPECT_EQ(best_by("spread", *node, make_slice_request("1g.5gb"), model::kNoDemand), "0:1g.5gb@6");
}

TEST(FgdTest, KeepsPlacesForWhatIsTypical) {
  model::Demand demand;
  const auto position = static_cast<std::uint16_t>(*table()->find_profile("4g.20gb"));
  demand.typical_pods = {{.gpus = 1,
                          .gpu_milli = 1001,
                          .share = model::kFixedPointOne,
                          .profiles = {0, static_cast<std::uint16_t>(position + 1)}}};
  const model::NodeStatePtr node = node_of({{}, {{"1g.5gb", 0}}});
  // The second card has no place for a 4g any more.
  EXPECT_EQ(best_by("fgd", *node, make_slice_request("3g.20gb"), demand), "1:3g.20gb@4");
  EXPECT_EQ(best_by("fgd", *node_of({{}}), make_slice_request("2g.10gb"), demand), "0:2g.10gb@4");
}

TEST(SliceReuseTest, AnIdleSliceIsTakenBeforeOneThatHasToBeMade) {
  const model::NodeStatePtr node = node_of({{}, {}}, {{"1g.5gb", 2}});
  EXPECT_EQ(best_by("slice-reuse", *node, make_slice_request("1g.5gb"), model::kNoDemand),
            "0:1g.5gb@2");
  EXPECT_EQ(
      best_by("slice-reuse", *node, make_slice_request("1g.10gb"), model::kNoDemand).substr(0, 10),
      "0:1g.10gb@");
  model::PlacementList options;
  const model::GpuRequest request = make_slice_request("1g.5gb");
  fit::FitMemo own(request);
  ASSERT_EQ(fit::fit(*node, {}, own, options), model::ReasonCode::kNone);
  const score::TermInput input{*node, request, options[0], {}, model::kNoDemand};
  EXPECT_EQ(score::find_term("slice-reuse")->function(input), -1000);
}

TEST(SliceValueTest, ASliceAndAShareAreOnOneScale) {
  // 4 GB: on a card whose last hole is of that size the slice costs the pods to come nothing more
  // than it pays; on an empty card it would.
  const model::NodeStatePtr full = node_of({{{"4g.20gb", 0}, {"2g.10gb", 4}}});
  const model::NodeStatePtr empty = node_of({{}});
  const model::GpuRequest request = make_memory(3815);
  const model::Demand demand = asked_for({"1g.5gb", "4g.20gb", "7g.40gb"}, 0);
  const auto cost = [&](const model::NodeState& node) {
    fit::FitMemo memo(request);
    model::PlacementList options;
    EXPECT_EQ(fit::fit(node, {}, memo, options), model::ReasonCode::kNone);
    return -score::find_term("slice-value")->function({node, request, options[0], {}, demand});
  };
  EXPECT_LT(cost(*full), cost(*empty));
}

}  // namespace
}  // namespace snug::slice_terms_test

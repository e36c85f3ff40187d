// The terms on MIG cards.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/demand/tables.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/score/terms.hpp"
#include "support/slices.hpp"
#include "support/states.hpp"

namespace snug::slice_terms_test {
namespace {

constexpr std::string_view kCard = "A100-40GB";

/// Profile and start, as `1g.5gb@6`.
struct At {
  std::string profile;
  int start = 0;
};

const MigTablePtr& table() {
  static const MigTablePtr known = find_mig_card(kCard, {})->table;
  return known;
}

HoldingPtr holder_of(int gpu, const At& at) {
  return make_slice_holding(std::to_string(gpu) + at.profile + std::to_string(at.start), "n1",
                            make_slice_device(gpu, *table(), at.profile, at.start));
}

/// A dynamic node of so many cards, with what is held of each, and idle slices of the first.
NodeStatePtr node_of(const std::vector<std::vector<At>>& held, const std::vector<At>& idle = {}) {
  auto inventory = std::make_shared<NodeInventory>();
  inventory->name = "n1";
  inventory->dynamic_mig = true;
  std::vector<HoldingPtr> holdings;
  for (std::size_t i = 0; i < held.size(); ++i) {
    inventory->gpus.push_back({.index = static_cast<int>(i),
                               .model = std::string(kCard),
                               .memory = {40960},
                               .mig = true,
                               .mig_table = table(),
                               .mig_number = 1});
    for (const At& at : held[i]) holdings.push_back(holder_of(static_cast<int>(i), at));
  }
  for (const At& at : idle) {
    const int size = table()->profiles[*table()->find(at.profile)].size;
    inventory->gpus.front().mig_instances.push_back(
        {at.profile, at.start, size, "MIG-" + at.profile});
  }
  return add_up(inventory, holdings);
}

/// These profiles are asked for alike.
Demand asked_for(const std::vector<std::string>& profiles, int churn) {
  Supply supply;
  supply.mig_tables = std::make_shared<const std::vector<MigTableRef>>(
      std::vector<MigTableRef>{MigTableRef{}, table()});
  supply.gpus = 1;
  supply.by_mig_table[1] = 1;
  ShapeCounts pods;
  for (const std::string& profile : profiles) {
    PodShape shape;
    shape.mig_profile = profile;
    shape.slices = 1;
    pods[shape] = 100'000;
  }
  return DemandTables(pods, supply).at_churn(churn);
}

/// `gpu:profile@start` of the placement that one term likes best.
std::string best_by(std::string_view term, const NodeState& node, const GpuRequest& request,
                    const Demand& demand) {
  FitMemo memo(request);
  PlacementList options;
  if (fit(node, {}, memo, options) != ReasonCode::kNone) return "none";
  std::size_t best = 0;
  const auto points = [&](std::size_t i) {
    return find_term(term)->function({node, request, options[i], {}, demand});
  };
  for (std::size_t i = 1; i < options.size(); ++i) {
    if (points(i) > points(best)) best = i;
  }
  const DeviceTake& take = options[best].takes.front();
  return std::to_string(take.gpu) + ":" + table()->profiles[take.slice.profile].name + "@" +
         std::to_string(take.slice.start);
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
    for (const int churn : {0, Demand::kFullChurn}) {
      if (churn == 0 && !row.in_fill) continue;
      EXPECT_EQ(best_by("slice-value", *node_of(row.held), make_profile_ask(row.asks),
                        asked_for(row.demand, churn)),
                row.expected)
          << row.why << ", churn " << churn;
    }
  }
}

TEST(SliceValueTest, WithoutDemandAllIsAlikeAndTheOrderOfFitDecides) {
  EXPECT_EQ(best_by("slice-value", *node_of({{}}), make_profile_ask("1g.5gb"), kNothingLearned),
            "0:1g.5gb@6");
  EXPECT_EQ(best_by("spread", *node_of({{}}), make_profile_ask("2g.10gb"), kNothingLearned),
            "0:2g.10gb@4");
}

TEST(BestFitTest, TakesTheFullerCard) {
  const NodeStatePtr node = node_of({{}, {{"3g.20gb", 4}}, {{"1g.5gb", 6}}});
  EXPECT_EQ(best_by("best-fit", *node, make_profile_ask("1g.5gb"), kNothingLearned), "1:1g.5gb@3");
  EXPECT_EQ(best_by("spread", *node, make_profile_ask("1g.5gb"), kNothingLearned), "0:1g.5gb@6");
}

TEST(FgdTest, KeepsPlacesForWhatIsTypical) {
  Demand demand;
  const auto position = static_cast<std::uint16_t>(*table()->find("4g.20gb"));
  demand.typical = {{.gpus = 1,
                     .gpu_milli = 1001,
                     .share = kOne,
                     .profiles = {0, static_cast<std::uint16_t>(position + 1)}}};
  const NodeStatePtr node = node_of({{}, {{"1g.5gb", 0}}});
  // The second card has no place for a 4g any more.
  EXPECT_EQ(best_by("fgd", *node, make_profile_ask("3g.20gb"), demand), "1:3g.20gb@4");
  EXPECT_EQ(best_by("fgd", *node_of({{}}), make_profile_ask("2g.10gb"), demand), "0:2g.10gb@4");
}

TEST(SliceReuseTest, AnIdleSliceIsTakenBeforeOneThatHasToBeMade) {
  const NodeStatePtr node = node_of({{}, {}}, {{"1g.5gb", 2}});
  EXPECT_EQ(best_by("slice-reuse", *node, make_profile_ask("1g.5gb"), kNothingLearned),
            "0:1g.5gb@2");
  EXPECT_EQ(
      best_by("slice-reuse", *node, make_profile_ask("1g.10gb"), kNothingLearned).substr(0, 10),
      "0:1g.10gb@");
  PlacementList options;
  const GpuRequest request = make_profile_ask("1g.5gb");
  FitMemo own(request);
  ASSERT_EQ(fit(*node, {}, own, options), ReasonCode::kNone);
  const TermInput input{*node, request, options[0], {}, kNothingLearned};
  EXPECT_EQ(find_term("slice-reuse")->function(input), -1000);
}

TEST(SliceValueTest, ASliceAndAShareAreOnOneScale) {
  // 4 GB: on a card whose last hole is of that size the slice costs the pods to come nothing more
  // than it pays; on an empty card it would.
  const NodeStatePtr full = node_of({{{"4g.20gb", 0}, {"2g.10gb", 4}}});
  const NodeStatePtr empty = node_of({{}});
  const GpuRequest request = make_memory(3815);
  const Demand demand = asked_for({"1g.5gb", "4g.20gb", "7g.40gb"}, 0);
  const auto cost = [&](const NodeState& node) {
    FitMemo memo(request);
    PlacementList options;
    EXPECT_EQ(fit(node, {}, memo, options), ReasonCode::kNone);
    return -find_term("slice-value")->function({node, request, options[0], {}, demand});
  };
  EXPECT_LT(cost(*full), cost(*empty));
}

}  // namespace
}  // namespace snug::slice_terms_test

#include "service/layout_changes.hpp"

#include "snug/service/admin_service.hpp"
#include "unit/service/fixture.hpp"

namespace snug::testing::layout_changes_test {
namespace {

constexpr const char* kSlice = "nvidia.com/mig-1g.5gb";

class LayoutChangesTest : public ServiceTest {
 protected:
  static model::NodeFacts offering(const std::string& name, const std::string& resource) {
    model::NodeFacts node = make_node(name, 1, 40960);
    node.capacity[resource] = node.allocatable[resource] = "1";
    return node;
  }
  static model::NodeFacts changing(const std::string& name, const std::string& state = "pending") {
    model::NodeFacts node = make_node(name, 1, 40960);
    node.labels["nvidia.com/mig.config.state"] = state;
    return node;
  }
  model::PodFacts wait_for(const std::string& name, const std::string& resource) {
    model::PodFacts pod = make_pod(name, {});
    pod.containers[0].gpu_resources[resource] = "1";
    reconciler.pod_changed(pod);
    return pod;
  }
  /// What GET /v1/pods says.
  std::string reason_of(const std::string& name) {
    service::AdminService admin({ledger, pending, readiness, *policy_store, *monitor});
    const auto shown = nlohmann::json::parse(admin.pods({}).body);
    for (const auto& row : shown["pods"]) {
      if (row["pod"] == name) return row.value("reason", "");
    }
    return "no such pod";
  }
  void tick() {
    clock.advance(std::chrono::milliseconds(limits.settle_interval_ms));
    reconciler.tick();
  }
};

TEST_F(LayoutChangesTest, APodThatOnlyAChangingNodeCouldServeIsToldSoOnce) {
  start();
  list({changing("n2"), changing("n1"), offering("n3", "nvidia.com/gpu")});
  wait_for("slice", kSlice);
  wait_for("whole", "nvidia.com/gpu");
  arrive("share", {{"gpu-fraction", "0.5"}});
  for (int i = 0; i < 3; ++i) tick();
  EXPECT_EQ(reason_of("slice"), model::message(model::ReasonCode::kReconfiguring));
  EXPECT_EQ(reason_of("whole"), "") << "n3 offers it";
  EXPECT_EQ(reason_of("share"), "") << "Snug is asked about it";
  ASSERT_EQ(api.notices.size(), 1U);
  EXPECT_EQ(api.notices[0].name, "slice");
  EXPECT_EQ(api.notices[0].reason, "MigReconfiguring");
  EXPECT_EQ(api.notices[0].note, "node n1: " + model::message(model::ReasonCode::kReconfiguring) +
                                     "; no other node offers what the pod asks for");
}

TEST_F(LayoutChangesTest, OnlySlicesThatTheCardsCanHaveAreAwaited) {
  const auto of_card = [](model::NodeFacts node, const std::string& model, int mib) {
    node.annotations.clear();
    node.labels["nvidia.com/gpu.product"] = model;
    node.labels["nvidia.com/gpu.memory"] = std::to_string(mib);
    node.labels["nvidia.com/gpu.count"] = "8";
    node.labels["nvidia.com/mig.strategy"] = "mixed";
    return node;
  };
  start();
  list({changing("n2"), of_card(changing("n1"), "NVIDIA-H100-80GB-HBM3", 81559),
        of_card(changing("n0"), "Tesla-T4", 15360)});
  wait_for("a100", kSlice);
  wait_for("h100", "nvidia.com/mig-1g.10gb");
  wait_for("media", "nvidia.com/mig-1g.10gb.me");
  wait_for("replica", "nvidia.com/mig-1g.10gb.shared");
  wait_for("typo", "nvidia.com/mig-1g.5g");
  wait_for("other-card", "nvidia.com/mig-1g.23gb");
  wait_for("no-slice", "nvidia.com/gpu.shared");
  wait_for("whole", "nvidia.com/gpu");
  tick();
  for (const char* name : {"a100", "h100", "media", "replica", "whole"}) {
    EXPECT_EQ(reason_of(name), model::message(model::ReasonCode::kReconfiguring)) << name;
  }
  for (const char* name : {"typo", "other-card", "no-slice"}) {
    EXPECT_EQ(reason_of(name), "") << name;
  }
  ASSERT_EQ(api.notices.size(), 5U);
  for (const auto& notice : api.notices) {
    const std::string node = notice.name == "a100" ? "n2" : "n1";
    EXPECT_TRUE(notice.note.starts_with("node " + node + ": ")) << notice.name << notice.note;
  }
}

TEST_F(LayoutChangesTest, ARefusalOfSnugsOwnStays) {
  start();
  list({changing("n1")});
  pending.note_refused(wait_for("slice", kSlice).uid, {model::ReasonCode::kCapReached, "its cap"},
                       {});
  tick();
  EXPECT_EQ(reason_of("slice"), "CapReached: its cap");
}

TEST_F(LayoutChangesTest, WhenTheChangeIsDoneNobodyWaitsForItAndTheNextIsToldAnew) {
  start();
  list({changing("n1")});
  wait_for("slice", kSlice);
  tick();
  reconciler.node_changed(changing("n1", "success"));
  tick();
  EXPECT_EQ(reason_of("slice"), "");
  EXPECT_EQ(api.notices.size(), 1U);
  reconciler.node_changed(changing("n1", "failed"));
  tick();
  EXPECT_EQ(api.notices.size(), 2U);
}

TEST_F(LayoutChangesTest, AnotherNodeThatOffersTheSliceIsAskedAbout) {
  start();
  list({changing("n1"), offering("n2", kSlice)});
  wait_for("slice", kSlice);
  tick();
  EXPECT_EQ(reason_of("slice"), "");
  EXPECT_TRUE(api.notices.empty());
}

}  // namespace
}  // namespace snug::testing::layout_changes_test

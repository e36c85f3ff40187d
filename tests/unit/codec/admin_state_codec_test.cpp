#include "snug/codec/admin_state_codec.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "snug/fit/node_usage.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::state_codec_test {
namespace {

using Json = nlohmann::ordered_json;

model::GpuInfo gpu(int index, std::string uuid) {
  model::GpuInfo info;
  info.index = index;
  info.uuid = std::move(uuid);
  info.model = "A100";
  info.memory = {40960};
  info.allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing};
  return info;
}

model::NodeInventory inventory(std::string name, std::vector<model::GpuInfo> gpus) {
  model::NodeInventory result;
  result.name = std::move(name);
  result.gpus = std::move(gpus);
  return result;
}

model::HoldingPtr holding(std::string uid, std::vector<model::ReservedContainer> containers) {
  model::Holding result;
  result.name_space = "ml";
  result.pod = "pod-" + uid;
  result.uid = uid;
  result.reservation = {uid, "n1", std::move(containers)};
  return std::make_shared<model::Holding>(std::move(result));
}

model::ReservedDevice share(int index, std::string uuid) {
  return {index, std::move(uuid), model::GpuMode::kTimeSlicing, {10240}, {250}, std::nullopt};
}

model::Snapshot snapshot(const std::vector<model::NodeStatePtr>& nodes) {
  model::Snapshot result;
  result.generation = {7};
  result.nodes = model::NodeTable(nodes);
  return result;
}

model::NodeStatePtr state(model::NodeInventory of, std::vector<model::HoldingPtr> holdings = {}) {
  return fit::build_node_state(std::make_shared<model::NodeInventory>(std::move(of)),
                               std::move(holdings));
}

TEST(StateCodecTest, ANodeIsShownExactlyAsTheContractSays) {
  const auto held = holding("u1", {{"main", "gpu-fraction=0.25", std::vector{share(1, "GPU-b")}}});
  const auto text = codec::write_nodes(
      snapshot({state(inventory("n1", {gpu(0, "GPU-a"), gpu(1, "GPU-b")}), {held})}), std::nullopt);
  EXPECT_EQ(
      text,
      R"({"generation":7,"nodes":[{"name":"n1","pool":"auto","closed":null,"gpus":[)"
      R"({"index":0,"uuid":"GPU-a","model":"A100","memoryMiB":40960,"healthy":true,"closed":null,)"
      R"("freeWhole":true,"mode":"none","usedMemoryMiB":0,"usedComputeMilli":0,"holders":[]},)"
      R"({"index":1,"uuid":"GPU-b","model":"A100","memoryMiB":40960,"healthy":true,"closed":null,)"
      R"("freeWhole":false,"mode":"time-slicing","usedMemoryMiB":10240,"usedComputeMilli":250,"holders":[)"
      R"({"namespace":"ml","pod":"pod-u1","uid":"u1","container":"main","memoryMiB":10240,)"
      R"("computeMilli":250}]}],"kubeletAssigned":[],"kubeletComputeMilli":0}]})");
}

TEST(StateCodecTest, NodesComeInOrderOfTheirNamesAndGapsAreNoNodes) {
  const model::Snapshot all =
      snapshot({state(inventory("b", {})), nullptr, state(inventory("a", {}))});
  const Json json = Json::parse(*codec::write_nodes(all, std::nullopt));
  ASSERT_EQ(json["nodes"].size(), 2U);
  EXPECT_EQ(json["nodes"][0]["name"], "a");
  EXPECT_EQ(json["nodes"][1]["name"], "b");
  EXPECT_EQ(Json::parse(*codec::write_nodes(all, "b"))["nodes"].size(), 1U);
  EXPECT_EQ(codec::write_nodes(all, "c"), std::nullopt);
  EXPECT_EQ(codec::write_nodes(snapshot({}), std::nullopt), R"({"generation":7,"nodes":[]})");
}

/// A snapshot whose nodes have these versions.
model::Snapshot versioned(const std::vector<std::pair<model::NodeStatePtr, std::uint64_t>>& rows) {
  auto chunk = std::make_shared<model::NodeTable::Chunk>();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    chunk->states[i] = rows[i].first;
    chunk->versions[i] = rows[i].second;
  }
  model::Snapshot result;
  result.generation = {7};
  result.nodes = model::NodeTable({chunk}, rows.size());
  return result;
}

TEST(StateCodecTest, OnlyNodesThatHaveChangedSinceAVersionOfThisProcessAreRepeated) {
  const model::Snapshot cluster = versioned({{state(inventory("b", {})), 4},
                                             {nullptr, 9},
                                             {state(inventory("a", {})), 6},
                                             {state(inventory("c", {})), 2}});
  struct Row {
    std::string since;
    bool complete;
    std::vector<std::string> names;
  };
  const std::vector<Row> rows = {
      {"", true, {"a", "b", "c"}},
      {"x-0", false, {"a", "b", "c"}},
      {"x-2", false, {"a", "b"}},
      {"x-4", false, {"a"}},
      {"x-6", false, {}},
      {"y-6", true, {"a", "b", "c"}},
      {"x", true, {"a", "b", "c"}},
      {"x-", true, {"a", "b", "c"}},
      {"x-6x", true, {"a", "b", "c"}},
      {"xx-6", true, {"a", "b", "c"}},
  };
  for (const Row& row : rows) {
    const Json json = Json::parse(codec::write_changed_nodes(cluster, "x", row.since));
    EXPECT_EQ(json["generation"], 7) << row.since;
    EXPECT_EQ(json["version"], "x-6") << row.since;
    EXPECT_EQ(json["complete"], row.complete) << row.since;
    EXPECT_EQ(json["total"], 3) << row.since;
    std::vector<std::string> names;
    for (const Json& node : json["nodes"]) names.push_back(node["name"].get<std::string>());
    EXPECT_EQ(names, row.names) << row.since;
  }
}

TEST(StateCodecTest, ClosedNodesSayWhy) {
  model::NodeInventory bad = inventory("n", {gpu(0, "")});
  bad.closed_to_all = model::ReasonCode::kBadInventory;
  bad.closed_message = "the label x is wrong";
  const auto closed = [](const model::NodeStatePtr& node) {
    return Json::parse(*codec::write_nodes(snapshot({node}), std::nullopt))["nodes"][0]["closed"]
        .get<std::string>();
  };
  EXPECT_EQ(closed(state(bad)), "BadInventory: the label x is wrong");

  model::NodeInventory none = inventory("n", {});
  none.closed_to_all = model::ReasonCode::kNoGpu;
  EXPECT_EQ(closed(state(none)), model::message(model::ReasonCode::kNoGpu));

  model::NodeInventory ill = inventory("n", {gpu(0, "")});
  ill.closed_to_annotated = model::ReasonCode::kUnhealthy;
  ill.closed_message = "a GPU is unhealthy";
  EXPECT_EQ(closed(state(ill)), "to annotated pods: Unhealthy: a GPU is unhealthy");

  model::Holding stray;
  stray.uid = "u";
  stray.unplaced = true;
  EXPECT_EQ(closed(state(inventory("n", {gpu(0, "")}), {std::make_shared<model::Holding>(stray)})),
            "to annotated pods: " + model::message(model::ReasonCode::kNodeClosed));

  model::NodeInventory left = inventory("n", {gpu(0, "")});
  left.enforcement = model::Enforcement::kFailClosed;
  left.agent_alive = false;
  EXPECT_EQ(closed(state(left)), model::message(model::ReasonCode::kAgentAway));
  left.pool = model::Pool::kWhole;
  EXPECT_EQ(closed(state(left)), model::message(model::ReasonCode::kAgentAway));
  left.pool = model::Pool::kAuto;
  left.closed_to_annotated = model::ReasonCode::kUnhealthy;
  EXPECT_EQ(closed(state(left)), model::message(model::ReasonCode::kAgentAway));

  const auto shared = holding("s", {{"main", "", std::vector{share(0, "")}}});
  const auto counted = holding("k", {{"main", "", model::KubeletUnits{"nvidia.com/gpu", 1}}});
  EXPECT_EQ(closed(state(inventory("n", {gpu(0, "")}), {shared, counted})),
            model::to_string(model::NodeConflict::kMixedAssigners));
}

TEST(StateCodecTest, ANodeShowsWhatItsAgentSays) {
  const auto shown = [](const model::NodeInventory& node) {
    return Json::parse(*codec::write_nodes(snapshot({state(node)}), std::nullopt))["nodes"][0];
  };
  model::NodeInventory node = inventory("n", {gpu(0, "")});
  node.share_limits = model::ShareLimits::kMps;
  EXPECT_FALSE(shown(node).contains("agent")) << "no agent wrote it";
  node.enforcement = model::Enforcement::kFailClosed;
  EXPECT_EQ(shown(node)["agent"],
            (Json{{"enforcement", "fail-closed"}, {"limits", "mps"}, {"alive", true}}));
  node.enforcement = model::Enforcement::kOpen;
  node.share_limits.reset();
  node.agent_alive = false;
  EXPECT_EQ(shown(node)["agent"], (Json{{"enforcement", "open"}, {"alive", false}}));
  EXPECT_TRUE(shown(node)["closed"].is_null());
}

TEST(StateCodecTest, ANodeNamesItsOtherEnforcer) {
  const auto shown = [](const model::NodeInventory& node) {
    return Json::parse(*codec::write_nodes(snapshot({state(node)}), std::nullopt))["nodes"][0];
  };
  model::NodeInventory node = inventory("n", {gpu(0, "")});
  EXPECT_FALSE(shown(node).contains("enforcer"));
  node.other_enforcer = model::OtherEnforcer::kNvFractions;
  EXPECT_EQ(shown(node)["enforcer"], "nvfractions");
  node.other_enforcer = model::OtherEnforcer::kKoordlet;
  EXPECT_EQ(shown(node)["enforcer"], "koordlet");
}

TEST(StateCodecTest, ANodeThatIsClosedToAnnotatedPodsHasGpusThatTheKubeletCanStillGiveOut) {
  model::NodeInventory ill = inventory("n", {gpu(0, ""), gpu(1, ""), gpu(2, "")});
  ill.closed_to_annotated = model::ReasonCode::kUnhealthy;
  ill.kubelet_capacity = {{"nvidia.com/gpu", 3}};
  ill.kubelet_allocatable = {{"nvidia.com/gpu", 2}};
  const Json gpus =
      Json::parse(*codec::write_nodes(snapshot({state(ill)}), std::nullopt))["nodes"][0]["gpus"];
  std::vector<bool> free_whole;
  for (const Json& row : gpus) {
    EXPECT_TRUE(row["closed"].is_null());
    free_whole.push_back(row["freeWhole"].get<bool>());
  }
  EXPECT_EQ(free_whole, (std::vector<bool>{false, true, true}));
}

TEST(StateCodecTest, HoldersStandAtTheGpuThatTheyAreChargedTo) {
  const std::vector<model::ReservedContainer> one{
      {"m", "", std::vector{share(5, "GPU-a")}}};  // moved
  const std::vector<model::ReservedContainer> two{
      {"m", "", std::vector{share(1, "GPU-x")}}};  // changed
  const std::vector<model::ReservedContainer> three{
      {"m", "", std::vector{share(9, "GPU-z")}}};  // gone
  const auto node = state(inventory("n1", {gpu(0, "GPU-a"), gpu(1, "GPU-b")}),
                          {holding("u1", one), holding("u2", two), holding("u3", three)});
  const Json gpus =
      Json::parse(*codec::write_nodes(snapshot({node}), std::nullopt))["nodes"][0]["gpus"];
  ASSERT_EQ(gpus.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(gpus[i]["holders"].size(), 1U) << i;
    EXPECT_EQ(gpus[i]["holders"][0]["uid"], "u" + std::to_string(i + 1));
    EXPECT_EQ(gpus[i]["usedComputeMilli"], 250);
  }
  EXPECT_TRUE(gpus[0]["closed"].is_null());
  EXPECT_EQ(gpus[1]["closed"], model::to_string(model::GpuClosure::kChanged));
  EXPECT_EQ(gpus[2]["closed"], model::to_string(model::GpuClosure::kVanished));
  EXPECT_EQ(gpus[2]["index"], 9);
  EXPECT_EQ(gpus[2]["uuid"], "GPU-z");
  EXPECT_EQ(gpus[2]["healthy"], false);
}

TEST(StateCodecTest, KubeletAssignedContainersStandAtTheNode) {
  const auto held =
      holding("u1", {{"main", "nvidia.com/gpu=2", model::KubeletUnits{"nvidia.com/gpu", 2}}});
  const Json node = Json::parse(*codec::write_nodes(
      snapshot({state(inventory("n1", {gpu(0, "")}), {held})}), std::nullopt))["nodes"][0];
  EXPECT_EQ(node["kubeletAssigned"].dump(),
            R"([{"namespace":"ml","pod":"pod-u1","uid":"u1","container":"main",)"
            R"("resource":"nvidia.com/gpu","count":2}])");
  EXPECT_TRUE(node["gpus"][0]["holders"].empty());
}

TEST(StateCodecTest, ASliceOfAnotherProfileInTheSamePlaceIsAnother) {
  model::GpuInfo mig = gpu(0, "GPU-a");
  mig.mig_enabled = true;
  mig.mig_instances = {{"3g.20gb", 0, 4, "MIG-1"}};
  mig.mig_table = mig::find_mig_card("NVIDIA-A100-SXM4-40GB", {40960})->table;
  const model::ReservedDevice held{0,       "GPU-a", model::GpuMode::kMig,
                                   {19968}, {571},   model::Slice{"4g.20gb", 0, 4, ""}};
  const auto node = state(inventory("n1", {mig}), {holding("u1", {{"m", "", std::vector{held}}})});
  const Json row =
      Json::parse(*codec::write_nodes(snapshot({node}), std::nullopt))["nodes"][0]["gpus"][0];
  EXPECT_EQ(row["slices"]["instances"].dump(),
            R"([{"profile":"3g.20gb","start":0,"size":4,"uuid":"MIG-1"},)"
            R"({"profile":"4g.20gb","start":0,"size":4,"holder":{"namespace":"ml",)"
            R"("pod":"pod-u1","uid":"u1","container":"m"}}])");
}

TEST(StateCodecTest, SlicesShowTheAxisAndWhoHoldsThem) {
  model::GpuInfo mig = gpu(0, "GPU-a");
  mig.mig_enabled = true;
  mig.mig_instances = {{"1g.5gb", 0, 1, "MIG-1"}, {"1g.5gb", 1, 1, "MIG-2"}};
  mig.mig_table = mig::build_mig_table(
      {model::MigProfile{.name = "1g.5gb", .size = 1, .memory = {4864}, .starts = {0, 1, 6}},
       model::MigProfile{.name = "7g.40gb", .size = 8, .memory = {40192}, .starts = {0}}});
  model::ReservedDevice first{0,      "GPU-a", model::GpuMode::kMig,
                              {4864}, {142},   model::Slice{"1g.5gb", 1, 1, "MIG-2"}};
  model::ReservedDevice second{0,      "GPU-a", model::GpuMode::kMig,
                               {9856}, {285},   model::Slice{"2g.10gb", 2, 2, ""}};
  const auto node =
      state(inventory("n1", {mig}), {holding("u1", {{"m", "", std::vector{first, second}}})});
  const Json row =
      Json::parse(*codec::write_nodes(snapshot({node}), std::nullopt))["nodes"][0]["gpus"][0];
  const std::string holder =
      R"("holder":{"namespace":"ml","pod":"pod-u1","uid":"u1","container":"m"})";
  EXPECT_EQ(row["slices"].dump(),
            R"({"axis":8,"instances":[{"profile":"1g.5gb","start":0,"size":1,"uuid":"MIG-1"},)"
            R"({"profile":"1g.5gb","start":1,"size":1,"uuid":"MIG-2",)" +
                holder + R"(},{"profile":"2g.10gb","start":2,"size":2,)" + holder + "}]}");
}

TEST(StateCodecTest, AnExistingSliceIsHeldByWhoeverHoldsItsProfileThere) {
  struct Row {
    std::string exists;
    std::string held;
    bool one;
  };
  for (const Row& row : {Row{"2g.20gb", "2g.20gb", true}, Row{"7g.79gb", "7g.80gb", true},
                         Row{"1g.20gb", "2g.20gb", false}}) {
    model::GpuInfo mig = gpu(0, "GPU-a");
    mig.mig_enabled = true;
    mig.mig_table = mig::find_mig_card("A100-80GB", {})->table;
    const int size = mig.mig_table->profiles[mig.mig_table->find_profile(row.held).value()].size;
    mig.mig_instances = {{row.exists, 0, size, "MIG-1"}};
    const model::ReservedDevice device{0,      "GPU-a", model::GpuMode::kMig,
                                       {9856}, {285},   model::Slice{row.held, 0, size, ""}};
    const auto node =
        state(inventory("n1", {mig}), {holding("u1", {{"m", "", std::vector{device}}})});
    const Json slices =
        Json::parse(*codec::write_nodes(snapshot({node}), "n1"))["nodes"][0]["gpus"][0]["slices"];
    ASSERT_EQ(slices["instances"].size(), row.one ? 1U : 2U) << slices.dump();
    EXPECT_EQ(slices["instances"][0].contains("holder"), row.one) << slices.dump();
    EXPECT_TRUE(slices["instances"].back().contains("holder")) << slices.dump();
  }
}

TEST(StateCodecTest, OnlyGpusThatTakeSlicesShowAnAxis) {
  struct Row {
    bool mig;
    bool known;
    const char* slices;
  };
  const model::MigTablePtr table = mig::build_mig_table(
      {model::MigProfile{.name = "4g.96gb", .size = 12, .memory = {97408}, .starts = {0}}});
  for (const Row& row : {Row{true, true, R"({"axis":12,"instances":[]})"}, Row{true, false, "null"},
                         Row{false, true, "null"}, Row{false, false, "null"}}) {
    model::GpuInfo info = gpu(0, "GPU-a");
    info.model = "L4";
    info.mig_enabled = row.mig;
    if (row.known) info.mig_table = table;
    const model::NodeStatePtr node = state(inventory("n1", {info}));
    const Json shown =
        Json::parse(*codec::write_nodes(snapshot({node}), "n1"))["nodes"][0]["gpus"][0];
    EXPECT_EQ(shown.value("slices", Json(nullptr)).dump(), row.slices);
    EXPECT_EQ(shown.contains("slices"), row.slices != std::string("null"));
    const std::string unknown = Json(model::to_string(model::GpuClosure::kNoMigTable)).dump();
    EXPECT_EQ(shown["closed"].dump(), row.mig && !row.known ? unknown : "null");
  }
}

TEST(StateCodecTest, ACardWhoseNameAndMemoryDisagreeShowsBoth) {
  struct Row {
    std::string model;
    std::string closed;  // after what is said of every card without a table
  };
  for (const Row& row : std::vector<Row>{
           {"NVIDIA-A100-SXM4-40GB",
            ": the model means A100-40GB with 40960 MiB, but memoryMiB is 65536"},
           {"NVIDIA-A100",
            ": the model means A100-40GB with 40960 MiB or A100-80GB with 81920 MiB, but memoryMiB "
            "is 65536"},
           {"Tesla-T4", ""}}) {
    model::GpuInfo info = gpu(0, "GPU-a");
    info.mig_enabled = true;
    info.model = row.model;
    info.memory = {65536};
    const model::NodeStatePtr node = state(inventory("n1", {info}));
    const Json shown =
        Json::parse(*codec::write_nodes(snapshot({node}), "n1"))["nodes"][0]["gpus"][0];
    EXPECT_EQ(shown["closed"],
              std::string(model::to_string(model::GpuClosure::kNoMigTable)) + row.closed);
  }
}

TEST(StateCodecTest, PodsShowWhatIsKnownOfThem) {
  const auto held = holding("u1", {{"main", "gpu-fraction=0.25", std::vector{share(1, "GPU-b")}}});
  const std::vector<codec::PodRow> rows{
      {"ml", "p1", "u1", "n1", "bound", "", "gpu-fraction=0.25", held},
      {"ml", "p\"2", "u2", "", "pending", "Malformed: no", "", nullptr}};
  EXPECT_EQ(codec::write_pods({3}, rows),
            R"({"generation":3,"pods":[{"namespace":"ml","pod":"p1","uid":"u1","node":"n1",)"
            R"("state":"bound","request":"gpu-fraction=0.25","memoryMiB":10240,)"
            R"("computeMilli":250,"reservation":{"version":1,"uid":"u1",)"
            R"("node":"n1","containers":[{"name":"main","request":"gpu-fraction=0.25","devices":[)"
            R"({"index":1,"uuid":"GPU-b","mode":"time-slicing","memoryMiB":10240,)"
            R"("computeMilli":250}]}]}},{"namespace":"ml","pod":"p\"2","uid":"u2",)"
            R"("state":"pending","reason":"Malformed: no","request":""}]})");
  EXPECT_EQ(codec::write_pods({3}, {}), R"({"generation":3,"pods":[]})");
}

TEST(StateCodecTest, TextsThatAreNoUtf8DoNotBreakTheReply) {
  const std::vector<codec::PodRow> rows{{"ml", "p\xFF", "u", "", "pending", "", "", nullptr}};
  EXPECT_FALSE(Json::parse(codec::write_pods({1}, rows), nullptr, false).is_discarded());
}

}  // namespace
}  // namespace snug::state_codec_test

// What is written to nodes, and when the policy's parameters are, over changes of nodes and pods.
#include "service/node_mirror.hpp"

#include "unit/service/fixture.hpp"

namespace snug::testing::node_mirror_test {
namespace {

using service::MirroredCapacity;
using Patches = std::vector<ScriptedApi::Patch>;
using Lines = std::vector<std::string>;

constexpr std::int64_t kMib = 40960;
constexpr admission::CardRange kCards{{kMib}, {kMib}};
const base::Error kRefused{base::ErrorCode::kInvalid, "forbidden"};
const base::Error kLost{base::ErrorCode::kUnknown, "time-out"};

MirroredCapacity gpus(std::int64_t count) {
  return model::MirroredAmounts{{1000 * count}, {kMib * count}};
}

class NodeMirrorTest : public ServiceTest {
 protected:
  /// The watch shows each patch that succeeds.
  NodeMirrorTest() {
    api.on_patch = [this](const ScriptedApi::Patch& patch) {
      if (watch_shows && !api.patch_errors.contains(patch.first)) show(patch.first, patch.second);
    };
  }

  service::NodeMirror make(const std::optional<admission::CardRange>& cards) {
    return {{ledger, readiness, api, lines, clock}, limits, cards};
  }
  void put(const model::NodeFacts& node) {
    nodes[node.name] = node;
    reconciler.node_changed(node);
  }
  void show(const std::string& node, const MirroredCapacity& capacity) {
    model::ListedAmounts listed;
    if (capacity) listed = {capacity->milli.value, capacity->memory.value};
    nodes.at(node).mirrored = {.capacity = listed, .allocatable = listed};
    reconciler.node_changed(nodes.at(node));
  }
  void begin(const std::vector<model::NodeFacts>& listed) {
    for (const model::NodeFacts& node : listed) nodes[node.name] = node;
    list(listed);
  }
  /// A bound pod with a fraction of GPU 0 of n1, and with these limits.
  void carry(const std::string& name, const model::MirroredAmounts& limits_of_pod) {
    start();
    model::PodFacts pod = make_pod(name, {{"gpu-fraction", "0.5"}});
    pod.containers[0].mirrored = limits_of_pod;
    reconciler.pod_changed(pod);
    ASSERT_EQ(bind(pod, "n1"), "");
    reconciler.pod_changed(bound(pod, api.bindings.back()));
  }
  Patches take_patches() { return std::exchange(api.patches, {}); }

  FakeLog lines;
  bool watch_shows = true;
  std::map<std::string, model::NodeFacts> nodes;
};

TEST_F(NodeMirrorTest, NodesWithGpusGetTheirCapacityAndOthersLoseIt) {
  begin({make_node("n1", 2, kMib), make_node("n2", 1, kMib), make_node("cpu", 0, kMib)});
  show("cpu", gpus(1));
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(2)}, {"n2", gpus(1)}, {"cpu", std::nullopt}}));
  mirror.write();
  put(make_node("n3", 4, kMib));
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n3", gpus(4)}}));
  show("n2", model::MirroredAmounts{});  // as a kubelet does that has just registered its node
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n2", gpus(1)}}));
  nodes.at("n1").mirrored.allocatable.milli = 7;
  put(nodes.at("n1"));
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(2)}}));
}

TEST_F(NodeMirrorTest, TheCapacityIsNeverBelowTheSumOfThePods) {
  begin({make_node("n1", 1, kMib)});
  service::NodeMirror mirror = make(kCards);
  carry("small", {{500}, {kMib / 2}});
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(1)}}));
  carry("large", {{9000}, {7}});
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", model::MirroredAmounts{{9500}, {kMib}}}}));
  put(make_node("n1", 0, kMib));  // its GPU vanishes
  show("n1", std::nullopt);
  mirror.write();
  EXPECT_EQ(take_patches().back(),
            (ScriptedApi::Patch{"n1", model::MirroredAmounts{{9500}, {kMib}}}));
  model::PodFacts gone = make_pod("large", {});
  reconciler.pod_gone(gone);
  gone = make_pod("small", {});
  reconciler.pod_gone(gone);
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", std::nullopt}}));
}

TEST_F(NodeMirrorTest, OneTickPatchesAFewNodes) {
  std::vector<model::NodeFacts> many;
  for (int i = 0; i < 20; ++i) many.push_back(make_node("n" + std::to_string(i), 1, kMib));
  begin(many);
  service::NodeMirror mirror = make(kCards);
  for (const std::size_t patched : {8U, 8U, 4U, 0U}) {
    mirror.write();
    EXPECT_EQ(take_patches().size(), patched);
  }
}

TEST_F(NodeMirrorTest, AFailedPatchIsRepeatedLaterAndLoggedOnce) {
  begin({make_node("n1", 1, kMib), make_node("n2", 1, kMib)});
  service::NodeMirror mirror = make(kCards);
  api.patch_errors.emplace("n1", kRefused);
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(1)}})) << "then there is a pause";
  mirror.write();
  EXPECT_EQ(take_patches(), Patches{});
  clock.advance(std::chrono::milliseconds(limits.mirror_pause_ms));
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n2", gpus(1)}}));
  put(make_node("n1", 2, kMib));
  mirror.write();
  EXPECT_EQ(take_patches(), Patches{}) << "a change does not end the wait after a failure";
  put(make_node("n1", 1, kMib));
  EXPECT_EQ(lines.take().size(), 1U);
  for (int i = 0; i < 3; ++i) {
    clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
    mirror.write();
  }
  EXPECT_EQ(take_patches().size(), 3U);
  EXPECT_EQ(lines.take(),
            (Lines{"the capacity of snug.dev/gpu-milli and snug.dev/gpu-memory-mib of "
                   "node n1 could not be written: forbidden"}))
      << "once for each change";
  api.patch_errors.clear();
  clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(1)}}));
}

TEST_F(NodeMirrorTest, APatchWithoutVisibleEffectIsRepeated) {
  begin({make_node("n1", 1, kMib)});
  watch_shows = false;
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  EXPECT_EQ(take_patches().size(), 1U);
  carry("pod", {{1}, {1}});  // the node changes, but not its capacity
  mirror.write();
  EXPECT_EQ(take_patches().size(), 0U);
  clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
  mirror.write();
  EXPECT_EQ(take_patches().size(), 1U);
  put(make_node("n1", 2, kMib));
  mirror.write();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(2)}})) << "at once, since the capacity is another";
}

TEST_F(NodeMirrorTest, ANodeThatIsGoneIsNotLogged) {
  begin({make_node("n1", 1, kMib), make_node("n2", 1, kMib)});
  service::NodeMirror mirror = make(kCards);
  api.patch_errors.emplace("n1", base::Error{base::ErrorCode::kNotFound, "gone"});
  mirror.write();
  EXPECT_EQ(take_patches().size(), 2U);
  reconciler.node_gone("n1");
  clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
  lines.clear();
  mirror.write();
  EXPECT_EQ(take_patches(), Patches{});
  EXPECT_EQ(api.parameters.size(), 1U);
  EXPECT_EQ(lines.lines().size(), 1U) << "of the parameters";
}

TEST_F(NodeMirrorTest, OnlyALeaderWrites) {
  begin({make_node("n1", 1, kMib)});
  readiness.stand_by("other", "");
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  EXPECT_EQ(take_patches(), Patches{});
  EXPECT_TRUE(api.parameters.empty());
}

TEST_F(NodeMirrorTest, ANewTermBeginsAnew) {
  begin({make_node("n1", 1, kMib)});
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 1U);
  mirror.stand_by();
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 2U);
  EXPECT_EQ(take_patches().size(), 1U) << "the node still shows its capacity";
}

TEST_F(NodeMirrorTest, TheParametersWaitForAllOpenGpuNodesAndThenStay) {
  begin({make_node("n1", 1, kMib), make_node("n2", 1, kMib), make_node("cpu", 0, kMib)});
  api.patch_errors.emplace("n2", kLost);
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  mirror.write();
  EXPECT_TRUE(api.parameters.empty()) << "n2 shows nothing";
  show("n2", model::MirroredAmounts{});
  mirror.write();
  EXPECT_TRUE(api.parameters.empty()) << "n2 shows 0";
  show("n2", gpus(1));
  mirror.write();
  ASSERT_EQ(api.parameters.size(), 1U);
  EXPECT_EQ(api.parameters[0], kCards);
  put(make_node("n3", 1, kMib));
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 1U);
}

TEST_F(NodeMirrorTest, ParametersAreWrittenAgainSinceSomebodyMayDeleteThem) {
  begin({make_node("n1", 1, kMib)});
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  show("n1", gpus(1));
  mirror.write();
  ASSERT_EQ(api.parameters.size(), 1U);
  lines.clear();
  clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms - 1));
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 1U);
  clock.advance(std::chrono::milliseconds{1});
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 2U);
  EXPECT_EQ(lines.take(), Lines{}) << "it is said once";
}

TEST_F(NodeMirrorTest, ANodeThatIsClosedToAllDoesNotHoldTheParametersBack) {
  model::NodeFacts closed = make_node("n2", 1, kMib);
  closed.labels["nvidia.com/mig.config.state"] = "pending";
  begin({make_node("n1", 1, kMib), closed});
  api.patch_errors.emplace("n2", kLost);
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 1U);
}

TEST_F(NodeMirrorTest, WithoutGpuNodesThereAreNoParameters) {
  begin({make_node("cpu", 0, kMib)});
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  EXPECT_TRUE(api.parameters.empty());
}

TEST_F(NodeMirrorTest, SwitchedOffItDeletesTheParametersBeforeTheResources) {
  begin({make_node("n1", 1, kMib), make_node("cpu", 0, kMib)});
  show("n1", gpus(1));
  show("cpu", gpus(1));
  api.parameters_error = kLost;
  service::NodeMirror mirror = make(std::nullopt);
  mirror.write();
  mirror.write();
  EXPECT_EQ(api.parameters.size(), 1U);
  EXPECT_EQ(take_patches(), Patches{});
  EXPECT_EQ(lines.take(),
            (Lines{"the parameters of the admission policy could not be deleted: time-out"}));
  api.parameters_error.reset();
  clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
  mirror.write();
  mirror.write();
  EXPECT_EQ(api.parameters, (decltype(api.parameters){std::nullopt, std::nullopt}));
  EXPECT_EQ(take_patches(), (Patches{{"n1", std::nullopt}, {"cpu", std::nullopt}}));
  put(make_node("n2", 1, kMib));
  mirror.write();
  EXPECT_EQ(take_patches(), Patches{});
  EXPECT_EQ(lines.take(), Lines{});
}

TEST_F(NodeMirrorTest, ParametersThatCannotBeWrittenAreLoggedOnce) {
  begin({make_node("n1", 1, kMib)});
  api.parameters_error = base::Error{base::ErrorCode::kInvalid, "no namespace"};
  service::NodeMirror mirror = make(kCards);
  for (int i = 0; i < 3; ++i) {
    mirror.write();
    mirror.write();
    clock.advance(std::chrono::milliseconds(limits.mirror_retry_ms));
  }
  EXPECT_EQ(api.parameters.size(), 3U);
  EXPECT_EQ(lines.take(),
            (Lines{"the parameters of the admission policy could not be written: no namespace"}));
}

TEST_F(NodeMirrorTest, ACardOutsideOfTheRangeIsLoggedOnceForItsNode) {
  begin({make_node("n1", 2, 81920), make_node("n2", 1, kMib), make_node("n3", 1, 1000)});
  service::NodeMirror mirror = make(kCards);
  mirror.write();
  const auto warning = [](const std::string& gpu, const std::string& resource) {
    return "node " + gpu +
           " MiB, which is not in the range from 40960 (smallestGpuMib) to 40960 MiB "
           "(largestGpuMib); the node's capacity of snug.dev/" +
           resource + " exceeds what this GPU has; widen the range to include it";
  };
  Lines warnings = lines.take();
  std::erase_if(warnings, [](const std::string& line) { return line.starts_with("all GPU"); });
  EXPECT_EQ(warnings, (Lines{warning("n1 has a GPU with 81920", "gpu-milli"),
                             warning("n3 has a GPU with 1000", "gpu-memory-mib")}));
  mirror.stand_by();
  mirror.write();
  put(make_node("n3", 2, 1000));
  mirror.write();
  warnings = lines.take();
  std::erase_if(warnings, [](const std::string& line) { return line.starts_with("all GPU"); });
  EXPECT_EQ(warnings, Lines{});
  put(make_node("n3", 2, 2000));
  mirror.write();
  EXPECT_EQ(lines.take(), (Lines{warning("n3 has a GPU with 2000", "gpu-memory-mib")}));
}

TEST_F(NodeMirrorTest, TheReconcilerRunsIt) {
  service::Reconciler other({ledger, pending, demand, readiness, api, metrics, lines, clock},
                            limits, kCards);
  begin({make_node("n1", 1, kMib)});
  other.tick();
  other.tick();
  EXPECT_EQ(take_patches(), (Patches{{"n1", gpus(1)}}));
  EXPECT_EQ(api.parameters.size(), 1U);
  readiness.stand_by("other", "");
  other.tick();
  readiness.start_leading();
  other.tick();
  EXPECT_EQ(api.parameters.size(), 1U) << "a new leader lists first";
  reconciler.node_list_started();
  begin({nodes.at("n1")});
  other.tick();
  EXPECT_EQ(api.parameters.size(), 2U);
}

TEST_F(NodeMirrorTest, TheRemovalWritesNothingElse) {
  service::Reconciler other({ledger, pending, demand, readiness, api, metrics, lines, clock},
                            limits);
  begin({make_node("n1", 1, kMib)});
  show("n1", gpus(1));
  model::NodeFacts broken = make_node("n2", 1, kMib);
  broken.annotations["snug.dev/inventory"] = "{";
  other.node_changed(broken);
  EXPECT_FALSE(other.remove_mirrors()) << "the node shows shares";
  EXPECT_EQ(take_patches(), (Patches{{"n1", std::nullopt}}));
  EXPECT_TRUE(other.remove_mirrors());
  EXPECT_EQ(api.parameters.size(), 1U);
  EXPECT_THAT(api.touches, ::testing::IsEmpty()) << "it may not wake pods";
  EXPECT_THAT(api.notices, ::testing::IsEmpty());
}

}  // namespace
}  // namespace snug::testing::node_mirror_test

#include "snug/fit/node_usage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/node_states.hpp"

namespace snug::usage_test {
namespace {

constexpr std::string_view kTwo = "n1: A100 40960 x2";

model::ReservedDevice with_uuid(model::ReservedDevice device, std::string uuid) {
  device.uuid = std::move(uuid);
  return device;
}

model::ReservedDevice in_mode(model::ReservedDevice device, model::GpuMode mode) {
  device.mode = mode;
  return device;
}

TEST(UsageTest, AnEmptyNodeIsAllRoom) {
  const model::NodeStatePtr node = make_state(kTwo);
  ASSERT_EQ(node->gpus.size(), 2U);
  for (const model::GpuState& gpu : node->gpus) {
    EXPECT_EQ(gpu.used_memory, base::MebiBytes{0});
    EXPECT_EQ(gpu.used_compute, base::MilliGpu{0});
    EXPECT_EQ(gpu.mode, model::GpuMode::kNone);
    EXPECT_EQ(gpu.closure, model::GpuClosure::kOpen);
    EXPECT_EQ(gpu.free_milli_sum, 2000);
    EXPECT_TRUE(gpu.empty());
  }
  EXPECT_EQ(node->free_milli_sum, 4000);
  EXPECT_EQ(node->name(), "n1");
}

TEST(UsageTest, SharesAddUpOnTheirGpuAndSetItsMode) {
  const model::NodeStatePtr node =
      make_state(kTwo, {make_holding("a", "n1", {make_share(1, 10240, 250)}),
                        make_holding("b", "n1", {make_share(1, 20480, 500)})});
  EXPECT_TRUE(node->gpus[0].empty());
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{30720});
  EXPECT_EQ(node->gpus[1].used_compute, base::MilliGpu{750});
  EXPECT_EQ(node->gpus[1].mode, model::GpuMode::kTimeSlicing);
  EXPECT_EQ(node->gpus[1].free_milli_sum, 500);
  EXPECT_EQ(node->free_milli_sum, 2500);
  EXPECT_EQ(node->snug_assigned_pods, 2);
  EXPECT_EQ(node->kubelet_assigned_pods, 0);
}

TEST(UsageTest, AHoldingCountsOnceHoweverManyDevicesAndContainersItHas) {
  auto holding = make_holding("a", "n1", {make_whole_device(0, 40960)});
  holding->reservation.containers.push_back(holding->reservation.containers.front());
  holding->reservation.containers.back().assigned =
      std::vector<model::ReservedDevice>{make_whole_device(1, 40960)};
  const model::NodeStatePtr node = make_state(kTwo, {holding});
  EXPECT_EQ(node->snug_assigned_pods, 1);
  EXPECT_EQ(node->free_milli_sum, 0);
  EXPECT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen);
}

TEST(UsageTest, AWholeGpuIsTakenWholeWhateverItsReservationSays) {
  for (const std::int64_t said : {std::int64_t{1}, std::int64_t{40960}}) {
    model::ReservedDevice device = make_whole_device(0, said);
    device.compute = {1};
    const model::NodeStatePtr node = make_state(kTwo, {make_holding("a", "n1", {device})});
    EXPECT_EQ(node->gpus[0].used_memory, base::MebiBytes{40960});
    EXPECT_EQ(node->gpus[0].used_compute, base::kWholeGpu);
    EXPECT_EQ(node->gpus[0].mode, model::GpuMode::kWhole);
    EXPECT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen);
  }
}

TEST(UsageTest, ClosuresSayWhatIsWrong) {
  using model::GpuClosure;
  using model::GpuMode;
  using model::ReservedDevice;
  const ReservedDevice half = make_share(0, 20480, 500);
  const ReservedDevice whole = make_whole_device(0, 40960);
  struct Row {
    std::string_view why;
    std::string_view node;
    std::vector<ReservedDevice> devices;  // of one pod each
    GpuClosure closure;
  };
  const std::vector<Row> rows = {
      {"exactly full", kTwo, {half, half}, GpuClosure::kOpen},
      {"too much memory", kTwo, {half, make_share(0, 20481, 1)}, GpuClosure::kOverCommitted},
      {"too much compute", kTwo, {half, make_share(0, 1, 501)}, GpuClosure::kOverCommitted},
      {"two whole holders", kTwo, {whole, whole}, GpuClosure::kOverCommitted},
      {"whole and share", kTwo, {whole, half}, GpuClosure::kModeConflict},
      {"share and whole", kTwo, {half, whole}, GpuClosure::kModeConflict},
      {"two sharing modes", kTwo, {half, in_mode(half, GpuMode::kMps)}, GpuClosure::kModeConflict},
      {"slice and share",
       "n1: A 40960 mig",
       {in_mode(half, GpuMode::kMig), half},
       GpuClosure::kModeConflict},
      {"a mode that is not allowed", kTwo, {in_mode(half, GpuMode::kMps)}, GpuClosure::kSuspect},
      {"a share of a GPU for wholes", "n1: A100 40960 modes=whole", {half}, GpuClosure::kSuspect},
      {"a whole of a GPU for shares", "n1: A100 40960 modes=mps", {whole}, GpuClosure::kSuspect},
      {"a share of a GPU in MIG mode", "n1: A100 40960 mig", {half}, GpuClosure::kSuspect},
      {"a slice of one that is not", kTwo, {in_mode(half, GpuMode::kMig)}, GpuClosure::kSuspect},
      {"unhealthy", "n1: T4 16384 unhealthy", {}, GpuClosure::kUnhealthy},
      {"unhealthy and held", "n1: T4 40960 unhealthy", {half}, GpuClosure::kUnhealthy},
      {"unhealthy and over-committed",
       "n1: T4 16384 unhealthy",
       {half, make_share(0, 1, 501)},
       GpuClosure::kOverCommitted},
      {"a smaller inventory than before", "n1: T4 16384", {half}, GpuClosure::kOverCommitted}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    std::vector<model::HoldingPtr> holdings;
    for (const ReservedDevice& device : row.devices) {
      holdings.push_back(make_holding("p" + std::to_string(holdings.size()), "n1", {device}));
    }
    const model::NodeStatePtr node = make_state(row.node, holdings);
    EXPECT_EQ(node->gpus[0].closure, row.closure);
    EXPECT_EQ(node->gpus[0].free_milli_sum > 0,
              row.closure == GpuClosure::kOpen && row.devices.empty());
    EXPECT_EQ(node->snug_assigned_pods, static_cast<int>(row.devices.size()));
    base::MebiBytes sum;
    for (const ReservedDevice& device : row.devices) {
      sum += device.mode == GpuMode::kWhole ? node->gpus[0].memory : device.memory;
    }
    EXPECT_EQ(node->gpus[0].used_memory, sum) << "all holders stay counted";
  }
}

TEST(UsageTest, ASuspectReservationClosesOnlyItsOwnGpus) {
  auto suspect = make_holding("a", "n1", {make_share(0, 1024, 25)});
  suspect->suspect = true;
  const model::NodeStatePtr node =
      make_state(kTwo, {suspect, make_holding("b", "n1", {make_share(1, 1024, 25)})});
  EXPECT_EQ(node->gpus[0].closure, model::GpuClosure::kSuspect);
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[0].used_memory, base::MebiBytes{1024});
}

TEST(UsageTest, AReservationCountsForWhatItsRequestCostsWhereItStatesSomethingElse) {
  struct Row {
    std::string_view why;
    std::string_view node;
    model::DeviceRequest ask;
    model::ReservedDevice device;
    std::int64_t memory;
    std::int64_t compute;
    model::GpuClosure closure;
  };
  const std::vector<Row> rows = {
      {"right", kTwo, model::FractionRequest{500}, make_share(0, 20480, 500), 20480, 500,
       model::GpuClosure::kOpen},
      {"forged memory", kTwo, model::FractionRequest{500}, make_share(0, 1, 500), 20480, 500,
       model::GpuClosure::kSuspect},
      {"forged compute", kTwo, model::MemoryRequest{{4096}}, make_share(0, 4096, 1), 4096, 100,
       model::GpuClosure::kSuspect},
      {"the larger in each dimension", kTwo, model::FractionRequest{500}, make_share(0, 1, 700),
       20480, 700, model::GpuClosure::kSuspect},
      {"more than asked", kTwo, model::FractionRequest{500}, make_share(0, 40960, 500), 40960, 500,
       model::GpuClosure::kSuspect},
      {"a whole GPU given as a share", kTwo, model::WholeGpuRequest{}, make_share(0, 1, 1), 40960,
       1000, model::GpuClosure::kSuspect},
      {"larger than the GPU", kTwo, model::WholeGpuRequest{}, make_whole_device(0, 81920), 81920,
       1000, model::GpuClosure::kOverCommitted},
      {"the GPU has grown a little", "n1: A100 40964", model::FractionRequest{500},
       make_share(0, 20480, 500), 20482, 500, model::GpuClosure::kOpen},
      {"the GPU has shrunk a little", "n1: A100 40950", model::FractionRequest{500},
       make_share(0, 20480, 500), 20475, 500, model::GpuClosure::kOpen},
      {"shrunk a little, by memory", "n1: A100 40950", model::MemoryRequest{{4096}},
       make_share(0, 4096, 99), 4096, 99, model::GpuClosure::kOpen},
      {"shrunk a little, and held whole", "n1: A100 40950", model::WholeGpuRequest{},
       make_whole_device(0, 40960), 40950, 1000, model::GpuClosure::kOpen},
      {"shrunk below what is held", "n1: T4 16384", model::FractionRequest{500},
       make_share(0, 20480, 500), 20480, 500, model::GpuClosure::kOverCommitted},
      {"another card at the index", "n1: A100 81920", model::FractionRequest{500},
       make_share(0, 20480, 500), 40960, 500, model::GpuClosure::kSuspect},
      {"unhealthy", "n1: A100 40960 unhealthy", model::FractionRequest{500}, make_share(0, 1, 500),
       20480, 500, model::GpuClosure::kUnhealthy},
      {"vanished", "n1:", model::FractionRequest{500}, make_share(0, 1, 500), 1, 500,
       model::GpuClosure::kVanished}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    auto holding = make_holding("a", "n1", {row.device});
    holding->container_requests = {model::ContainerRequest{.device = row.ask}};
    const model::NodeStatePtr node = make_state(row.node, {holding});
    EXPECT_EQ(node->gpus[0].used_memory, base::MebiBytes{row.memory});
    EXPECT_EQ(node->gpus[0].used_compute, base::MilliGpu{row.compute});
    EXPECT_EQ(node->gpus[0].closure, row.closure);
  }
}

TEST(UsageTest, EachContainerIsComparedWithItsOwnRequest) {
  auto holding = make_holding("a", "n1", {make_share(0, 20480, 500)});
  holding->reservation.containers.push_back(
      {.name = "side", .request_text = "?", .assigned = std::vector{make_share(1, 1, 1)}});
  holding->container_requests = {model::ContainerRequest{.device = model::FractionRequest{500}},
                                 std::nullopt};
  const model::NodeStatePtr unknown = make_state(kTwo, {holding});
  EXPECT_EQ(unknown->gpus[0].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(unknown->gpus[1].used_memory, base::MebiBytes{1})
      << "there is nothing to compare it with";
  auto forged = std::make_shared<model::Holding>(*holding);
  forged->container_requests[1] = model::ContainerRequest{.device = model::FractionRequest{250}};
  const model::NodeStatePtr node = make_state(kTwo, {forged});
  EXPECT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kSuspect);
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{10240});
}

TEST(UsageTest, ADeviceHeldByUuidFollowsItsGpuToAnotherIndex) {
  const model::NodeStatePtr node = make_state(
      kTwo,
      {make_holding("a", "n1", {with_uuid(make_share(0, 1024, 25), make_gpu_uuid("n1", 1))})});
  EXPECT_TRUE(node->gpus[0].empty());
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{1024});
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kOpen);
}

TEST(UsageTest, AChangedUuidClosesTheGpuAtTheIndexAndChargesIt) {
  const model::NodeStatePtr node =
      make_state(kTwo, {make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), "GPU-old")})});
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kChanged);
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{1024});
  EXPECT_EQ(node->gpus[0].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(node->gpus.size(), 2U);
}

TEST(UsageTest, AnInventoryWithoutUuidsContradictsNoReservation) {
  const model::NodeStatePtr node =
      make_state("n1: A100 40960 x2 by-index",
                 {make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), "GPU-old")})});
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{1024});
}

TEST(UsageTest, ADeviceHeldByIndexIsWhateverGpuHasThatIndex) {
  const model::NodeStatePtr node =
      make_state(kTwo, {make_holding("a", "n1", {make_share(1, 1024, 25)})});
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{1024});
  EXPECT_EQ(node->gpus[1].closure, model::GpuClosure::kOpen);
}

TEST(UsageTest, IndicesAreNamesNotPositions) {
  model::NodeInventory inventory = make_node(kTwo);
  inventory.gpus[0].index = 3;
  inventory.gpus[1].index = 7;
  const model::NodeStatePtr node =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory),
                            {make_holding("a", "n1", {make_share(7, 1024, 25)})});
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{1024});
}

TEST(UsageTest, VanishedGpusKeepTheirHoldersAfterTheInventorys) {
  const model::NodeStatePtr node = make_state(
      "n1: A100 40960", {make_holding("a", "n1", {with_uuid(make_share(4, 1024, 25), "GPU-x")}),
                         make_holding("b", "n1", {with_uuid(make_share(4, 1024, 25), "GPU-x")}),
                         make_holding("c", "n1", {with_uuid(make_share(4, 512, 10), "GPU-y")}),
                         make_holding("d", "n1", {make_whole_device(9, 40960)})});
  ASSERT_EQ(node->gpus.size(), 4U);
  ASSERT_EQ(node->vanished.size(), 3U);
  for (std::size_t i = 1; i < node->gpus.size(); ++i) {
    EXPECT_EQ(node->gpus[i].closure, model::GpuClosure::kVanished);
    EXPECT_EQ(node->gpus[i].info, &node->vanished[i - 1]);
    EXPECT_EQ(node->gpus[i].free_milli_sum, 0);
  }
  EXPECT_EQ(node->gpus[1].used_memory, base::MebiBytes{2048});
  EXPECT_EQ(node->gpus[1].info->uuid, "GPU-x");
  EXPECT_EQ(node->gpus[2].used_memory, base::MebiBytes{512});
  EXPECT_EQ(node->gpus[3].info->index, 9);
  EXPECT_EQ(node->free_milli_sum, 2000);
  EXPECT_EQ(node->snug_assigned_pods, 4);
}

TEST(UsageTest, AGpuThatComesBackTakesItsHoldersBack) {
  const std::vector<model::HoldingPtr> holdings = {
      make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), make_gpu_uuid("n1", 1))})};
  EXPECT_EQ(make_state("n1: A100 40960", holdings)->gpus[1].closure, model::GpuClosure::kVanished);
  const model::NodeStatePtr back = make_state(kTwo, holdings);
  EXPECT_EQ(back->gpus[1].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(back->gpus[1].used_memory, base::MebiBytes{1024});
  EXPECT_TRUE(back->vanished.empty());
}

TEST(UsageTest, KubeletUnitsAreCountedByResourceWithoutDevices) {
  const model::NodeStatePtr node =
      make_state(kTwo, {make_units_holding("a", "n1", 1), make_units_holding("b", "n1", 2),
                        make_units_holding("c", "n1", 4, "nvidia.com/mig-1g.5gb")});
  EXPECT_EQ(node->kubelet_used.at("nvidia.com/gpu"), 3);
  EXPECT_EQ(node->kubelet_used.at("nvidia.com/mig-1g.5gb"), 4);
  EXPECT_EQ(node->kubelet_assigned_pods, 3);
  EXPECT_EQ(node->snug_assigned_pods, 0);
  EXPECT_TRUE(node->gpus[0].empty());
}

TEST(UsageTest, OtherHoldingsLeaveWhatIsCountedWithoutBeingListed) {
  const auto inventory = std::make_shared<const model::NodeInventory>(make_node(kTwo));
  const auto on_host = [](std::string_view uid) {
    auto pod = make_holding(uid, "n1", {});
    pod->reservation.containers.clear();
    pod->host = {.cpu_milli = 100, .memory_bytes = 10};
    pod->mirrored = {.milli = {1}, .memory = {2}};
    return pod;
  };
  const model::HoldingPtr share = make_holding("a", "n1", {make_share(0, 1024, 25)});
  const model::HoldingPtr host = on_host("h");
  const model::NodeStatePtr listed = fit::build_node_state(
      inventory, {share},
      {.requested = host->host, .mirrored = host->mirrored, .pod_count = 1, .listed = {host}});
  const model::NodeStatePtr counted =
      fit::build_node_state(inventory, {share},
                            {.requested = {.cpu_milli = 5000, .memory_bytes = 700},
                             .mirrored = {.milli = {50}, .memory = {70}},
                             .pod_count = 1100,
                             .listed = {}});
  struct Row {
    std::string_view why;
    model::NodeStatePtr node;
    model::HostResources used;
    model::MirroredAmounts mirrored;
    std::int64_t pods;
  };
  for (const Row& row : std::vector<Row>{
           {"those that it lists are all", fit::with_holdings(*listed, {share}), {}, {}, 1},
           {"as they were",
            fit::with_holdings(*listed, listed->holdings),
            {100, 10},
            {{1}, {2}},
            2},
           {"others beside those counted",
            fit::with_holdings(*counted, {host}),
            {5100, 710},
            {{51}, {72}},
            1101},
           {"and none",
            fit::with_holdings(*fit::with_holdings(*counted, {host}), {}),
            {5000, 700},
            {{50}, {70}},
            1100}}) {
    EXPECT_EQ(row.node->mirrored_used, row.mirrored) << row.why;
    EXPECT_EQ(row.node->host_used, row.used) << row.why;
    EXPECT_EQ(row.node->pod_count, row.pods) << row.why;
  }
}

TEST(UsageTest, ConflictsOfAWholeNodeSayWhatIsWrong) {
  model::NodeInventory two = make_node(kTwo);
  two.kubelet_capacity["nvidia.com/gpu"] = 2;
  const model::HoldingPtr share = make_holding("s", "n1", {make_share(0, 1024, 25)});
  const model::HoldingPtr one = make_units_holding("a", "n1", 1);
  const model::HoldingPtr other = make_units_holding("b", "n1", 1);
  const model::HoldingPtr third = make_units_holding("c", "n1", 1);
  const model::HoldingPtr foreign = make_units_holding("d", "n1", 1, "nvidia.com/mig-1g.5gb");
  struct Row {
    std::string_view why;
    std::vector<model::HoldingPtr> holdings;
    model::NodeConflict conflict;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, model::NodeConflict::kNone},
      {"shares alone", {share}, model::NodeConflict::kNone},
      {"as many units as there are", {one, other}, model::NodeConflict::kNone},
      {"one unit more", {one, other, third}, model::NodeConflict::kUnitsOverCommitted},
      {"a resource that the node has not", {foreign}, model::NodeConflict::kUnitsOverCommitted},
      {"a share beside a unit", {share, one}, model::NodeConflict::kMixedAssigners},
      {"a pod without device beside a unit",
       {make_unplaced("u", "n1"), one},
       model::NodeConflict::kNone}};
  for (const Row& row : rows) {
    const model::NodeStatePtr node =
        fit::build_node_state(std::make_shared<const model::NodeInventory>(two), row.holdings);
    EXPECT_EQ(node->conflict, row.conflict) << row.why;
    EXPECT_EQ(node->holdings.size(), row.holdings.size()) << row.why;
  }
}

TEST(UsageTest, APodWithoutDevicesIsCountedAsUnplaced) {
  const model::NodeStatePtr node = make_state(kTwo, {make_unplaced("a", "n1")});
  EXPECT_EQ(node->unplaced_pods, 1);
  EXPECT_EQ(node->snug_assigned_pods, 0);
  EXPECT_EQ(node->free_milli_sum, 4000);
}

TEST(UsageTest, TheOrderOfHoldingsDoesNotChangeWhatIsUsed) {
  std::vector<model::HoldingPtr> holdings = {
      make_holding("a", "n1", {make_share(0, 1000, 100)}),
      make_holding("b", "n1", {make_share(0, 2000, 200), make_share(5, 1, 1)}),
      make_holding("c", "n1", {make_whole_device(1, 40960)})};
  const auto gpus_of = [](const model::NodeStatePtr& node) {
    std::string text;
    for (const model::GpuState& gpu : node->gpus) text += describe(gpu);
    return text;
  };
  const std::string forward = gpus_of(make_state(kTwo, holdings));
  std::reverse(holdings.begin(), holdings.end());
  EXPECT_EQ(gpus_of(make_state(kTwo, holdings)), forward);
}

}  // namespace
}  // namespace snug::usage_test

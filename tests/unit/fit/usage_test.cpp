#include "snug/fit/usage.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/states.hpp"

namespace snug::usage_test {
namespace {

constexpr std::string_view kTwo = "n1: A100 40960 x2";

ReservedDevice with_uuid(ReservedDevice device, std::string uuid) {
  device.uuid = std::move(uuid);
  return device;
}

ReservedDevice in_mode(ReservedDevice device, GpuMode mode) {
  device.mode = mode;
  return device;
}

TEST(UsageTest, AnEmptyNodeIsAllRoom) {
  const NodeStatePtr node = make_state(kTwo);
  ASSERT_EQ(node->gpus.size(), 2U);
  for (const GpuState& gpu : node->gpus) {
    EXPECT_EQ(gpu.used_memory, MebiBytes{0});
    EXPECT_EQ(gpu.used_compute, MilliGpu{0});
    EXPECT_EQ(gpu.mode, GpuMode::kNone);
    EXPECT_EQ(gpu.closure, GpuClosure::kOpen);
    EXPECT_EQ(gpu.room, 2000);
    EXPECT_TRUE(gpu.empty());
  }
  EXPECT_EQ(node->room, 4000);
  EXPECT_EQ(node->name(), "n1");
}

TEST(UsageTest, SharesAddUpOnTheirGpuAndSetItsMode) {
  const NodeStatePtr node =
      make_state(kTwo, {make_holding("a", "n1", {make_share(1, 10240, 250)}),
                        make_holding("b", "n1", {make_share(1, 20480, 500)})});
  EXPECT_TRUE(node->gpus[0].empty());
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{30720});
  EXPECT_EQ(node->gpus[1].used_compute, MilliGpu{750});
  EXPECT_EQ(node->gpus[1].mode, GpuMode::kTimeSlicing);
  EXPECT_EQ(node->gpus[1].room, 500);
  EXPECT_EQ(node->room, 2500);
  EXPECT_EQ(node->snug_assigned, 2);
  EXPECT_EQ(node->kubelet_assigned, 0);
}

TEST(UsageTest, AHoldingCountsOnceHoweverManyDevicesAndContainersItHas) {
  auto holding = make_holding("a", "n1", {make_whole_device(0, 40960)});
  holding->reservation.containers.push_back(holding->reservation.containers.front());
  holding->reservation.containers.back().given =
      std::vector<ReservedDevice>{make_whole_device(1, 40960)};
  const NodeStatePtr node = make_state(kTwo, {holding});
  EXPECT_EQ(node->snug_assigned, 1);
  EXPECT_EQ(node->room, 0);
  EXPECT_EQ(node->gpus[0].closure, GpuClosure::kOpen);
}

TEST(UsageTest, AWholeGpuIsTakenWholeWhateverItsReservationSays) {
  for (const std::int64_t said : {std::int64_t{1}, std::int64_t{40960}}) {
    ReservedDevice device = make_whole_device(0, said);
    device.compute = {1};
    const NodeStatePtr node = make_state(kTwo, {make_holding("a", "n1", {device})});
    EXPECT_EQ(node->gpus[0].used_memory, MebiBytes{40960});
    EXPECT_EQ(node->gpus[0].used_compute, kWholeGpu);
    EXPECT_EQ(node->gpus[0].mode, GpuMode::kWhole);
    EXPECT_EQ(node->gpus[0].closure, GpuClosure::kOpen);
  }
}

TEST(UsageTest, ClosuresSayWhatIsWrong) {
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
    std::vector<HoldingPtr> holdings;
    for (const ReservedDevice& device : row.devices) {
      holdings.push_back(make_holding("p" + std::to_string(holdings.size()), "n1", {device}));
    }
    const NodeStatePtr node = make_state(row.node, holdings);
    EXPECT_EQ(node->gpus[0].closure, row.closure);
    EXPECT_EQ(node->gpus[0].room > 0, row.closure == GpuClosure::kOpen && row.devices.empty());
    EXPECT_EQ(node->snug_assigned, static_cast<int>(row.devices.size()));
    MebiBytes sum;
    for (const ReservedDevice& device : row.devices) {
      sum += device.mode == GpuMode::kWhole ? node->gpus[0].memory : device.memory;
    }
    EXPECT_EQ(node->gpus[0].used_memory, sum) << "all holders stay counted";
  }
}

TEST(UsageTest, ASuspectReservationClosesOnlyItsOwnGpus) {
  auto suspect = make_holding("a", "n1", {make_share(0, 1024, 25)});
  suspect->suspect = true;
  const NodeStatePtr node =
      make_state(kTwo, {suspect, make_holding("b", "n1", {make_share(1, 1024, 25)})});
  EXPECT_EQ(node->gpus[0].closure, GpuClosure::kSuspect);
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[0].used_memory, MebiBytes{1024});
}

TEST(UsageTest, AReservationCountsForWhatItsRequestCostsWhereItStatesSomethingElse) {
  struct Row {
    std::string_view why;
    std::string_view node;
    Ask ask;
    ReservedDevice device;
    std::int64_t memory;
    std::int64_t compute;
    GpuClosure closure;
  };
  const std::vector<Row> rows = {
      {"right", kTwo, FractionAsk{500}, make_share(0, 20480, 500), 20480, 500, GpuClosure::kOpen},
      {"forged memory", kTwo, FractionAsk{500}, make_share(0, 1, 500), 20480, 500,
       GpuClosure::kSuspect},
      {"forged compute", kTwo, MemoryAsk{{4096}}, make_share(0, 4096, 1), 4096, 100,
       GpuClosure::kSuspect},
      {"the larger in each dimension", kTwo, FractionAsk{500}, make_share(0, 1, 700), 20480, 700,
       GpuClosure::kSuspect},
      {"more than asked", kTwo, FractionAsk{500}, make_share(0, 40960, 500), 40960, 500,
       GpuClosure::kSuspect},
      {"a whole GPU given as a share", kTwo, WholeAsk{}, make_share(0, 1, 1), 40960, 1000,
       GpuClosure::kSuspect},
      {"larger than the GPU", kTwo, WholeAsk{}, make_whole_device(0, 81920), 81920, 1000,
       GpuClosure::kOverCommitted},
      {"the GPU has grown a little", "n1: A100 40964", FractionAsk{500}, make_share(0, 20480, 500),
       20482, 500, GpuClosure::kOpen},
      {"the GPU has shrunk a little", "n1: A100 40950", FractionAsk{500}, make_share(0, 20480, 500),
       20475, 500, GpuClosure::kOpen},
      {"shrunk a little, by memory", "n1: A100 40950", MemoryAsk{{4096}}, make_share(0, 4096, 99),
       4096, 99, GpuClosure::kOpen},
      {"shrunk a little, and held whole", "n1: A100 40950", WholeAsk{}, make_whole_device(0, 40960),
       40950, 1000, GpuClosure::kOpen},
      {"shrunk below what is held", "n1: T4 16384", FractionAsk{500}, make_share(0, 20480, 500),
       20480, 500, GpuClosure::kOverCommitted},
      {"another card at the index", "n1: A100 81920", FractionAsk{500}, make_share(0, 20480, 500),
       40960, 500, GpuClosure::kSuspect},
      {"unhealthy", "n1: A100 40960 unhealthy", FractionAsk{500}, make_share(0, 1, 500), 20480, 500,
       GpuClosure::kUnhealthy},
      {"vanished", "n1:", FractionAsk{500}, make_share(0, 1, 500), 1, 500, GpuClosure::kVanished}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.why);
    auto holding = make_holding("a", "n1", {row.device});
    holding->asks = {ContainerRequest{.ask = row.ask}};
    const NodeStatePtr node = make_state(row.node, {holding});
    EXPECT_EQ(node->gpus[0].used_memory, MebiBytes{row.memory});
    EXPECT_EQ(node->gpus[0].used_compute, MilliGpu{row.compute});
    EXPECT_EQ(node->gpus[0].closure, row.closure);
  }
}

TEST(UsageTest, EachContainerIsComparedWithItsOwnRequest) {
  auto holding = make_holding("a", "n1", {make_share(0, 20480, 500)});
  holding->reservation.containers.push_back(
      {.name = "side", .request = "?", .given = std::vector{make_share(1, 1, 1)}});
  holding->asks = {ContainerRequest{.ask = FractionAsk{500}}, std::nullopt};
  const NodeStatePtr unknown = make_state(kTwo, {holding});
  EXPECT_EQ(unknown->gpus[0].closure, GpuClosure::kOpen);
  EXPECT_EQ(unknown->gpus[1].used_memory, MebiBytes{1}) << "there is nothing to compare it with";
  auto forged = std::make_shared<Holding>(*holding);
  forged->asks[1] = ContainerRequest{.ask = FractionAsk{250}};
  const NodeStatePtr node = make_state(kTwo, {forged});
  EXPECT_EQ(node->gpus[0].closure, GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kSuspect);
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{10240});
}

TEST(UsageTest, ADeviceHeldByUuidFollowsItsGpuToAnotherIndex) {
  const NodeStatePtr node = make_state(
      kTwo, {make_holding("a", "n1", {with_uuid(make_share(0, 1024, 25), gpu_uuid("n1", 1))})});
  EXPECT_TRUE(node->gpus[0].empty());
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{1024});
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kOpen);
}

TEST(UsageTest, AChangedUuidClosesTheGpuAtTheIndexAndChargesIt) {
  const NodeStatePtr node =
      make_state(kTwo, {make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), "GPU-old")})});
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kChanged);
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{1024});
  EXPECT_EQ(node->gpus[0].closure, GpuClosure::kOpen);
  EXPECT_EQ(node->gpus.size(), 2U);
}

TEST(UsageTest, AnInventoryWithoutUuidsContradictsNoReservation) {
  const NodeStatePtr node =
      make_state("n1: A100 40960 x2 by-index",
                 {make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), "GPU-old")})});
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kOpen);
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{1024});
}

TEST(UsageTest, ADeviceHeldByIndexIsWhateverGpuHasThatIndex) {
  const NodeStatePtr node = make_state(kTwo, {make_holding("a", "n1", {make_share(1, 1024, 25)})});
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{1024});
  EXPECT_EQ(node->gpus[1].closure, GpuClosure::kOpen);
}

TEST(UsageTest, IndicesAreNamesNotPositions) {
  NodeInventory inventory = make_node(kTwo);
  inventory.gpus[0].index = 3;
  inventory.gpus[1].index = 7;
  const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(inventory),
                                   {make_holding("a", "n1", {make_share(7, 1024, 25)})});
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{1024});
}

TEST(UsageTest, VanishedGpusKeepTheirHoldersAfterTheInventorys) {
  const NodeStatePtr node = make_state(
      "n1: A100 40960", {make_holding("a", "n1", {with_uuid(make_share(4, 1024, 25), "GPU-x")}),
                         make_holding("b", "n1", {with_uuid(make_share(4, 1024, 25), "GPU-x")}),
                         make_holding("c", "n1", {with_uuid(make_share(4, 512, 10), "GPU-y")}),
                         make_holding("d", "n1", {make_whole_device(9, 40960)})});
  ASSERT_EQ(node->gpus.size(), 4U);
  ASSERT_EQ(node->vanished.size(), 3U);
  for (std::size_t i = 1; i < node->gpus.size(); ++i) {
    EXPECT_EQ(node->gpus[i].closure, GpuClosure::kVanished);
    EXPECT_EQ(node->gpus[i].info, &node->vanished[i - 1]);
    EXPECT_EQ(node->gpus[i].room, 0);
  }
  EXPECT_EQ(node->gpus[1].used_memory, MebiBytes{2048});
  EXPECT_EQ(node->gpus[1].info->uuid, "GPU-x");
  EXPECT_EQ(node->gpus[2].used_memory, MebiBytes{512});
  EXPECT_EQ(node->gpus[3].info->index, 9);
  EXPECT_EQ(node->room, 2000);
  EXPECT_EQ(node->snug_assigned, 4);
}

TEST(UsageTest, AGpuThatComesBackTakesItsHoldersBack) {
  const std::vector<HoldingPtr> holdings = {
      make_holding("a", "n1", {with_uuid(make_share(1, 1024, 25), gpu_uuid("n1", 1))})};
  EXPECT_EQ(make_state("n1: A100 40960", holdings)->gpus[1].closure, GpuClosure::kVanished);
  const NodeStatePtr back = make_state(kTwo, holdings);
  EXPECT_EQ(back->gpus[1].closure, GpuClosure::kOpen);
  EXPECT_EQ(back->gpus[1].used_memory, MebiBytes{1024});
  EXPECT_TRUE(back->vanished.empty());
}

TEST(UsageTest, KubeletUnitsAreCountedByResourceWithoutDevices) {
  const NodeStatePtr node =
      make_state(kTwo, {make_units_holding("a", "n1", 1), make_units_holding("b", "n1", 2),
                        make_units_holding("c", "n1", 4, "nvidia.com/mig-1g.5gb")});
  EXPECT_EQ(node->kubelet_used.at("nvidia.com/gpu"), 3);
  EXPECT_EQ(node->kubelet_used.at("nvidia.com/mig-1g.5gb"), 4);
  EXPECT_EQ(node->kubelet_assigned, 3);
  EXPECT_EQ(node->snug_assigned, 0);
  EXPECT_TRUE(node->gpus[0].empty());
}

TEST(UsageTest, OtherHoldingsLeaveWhatIsCountedWithoutBeingListed) {
  const auto inventory = std::make_shared<const NodeInventory>(make_node(kTwo));
  const auto on_host = [](std::string_view uid) {
    auto pod = make_holding(uid, "n1", {});
    pod->reservation.containers.clear();
    pod->host = {.cpu_milli = 100, .memory_bytes = 10};
    return pod;
  };
  const HoldingPtr share = make_holding("a", "n1", {make_share(0, 1024, 25)});
  const HoldingPtr host = on_host("h");
  const NodeStatePtr listed =
      add_up(inventory, {share}, {.used = host->host, .pods = 1, .listed = {host}});
  const NodeStatePtr counted =
      add_up(inventory, {share},
             {.used = {.cpu_milli = 5000, .memory_bytes = 700}, .pods = 1100, .listed = {}});
  struct Row {
    std::string_view why;
    NodeStatePtr node;
    HostAmounts used;
    std::int64_t pods;
  };
  for (const Row& row : std::vector<Row>{
           {"those that it lists are all", with_holdings(*listed, {share}), {}, 1},
           {"as they were", with_holdings(*listed, listed->holdings), {100, 10}, 2},
           {"others beside those counted", with_holdings(*counted, {host}), {5100, 710}, 1101},
           {"and none", with_holdings(*with_holdings(*counted, {host}), {}), {5000, 700}, 1100}}) {
    EXPECT_EQ(row.node->host_used, row.used) << row.why;
    EXPECT_EQ(row.node->pods, row.pods) << row.why;
  }
}

TEST(UsageTest, ConflictsOfAWholeNodeSayWhatIsWrong) {
  NodeInventory two = make_node(kTwo);
  two.kubelet_capacity["nvidia.com/gpu"] = 2;
  const HoldingPtr share = make_holding("s", "n1", {make_share(0, 1024, 25)});
  const HoldingPtr one = make_units_holding("a", "n1", 1);
  const HoldingPtr other = make_units_holding("b", "n1", 1);
  const HoldingPtr third = make_units_holding("c", "n1", 1);
  const HoldingPtr foreign = make_units_holding("d", "n1", 1, "nvidia.com/mig-1g.5gb");
  struct Row {
    std::string_view why;
    std::vector<HoldingPtr> holdings;
    NodeConflict conflict;
  };
  const std::vector<Row> rows = {
      {"nothing", {}, NodeConflict::kNone},
      {"shares alone", {share}, NodeConflict::kNone},
      {"as many units as there are", {one, other}, NodeConflict::kNone},
      {"one unit more", {one, other, third}, NodeConflict::kUnitsOverTaken},
      {"a resource that the node has not", {foreign}, NodeConflict::kUnitsOverTaken},
      {"a share beside a unit", {share, one}, NodeConflict::kMixedKinds},
      {"a pod without device beside a unit", {make_unplaced("u", "n1"), one}, NodeConflict::kNone}};
  for (const Row& row : rows) {
    const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(two), row.holdings);
    EXPECT_EQ(node->conflict, row.conflict) << row.why;
    EXPECT_EQ(node->holdings.size(), row.holdings.size()) << row.why;
  }
}

TEST(UsageTest, APodWithoutDevicesIsCountedAsUnplaced) {
  const NodeStatePtr node = make_state(kTwo, {make_unplaced("a", "n1")});
  EXPECT_EQ(node->unplaced, 1);
  EXPECT_EQ(node->snug_assigned, 0);
  EXPECT_EQ(node->room, 4000);
}

TEST(UsageTest, TheOrderOfHoldingsDoesNotChangeWhatIsUsed) {
  std::vector<HoldingPtr> holdings = {
      make_holding("a", "n1", {make_share(0, 1000, 100)}),
      make_holding("b", "n1", {make_share(0, 2000, 200), make_share(5, 1, 1)}),
      make_holding("c", "n1", {make_whole_device(1, 40960)})};
  const auto gpus_of = [](const NodeStatePtr& node) {
    std::string text;
    for (const GpuState& gpu : node->gpus) text += describe(gpu);
    return text;
  };
  const std::string forward = gpus_of(make_state(kTwo, holdings));
  std::reverse(holdings.begin(), holdings.end());
  EXPECT_EQ(gpus_of(make_state(kTwo, holdings)), forward);
}

}  // namespace
}  // namespace snug::usage_test

// The adapter against the stand-in for NVIDIA's management library, which lies beside this program.
#include "snug/adapters/nvml/nvml_devices.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "adapters/nvml/mig_profiles.hpp"
#include "nvml_standin.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::nvml_devices_test {
namespace {

using agent::NodeDevices;
using nvml::NvmlDevices;
using std::chrono::milliseconds;
using std::chrono::seconds;

using NvmlDevicesTest = NvmlStandinTest;

/// Reads until the second GPU is healthy, or 10 times.
NodeDevices read_until_healthy(NvmlDevices& devices) {
  NodeDevices last;
  for (int i = 0; i < 10; ++i) {
    last = read(devices);
    if (last.gpus.size() > 1 && last.gpus[1].healthy) break;
  }
  return last;
}

TEST_F(NvmlDevicesTest, ReadsWhatEachGpuIs) {
  std::filesystem::create_directories(folder_ / "0000:31:00.0");
  std::ofstream(folder_ / "0000:31:00.0/numa_node") << "1\n";
  state_["cards"][1]["recovery"] = 1;
  store();
  NvmlDevices devices(options());
  const NodeDevices node = read(devices);
  EXPECT_EQ(node.driver_version, "615.71");
  ASSERT_EQ(node.gpus.size(), 2U);
  const agent::DeviceReport expected{.index = 1,
                                     .uuid = uuid(1),
                                     .model = "NVIDIA-A100-SXM4-40GB",
                                     .memory = {40960},
                                     .minor = 6,
                                     .pci_bus = "0000:31:00.0",
                                     .numa_node = 1,
                                     .recovery = agent::Recovery::kResetGpu};
  EXPECT_EQ(node.gpus[1], expected);
  EXPECT_EQ(node.gpus[0].numa_node, -1);
  EXPECT_EQ(node.gpus[0].recovery, agent::Recovery::kUnknown);
  EXPECT_EQ(node.nvlinks, (std::vector<std::vector<int>>{{0, 0}, {0, 0}}));
}

TEST_F(NvmlDevicesTest, ReadsHowMuchOfEachGpuIsInUse) {
  state_["cards"][0]["used_mib"] = 16384;
  state_["cards"][0]["utilization"] = 37;
  state_["cards"][1]["mig"] = true;
  state_["cards"][1]["used_mib"] = 40960;
  state_["cards"][1]["utilization"] = 90;
  store();
  NvmlDevices devices(options());
  const auto usage = [&] {
    std::vector<std::tuple<std::string, int, int>> rows;
    const auto gpus = devices.read_usage();
    EXPECT_TRUE(gpus) << gpus.error().message;
    for (const agent_service::DeviceUsage& gpu :
         gpus.value_or(std::vector<agent_service::DeviceUsage>{}))
      rows.emplace_back(gpu.uuid, gpu.memory_percent, gpu.compute_percent);
    return rows;
  };
  using Rows = decltype(usage());
  EXPECT_EQ(usage(), Rows{}) << "the driver has not been read";
  ASSERT_EQ(read(devices).gpus.size(), 2U);
  const Rows both{{uuid(0), 40, 37}, {uuid(1), 100, 0}};
  EXPECT_EQ(usage(), both) << "in MIG mode the driver does not say how busy the GPU is";
  state_["missing"] = {"nvmlDeviceGetMemoryInfo_v2"};
  store();
  EXPECT_EQ(usage(), both);
  set_card(0, "lost", true);
  EXPECT_EQ(usage(), (Rows{both[1]}));
  restart_driver("615.72");
  EXPECT_FALSE(devices.read_usage()) << "the library must be opened anew";
  EXPECT_FALSE(devices.read());
}

TEST_F(NvmlDevicesTest, WithoutALibraryOrDriverThereAreNoGpus) {
  nvml::NvmlOptions absent = options();
  absent.libraries = {folder_ / "no-such-library.so.1"};
  NvmlDevices without_library(absent);
  EXPECT_EQ(read(without_library), NodeDevices{});

  state_["driver"] = nullptr;
  store();
  NvmlDevices devices(options());
  EXPECT_EQ(read(devices), NodeDevices{});
  restart_driver("616.1");
  EXPECT_EQ(read(devices).gpus.size(), 2U);
}

TEST_F(NvmlDevicesTest, ADriverThatRefusesIsUnavailable) {
  state_["init_error"] = 18;
  store();
  NvmlDevices devices(options());
  const auto refused = devices.read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("18"), std::string::npos);
}

TEST_F(NvmlDevicesTest, AnOldDriverIsReadByOlderFunctions) {
  state_["cards"][0]["mig"] = true;
  store();
  NvmlDevices current(options());
  const NodeDevices expected = read(current);
  state_["missing"] = {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetGpuInstanceProfileInfoV"};
  store();
  NvmlDevices old(options());
  EXPECT_EQ(read(old), expected);
  EXPECT_EQ(expected.gpus.at(0).mig_profiles.size(), 7U);
}

TEST_F(NvmlDevicesTest, TheProfilesOfACardAreThoseOfTheBuiltInTable) {
  state_["cards"] = {
      card(0), card(1, "NVIDIA H100 80GB HBM3", 81559, "H100-80GB"),
      card(2, "NVIDIA A30", 24258, "A30"), card(3, "NVIDIA B200", 183359, "B200"),
      card(4, "NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "RTX-PRO-6000")};
  for (json& each : state_["cards"]) each["mig"] = true;
  store();
  NvmlDevices devices(options());
  const NodeDevices node = read(devices);
  ASSERT_EQ(node.gpus.size(), 5U);
  for (const agent::DeviceReport& gpu : node.gpus) {
    const mig::MigCard* built_in = mig::find_mig_card(gpu.model, gpu.memory);
    ASSERT_NE(built_in, nullptr) << gpu.model;
    EXPECT_EQ(gpu.mig_profiles.size(), built_in->table->profiles.size()) << gpu.model;
    for (const agent::MigProfileReport& profile : gpu.mig_profiles) {
      const auto found = built_in->table->find_profile(profile.name);
      ASSERT_TRUE(found) << gpu.model << " " << profile.name;
      EXPECT_EQ(profile.size, built_in->table->profiles[*found].size) << profile.name;
      EXPECT_EQ(profile.starts, built_in->table->profiles[*found].starts) << profile.name;
    }
  }
}

TEST_F(NvmlDevicesTest, NamesProfilesAsNvidiaDoes) {
  using enum nvml::abi::GpuProfile;
  struct Row {
    nvml::abi::GpuProfile profile;
    unsigned slices;
    std::int64_t instance_mib;
    std::int64_t card_mib;
    const char* name;
  };
  // Memory as nvidia-smi prints it on these cards.
  const Row rows[] = {{k1, 1, 11008, 95830, "1g.12gb"},
                      {k1DoubleMemory, 1, 22139, 95830, "1g.24gb"},
                      {k4, 4, 47493, 95830, "4g.47gb"},
                      {k7, 7, 95355, 95830, "7g.94gb"},
                      {k1AllMedia, 1, 24192, 97887, "1g.24gb+me.all"},
                      {k2NoMedia, 2, 48517, 97887, "2g.48gb-me"},
                      {k4Graphics, 4, 97403, 97887, "4g.96gb+gfx"},
                      {k2Media, 2, 11672, 24258, "2g.12gb+me"}};
  for (const Row& row : rows) {
    EXPECT_EQ(nvml::profile_name(row.profile, row.slices, row.instance_mib, {row.card_mib}),
              row.name);
  }
}

TEST_F(NvmlDevicesTest, SlicesAreInstancesThatOneComputeInstanceFills) {
  state_["cards"][1]["mig"] = true;
  state_["cards"][1]["instances"] = {
      {{"id", 2},
       {"profile", 9},
       {"start", 4},
       {"size", 4},
       {"compute", {{{"id", 0}, {"profile", 2}, {"start", 0}, {"size", 3}}}}},
      {{"id", 5},
       {"profile", 19},
       {"start", 1},
       {"size", 1},
       {"compute", {{{"id", 0}, {"profile", 0}, {"start", 0}, {"size", 1}}}}},
      {{"id", 3},
       {"profile", 14},
       {"start", 2},
       {"size", 2},
       {"compute", {{{"id", 0}, {"profile", 0}, {"start", 0}, {"size", 1}}}}},
      {{"id", 9}, {"profile", 19}, {"start", 0}, {"size", 1}, {"compute", json::array()}}};
  store();
  NvmlDevices devices(options());
  const NodeDevices node = read(devices);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_FALSE(node.gpus[0].mig_enabled);
  const std::vector<agent::MigSliceReport> expected{
      {"MIG-00000001-1111-2222-3333-444444440500", "1g.5gb", 1, 1, 5, 0},
      {"MIG-00000001-1111-2222-3333-444444440200", "3g.20gb", 4, 4, 2, 0}};
  EXPECT_EQ(node.gpus[1].mig_slices, expected);
  EXPECT_EQ(node.gpus[1].mig_unfinished,
            (std::vector<agent::MigInstanceReport>{{9, 0, 1, false}, {3, 2, 2, true}}));
}

TEST_F(NvmlDevicesTest, AnInstanceOfAnUnknownProfileIsUnfinished) {
  state_["cards"][1]["mig"] = true;
  state_["cards"][1]["table"] = "A100-40GB-new";
  state_["cards"][1]["instances"] = {
      // A number of a profile beyond those that Snug knows, and an id of no profile at all.
      {{"id", 2}, {"profile", 99}, {"start", 2}, {"size", 2}, {"compute", json::array()}},
      {{"id", 5},
       {"profile", 77},
       {"start", 0},
       {"size", 1},
       {"compute", {{{"id", 0}, {"profile", 0}, {"start", 0}, {"size", 1}}}}}};
  store();
  NvmlDevices devices(options());
  const NodeDevices node = read(devices);
  ASSERT_EQ(node.gpus.size(), 2U);
  EXPECT_EQ(node.gpus[1].mig_profiles.size(), 7U);
  EXPECT_EQ(node.gpus[1].mig_slices, std::vector<agent::MigSliceReport>{});
  EXPECT_EQ(node.gpus[1].mig_unfinished,
            (std::vector<agent::MigInstanceReport>{{5, 0, 1, true}, {2, 2, 2, false}}));
}

TEST_F(NvmlDevicesTest, CountsLinksBetweenGpusAndThroughSwitches) {
  state_["cards"] = {card(0), card(1), card(2), card(3)};
  state_["cards"][0]["links"] = json::object({{"1", 4}});
  state_["cards"][1]["links"] = json::object({{"0", 4}});
  state_["cards"][2]["switch_links"] = 12;
  state_["cards"][3]["switch_links"] = 10;
  store();
  NvmlDevices devices(options());
  EXPECT_EQ(read(devices).nvlinks, (std::vector<std::vector<int>>{
                                       {0, 4, 0, 0}, {4, 0, 0, 0}, {0, 0, 0, 10}, {0, 0, 10, 0}}));
}

TEST_F(NvmlDevicesTest, ALostGpuIsUnhealthyAndDoesNotHideTheOthers) {
  NvmlDevices devices(options());
  const NodeDevices before = read(devices);
  set_card(1, "lost", true);
  for (int i = 0; i < 3; ++i) {  // also after the library was opened anew
    const NodeDevices node = read(devices);
    ASSERT_EQ(node.gpus.size(), 2U);
    EXPECT_EQ(node.gpus[0], before.gpus[0]);
    EXPECT_EQ(node.gpus[1].uuid, before.gpus[1].uuid);
    EXPECT_FALSE(node.gpus[1].healthy);
    EXPECT_EQ(node.gpus[1].ailment, "the driver does not reach the GPU: NVML: GPU is lost (15)");
  }
  set_card(1, "lost", false);
  EXPECT_EQ(read_until_healthy(devices), before);
}

TEST_F(NvmlDevicesTest, AGpuThatWasNeverReadIsLeftOut) {
  set_card(0, "lost", true);
  NvmlDevices devices(options());
  const NodeDevices node = read(devices);
  ASSERT_EQ(node.gpus.size(), 1U);
  EXPECT_EQ(node.gpus[0].index, 1);
  EXPECT_EQ(node.nvlinks, (std::vector<std::vector<int>>{{0}}));
}

TEST_F(NvmlDevicesTest, ARemovedGpuIsGoneAfterTheNextRead) {
  NvmlDevices devices(options());
  (void)read(devices);
  state_["cards"].erase(0);
  store();
  const NodeDevices removed = read(devices);
  ASSERT_EQ(removed.gpus.size(), 2U);
  EXPECT_FALSE(removed.gpus[0].healthy);
  const NodeDevices after = read(devices);
  ASSERT_EQ(after.gpus.size(), 1U);
  EXPECT_EQ(after.gpus[0].uuid, uuid(0));
  EXPECT_EQ(after.gpus[0].index, 0);
}

TEST_F(NvmlDevicesTest, ARestartedDriverIsReadAgain) {
  NvmlDevices devices(options());
  (void)read(devices);
  restart_driver("620.1");
  EXPECT_EQ(devices.read().error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(read(devices).driver_version, "620.1");

  state_["driver"] = nullptr;
  store();
  EXPECT_FALSE(devices.read());
  EXPECT_EQ(read(devices), NodeDevices{});
}

TEST_F(NvmlDevicesTest, EventsAreThoseOfAllGpusSinceTheFirstRead) {
  append_xid(0, 13);
  NvmlDevices devices(options());
  (void)read(devices);
  EXPECT_EQ(devices.wait_for_event(milliseconds(1)).value(), std::nullopt);
  append_xid(1, 79);
  append_xid(0, 48);
  const auto first = devices.wait_for_event(seconds(10)).value();
  const auto second = devices.wait_for_event(seconds(10)).value();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->uuid, uuid(1));
  EXPECT_EQ(first->xid, 79U);
  EXPECT_EQ(second->uuid, uuid(0));
  EXPECT_EQ(second->xid, 48U);
}

TEST_F(NvmlDevicesTest, AWaitSaysThatTheDriverIsGoneAndGoesOnAfterItsReturn) {
  NvmlDevices devices(options());
  (void)read(devices);
  restart_driver("620.1");
  const auto gone = devices.wait_for_event(seconds(10)).value();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->uuid, "");
  EXPECT_EQ(gone->xid, 0U);
  EXPECT_EQ(devices.wait_for_event(milliseconds(1)).value(), std::nullopt) << "it must not spin";
  (void)devices.read();
  (void)read(devices);
  append_xid(1, 79);
  const auto event = devices.wait_for_event(seconds(10)).value();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->uuid, uuid(1));
}

TEST_F(NvmlDevicesTest, WaitsBesideReadsThatOpenTheDriverAnew) {
  NvmlDevices devices(options());
  (void)read(devices);
  std::atomic<bool> ends = false;
  std::thread waiter([&] {
    while (!ends) (void)devices.wait_for_event(milliseconds(20));
  });
  for (int i = 0; i < 20; ++i) {
    restart_driver("620." + std::to_string(i));
    (void)devices.read();
    EXPECT_EQ(read_until_healthy(devices).driver_version, "620." + std::to_string(i));
  }
  ends = true;
  waiter.join();
}

}  // namespace
}  // namespace snug::nvml_devices_test

// Making and destroying MIG slices, and limiting memory, against the stand-in for NVIDIA's
// management library.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <thread>

#include "nvml_standin.hpp"
#include "snug/adapters/nvml/nvml_devices.hpp"

namespace snug::nvml_devices_test {
namespace {

using agent::MigInstanceReport;
using agent::MigSliceReport;
using base::ErrorCode;
using nvml::NvmlDevices;

constexpr unsigned kNotSupportedStatus = 3;
constexpr unsigned kNoPermissionStatus = 4;
constexpr unsigned kFunctionNotFoundStatus = 13;
constexpr unsigned kLostStatus = 15;
constexpr unsigned kInsufficientStatus = 23;

class NvmlSlicesTest : public NvmlStandinTest {
 protected:
  NvmlSlicesTest() {
    state_["cards"][0]["mig"] = true;
    store();
  }

  /// The adapter after its first read.
  NvmlDevices& devices() {
    if (!devices_) {
      devices_.emplace(options());
      (void)read(*devices_);
    }
    return *devices_;
  }
  agent::DeviceReport report() { return read(devices()).gpus.at(0); }
  base::Result<void> create(const std::string& profile, int start) {
    return devices().create_slice(uuid(0), profile, start);
  }
  base::Result<void> destroy(int gpu_instance) {
    return devices().destroy_instance(uuid(0), gpu_instance);
  }
  /// Changes what the stand-in wrote.
  void set(const std::string& key, const json& value) {
    load();
    set_card(0, key, value);
  }
  void make_fail(const std::string& function, unsigned status) {
    load();
    state_["cards"][0]["fail"][function] = status;
    store();
  }
  json instances() {
    load();
    return state_["cards"][0]["instances"];
  }
  static json instance(int id, int profile, int start, int size) {
    return {{"id", id},
            {"profile", profile},
            {"start", start},
            {"size", size},
            {"compute", json::array()}};
  }

  std::optional<NvmlDevices> devices_;
};

/// `PROFILE@START` of each slice.
std::vector<std::string> places(const agent::DeviceReport& gpu) {
  std::vector<std::string> all;
  for (const MigSliceReport& slice : gpu.mig_slices)
    all.push_back(slice.profile + "@" + std::to_string(slice.start));
  return all;
}

void expect_error(const base::Result<void>& result, ErrorCode code, const std::string& part) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(part), std::string::npos) << result.error().message;
}

TEST_F(NvmlSlicesTest, MakesASliceOfEachProfileThatEachCardOffers) {
  const char* const tables[][2] = {{"NVIDIA A100-SXM4-40GB", "A100-40GB"},
                                   {"NVIDIA H100 80GB HBM3", "H100-80GB"},
                                   {"NVIDIA B200", "B200"},
                                   {"NVIDIA A30", "A30"},
                                   {"NVIDIA RTX PRO 6000", "RTX-PRO-6000"}};
  const int memory_mib[] = {40960, 81559, 183359, 24258, 97887};
  for (std::size_t i = 0; i < std::size(tables); ++i) {
    state_["cards"] = json::array({card(0, tables[i][0], memory_mib[i], tables[i][1])});
    state_["cards"][0]["mig"] = true;
    store();
    const std::vector<agent::MigProfileReport> profiles = report().mig_profiles;
    EXPECT_GE(profiles.size(), 5U);
    for (const agent::MigProfileReport& profile : profiles) {
      const int start = profile.starts.back();
      const auto made = create(profile.name, start);
      ASSERT_TRUE(made) << tables[i][1] << ": " << made.error().message;
      const agent::DeviceReport gpu = report();
      EXPECT_EQ(places(gpu),
                (std::vector<std::string>{profile.name + "@" + std::to_string(start)}));
      EXPECT_TRUE(gpu.mig_unfinished.empty());
      ASSERT_TRUE(destroy(gpu.mig_slices.at(0).gpu_instance));
      EXPECT_EQ(instances(), json::array());
    }
  }
}

TEST_F(NvmlSlicesTest, ASliceThatExistsIsMadeAgainWithoutAChange) {
  ASSERT_TRUE(create("1g.5gb+me", 2));
  const json before = instances();
  EXPECT_TRUE(create("1g.5gb+me", 2));
  EXPECT_EQ(instances(), before);
  EXPECT_EQ(places(report()), std::vector<std::string>{"1g.5gb+me@2"});
}

TEST_F(NvmlSlicesTest, AnOccupiedPlaceIsAConflictThatNamesWhatIsThere) {
  ASSERT_TRUE(create("3g.20gb", 4));
  const json before = instances();
  expect_error(create("1g.5gb", 5), ErrorCode::kConflict,
               "GPU " + uuid(0) +
                   ": the slice 1g.5gb at 5 cannot be made, since GPU instance 1 with the memory "
                   "slices 4 to 7 is in the way: NVML: Insufficient Resources (23)");
  expect_error(create("7g.40gb", 0), ErrorCode::kConflict, "GPU instance 1");
  ASSERT_TRUE(create("1g.5gb+me", 0));
  // Nothing is at its place, but the card has one +me slice.
  expect_error(create("1g.5gb+me", 1), ErrorCode::kConflict, "cannot be made: NVML");
  EXPECT_EQ(places(report()), (std::vector<std::string>{"1g.5gb+me@0", "3g.20gb@4"}));
}

TEST_F(NvmlSlicesTest, WhatTheCardDoesNotHaveIsInvalid) {
  expect_error(create("1g.10gb+gfx", 0), ErrorCode::kInvalid, "no MIG profile 1g.10gb+gfx");
  expect_error(create("3g.20gb", 2), ErrorCode::kInvalid, "3g.20gb cannot start at 2");
  expect_error(create("3g.20gb", -1), ErrorCode::kInvalid, "cannot start at -1");
  expect_error(devices().create_slice(uuid(1), "3g.20gb", 0), ErrorCode::kConflict,
               "it is not in MIG mode");
  expect_error(devices().create_slice("GPU-none", "3g.20gb", 0), ErrorCode::kNotFound, "GPU-none");
  EXPECT_EQ(instances(), json::array());
}

TEST_F(NvmlSlicesTest, AnInstanceWithoutComputeInstanceIsCompleted) {
  state_["cards"][0]["instances"] = json::array({instance(5, 14, 2, 2)});
  store();
  EXPECT_EQ(report().mig_unfinished, (std::vector<MigInstanceReport>{{5, 2, 2, false}}));
  ASSERT_TRUE(create("2g.10gb", 2));
  const agent::DeviceReport gpu = report();
  EXPECT_TRUE(gpu.mig_unfinished.empty());
  ASSERT_EQ(places(gpu), std::vector<std::string>{"2g.10gb@2"});
  EXPECT_EQ(gpu.mig_slices[0].gpu_instance, 5);
}

TEST_F(NvmlSlicesTest, AnInstanceThatCannotBeCompletedStays) {
  state_["cards"][0]["instances"] = json::array({instance(5, 14, 2, 2)});
  store();
  make_fail("nvmlGpuInstanceCreateComputeInstance", kInsufficientStatus);
  expect_error(create("2g.10gb", 2), ErrorCode::kConflict, "no compute instance can be made");
  EXPECT_EQ(instances().size(), 1U);
  set("fail", json::object());
  json half = instance(5, 14, 2, 2);
  half["compute"] = json::array({{{"id", 0}, {"profile", 0}, {"start", 0}, {"size", 1}}});
  set("instances", json::array({half}));
  expect_error(create("2g.10gb", 2), ErrorCode::kConflict, "compute instances that do not fill it");
  EXPECT_EQ(instances(), json::array({half}));
}

TEST_F(NvmlSlicesTest, WithoutItsComputeInstanceTheGpuInstanceIsDestroyedAgain) {
  make_fail("nvmlGpuInstanceCreateComputeInstance", kInsufficientStatus);
  expect_error(create("2g.10gb", 2), ErrorCode::kConflict,
               "the slice 2g.10gb at 2 has GPU instance 1, but no compute instance can be made");
  EXPECT_EQ(instances(), json::array());
  // It cannot be destroyed either: the next try completes it.
  make_fail("nvmlGpuInstanceDestroy", kNotSupportedStatus);
  expect_error(create("2g.10gb", 2), ErrorCode::kConflict, "cannot be destroyed again");
  EXPECT_EQ(report().mig_unfinished.size(), 1U);
  set("fail", json::object());
  EXPECT_TRUE(create("2g.10gb", 2));
  EXPECT_EQ(places(report()), std::vector<std::string>{"2g.10gb@2"});
}

TEST_F(NvmlSlicesTest, DestroysAnInstanceWithAllItsComputeInstances) {
  json two = instance(3, 14, 2, 2);
  two["compute"] = {{{"id", 0}, {"profile", 0}, {"start", 0}, {"size", 1}},
                    {{"id", 1}, {"profile", 0}, {"start", 1}, {"size", 1}}};
  state_["cards"][0]["instances"] = {two, instance(4, 19, 0, 1)};
  store();
  EXPECT_TRUE(destroy(3));
  EXPECT_TRUE(destroy(4));
  EXPECT_EQ(instances(), json::array());
  EXPECT_TRUE(destroy(4)) << "it is gone";
  EXPECT_TRUE(devices().destroy_instance(uuid(1), 4)) << "without MIG mode there is none";
}

TEST_F(NvmlSlicesTest, AnInstanceThatAProcessUsesStays) {
  ASSERT_TRUE(create("1g.5gb", 0));
  ASSERT_TRUE(create("2g.10gb", 2));
  const json before = instances();
  const int used = report().mig_slices.at(1).gpu_instance;
  for (const char* kind : {"compute", "graphics", "mps"}) {
    set("processes",
        json::array(
            {{{"pid", 4711}, {"kind", kind}, {"gpu_instance", used}, {"compute_instance", 0}}}));
    expect_error(destroy(used), ErrorCode::kConflict,
                 "the process 4711 uses GPU instance " + std::to_string(used));
    EXPECT_EQ(instances(), before) << kind;
  }
  EXPECT_TRUE(destroy(report().mig_slices.at(0).gpu_instance)) << "another one";
  // A process that no list has: the driver itself refuses.
  set("processes",
      json::array(
          {{{"pid", 1}, {"kind", "unlisted"}, {"gpu_instance", used}, {"compute_instance", 0}}}));
  expect_error(destroy(used), ErrorCode::kConflict, "cannot be destroyed: NVML: In use");
  EXPECT_EQ(places(report()), std::vector<std::string>{"2g.10gb@2"});
}

TEST_F(NvmlSlicesTest, NothingIsDestroyedWithoutAListOfProcesses) {
  ASSERT_TRUE(create("1g.5gb", 0));
  const int made = report().mig_slices.at(0).gpu_instance;
  make_fail("nvmlDeviceGetComputeRunningProcesses_v3", kNoPermissionStatus);
  expect_error(destroy(made), ErrorCode::kConflict, "does not say which processes use");
  EXPECT_EQ(places(report()), std::vector<std::string>{"1g.5gb@0"});
  set("fail", {{"nvmlDeviceGetGraphicsRunningProcesses_v3", kFunctionNotFoundStatus},
               {"nvmlDeviceGetMPSComputeRunningProcesses_v3", kNotSupportedStatus}});
  EXPECT_TRUE(destroy(made));
}

TEST_F(NvmlSlicesTest, AnOldDriverMakesSlicesAndDestroysNone) {
  nvml::NvmlOptions old = options();
  old.libraries = {
      (std::filesystem::path(old.libraries.back()).parent_path() / "old/libnvidia-ml.so.1")};
  devices_.emplace(old);
  (void)read(*devices_);
  EXPECT_FALSE(devices().can_limit());
  ASSERT_TRUE(create("3g.20gb", 4));
  ASSERT_EQ(places(report()), std::vector<std::string>{"3g.20gb@4"});
  expect_error(destroy(report().mig_slices[0].gpu_instance), ErrorCode::kConflict,
               "does not say which processes use");
  EXPECT_EQ(places(report()), std::vector<std::string>{"3g.20gb@4"});
}

TEST_F(NvmlSlicesTest, AGpuThatIsLostMeanwhileIsUnavailable) {
  ASSERT_TRUE(create("1g.5gb", 0));
  const int made = report().mig_slices.at(0).gpu_instance;
  make_fail("nvmlGpuInstanceCreateComputeInstance", kLostStatus);
  make_fail("nvmlGpuInstanceDestroy", kLostStatus);
  make_fail("nvmlDeviceGetMPSComputeRunningProcesses_v3", kLostStatus);
  expect_error(create("2g.10gb", 2), ErrorCode::kUnavailable, "GPU is lost (15)");
  expect_error(destroy(made), ErrorCode::kUnavailable, "GPU is lost (15)");
  set("lost", true);
  expect_error(create("2g.10gb", 2), ErrorCode::kUnavailable, "GPU is lost (15)");
  expect_error(destroy(made), ErrorCode::kUnavailable, "GPU is lost (15)");
  set("fail", json::object());
  set("lost", false);
  for (int i = 0; i < 10 && !report().healthy; ++i) {
  }
  EXPECT_EQ(report().mig_unfinished.size(), 1U);
  EXPECT_TRUE(create("2g.10gb", 2));
  EXPECT_TRUE(destroy(made));
  EXPECT_EQ(places(report()), std::vector<std::string>{"2g.10gb@2"});
}

TEST_F(NvmlSlicesTest, WithoutADriverAllIsUnavailable) {
  NvmlDevices unread(options());
  expect_error(unread.create_slice(uuid(0), "1g.5gb", 0), ErrorCode::kUnavailable, "driver");
  expect_error(unread.destroy_instance(uuid(0), 1), ErrorCode::kUnavailable, "driver");
  expect_error(unread.limit_memory(uuid(0), folder_.string(), {1}), ErrorCode::kUnavailable,
               "driver");
  EXPECT_FALSE(unread.can_limit());
  EXPECT_EQ(unread.openings(), 0U);
  (void)devices();
  EXPECT_EQ(devices().openings(), 1U);
  restart_driver("620.1");
  expect_error(create("1g.5gb", 0), ErrorCode::kUnavailable, "NVML");
  expect_error(destroy(1), ErrorCode::kUnavailable, "NVML");
  EXPECT_FALSE(devices().read());
  (void)report();
  EXPECT_EQ(devices().openings(), 2U);
  EXPECT_TRUE(create("1g.5gb", 0));
}

TEST_F(NvmlSlicesTest, LimitsTheMemoryOfACgroup) {
  EXPECT_TRUE(devices().can_limit());
  const std::string cgroup = folder_.string();
  ASSERT_TRUE(devices().limit_memory(uuid(1), cgroup, {8192}));
  load();
  EXPECT_EQ(state_["cards"][1]["limits"],
            (json{{cgroup, {{"soft_mib", 8192}, {"hard_mib", 8192}}}}));
  expect_error(devices().limit_memory(uuid(1), cgroup + "/none", {8192}), ErrorCode::kNotFound,
               cgroup + "/none cannot be limited to 8192 MiB, since the driver cannot open it");
  expect_error(devices().limit_memory(uuid(1), cgroup, {40961}), ErrorCode::kInvalid, "40961 MiB");
  expect_error(devices().limit_memory(uuid(1), cgroup, {0}), ErrorCode::kInvalid, "0 MiB");
  expect_error(devices().limit_memory("GPU-none", cgroup, {1}), ErrorCode::kNotFound, "GPU-none");
  set_card(1, "lost", true);
  expect_error(devices().limit_memory(uuid(1), cgroup, {1}), ErrorCode::kUnavailable, "lost");
}

TEST_F(NvmlSlicesTest, LimitsBesideReadsThatOpenTheDriverAnew) {
  std::atomic<bool> ends = false;
  std::atomic<int> limited = 0;
  NvmlDevices& all = devices();
  std::thread limiter([&] {
    while (!ends) {
      if (all.limit_memory("GPU-none", "/", {1}).error().code == ErrorCode::kNotFound) ++limited;
      (void)all.can_limit();
    }
  });
  for (int i = 0; i < 20; ++i) {
    restart_driver("620." + std::to_string(i));
    (void)all.read();
    for (int tries = 0; tries < 10 && !all.read(); ++tries) {
    }
    const int before = limited;
    while (limited == before) std::this_thread::yield();
  }
  ends = true;
  limiter.join();
}

/// What is on a card, naively: the slice in each memory slice.
class Occupancy {
 public:
  /// Whether the slice is there afterwards.
  bool create(const agent::MigProfileReport& profile, int start) {
    if (const auto there = slices_.find(start);
        there != slices_.end() && there->second->name == profile.name)
      return true;
    for (const auto& [other_start, other] : slices_) {
      if (start < other_start + other->size && other_start < start + profile.size) return false;
      if (profile.name.ends_with("+me") && other->name.ends_with("+me")) return false;
    }
    slices_[start] = &profile;
    return true;
  }
  void destroy(int start) { slices_.erase(start); }
  std::vector<std::string> places() const {
    std::vector<std::string> all;
    for (const auto& [start, profile] : slices_)
      all.push_back(profile->name + "@" + std::to_string(start));
    return all;
  }

 private:
  std::map<int, const agent::MigProfileReport*> slices_;
};

std::uint64_t slices_seed() {
  const char* seed = std::getenv("SNUG_TEST_SEED");
  return seed == nullptr ? std::random_device{}() : std::strtoull(seed, nullptr, 10);
}

TEST_F(NvmlSlicesTest, RandomSlicesAreThoseOfANaiveModel) {
  const std::uint64_t seed = slices_seed();
  std::cout << "SNUG_TEST_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (const char* table : {"A100-40GB", "A30"}) {
    state_["cards"] =
        json::array({card(0, "a card", table == std::string("A30") ? 24258 : 40960, table)});
    state_["cards"][0]["mig"] = true;
    store();
    agent::DeviceReport gpu = report();
    const std::vector<agent::MigProfileReport> profiles = gpu.mig_profiles;
    Occupancy model;
    for (int step = 0; step < 80; ++step) {
      if (!gpu.mig_slices.empty() && below(3) == 0) {
        const MigSliceReport& slice = gpu.mig_slices[below(gpu.mig_slices.size())];
        ASSERT_TRUE(destroy(slice.gpu_instance)) << "step " << step;
        model.destroy(slice.start);
      } else {
        const agent::MigProfileReport& profile = profiles[below(profiles.size())];
        const int start = profile.starts[below(profile.starts.size())];
        const bool expected = model.create(profile, start);
        const auto made = create(profile.name, start);
        ASSERT_EQ(made.has_value(), expected) << profile.name << "@" << start << ", step " << step;
        EXPECT_TRUE(made || made.error().code == ErrorCode::kConflict) << made.error().message;
      }
      gpu = report();
      ASSERT_EQ(places(gpu), model.places()) << "step " << step;
      ASSERT_TRUE(gpu.mig_unfinished.empty());
    }
  }
}

}  // namespace
}  // namespace snug::nvml_devices_test

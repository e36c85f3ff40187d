// What a binding writes for other enforcers, in the forms that their own sources state.
#include "snug/codec/enforcer_annotations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "snug/fit/other_enforcer.hpp"

namespace snug::enforcer_annotations_test {
namespace {

using Devices = std::vector<model::ReservedDevice>;
using enum model::GpuMode;

model::NodeInventory node_with(model::OtherEnforcer enforcer) {
  model::NodeInventory node;
  node.name = "n1";
  node.other_enforcer = enforcer;
  for (const int index : {0, 1, 2}) {
    model::GpuInfo gpu;
    gpu.index = index;
    gpu.uuid = "GPU-" + std::to_string(index);
    gpu.memory = {index == 2 ? 81920 : 40960};
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

model::ReservedDevice device(int index, model::GpuMode mode, std::int64_t mib, std::int64_t milli) {
  return {index, "GPU-" + std::to_string(index), mode, {mib}, {milli}, std::nullopt};
}

model::StringMap written(model::OtherEnforcer enforcer,
                         std::vector<model::ReservedContainer> containers,
                         model::StringMap annotations = {}) {
  codec::write_enforcer_annotations(
      {.uid = "uid-1", .node = "n1", .containers = std::move(containers)}, node_with(enforcer),
      annotations);
  return annotations;
}

/// The five keys of one container.
model::StringMap fractions(const std::string& container, const std::string& devices,
                           const std::string& memory, const std::string& mode,
                           const std::string& compute) {
  const std::string prefix = "nvidia.com/container." + container;
  return {{prefix + ".gpus.devices", devices},
          {prefix + ".gpu-memory.request", memory},
          {prefix + ".gpu-memory.limit", memory},
          {prefix + ".gpu-compute.mode", mode},
          {prefix + ".gpu-compute.portion", compute}};
}

TEST(EnforcerAnnotationsTest, ASliceOfBeforeTheLabelIsNotGivenAsItsGpu) {
  for (const model::OtherEnforcer enforcer :
       {model::OtherEnforcer::kNvFractions, model::OtherEnforcer::kKoordlet}) {
    model::ReservedDevice slice = device(0, kMig, 4864, 142);
    slice.slice = model::Slice{.profile = "1g.5gb", .start = 0, .size = 1, .uuid = "MIG-0"};
    EXPECT_TRUE(written(enforcer, {{"a", "", Devices{slice}}}).empty());
  }
}

TEST(EnforcerAnnotationsTest, NvFractionsReadsFiveKeysOfEachContainer) {
  struct Row {
    const char* what;
    Devices devices;
    model::StringMap keys;
  };
  for (const Row& row : {
           Row{"a share by fraction",
               {device(0, kTimeSlicing, 10240, 250)},
               fractions("main", "GPU-0", "10240Mi", "time-slicing", "0.25")},
           Row{"a share by memory, whose compute is rounded down",
               {device(1, kTimeSlicing, 3815, 93)},
               fractions("main", "GPU-1", "3815Mi", "time-slicing", "0.09")},
           Row{"a very small share: 0 would mean no limit",
               {device(0, kTimeSlicing, 1, 1)},
               fractions("main", "GPU-0", "1Mi", "time-slicing", "0.01")},
           Row{"MPS",
               {device(0, kMps, 3815, 300)},
               fractions("main", "GPU-0", "3815Mi", "sm-sharing", "0.30")},
           Row{"whole GPUs, in the order of their index",
               {device(1, kWhole, 40960, 1000), device(0, kWhole, 40960, 1000)},
               fractions("main", "GPU-0,GPU-1", "40960Mi", "time-slicing", "1")},
           Row{"a share of each of two GPUs that differ: the least counts for both",
               {device(2, kTimeSlicing, 8192, 100), device(0, kTimeSlicing, 4096, 105)},
               fractions("main", "GPU-0,GPU-2", "4096Mi", "time-slicing", "0.10")},
       }) {
    EXPECT_EQ(written(model::OtherEnforcer::kNvFractions, {{"main", "", row.devices}}), row.keys)
        << row.what;
  }
}

TEST(EnforcerAnnotationsTest, ForgedValuesOfContainersWithDevicesAreReplaced) {
  model::StringMap forged = fractions("main", "GPU-2", "80Gi", "sm-sharing", "1");
  forged["snug.dev/reservation"] = "{}";
  model::StringMap expected = fractions("main", "GPU-0", "1024Mi", "time-slicing", "0.02");
  expected.merge(fractions("side", "GPU-1", "2048Mi", "time-slicing", "0.50"));
  expected["snug.dev/reservation"] = "{}";
  EXPECT_EQ(written(model::OtherEnforcer::kNvFractions,
                    {{"main", "", Devices{device(0, kTimeSlicing, 1024, 25)}},
                     {"side", "", Devices{device(1, kTimeSlicing, 2048, 500)}},
                     {"kubelets", "", model::KubeletUnits{"nvidia.com/gpu", 1}}},
                    forged),
            expected);
}

TEST(EnforcerAnnotationsTest, TheLongestNameThatFitTakesMakesKeysThatKubernetesTakes) {
  const std::string longest(fit::kLongestFractionName, 'c');
  std::size_t most = 0;
  for (const auto& [key, value] : written(model::OtherEnforcer::kNvFractions,
                                          {{longest, "", Devices{device(0, kWhole, 1, 1000)}}}))
    most = std::max(most, key.size() - std::string("nvidia.com/").size());
  EXPECT_EQ(most, 63U);
}

TEST(EnforcerAnnotationsTest, KoordletReadsOneObjectAboutThePod) {
  struct Row {
    const char* what;
    Devices devices;
    const char* json;
  };
  for (const Row& row : {
           Row{"a share by fraction",
               {device(0, kTimeSlicing, 10240, 250)},
               R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"25",)"
               R"("koordinator.sh/gpu-memory":"10240Mi","koordinator.sh/gpu-memory-ratio":"25"},)"
               R"("id":"GPU-0"}]})"},
           Row{"a share of all memory is limited too: koordlet limits none from 100 on",
               {device(0, kTimeSlicing, 40960, 500)},
               R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50",)"
               R"("koordinator.sh/gpu-memory":"40960Mi","koordinator.sh/gpu-memory-ratio":"99"},)"
               R"("id":"GPU-0"}]})"},
           Row{"a very small share",
               {device(2, kTimeSlicing, 1, 1)},
               R"({"gpu":[{"minor":2,"resources":{"koordinator.sh/gpu-core":"1",)"
               R"("koordinator.sh/gpu-memory":"1Mi","koordinator.sh/gpu-memory-ratio":"1"},)"
               R"("id":"GPU-2"}]})"},
           Row{"whole GPUs",
               {device(2, kWhole, 81920, 1000), device(1, kWhole, 40960, 1000)},
               R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100",)"
               R"("koordinator.sh/gpu-memory":"40960Mi","koordinator.sh/gpu-memory-ratio":"100"},)"
               R"("id":"GPU-1"},{"minor":2,"resources":{"koordinator.sh/gpu-core":"100",)"
               R"("koordinator.sh/gpu-memory":"81920Mi","koordinator.sh/gpu-memory-ratio":"100"},)"
               R"("id":"GPU-2"}]})"},
           Row{"a share of each of two GPUs that differ: koordlet reads the limit of the first",
               {device(2, kTimeSlicing, 40960, 500), device(0, kTimeSlicing, 20480, 500)},
               R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50",)"
               R"("koordinator.sh/gpu-memory":"20480Mi","koordinator.sh/gpu-memory-ratio":"50"},)"
               R"("id":"GPU-0"},{"minor":2,"resources":{"koordinator.sh/gpu-core":"50",)"
               R"("koordinator.sh/gpu-memory":"20480Mi","koordinator.sh/gpu-memory-ratio":"25"},)"
               R"("id":"GPU-2"}]})"},
       }) {
    const std::string key = "scheduling.koordinator.sh/device-allocated";
    const model::StringMap keys =
        written(model::OtherEnforcer::kKoordlet, {{"main", "", row.devices}}, {{key, "forged"}});
    EXPECT_EQ(keys, (model::StringMap{{key, row.json}})) << row.what;
    EXPECT_TRUE(nlohmann::json::accept(keys.at(key))) << row.what;
  }
}

TEST(EnforcerAnnotationsTest, AGpuWithoutUuidIsNamedByItsIndexAlone) {
  model::ReservedDevice nameless = device(1, kTimeSlicing, 10240, 250);
  nameless.uuid.clear();
  EXPECT_EQ(written(model::OtherEnforcer::kKoordlet, {{"main", "", Devices{nameless}}}),
            (model::StringMap{{"scheduling.koordinator.sh/device-allocated",
                               R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"25",)"
                               R"("koordinator.sh/gpu-memory":"10240Mi",)"
                               R"("koordinator.sh/gpu-memory-ratio":"25"}}]})"}}));
}

TEST(EnforcerAnnotationsTest, NothingIsWrittenWithoutAnEnforcerOrWithoutDevices) {
  const model::Reservation shared{
      .uid = "u",
      .node = "n1",
      .containers = {{"main", "", Devices{device(0, kTimeSlicing, 1024, 25)}}}};
  model::NodeInventory node = node_with(model::OtherEnforcer::kKoordlet);
  node.other_enforcer.reset();
  model::StringMap annotations;
  codec::write_enforcer_annotations(shared, node, annotations);
  EXPECT_TRUE(annotations.empty());
  for (const auto enforcer :
       {model::OtherEnforcer::kKoordlet, model::OtherEnforcer::kNvFractions}) {
    EXPECT_TRUE(
        written(enforcer, {{"main", "", model::KubeletUnits{"nvidia.com/gpu", 1}}}).empty());
  }
}

}  // namespace
}  // namespace snug::enforcer_annotations_test

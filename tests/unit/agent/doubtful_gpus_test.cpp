// GPUs whose report by the driver cannot be right: what stands for them, and that the others stay.
#include "snug/agent/doubtful_gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace snug::doubtful_gpus_test {
namespace {

using agent::DeviceReport;
using agent::LeftOutGpu;
using agent::NodeDevices;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Three GPUs, between which the numbers of links differ.
NodeDevices good_report() {
  NodeDevices devices;
  for (int index = 0; index < 3; ++index) {
    devices.gpus.push_back({.index = index,
                            .uuid = "GPU-" + std::to_string(index),
                            .memory = base::MebiBytes{40'960},
                            .minor = index});
  }
  devices.nvlinks = {{0, 1, 2}, {1, 0, 3}, {2, 3, 0}};
  return devices;
}

struct Row {
  std::string reason;
  std::function<void(DeviceReport&)> change;  // of the second GPU
};

const std::vector<Row> kRows = {
    {"the driver gives it no uuid", [](DeviceReport& gpu) { gpu.uuid = ""; }},
    {"the driver says that it has no memory", [](DeviceReport& gpu) { gpu.memory = {}; }},
    {"the driver gives it the minor number 1048576, which no device node can have",
     [](DeviceReport& gpu) { gpu.minor = 1'048'576; }},
    {"the driver gives it the minor number -1, which no device node can have",
     [](DeviceReport& gpu) { gpu.minor = -1; }},
    {"the driver gives two GPUs the uuid GPU-0", [](DeviceReport& gpu) { gpu.uuid = "GPU-0"; }},
    {"the driver gives two GPUs the minor number 2", [](DeviceReport& gpu) { gpu.minor = 2; }},
};

TEST(DoubtfulGpusTest, AGoodReportStaysAsItIs) {
  NodeDevices now = good_report();
  now.gpus[1].minor = 1'048'575;
  const NodeDevices same = now;
  EXPECT_THAT(agent::replace_doubtful(now, {}), IsEmpty());
  EXPECT_EQ(now, same);
  EXPECT_THAT(agent::replace_doubtful(now, same), IsEmpty());
  EXPECT_EQ(now, same);
}

TEST(DoubtfulGpusTest, WhatIsKnownOfTheGpuStaysAsNotHealthyAndTheOthersAreAsReported) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.reason);
    NodeDevices now = good_report();
    now.gpus[0].model = now.gpus[2].model = "new";
    row.change(now.gpus[1]);
    NodeDevices expected = good_report();
    expected.gpus[0].model = expected.gpus[2].model = "new";
    expected.gpus[1].healthy = false;
    expected.gpus[1].ailment = row.reason;
    EXPECT_THAT(agent::replace_doubtful(now, good_report()), IsEmpty());
    EXPECT_EQ(now, expected);
    row.change(now.gpus[1] = good_report().gpus[1]);
    const NodeDevices before = expected;
    EXPECT_THAT(agent::replace_doubtful(now, before), IsEmpty()) << "it is nonsense still";
    EXPECT_EQ(now, expected);
  }
}

TEST(DoubtfulGpusTest, AGpuOfWhichNothingIsKnownIsLeftOutWithItsLinks) {
  NodeDevices before = good_report();
  before.gpus.erase(before.gpus.begin() + 1);
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.reason);
    NodeDevices now = good_report();
    row.change(now.gpus[1]);
    EXPECT_THAT(agent::replace_doubtful(now, before), ElementsAre(LeftOutGpu{1, row.reason}));
    EXPECT_EQ(now.gpus, before.gpus);
    EXPECT_EQ(now.nvlinks, (std::vector<std::vector<int>>{{0, 2}, {2, 0}}));
  }
}

TEST(DoubtfulGpusTest, OfTwoNewGpusWithOneUuidOrMinorNumberNeitherIsRight) {
  for (const bool by_uuid : {true, false}) {
    NodeDevices now = good_report();
    if (by_uuid) now.gpus[2].uuid = "GPU-0";
    if (!by_uuid) now.gpus[2].minor = 0;
    EXPECT_EQ(agent::replace_doubtful(now, {}).size(), 2U);
    ASSERT_EQ(now.gpus.size(), 1U);
    EXPECT_EQ(now.gpus[0].uuid, "GPU-1");
  }
}

TEST(DoubtfulGpusTest, AnotherMinorNumberIsBelievedWhenTheNextReportSaysSoToo) {
  NodeDevices swapped = good_report();
  std::swap(swapped.gpus[0].minor, swapped.gpus[2].minor);
  NodeDevices first = swapped;
  EXPECT_THAT(agent::replace_doubtful(first, good_report()), IsEmpty());
  EXPECT_EQ(first.gpus[0].minor, 0);
  EXPECT_EQ(first.gpus[2].minor, 2);
  EXPECT_FALSE(first.gpus[0].healthy);
  EXPECT_EQ(first.gpus[0].ailment, "the driver gives it the minor number 2 after 0");
  EXPECT_EQ(first.gpus[1], good_report().gpus[1]);
  NodeDevices right_again = good_report();
  EXPECT_THAT(agent::replace_doubtful(right_again, first), IsEmpty());
  EXPECT_EQ(right_again, good_report());
  NodeDevices second = swapped;
  EXPECT_THAT(agent::replace_doubtful(second, first), IsEmpty());
  EXPECT_EQ(second, swapped);
}

TEST(DoubtfulGpusTest, WhatIsOlderCastsNoDoubtOnAGpuThatAnswers) {
  NodeDevices now = good_report();
  now.gpus[0].healthy = false;  // it does not answer, and a new GPU has its minor number
  now.gpus[1] = good_report().gpus[1];
  now.gpus[1].uuid = "GPU-new";
  now.gpus[1].minor = 0;
  const NodeDevices same = now;
  NodeDevices before = good_report();
  before.gpus[0].healthy = false;
  EXPECT_THAT(agent::replace_doubtful(now, before), IsEmpty());
  EXPECT_EQ(now, same);
}

TEST(DoubtfulGpusTest, WhatIsKnownOfAGpuThatHasAnotherIndexNowDoesNotStandTwice) {
  NodeDevices now = good_report();
  now.gpus[0].uuid = "GPU-1";
  now.gpus[0].minor = 1;
  now.gpus[1].uuid = "";
  EXPECT_THAT(agent::replace_doubtful(now, good_report()),
              ElementsAre(LeftOutGpu{1, "the driver gives it no uuid"}));
  EXPECT_EQ(now.gpus[0].uuid, "GPU-1");
  EXPECT_EQ(now.gpus.size(), 2U);
}

TEST(DoubtfulGpusTest, WhatIsKnownOfAGpuGoesIfAnotherHasItsMinorNumberNow) {
  NodeDevices now = good_report();
  now.gpus[1].uuid = "GPU-0";
  now.gpus[1].minor = 0;
  now.gpus[2].uuid = "GPU-new";
  now.gpus[2].minor = 1;
  EXPECT_THAT(agent::replace_doubtful(now, good_report()),
              ElementsAre(LeftOutGpu{1, "the driver gives two GPUs the uuid GPU-0"}));
  EXPECT_EQ(now.gpus.size(), 2U);
}

}  // namespace
}  // namespace snug::doubtful_gpus_test

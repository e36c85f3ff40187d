#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/agent/container_decision.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::agent::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// NRI changes the first entry of a variable, and the runtime takes the last.
TEST(ContainerDecisionTest, WhatImageAndPodBothSetIsAlsoChangedByCdi) {
  Case c;
  c.container.env = {"NVIDIA_VISIBLE_DEVICES=all", "PATH=/bin"};
  EXPECT_FALSE(c.decide()->spec) << "one entry";
  c.container.env.emplace_back("NVIDIA_VISIBLE_DEVICES=GPU-b");
  const auto ordinary = c.decide();
  ASSERT_TRUE(ordinary && ordinary->spec);
  EXPECT_EQ(*ordinary->spec,
            (CdiSpec{.device = "u-1_main", .env = {{"NVIDIA_VISIBLE_DEVICES", "void"}}}));
  EXPECT_THAT(ordinary->adjustment.cdi_devices, ElementsAre("snug.dev/gpu=u-1_main"));
  EXPECT_TRUE(c.validate(ordinary->adjustment));
  Adjustment without = ordinary->adjustment;
  without.cdi_devices.clear();
  EXPECT_THAT(c.validate(without).error().sentence, HasSubstr("another NRI plug-in removed it"));

  c.reserve({whole(0, "GPU-a")});
  const auto reserved = c.decide();
  ASSERT_TRUE(reserved && reserved->spec);
  EXPECT_EQ(reserved->spec->env, reserved->adjustment.env);
  EXPECT_FALSE(reserved->spec->nodes.empty());

  Case exempt;
  exempt.container.env = c.container.env;
  exempt.sandbox.name_space = exempt.pod->name_space = "gpu-operator";
  exempt.pod->service_account = "nvidia-dcgm";
  EXPECT_FALSE(exempt.decide()->spec);
}

}  // namespace
}  // namespace snug::agent::testing

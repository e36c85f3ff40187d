#include "snug/demand/pod_shape.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/test_objects.hpp"

namespace snug::shape_test {
namespace {

model::ContainerRequest container(const model::GpuRequest& of,
                                  model::ContainerType kind = model::ContainerType::kApp) {
  model::ContainerRequest asked = of.containers.front();
  asked.type = kind;
  return asked;
}

model::ContainerRequest with_compute(model::ContainerRequest asked, int percent) {
  asked.compute_percent = percent;
  return asked;
}

model::ContainerRequest times(model::ContainerRequest asked, std::int64_t count) {
  asked.count = count;
  return asked;
}

model::ContainerRequest slice(std::string profile) {
  model::ContainerRequest asked = container(make_fraction(1));
  asked.device = model::SliceRequest{std::move(profile)};
  return asked;
}

struct Row {
  std::string_view why;
  std::vector<model::ContainerRequest> containers;
  std::int64_t gpus = 0;
  std::int64_t milli = 0;
  std::int64_t memory = 0;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    model::GpuRequest request;
    request.containers = row.containers;
    const demand::PodShape shape = demand::shape_of(request, {});
    EXPECT_EQ(shape.gpus, row.gpus) << row.why;
    EXPECT_EQ(shape.gpu_milli, row.milli) << row.why;
    EXPECT_EQ(shape.gpu_memory.value, row.memory) << row.why;
  }
}

TEST(ShapeTest, OfOneContainerIsWhatItAsksFor) {
  check({{"nothing", {}, 0, 0, 0},
         {"a share", {container(make_fraction(250))}, 1, 250, 0},
         {"memory", {container(make_memory(4096))}, 1, 0, 4096},
         {"one whole GPU", {container(make_whole(1))}, 1, 1000, 0},
         {"whole GPUs", {container(make_whole(8))}, 8, 1000, 0},
         {"units of the kubelet's", {container(make_units(2))}, 2, 1000, 0},
         {"a share of each of three", {times(container(make_fraction(100)), 3)}, 3, 100, 0},
         {"more compute than its share",
          {with_compute(container(make_fraction(250)), 60)},
          1,
          600,
          0},
         {"less compute than its share",
          {with_compute(container(make_fraction(250)), 10)},
          1,
          250,
          0},
         {"memory and compute", {with_compute(container(make_memory(4096)), 30)}, 1, 300, 4096}});
}

TEST(ShapeTest, OfSeveralContainersIsWhatThoseNeedThatRunTogether) {
  using enum model::ContainerType;
  check(
      {{"two shares", {container(make_fraction(250)), container(make_fraction(500))}, 1, 750, 0},
       {"more than one GPU has",
        {container(make_fraction(500)), container(make_fraction(750))},
        1,
        1000,
        0},
       {"a sidecar's too",
        {container(make_fraction(500), kSidecar), container(make_fraction(250))},
        1,
        750,
        0},
       {"slices of a device plug-in", {container(make_units(7, "nvidia.com/mig-1g.5gb"))}, 0, 0, 0},
       {"a slice by annotation", {slice("1g.5gb")}, 0, 0, 0},
       {"a slice beside a share", {slice("1g.5gb"), container(make_fraction(250))}, 1, 250, 0},
       {"whole ones", {container(make_whole(2)), container(make_whole(1))}, 3, 1000, 0},
       {"the init container's GPUs are free again",
        {container(make_fraction(250), kInit), container(make_fraction(500))},
        1,
        500,
        0},
       {"an init container that asks for more of a GPU",
        {container(make_fraction(900), kInit), container(make_fraction(500))},
        1,
        900,
        0},
       {"an init container that asks for more GPUs",
        {container(make_whole(4), kInit), container(make_whole(1))},
        4,
        1000,
        0},
       {"an init container with small shares of more GPUs",
        {times(container(make_fraction(100), kInit), 4), container(make_whole(1))},
        1,
        1000,
        0},
       {"an init container with large shares of more GPUs",
        {times(container(make_fraction(600), kInit), 4), container(make_whole(1))},
        4,
        600,
        0},
       {"an init container alone", {container(make_fraction(300), kInit)}, 1, 300, 0},
       {"memory of both", {container(make_memory(100)), container(make_memory(300))}, 1, 0, 400}});
}

TEST(ShapeTest, KeepsTheHostsAmountsAndTheModels) {
  model::GpuRequest request = make_fraction(250);
  request.containers.front().models = {.included = {"A*"}, .excluded = {"*40"}};
  const demand::PodShape shape =
      demand::shape_of(request, {.cpu_milli = 1500, .memory_bytes = (std::int64_t{3} << 20) + 5});
  EXPECT_EQ(shape.host_cpu_milli, 1500);
  EXPECT_EQ(shape.host_memory_mib, 3);
  EXPECT_EQ(shape.included_models, std::vector<std::string>{"A*"});
  EXPECT_EQ(shape.excluded_models, std::vector<std::string>{"*40"});
  EXPECT_TRUE(shape.names_models());
  EXPECT_FALSE(demand::shape_of(make_fraction(250), {}).names_models());
}

TEST(ShapeTest, MemoryIsMeasuredByTheGpusOwn) {
  struct Size {
    std::int64_t milli;
    std::int64_t memory;
    std::int64_t of_gpu;
    std::int64_t expected;
  };
  for (const Size& row : std::vector<Size>{{250, 0, 40'960, 250},
                                           {0, 10'240, 40'960, 250},
                                           {0, 10'240, 16'384, 625},
                                           {0, 1, 81'920, 1},
                                           {0, 99'999, 40'960, 1000},
                                           {600, 10'240, 40'960, 600},
                                           {100, 10'240, 40'960, 250},
                                           {0, 10'240, 0, 0}}) {
    demand::PodShape shape{.gpus = 3, .gpu_milli = row.milli, .gpu_memory = {row.memory}};
    EXPECT_EQ(shape.milli_per_gpu({row.of_gpu}), row.expected) << row.milli << " " << row.memory;
    EXPECT_EQ(shape.total_milli({row.of_gpu}), 3 * row.expected);
  }
}

/// What pods ask has no limit but 64 bits, and everything learned is counted in these.
TEST(ShapeTest, WhatNoClusterHasDoesNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  model::GpuRequest request = make_units(kMost);
  request.containers.push_back(request.containers.front());
  const demand::PodShape shape =
      demand::shape_of(request, {.cpu_milli = kMost, .memory_bytes = kMost});
  EXPECT_GT(shape.gpus, 1000);
  EXPECT_GT(shape.total_milli({40'960}), 1'000'000);
  EXPECT_GT(shape.host_cpu_milli, 1'000'000);
  EXPECT_GT(shape.host_memory_mib, 1'000'000);
}

}  // namespace
}  // namespace snug::shape_test

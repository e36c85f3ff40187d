#include "score/multi_gpu_headroom.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "make_demands.hpp"

namespace snug::multi_gpu_headroom_test {
namespace {

/// One GPU as the definition sees it: by the pods on it, then by its position.
struct NaiveGpu {
  double crowd = 0;
  std::size_t position = 0;
  double cpu = 0;
  double memory = 0;

  friend bool operator<(const NaiveGpu& a, const NaiveGpu& b) {
    return std::pair(a.crowd, a.position) < std::pair(b.crowd, b.position);
  }
};

double mebibytes(const model::HostResources& amounts) {
  return static_cast<double>(amounts.memory_bytes >> 20);
}

/// How many of so many pods that have `used` together have to leave for what is missing.
double pods_for(double missing, double used, double pods) {
  if (missing <= 0) return 0;
  return std::ceil(missing / std::max(1.0, std::floor(used / std::max(1.0, pods))));
}

/// How many pods have to leave before the j-th room of the shape exists; infinite: it never does.
double leaving(const model::NodeState& node, const std::vector<NaiveGpu>& gpus, double rooms,
               const model::MultiGpuShape& shape) {
  double crowd = 0;
  double cpu =
      static_cast<double>(node.inventory->host.resources.cpu_milli - node.host_used.cpu_milli);
  double memory = static_cast<double>(
      (node.inventory->host.resources.memory_bytes - node.host_used.memory_bytes) >> 20);
  for (std::size_t i = 0;
       i < static_cast<std::size_t>(rooms) * static_cast<std::size_t>(shape.gpus); ++i) {
    crowd += gpus[i].crowd;
    cpu += gpus[i].cpu;
    memory += gpus[i].memory;
  }
  if (!node.inventory->host.known) return crowd;
  const double has_cpu = static_cast<double>(node.inventory->host.resources.cpu_milli);
  const double has_memory = mebibytes(node.inventory->host.resources);
  const double needs_cpu = rooms * static_cast<double>(shape.cpu_milli);
  const double needs_memory = rooms * static_cast<double>(shape.memory_mib);
  if (needs_cpu > has_cpu || needs_memory > has_memory) {
    return std::numeric_limits<double>::infinity();
  }
  const double others = static_cast<double>(node.pod_count) - crowd;
  return crowd + std::max(pods_for(needs_cpu - cpu, has_cpu - cpu, others),
                          pods_for(needs_memory - memory, has_memory - memory, others));
}

struct Between {
  double least = 0;
  double most = 0;
};

/// In milli-GPU. Between: pods that are told to an eighth, and rooms that hardly count.
Between naive_rooms(const model::NodeState& node, const std::vector<model::MultiGpuShape>& shapes) {
  Between sum;
  for (const model::MultiGpuShape& shape : shapes) {
    std::vector<NaiveGpu> gpus;
    for (std::size_t i = 0; i < std::min(node.gpus.size(), base::kMaxHeadroomGpus); ++i) {
      const model::GpuState& gpu = node.gpus[i];
      const bool usable = gpu.allows_whole && gpu.closure == model::GpuClosure::kOpen;
      if (!usable || (shape.models >> gpu.info->model_id & 1) == 0) continue;
      gpus.push_back({gpu.pod_milli / 1000.0, i, static_cast<double>(gpu.host_requested.cpu_milli),
                      mebibytes(gpu.host_requested)});
    }
    std::ranges::sort(gpus, std::less{});
    bool nothing_more = false;
    const double weight = static_cast<double>(shape.share) / model::kFixedPointOne * 1000 *
                          static_cast<double>(shape.gpus);
    for (double j = 1; j * static_cast<double>(shape.gpus) <= static_cast<double>(gpus.size());
         ++j) {
      const double pods = leaving(node, gpus, j, shape);
      const double most = std::pow(kFadeOfPod, std::floor(8 * pods) / 8);
      const double least = std::pow(kFadeOfPod, std::ceil(8 * pods) / 8);
      sum.most += weight * (most + kLeastThatCounts);
      // Behind a room that hardly counts no further one is looked at.
      nothing_more = nothing_more || least < kLeastThatCounts;
      if (!nothing_more) sum.least += weight * least;
    }
  }
  return sum;
}

std::vector<model::MultiGpuShape> draw_rooms(Random& random) {
  std::vector<model::MultiGpuShape> shapes;
  const std::int64_t count = random.from_to(1, 5);
  for (std::int64_t i = 0; i < count; ++i) {
    shapes.push_back(fading({.gpus = random.from_to(2, 8),
                             .cpu_milli = random.one_in(3) ? 0 : random.draw(60'000),
                             .memory_mib = random.one_in(3) ? 0 : random.draw(200'000),
                             .models = random.pick<model::ModelSet>({model::kAnyModel, 2, 4, 6, 0}),
                             .share = random.draw(model::kFixedPointOne)}));
  }
  return shapes;
}

double milli(std::int64_t parts) { return static_cast<double>(parts) / model::kFixedPointOne; }

TEST(MultiGpuHeadroomTest, OfRandomNodesIsWhatTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::NodeStatePtr node = draw_hosting(random);
    const std::vector<model::MultiGpuShape> shapes = draw_rooms(random);
    const double got = milli(score::MultiGpuHeadroom(*node).value(shapes));
    const Between expected = naive_rooms(*node, shapes);
    ASSERT_GE(got, expected.least * 0.999 - 0.1) << describe(*node);
    ASSERT_LE(got, expected.most * 1.001 + 0.1) << describe(*node);
  }
}

TEST(MultiGpuHeadroomTest, AfterAPlacementIsThatOfTheNodeAsItWillBe) {
  int placements = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const model::NodeStatePtr node = draw_hosting(random);
    const std::vector<model::MultiGpuShape> shapes = draw_rooms(random);
    const model::Placement placement = draw_placement(random, *node);
    if (placement.allocations.empty()) continue;
    ++placements;
    const model::HostResources host = host_amounts(random.draw(8000), random.draw(30'000));
    const model::NodeStatePtr after = placed_on(*node, placement, host);
    const score::MultiGpuHeadroom view = score::MultiGpuHeadroom(*node).after(placement, 0, host);
    // What of the host falls to each of several GPUs is rounded on the way.
    ASSERT_NEAR(milli(view.value(shapes)), milli(score::MultiGpuHeadroom(*after).value(shapes)),
                placement.allocations.size() == 1 ? 0.1 : 40)
        << describe(*node);
  }
  EXPECT_GT(placements, 500);
}

TEST(MultiGpuHeadroomTest, AfterAPlacementOfSeveralContainersAPodIsOnePodOnEachOfItsGpus) {
  const model::NodeStatePtr node = make_hosting({"n1: A 1000 x4", 8000, 8000, {}});
  const std::vector<model::MultiGpuShape> pairs = {
      fading({.gpus = 2, .cpu_milli = 1000, .share = model::kFixedPointOne}),
      fading({.gpus = 4, .cpu_milli = 8000, .share = model::kFixedPointOne})};
  const model::HostResources host = host_amounts(3000, 300);
  for (const std::vector<std::uint16_t>& gpus :
       std::vector<std::vector<std::uint16_t>>{{0, 0}, {0, 0, 1}, {2, 1, 2, 2}, {3, 0, 3, 1}}) {
    model::Placement placement;
    for (const std::uint16_t gpu : gpus) {
      placement.allocations.push_back(
          {.container = static_cast<std::uint16_t>(placement.allocations.size()),
           .gpu = gpu,
           .mode = model::GpuMode::kTimeSlicing,
           .milli = 100,
           .memory = {100},
           .compute = {100}});
    }
    const model::NodeStatePtr after = placed_on(*node, placement, host);
    EXPECT_NEAR(milli(score::MultiGpuHeadroom(*node).after(placement, 0, host).value(pairs)),
                milli(score::MultiGpuHeadroom(*after).value(pairs)), 1)
        << testing::PrintToString(gpus);
  }
}

const std::vector<model::MultiGpuShape> kPairs = {
    fading({.gpus = 2, .share = model::kFixedPointOne})};

/// The device plug-in chooses the GPUs: those that nobody has are thought to be they.
TEST(MultiGpuHeadroomTest, UnitsOfTheKubeletsHoldAsManyGpusThatNobodyHas) {
  const model::HostResources host = host_amounts(1000, 1000);
  const auto units = [&](std::string_view uid, std::int64_t count) {
    auto holding = make_units_holding(uid, "n1", count);
    holding->host = host;
    return model::HoldingPtr(std::move(holding));
  };
  for (std::int64_t first = 0; first <= 4; ++first) {
    for (std::int64_t second = 1; first + second <= 4; ++second) {
      SCOPED_TRACE(std::to_string(first) + " and then " + std::to_string(second));
      std::vector<model::HoldingPtr> holdings;
      if (first > 0) holdings.push_back(units("first", first));
      const HostText text{"n1: A 1000 x4", 64'000, 64'000, holdings};
      holdings.push_back(units("second", second));
      const model::NodeStatePtr node = make_hosting(text);
      const model::NodeStatePtr after = make_hosting({text.node, 64'000, 64'000, holdings});
      const std::vector<model::MultiGpuShape> all_four = {
          fading({.gpus = 4, .share = model::kFixedPointOne})};
      EXPECT_NEAR(milli(score::MultiGpuHeadroom(*node)
                            .after(model::Placement{}, 1000 * second, host)
                            .value(all_four)),
                  milli(score::MultiGpuHeadroom(*after).value(all_four)), 1);
      const std::int64_t idle = 4 - first - second;
      const std::vector<model::MultiGpuShape> all_idle = {
          {.gpus = std::max<std::int64_t>(1, idle), .share = model::kFixedPointOne}};
      EXPECT_NEAR(milli(score::MultiGpuHeadroom(*after).value(all_idle)),
                  1000.0 * static_cast<double>(idle), 0.1);
    }
  }
}

TEST(MultiGpuHeadroomTest, OfAnEmptyNodeIsAllItsGpus) {
  const model::NodeStatePtr node = make_hosting({"n1: A 1000 x8", 64'000, 64'000, {}});
  EXPECT_NEAR(milli(score::MultiGpuHeadroom(*node).value(kPairs)), 8000, 0.1);
  struct Row {
    std::string_view why;
    model::MultiGpuShape shape;
    double milli;
  };
  for (const Row& row : std::vector<Row>{
           {"two rooms of three", {.gpus = 3, .share = model::kFixedPointOne}, 6000},
           {"one of eight", {.gpus = 8, .share = model::kFixedPointOne}, 8000},
           {"more than it has", {.gpus = 9, .share = model::kFixedPointOne}, 0},
           {"half of the demand", {.gpus = 2, .share = model::kFixedPointOne / 2}, 4000},
           {"other models", {.gpus = 2, .models = 0b100, .share = model::kFixedPointOne}, 0},
           {"CPU for three",
            {.gpus = 2, .cpu_milli = 20'000, .share = model::kFixedPointOne},
            6000},
           {"CPU for none", {.gpus = 2, .cpu_milli = 64'001, .share = model::kFixedPointOne}, 0},
           {"memory for one",
            {.gpus = 2, .memory_mib = 40'000, .share = model::kFixedPointOne},
            2000}}) {
    EXPECT_NEAR(milli(score::MultiGpuHeadroom(*node).value(std::vector{row.shape})), row.milli, 0.1)
        << row.why;
  }
}

TEST(MultiGpuHeadroomTest, ARoomThatPodsHaveToLeaveCountsLessForEach) {
  const auto share = [](int gpu, std::string_view uid) {
    return model::HoldingPtr(make_holding(uid, "n1", {make_share(gpu, 100, 100)}));
  };
  const auto rooms = [](std::vector<model::HoldingPtr> holdings) {
    const model::NodeStatePtr node =
        make_hosting({"n1: A 1000 x2", 8000, 8000, std::move(holdings)});
    return milli(score::MultiGpuHeadroom(*node).value(kPairs));
  };
  EXPECT_NEAR(rooms({}), 2000, 0.1);
  EXPECT_NEAR(rooms({share(0, "a")}), 2000 * kFadeOfPod, 1);
  EXPECT_NEAR(rooms({share(1, "a"), share(1, "b")}), 2000 * kFadeOfPod * kFadeOfPod, 1);
  EXPECT_NEAR(
      rooms({make_holding("a", "n1", {make_whole_device(0, 1000), make_whole_device(1, 1000)})}),
      2000 * kFadeOfPod, 1)
      << "one pod on both";
}

TEST(MultiGpuHeadroomTest, APodIsOnePodOnHoweverManyGpus) {
  for (int gpus = 2; gpus <= 8; ++gpus) {
    std::vector<model::ReservedDevice> devices;
    for (int i = 0; i < gpus; ++i) devices.push_back(make_whole_device(i, 1000));
    const model::NodeStatePtr node = make_hosting(
        {"n1: A 1000 x" + std::to_string(gpus), 8000, 8000, {make_holding("a", "n1", devices)}});
    const std::vector<model::MultiGpuShape> all = {
        fading({.gpus = gpus, .share = model::kFixedPointOne})};
    EXPECT_NEAR(milli(score::MultiGpuHeadroom(*node).value(all)), 1000 * gpus * kFadeOfPod, 1)
        << gpus;
  }
}

TEST(MultiGpuHeadroomTest, GpusThatTakeNoWholePodMakeNoRoom) {
  for (const std::string_view node :
       {"n1: A 1000 x1", "n1: A 1000 x2 unhealthy", "n1: A 1000 x2 modes=time-slicing",
        "n1: A 1000 x2 mig", "n1: A 1000, A 1000 unhealthy", "n1:"}) {
    EXPECT_EQ(
        score::MultiGpuHeadroom(*make_hosting({std::string(node), 1000, 1000, {}})).value(kPairs),
        0)
        << node;
  }
}

TEST(MultiGpuHeadroomTest, OfANodeThatSaysNothingOfItsCpuOnlyTheGpusCount) {
  const std::vector<model::MultiGpuShape> shapes = {
      {.gpus = 2, .cpu_milli = 99'000, .share = model::kFixedPointOne}};
  EXPECT_NEAR(milli(score::MultiGpuHeadroom(*make_state("n1: A 1000 x4")).value(shapes)), 4000,
              0.1);
}

}  // namespace
}  // namespace snug::multi_gpu_headroom_test

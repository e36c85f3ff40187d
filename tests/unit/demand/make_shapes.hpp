// Shapes, supplies and counts for tests of learned demand. Pure.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "snug/demand/demand_tables.hpp"
#include "snug/demand/fitted.hpp"
#include "support/random.hpp"

namespace snug {

inline constexpr base::MebiBytes kUsual{40'960};

/// Of one GPU and of the host; several GPUs are whole.
inline demand::PodShape make_shape(std::int64_t gpus, std::int64_t gpu_milli,
                                   std::int64_t cpu_milli = 0, std::int64_t memory_mib = 0,
                                   std::vector<std::string> wanted = {}) {
  demand::PodShape shape;
  shape.gpus = gpus;
  shape.gpu_milli = gpu_milli;
  shape.host_cpu_milli = cpu_milli;
  shape.host_memory_mib = memory_mib;
  shape.included_models = std::move(wanted);
  return shape;
}

/// So many GPUs of the models A, B, C, …, all of one size.
inline demand::Supply make_supply(std::initializer_list<std::int64_t> by_model) {
  demand::Supply supply;
  std::vector<std::string> models{""};
  for (const std::int64_t gpus : by_model) {
    supply.gpus_by_model[models.size()] = gpus;
    supply.max_memory_by_model[models.size()] = kUsual;
    supply.gpus += gpus;
    models.emplace_back(1, static_cast<char>('A' + models.size() - 1));
  }
  supply.models = std::make_shared<const std::vector<std::string>>(std::move(models));
  if (supply.gpus > 0) supply.gpu_sizes = {{kUsual, supply.gpus}};
  supply.cpu_milli = supply.gpus * 12'000;
  supply.memory_mib = supply.gpus * 98'304;
  return supply;
}

inline demand::PodShape draw_shape(Random& random) {
  const bool several = random.one_in(5);
  demand::PodShape shape =
      make_shape(several ? random.pick<std::int64_t>({2, 4, 8}) : 1,
                 several || random.one_in(3) ? 1000 : random.from_to(1, 999), random.draw(96'000),
                 random.one_in(10) ? 0 : random.draw(600'000));
  if (random.one_in(5)) shape.included_models = {random.pick<std::string>({"A", "B", "?", "none"})};
  if (random.one_in(12)) shape.excluded_models = {"A"};
  if (!several && random.one_in(8)) {
    shape.gpu_milli = 0;
    shape.gpu_memory = {random.from_to(1, 80'000)};
  }
  return shape;
}

inline demand::ShapeCounts draw_counts(Random& random) {
  demand::ShapeCounts pods;
  const std::int64_t kinds = random.from_to(1, 12);
  for (std::int64_t i = 0; i < kinds; ++i) {
    pods[draw_shape(random)] += static_cast<double>(random.from_to(1, 50));
  }
  return pods;
}

/// Everything that a decision can read, but for the version.
inline void expect_same(const model::Demand& a, const model::Demand& b) {
  EXPECT_EQ(a.churn, b.churn);
  EXPECT_EQ(a.scarcity, b.scarcity);
  for (const std::int64_t gpu : {1, 500, 1000, 7810}) {
    for (std::int64_t have = 0; have < 300'000; have = have * 3 / 2 + 100) {
      ASSERT_EQ(a.cpu.stranded(have, have, gpu), b.cpu.stranded(have, have, gpu))
          << have << " " << gpu;
      ASSERT_EQ(a.memory.stranded(have, have, gpu), b.memory.stranded(have, have, gpu))
          << have << " " << gpu;
    }
  }
  ASSERT_EQ(a.left_over.size(), b.left_over.size());
  for (std::size_t i = 0; i < a.left_over.size(); ++i) {
    EXPECT_EQ(a.left_over[i].memory, b.left_over[i].memory);
    EXPECT_EQ(a.left_over[i].value, b.left_over[i].value);
    EXPECT_EQ(a.left_over[i].price, b.left_over[i].price);
  }
  const auto room = [](const model::MultiGpuShape& r) {
    return std::tuple(r.gpus, r.cpu_milli, r.memory_mib, r.models, r.share);
  };
  ASSERT_EQ(a.multi_gpu_shapes.size(), b.multi_gpu_shapes.size());
  for (std::size_t i = 0; i < a.multi_gpu_shapes.size(); ++i)
    EXPECT_EQ(room(a.multi_gpu_shapes[i]), room(b.multi_gpu_shapes[i]));
  const auto typical = [](const model::TypicalPod& t) {
    return std::tuple(t.cpu_milli, t.gpus, t.gpu_milli, t.models, t.share);
  };
  ASSERT_EQ(a.typical_pods.size(), b.typical_pods.size());
  for (std::size_t i = 0; i < a.typical_pods.size(); ++i) {
    EXPECT_EQ(typical(a.typical_pods[i]), typical(b.typical_pods[i]));
  }
}

}  // namespace snug

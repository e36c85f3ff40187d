// Pods of many containers that fill a node to the last MiB, which brute force cannot look through:
// each is made from an assignment, so that there is one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fit/several_containers.hpp"
#include "many.hpp"
#include "oracle/fit_oracle.hpp"
#include "random_cluster.hpp"
#include "snug/fit/pod_charge.hpp"
#include "support/node_states.hpp"

namespace snug::fit_brim_property_test {
namespace {

struct Brim {
  model::NodeInventory inventory;
  std::vector<model::HoldingPtr> holdings;
  model::GpuRequest request;
};

model::NodeInventory draw_box(int gpus) {
  model::NodeInventory node;
  node.name = "n1";
  const bool mixed = one_in(3);
  std::int64_t capacity = draw_from<std::int64_t>({16384, 40960, 81920});
  for (int i = 0; i < gpus; ++i) {
    if (mixed && one_in(2)) capacity = draw_from<std::int64_t>({16384, 40960, 81920});
    node.gpus.push_back({.index = i,
                         .uuid = make_gpu_uuid("n1", i),
                         .model = "A",
                         .memory = {capacity},
                         .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}});
  }
  return node;
}

model::ContainerRequest draw_share(int style) {
  model::ContainerRequest asked;
  if (style == 0 && one_in(3)) {
    asked.device = model::MemoryRequest{{1000 + draw(12000)}};
  } else if (style == 1) {
    asked.device = model::FractionRequest{50 * (1 + draw(14))};
  } else {
    asked.device = model::FractionRequest{style == 2 ? 250 + draw(200) : 100 + draw(600)};
  }
  if (style == 0 && one_in(3)) asked.compute_percent = 5 + draw(60);
  return asked;
}

model::GpuRequest draw_containers(bool with_inits) {
  model::GpuRequest request;
  const int containers = 2 + draw(7);
  const int style = draw(4);
  for (int c = 0; c < containers; ++c) {
    model::ContainerRequest asked = draw_share(style);
    if (one_in(12)) asked = {.device = model::WholeGpuRequest{}};
    asked.type = with_inits ? draw_kind() : model::ContainerType::kApp;
    asked.container = "c" + std::to_string(c);
    asked.count = 0;
    request.containers.push_back(std::move(asked));
  }
  return request;
}

bool wants_whole(const model::ContainerRequest& asked) {
  return std::holds_alternative<model::WholeGpuRequest>(asked.device);
}

/// Puts containers on the GPU in a random order while they fit, and fills what is left, or some of
/// it, by a holding.
void fill(Brim& brim, const model::GpuInfo& gpu, std::int64_t& devices) {
  constexpr std::int64_t kMostDevices = 64;
  std::vector<std::size_t> order(brim.request.containers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(draw(static_cast<int>(i)))]);
  }
  fit::PodCharge charge;
  bool used = false;
  bool whole = false;
  for (const std::size_t c : order) {
    model::ContainerRequest& asked = brim.request.containers[c];
    if (devices == kMostDevices || whole || (used && wants_whole(asked))) continue;
    const auto cost = FitOracle::cost(asked, gpu.memory.value);
    charge.add(asked.type, c, {{cost.memory}, {cost.compute}});
    if (charge.total().memory > gpu.memory || charge.total().compute > base::kWholeGpu) {
      charge.remove_last();
      continue;
    }
    used = true;
    whole = wants_whole(asked);
    ++asked.count;
    ++devices;
  }
  if (whole || one_in(5)) return;
  const fit::Charge total = used ? charge.total() : fit::Charge{};
  const base::MebiBytes memory = gpu.memory - total.memory;
  const base::MilliGpu compute = base::kWholeGpu - total.compute;
  if (memory.value == 0 || compute.value == 0) return;
  brim.holdings.push_back(make_holding("h" + std::to_string(gpu.index), "n1",
                                       {make_share(gpu.index, memory.value, compute.value)}));
}

Brim draw_brim(int most_gpus, bool with_inits) {
  Brim brim{.inventory = draw_box(2 + draw(most_gpus - 1)),
            .holdings = {},
            .request = draw_containers(with_inits)};
  std::int64_t devices = 0;
  for (const model::GpuInfo& gpu : brim.inventory.gpus) fill(brim, gpu, devices);
  std::erase_if(brim.request.containers,
                [](const model::ContainerRequest& asked) { return asked.count == 0; });
  return brim;
}

/// False: the search gave up.
bool is_found(const Brim& brim) {
  const model::NodeStatePtr node = fit::build_node_state(
      std::make_shared<const model::NodeInventory>(brim.inventory), brim.holdings);
  RC_PRE(brim.request.containers.size() > 1);
  for (const model::ContainerRequest& asked : brim.request.containers) {
    const auto cost = FitOracle::cost(asked, 40960);
    RC_LOG() << (asked.type == model::ContainerType::kInit      ? "init"
                 : asked.type == model::ContainerType::kSidecar ? "sidecar"
                                                                : "app")
             << " of " << cost.memory << " MiB, " << cost.compute << "m on 40960 MiB, "
             << asked.count << " times\n";
  }
  RC_LOG() << describe(*node);
  fit::FitMemo memo(brim.request);
  model::PlacementList options;
  const auto [reason, gave_up] = fit::fit_several_containers(*node, {}, memo, options);
  RC_TAG(std::to_string(brim.request.containers.size()) + " containers",
         reason == model::ReasonCode::kNone ? "found" : "given up");
  RC_ASSERT(fit::can_fit(*node, {}, memo) == (reason == model::ReasonCode::kNone));
  if (gave_up) return false;
  RC_ASSERT(reason == model::ReasonCode::kNone);
  const FitOracle oracle(brim.inventory, brim.holdings);
  for (std::size_t i = 0; i < options.size(); ++i) {
    RC_ASSERT(oracle.accepts(brim.request, options[i].allocations));
  }
  return true;
}

/// How many of so many drawn ones the search gives up, at its bound (decision 15).
int given_up_of(int drawn, int most_gpus, bool with_inits) {
  int given_up = 0;
  holds_in(drawn, [&] { given_up += is_found(draw_brim(most_gpus, with_inits)) ? 0 : 1; });
  return given_up;
}

/// One in some millions is given up.
TEST(FitBrimProperty, AppsThatFillEightGpusAreFound) { EXPECT_LE(given_up_of(2'000, 8, false), 1); }

TEST(FitBrimProperty, SidecarsAndInitContainersToo) { EXPECT_LE(given_up_of(2'000, 8, true), 1); }

/// One in a thousand is.
TEST(FitBrimProperty, OnSixteenGpusFewAreGivenUp) { EXPECT_LE(given_up_of(1'000, 16, true), 12); }

/// However many hard nodes stand before it, some with the same GPUs in another order, a node gets
/// the answer that it gets alone.
TEST(FitBrimProperty, TheNodesOfACallDoNotChangeEachOthersAnswers) {
  holds_in(30, [] {
    Brim other = draw_brim(16, true);
    const model::GpuRequest request = other.request;
    RC_PRE(request.containers.size() > 1);
    fit::FitMemo shared(request);
    model::PlacementList together;
    model::PlacementList alone;
    for (int i = 0; i < 40; ++i) {
      if (i % 4 == 3) {
        other = draw_brim(16, false);
      } else {
        std::ranges::rotate(other.inventory.gpus, other.inventory.gpus.begin() + 1);
      }
      const model::NodeStatePtr node = fit::build_node_state(
          std::make_shared<const model::NodeInventory>(other.inventory), other.holdings);
      fit::FitMemo fresh(request);
      RC_ASSERT(fit::fit(*node, {}, shared, together) == fit::fit(*node, {}, fresh, alone));
      RC_ASSERT(together.size() == alone.size());
    }
  });
}

}  // namespace
}  // namespace snug::fit_brim_property_test

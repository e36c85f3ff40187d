// Which sets of GPUs are offered where NVLinks tell them apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pods.hpp"

namespace snug::links_test {
namespace {

/// Islands of eight GPUs, all linked inside, none to another.
model::NodeInventory islands(int count) {
  model::NodeInventory node = make_node("n1: A 40960 x" + std::to_string(8 * count));
  const std::size_t gpus = node.gpus.size();
  node.nvlinks.assign(gpus, std::vector<int>(gpus));
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < gpus; ++b) node.nvlinks[a][b] = a != b && a / 8 == b / 8 ? 2 : 0;
  }
  return node;
}

model::NodeStatePtr with_taken(model::NodeInventory node, const std::vector<int>& taken) {
  std::vector<model::HoldingPtr> holdings;
  for (const int gpu : taken) {
    holdings.push_back(
        make_holding("w" + std::to_string(gpu), "n1", {make_whole_device(gpu, 40960)}));
  }
  return fit::build_node_state(std::make_shared<const model::NodeInventory>(std::move(node)),
                               std::move(holdings));
}

/// Of the options, the most links that a container's GPUs have among each other, in all.
int most_links(const model::NodeState& node, const model::GpuRequest& request) {
  int most = -1;
  for (const model::Placement& option : fit_all(node, request).options) {
    int links = 0;
    for (const model::DeviceAllocation& a : option.allocations) {
      for (const model::DeviceAllocation& b : option.allocations) {
        if (a.container == b.container && a.gpu < b.gpu)
          links += node.nvlinks_between(a.gpu, b.gpu);
      }
    }
    most = std::max(most, links);
  }
  return most;
}

TEST(FitLinksTest, OfFewGpusEverySetIsOffered) {
  const model::NodeStatePtr box = with_taken(islands(1), {0});
  EXPECT_EQ(fit_all(*box, make_whole(2)).options.size(), 21U);
  EXPECT_EQ(fit_all(*box, make_whole(3)).options.size(), 35U);
  EXPECT_EQ(fit_all(*box, make_whole(7)).options.size(), 1U);
}

TEST(FitLinksTest, OfManyGpusASetThatHangsTogetherIsOffered) {
  struct Row {
    std::vector<int> taken;
    int wholes;
    int links;
  };
  for (const Row& row : std::vector<Row>{{{}, 4, 12},
                                         {{0, 1, 2, 3, 4}, 4, 12},
                                         {{0, 1, 2, 8, 9, 10, 11}, 5, 20},
                                         {{0, 1, 2, 3, 8, 9, 10, 11, 16, 17}, 6, 30},
                                         {{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19}, 5, 12}}) {
    const model::NodeStatePtr box = with_taken(islands(3), row.taken);
    EXPECT_EQ(most_links(*box, make_whole(row.wholes)), row.links) << row.wholes << " wholes";
  }
}

TEST(FitLinksTest, ContainersOfOnePodHangTogetherEach) {
  const model::NodeStatePtr box = with_taken(islands(2), {0, 1, 2, 3, 8, 9, 10, 11});
  EXPECT_EQ(most_links(*box, make_asks("app whole4; app whole4")), 24);
  EXPECT_EQ(most_links(*with_taken(islands(2), {3, 7}), make_asks("app whole2; app 0.5 x6")), 32);
}

}  // namespace
}  // namespace snug::links_test

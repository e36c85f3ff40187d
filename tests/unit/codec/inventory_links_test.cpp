// `links` of the annotation snug.dev/inventory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snug/codec/inventory_codec.hpp"

namespace snug::inventory_links_test {
namespace {

/// A node whose GPUs have these indices, in this order.
model::NodeInventory read(const std::vector<int>& indices, const std::string& links) {
  std::string gpus;
  for (const int index : indices) {
    gpus.append(gpus.empty() ? "" : ",")
        .append(R"({"model":"A","memoryMiB":1,"index":)")
        .append(std::to_string(index))
        .append("}");
  }
  model::NodeFacts node;
  node.name = "n1";
  node.annotations["snug.dev/inventory"] =
      R"({"version":1,"gpus":[)" + gpus + R"(],"links":)" + links + "}";
  return codec::read_inventory(node, base::Limits{});
}

TEST(InventoryLinksTest, TheyMoveWithTheirGpusIntoTheOrderOfIndices) {
  const model::NodeInventory inventory = read({2, 0, 1}, "[[0,1,2],[1,0,3],[2,3,0]]");
  EXPECT_EQ(inventory.closed_message, "");
  EXPECT_EQ(inventory.nvlinks, (std::vector<std::vector<int>>{{0, 3, 1}, {3, 0, 2}, {1, 2, 0}}));
}

TEST(InventoryLinksTest, AMatrixThatContradictsItselfClosesTheNode) {
  struct Row {
    std::string links;
    std::string why;
  };
  for (const Row& row :
       std::vector<Row>{{"0", "links must be a list"},
                        {"[0,0]", "links[0] must be a list"},
                        {"[]", "links must have one row for each GPU"},
                        {"[[0,1]]", "links must have one row for each GPU"},
                        {"[[0,1],[1,0],[1,0]]", "links must have one row for each GPU"},
                        {"[[0],[1,0]]", "links[0] must have one number for each GPU"},
                        {"[[0,1],[1]]", "links[1] must have one number for each GPU"},
                        {"[[0,1],[1,0,0]]", "links[1] must have one number for each GPU"},
                        {"[[0,-1],[-1,0]]", "links[0][1] must be an integer from 0 to 65535"},
                        {"[[0,12],[7,0]]",
                         "links[1][0] must be 12 like links[0][1]: the matrix must be symmetric"},
                        {"[[4,12],[12,0]]", "links[0][0] must be 0: no GPU is linked to itself"},
                        {"[[0,12],[12,4]]", "links[1][1] must be 0: no GPU is linked to itself"}}) {
    const model::NodeInventory inventory = read({0, 1}, row.links);
    EXPECT_EQ(inventory.closed_to_all, model::ReasonCode::kBadInventory) << row.links;
    EXPECT_TRUE(inventory.gpus.empty() && inventory.nvlinks.empty()) << row.links;
    EXPECT_EQ(inventory.closed_message,
              "the annotation snug.dev/inventory is malformed: " + row.why);
  }
}

}  // namespace
}  // namespace snug::inventory_links_test

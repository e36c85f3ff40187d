#include "ctl/top_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::top_text_test {
namespace {

using codec::ShownGpu;
using codec::ShownHolder;
using codec::ShownNode;
using testing::ElementsAre;

ShownHolder holder(const std::string& pod, std::int64_t mib = 0, std::int64_t milli = 0) {
  return {.name_space = "ml",
          .pod = pod,
          .container = "main",
          .memory_mib = mib,
          .compute_milli = milli};
}

/// GPU 0 is shared, 1 free, 2 closed, 3 has slices.
ShownNode a100_node() {
  ShownNode node{.name = "n1", .pool = "shares"};
  for (std::int64_t i = 0; i < 4; ++i) {
    node.gpus.push_back({.index = i,
                         .uuid = "GPU-" + std::to_string(i),
                         .model = "NVIDIA-A100-SXM4-40GB",
                         .memory_mib = 40'960,
                         .mode = "none"});
  }
  node.gpus[0].mode = "mps";
  node.gpus[0].used_memory_mib = 20'480;
  node.gpus[0].used_compute_milli = 300;
  node.gpus[0].holders = {holder("a", 10'240, 250), holder("b", 10'240, 50)};
  node.gpus[1].free_whole = true;
  node.gpus[2].closed = "unhealthy";
  ShownGpu& mig = node.gpus[3];
  mig.mode = "mig";
  mig.used_memory_mib = 14'592;
  mig.used_compute_milli = 427;
  mig.axis = 8;
  mig.slices = {{.profile = "1g.5gb", .start = 6, .size = 1, .holder = holder("c")},
                {.profile = "2g.10gb", .start = 0, .size = 2, .holder = holder("d")},
                {.profile = "1g.5gb", .start = 2, .size = 1, .holder = {}}};
  mig.holders = {holder("c", 4864, 142), holder("d", 9728, 285)};
  return node;
}

const std::vector<std::size_t> kFirst{0};

TEST(TopTextTest, ANodeIsALine) {
  const std::vector<ShownNode> nodes{a100_node()};
  const ctl::TopPage page = ctl::nodes_page(nodes, kFirst, {.unicode = true});
  EXPECT_THAT(page.head,
              ElementsAre("NODE  GPUS  FREE  MEMORY                            COMPUTE    "
                          "         PODS  MODEL           REMARKS"));
  EXPECT_THAT(page.rows,
              ElementsAre("n1    ▄·x▃     1  ███░░░░░░░░░  21 %  34.3/160 GiB  ██░░░░░░░░░░  18 %  "
                          "   4  A100-SXM4-40GB  1 GPU closed; pool shares"));
  EXPECT_THAT(
      page.foot,
      ElementsAre("1 node, 4 GPUs, 4 pods; 1 whole GPU free, 1 closed",
                  "reserved: 21 % of memory (34.3/160 GiB), 18 % of compute (0.727/4 GPUs)"));
  EXPECT_THAT(ctl::nodes_page(nodes, kFirst, {}).rows,
              ElementsAre(testing::StartsWith("n1    5.x4     1  ###.........  21 %")));
}

TEST(TopTextTest, WhyANodeIsClosedIsARemark) {
  std::vector<ShownNode> nodes{a100_node()};
  nodes[0].closed = "to annotated pods: Unhealthy";
  EXPECT_THAT(ctl::nodes_page(nodes, kFirst, {}).rows.front(),
              testing::EndsWith("closed: to annotated pods: Unhealthy; 1 GPU closed; pool shares"));
  const std::vector<ctl::GpuPosition> chosen{{0, 0, 0}, {0, 1, 1}, {0, 2, 2}};
  EXPECT_THAT(ctl::gpus_page(nodes, chosen, false, {}).rows,
              ElementsAre(testing::EndsWith("  node closed: to annotated pods: Unhealthy"),
                          testing::EndsWith("  free; node closed: to annotated pods: Unhealthy"),
                          testing::EndsWith("  closed: unhealthy")));
}

TEST(TopTextTest, ANodeInDetailHasItsHoldersAndItsSlicesAtTheirPlaces) {
  std::vector<ShownNode> nodes{a100_node()};
  nodes[0].units = {{.name_space = "ml",
                     .pod = "k",
                     .container = "main",
                     .resource = "nvidia.com/gpu",
                     .count = 2}};
  const ctl::TopPage page = ctl::node_details_page(nodes, kFirst, {});
  EXPECT_THAT(
      page.rows,
      ElementsAre("n1  pool shares",
                  "  0  A100-SXM4-40GB  ######......  50 %  20/40 GiB    ####........  30 %  mps",
                  "      ml/a (main)  10240 MiB, 25 %", "      ml/b (main)  10240 MiB, 5 %",
                  "  1  A100-SXM4-40GB  ............   0 %  0/40 GiB     ............   0 %  free",
                  "  2  A100-SXM4-40GB  ............   0 %  0/40 GiB     ............   0 %  "
                  "closed: unhealthy",
                  "  3  A100-SXM4-40GB  ####........  36 %  14.3/40 GiB  #####.......  43 %  mig",
                  "      [   2g.10gb    ][1g.5gb]   .       .       .    [1g.5gb]   .",
                  "      2g.10gb at 0-1: ml/d (main)", "      1g.5gb at 2: free",
                  "      1g.5gb at 6: ml/c (main)",
                  "  assigned by the kubelet: ml/k (main)  2 x nvidia.com/gpu"));
  nodes[0].closed = "BadInventory: it is not JSON";
  EXPECT_EQ(ctl::node_details_page(nodes, kFirst, {}).rows.front(),
            "n1  pool shares  closed: BadInventory: it is not JSON");
  nodes[0].closed.clear();
  nodes[0].agent = {.enforcement = "fail-closed", .limits = "mps", .alive = true};
  EXPECT_EQ(ctl::node_details_page(nodes, kFirst, {}).rows.front(),
            "n1  pool shares  agent: fail-closed, limits mps");
  nodes[0].agent = {.enforcement = "open", .limits = {}, .alive = false};
  EXPECT_EQ(ctl::node_details_page(nodes, kFirst, {}).rows.front(),
            "n1  pool shares  agent: open, away");
  nodes[0].agent.reset();
  nodes[0].enforcer = "koordlet";
  EXPECT_EQ(ctl::node_details_page(nodes, kFirst, {}).rows.front(),
            "n1  pool shares  enforcer koordlet");
}

TEST(TopTextTest, DevicesOfTheKubeletAreALineOfTheSums) {
  ctl::NodeSums sums;
  EXPECT_EQ(ctl::sums_lines(1, sums, {}).size(), 2U);
  sums.kubelet_units = 1;
  EXPECT_EQ(ctl::sums_lines(1, sums, {}).back(), "plus 1 device assigned by the kubelet");
  sums.kubelet_units = 2;
  EXPECT_EQ(ctl::sums_lines(1, sums, {}).back(), "plus 2 devices assigned by the kubelet");
}

TEST(TopTextTest, SlicesThatOverlapOrLeaveTheAxisAreOnlyListed) {
  std::vector<ShownNode> nodes{a100_node()};
  nodes[0].gpus = {nodes[0].gpus[3]};
  nodes[0].gpus[0].slices = {{.profile = "1g.5gb", .start = 0, .size = 1},
                             {.profile = "2g.10gb", .start = 0, .size = 2},
                             {.profile = "4g.20gb", .start = 6, .size = 4},
                             {.profile = "odd", .start = 1, .size = 0}};
  const std::vector<std::string> rows = ctl::node_details_page(nodes, kFirst, {}).rows;
  EXPECT_THAT(rows,
              ElementsAre("n1  pool shares", testing::_,
                          "      [1g.5gb]   .       .       .       .       .       .       .",
                          "      1g.5gb at 0: free", "      2g.10gb at 0-1: free",
                          "      4g.20gb at 6-9: free"));
}

TEST(TopTextTest, AGpuIsALine) {
  const std::vector<ShownNode> nodes{a100_node()};
  const std::vector<ctl::GpuPosition> chosen{{0, 0, 0}, {0, 1, 1}, {0, 2, 2}};
  EXPECT_THAT(
      ctl::gpus_page(nodes, chosen, false, {}).rows,
      ElementsAre(
          "n1      0  mps   ######......  50 %  20/40 GiB  ####........  30 %  A100-SXM4-40GB",
          "n1      1  -     ............   0 %  0/40 GiB   ............   0 %  A100-SXM4-40GB  "
          "free",
          "n1      2  -     ............   0 %  0/40 GiB   ............   0 %  A100-SXM4-40GB  "
          "closed: unhealthy"));
  EXPECT_THAT(ctl::gpus_page(nodes, chosen, true, {}).rows.front(),
              testing::EndsWith("  GPU-0  ml/a, ml/b"));
}

TEST(TopTextTest, APodIsALine) {
  const std::vector<codec::ShownPod> pods{{.name_space = "ml",
                                           .name = "a",
                                           .node = "n1",
                                           .state = "bound",
                                           .request = "gpu-fraction=0.5",
                                           .devices = "0,1",
                                           .memory_mib = 40'960,
                                           .compute_milli = 1000},
                                          {.name_space = "ml",
                                           .name = "b",
                                           .state = "pending",
                                           .reason = "NoRoom: no GPU has room",
                                           .request = "gpu-fraction=1"},
                                          {.name_space = "ml",
                                           .name = "k",
                                           .node = "n1",
                                           .state = "bound",
                                           .request = "nvidia.com/gpu=1",
                                           .devices = "1 x nvidia.com/gpu"}};
  const std::vector<std::size_t> all{0, 1, 2};
  EXPECT_THAT(
      ctl::pods_page(pods, all, false, {}).rows,
      ElementsAre("ml         a    bound    n1    0,1                 40960 MiB        1",
                  "ml         b    pending  -     -                           -        -  NoRoom",
                  "ml         k    bound    n1    1 x nvidia.com/gpu          -        -"));
  EXPECT_THAT(ctl::pods_page(pods, all, true, {}).rows[1],
              testing::EndsWith("  gpu-fraction=1    NoRoom: no GPU has room"));
}

TEST(TopTextTest, WhyAPodIsPendingIsShownOn80Columns) {
  const std::vector<codec::ShownPod> pods{{.name_space = "ml",
                                           .name = "trainer-with-a-rather-long-name",
                                           .state = "pending",
                                           .reason = "NoRoom: no GPU has room"},
                                          {.name_space = "ml",
                                           .name = "slice",
                                           .node = "n1",
                                           .state = "bound",
                                           .devices = "0:2g.10gb@2",
                                           .memory_mib = 10'240,
                                           .compute_milli = 285}};
  struct Row {
    std::size_t width;
    const char* end;
  };
  const Row rows[] = {
      {98, "  pending  -     -                    -        -  NoRoom"},
      {97, "  pending  -     -                    -  NoRoom"},
      {80, "  pending  -     -            NoRoom"},
      {77, "  pending  -     NoRoom"},
      {64, "  pending  NoRoom"},
  };
  const std::vector<std::size_t> both{0, 1};
  for (const Row& row : rows) {
    EXPECT_EQ(ctl::pods_page(pods, both, false, {.width = row.width}).rows.front(),
              std::string("ml         trainer-with-a-rather-long-name") + row.end)
        << row.width;
  }
}

TEST(TopTextTest, NoFigureIsCutBehindALongName) {
  std::vector<ShownNode> nodes{a100_node()};
  nodes[0].name = std::string(40, 'n');
  EXPECT_THAT(ctl::nodes_page(nodes, kFirst, {.width = 80}).rows,
              ElementsAre(nodes[0].name + "  5.x4     1   21 %  34.3/160 GiB  1 GP~"));
  EXPECT_THAT(ctl::nodes_page(nodes, kFirst, {.width = 60}).rows,
              ElementsAre(nodes[0].name + "  5.x4     1  1 GPU~"));
  const std::vector<ctl::GpuPosition> chosen{{0, 0, 0}};
  EXPECT_THAT(ctl::gpus_page(nodes, chosen, false, {.width = 80}).rows,
              ElementsAre(nodes[0].name + "    0  mps    50 %  20/40 GiB"));
}

TEST(TopTextTest, ANamespaceIsShownAgainstItsCap) {
  const std::vector<codec::ShownNamespace> namespaces{
      {.name = "ml", .pods = 2, .memory_mib = 20'480, .compute_milli = 2250, .cap_milli = 4000},
      {.name = "over", .pods = 1, .memory_mib = 1024, .compute_milli = 500, .cap_milli = 400},
      {.name = "web", .pods = 1, .memory_mib = 512, .compute_milli = 50, .cap_milli = {}}};
  const std::vector<std::size_t> all{0, 1, 2};
  EXPECT_THAT(ctl::namespaces_page(namespaces, all, {}).rows,
              ElementsAre("ml            2   20 GiB  2.25    4  #######..... 56 %",
                          "over          1    1 GiB   0.5  0.4  ############ 125 %",
                          "web           1  0.5 GiB  0.05    -  -"));
}

TEST(TopTextTest, TheWholeCluster) {
  codec::ShownCluster cluster{
      .nodes = 3,
      .gpus = 10,
      .closed_gpus = 1,
      .memory_mib = 409'600,
      .used_memory_mib = 204'800,
      .compute_milli = 10'000,
      .used_compute_milli = 4500,
      .free_whole_gpus = 3,
      .largest_free_share = {{.node = "n1", .gpu = 2, .memory_mib = 40'960, .compute_milli = 1000}},
      .fragmented_milli = 1200,
      .free_milli = 4500,
      .models = {{.model = "NVIDIA-A100-SXM4-40GB",
                  .gpus = 10,
                  .memory_mib = 409'600,
                  .used_memory_mib = 204'800,
                  .used_compute_milli = 4500,
                  .free_whole_gpus = 3}},
      .namespaces = {},
      .pending = {{.code = "NoRoom", .sentence = "no GPU has room for the request", .pods = 12},
                  {.code = "", .sentence = "", .pods = 1}},
      .policy_generation = 2,
      .default_profile = "tight"};
  EXPECT_THAT(
      ctl::cluster_page(cluster, {}).rows,
      ElementsAre(
          "nodes       3 with 10 GPUs, of which 1 closed",
          "memory      ######......  50 %  200/400 GiB",
          "compute     #####.......  45 %  4.5/10 GPUs",
          "free        3 whole GPUs; the largest share for one pod is 40960 MiB and 100 % of the "
          "compute, on GPU 2 of node n1",
          "fragmented  1.2 of the 4.5 free GPUs are of no use to a typical pod",
          "policy      tight, generation 2", "",
          "MODEL           GPUS  FREE  MEMORY                           COMPUTE",
          "A100-SXM4-40GB    10     3  ######......  50 %  200/400 GiB  #####.......  45 %", "",
          "PENDING  REASON", "     12  NoRoom  no GPU has room for the request",
          "      1  -       Snug has not refused them yet"));
  cluster.pending.clear();
  cluster.largest_free_share.reset();
  const std::vector<std::string> rows = ctl::cluster_page(cluster, {}).rows;
  EXPECT_EQ(rows.back(), "no GPU pod is pending");
  EXPECT_EQ(rows[3], "free        3 whole GPUs; nothing for a pod that shares a GPU");
}

}  // namespace
}  // namespace snug::top_text_test

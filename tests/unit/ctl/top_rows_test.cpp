#include "ctl/top_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::top_rows_test {
namespace {

using codec::ShownGpu;
using codec::ShownNode;
using ctl::TopFilter;
using testing::ElementsAre;

ShownGpu gpu(std::int64_t index, std::int64_t used_mib, const std::string& name_space) {
  ShownGpu shown{
      .index = index, .model = "A100", .memory_mib = 1000, .free_whole = true, .mode = "none"};
  if (used_mib == 0) return shown;
  shown.free_whole = false;
  shown.mode = "time-slicing";
  shown.used_memory_mib = used_mib;
  shown.used_compute_milli = used_mib;
  shown.holders = {
      {.name_space = name_space, .pod = "p" + std::to_string(index), .memory_mib = used_mib}};
  return shown;
}

/// a: one GPU of ml, one free, one unhealthy. b: full, of web. c: of the kubelet, one of two.
std::vector<ShownNode> three_nodes() {
  ShownGpu unhealthy = gpu(2, 0, "");
  unhealthy.closed = "unhealthy";
  unhealthy.free_whole = false;
  ShownGpu of_the_kubelet = gpu(0, 0, "");
  of_the_kubelet.free_whole = false;
  return {{.name = "a", .pool = "auto", .gpus = {gpu(0, 500, "ml"), gpu(1, 0, ""), unhealthy}},
          {.name = "b", .pool = "auto", .gpus = {gpu(0, 1000, "web")}},
          {.name = "c",
           .pool = "auto",
           .gpus = {of_the_kubelet, gpu(1, 0, "")},
           .units = {{.name_space = "ml", .pod = "k", .resource = "nvidia.com/gpu", .count = 1}}}};
}

TEST(TopRowsTest, ANodesSums) {
  const std::vector<ShownNode> nodes = three_nodes();
  const ctl::NodeSums a = ctl::sums_of(nodes[0]);
  EXPECT_EQ(a.gpus, 3);
  EXPECT_EQ(a.closed_gpus, 1);
  EXPECT_EQ(a.free_gpus, 1);
  EXPECT_EQ(a.memory_mib, 3000);
  EXPECT_EQ(a.used_memory_mib, 500);
  EXPECT_EQ(a.pods, 1);
  const ctl::NodeSums c = ctl::sums_of(nodes[2]);
  EXPECT_EQ(c.free_gpus, 1) << "the kubelet has one of the two";
  EXPECT_EQ(c.kubelet_units, 1);
  EXPECT_EQ(c.pods, 1);
  ctl::NodeSums all;
  for (const ShownNode& node : nodes) all += ctl::sums_of(node);
  EXPECT_EQ(all.gpus, 6);
  EXPECT_EQ(all.free_gpus, 2);
  EXPECT_EQ(all.used_memory_mib, 1500);
  EXPECT_EQ(all.pods, 3);
}

TEST(TopRowsTest, WhatIsFreeSaysSnugAndANodesReasonClosesNoGpu) {
  struct Row {
    std::string node_closed;
    std::string mode;
    std::int64_t axis;
    std::vector<bool> free_whole;
    std::int64_t free_gpus;
  };
  const std::vector<Row> rows{
      {"", "none", 0, {true, true, true}, 3},
      {"to annotated pods: Unhealthy: 2 of 3", "none", 0, {false, true, true}, 2},
      {"to annotated pods: WrongMode: replicas", "none", 0, {false, false, false}, 0},
      {"to annotated pods: WrongMode: mixed", "none", 8, {false, false, true}, 1},
      {"to annotated pods: NodeClosed: …", "none", 0, {true, true, false}, 2},
      {"BadInventory: …", "none", 0, {false, false, false}, 0},
      {"", "none", 8, {false, false, false}, 0},
      {"", "mps", 0, {false, false, false}, 0},
  };
  for (const Row& row : rows) {
    ShownNode node{.name = "n", .pool = "auto", .closed = row.node_closed};
    for (const bool free_whole : row.free_whole) {
      node.gpus.push_back({.free_whole = free_whole, .mode = row.mode, .axis = row.axis});
    }
    const ctl::NodeSums sums = ctl::sums_of(node);
    EXPECT_EQ(sums.free_gpus, row.free_gpus) << row.node_closed;
    EXPECT_EQ(sums.closed_gpus, 0) << row.node_closed;
    node.gpus[0].closed = "unhealthy";
    EXPECT_EQ(ctl::sums_of(node).closed_gpus, 1) << row.node_closed;
  }
}

TEST(TopRowsTest, NodesAreChosenAndSorted) {
  const std::vector<ShownNode> nodes = three_nodes();
  const auto chosen = [&](const TopFilter& filter) {
    return ctl::choose_nodes(nodes, filter).value_or(std::vector<std::size_t>{99});
  };
  EXPECT_THAT(chosen({}), ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen({.name_space = "ml"}), ElementsAre(0, 2)) << "the kubelet's too";
  EXPECT_THAT(chosen({.name_space = "none"}), ElementsAre());
  EXPECT_THAT(chosen({.names = {"c", "a"}}), ElementsAre(0, 2));
  EXPECT_THAT(chosen({.labelled_nodes = std::vector<std::string>{"b", "c", "of-no-gpu"}}),
              ElementsAre(1, 2));
  EXPECT_THAT(chosen({.labelled_nodes = std::vector<std::string>{}}), ElementsAre());
  EXPECT_THAT(chosen({.sort_key = "name"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen({.sort_key = "memory"}), ElementsAre(1, 0, 2));
  EXPECT_THAT(chosen({.sort_key = "free"}), ElementsAre(0, 2, 1)) << "equal ones by name";
  EXPECT_THAT(chosen({.sort_key = "closed"}), ElementsAre(0, 1, 2));
  EXPECT_EQ(ctl::choose_nodes(nodes, {.names = {"a", "z"}}).error().message,
            "Snug does not know a node \"z\"");
}

TEST(TopRowsTest, NodesWithoutGpusAreShownIfTheyAreNamedOrSayWhy) {
  std::vector<ShownNode> nodes{
      {.name = "cpu", .pool = "auto", .closed = "NoGpu: the node has none"},
      {.name = "bad", .pool = "auto"}};
  nodes[1].closed = "BadInventory: it is not JSON";
  EXPECT_THAT(ctl::choose_nodes(nodes, {}).value(), ElementsAre(1));
  EXPECT_THAT(ctl::choose_nodes(nodes, {.names = {"cpu"}}).value(), ElementsAre(0));
}

TEST(TopRowsTest, OnlyHoldersAndGpusOfANamespaceAreKept) {
  std::vector<ShownNode> nodes = three_nodes();
  nodes[0].gpus[0].holders.push_back({.name_space = "web", .pod = "q"});
  nodes[2].units.push_back({.name_space = "web", .pod = "k", .resource = "r", .count = 2});
  EXPECT_EQ(ctl::sums_of(nodes[0]).pods, 2);
  ctl::keep_holders_of("ml", nodes);
  EXPECT_EQ(nodes[0].gpus.size(), 3);
  EXPECT_EQ(ctl::sums_of(nodes[0]).pods, 1);
  EXPECT_EQ(ctl::sums_of(nodes[1]).pods, 0);
  EXPECT_EQ(ctl::sums_of(nodes[2]).kubelet_units, 1);
  ctl::keep_held_gpus(nodes);
  EXPECT_EQ(ctl::sums_of(nodes[0]).gpus, 1);
  EXPECT_EQ(ctl::sums_of(nodes[0]).free_gpus, 0);
  EXPECT_EQ(ctl::sums_of(nodes[0]).used_memory_mib, 500) << "of all pods on the GPU";
  EXPECT_EQ(ctl::sums_of(nodes[1]).gpus, 0);
}

TEST(TopRowsTest, GpusAreChosenAndSorted) {
  const std::vector<ShownNode> nodes = three_nodes();
  const auto chosen = [&](const TopFilter& filter) {
    std::string text;
    const std::vector<ctl::GpuPosition> positions = ctl::choose_gpus(nodes, filter).value();
    for (const ctl::GpuPosition& position : positions) {
      text += nodes[position.node].name + std::to_string(position.gpu) + "@" +
              std::to_string(position.in_order) + " ";
    }
    return text;
  };
  EXPECT_EQ(chosen({}), "a0@0 a1@1 a2@2 b0@3 c0@4 c1@5 ");
  EXPECT_EQ(chosen({.name_space = "web"}), "b0@3 ");
  EXPECT_EQ(chosen({.names = {"c"}}), "c0@4 c1@5 ");
  EXPECT_EQ(chosen({.names = {"b", "c/1"}}), "b0@3 c1@5 ");
  EXPECT_EQ(chosen({.labelled_nodes = std::vector<std::string>{"b"}}), "b0@3 ");
  EXPECT_EQ(chosen({.names = {"a"}, .sort_key = "memory"}), "a0@0 a1@1 a2@2 ");
  EXPECT_EQ(chosen({.sort_key = "free-memory"}), "a1@1 a2@2 c0@4 c1@5 a0@0 b0@3 ");
  EXPECT_EQ(ctl::choose_gpus(nodes, {.names = {"a", "a/3"}}).error().message,
            "Snug does not know a GPU \"a/3\"");
}

TEST(TopRowsTest, PodsAndNamespacesAreChosenAndSorted) {
  const std::vector<codec::ShownPod> pods{
      {.name_space = "ml", .name = "x", .node = "a", .memory_mib = 10, .compute_milli = 300},
      {.name_space = "ml", .name = "y", .node = ""},
      {.name_space = "web", .name = "x", .node = "b", .memory_mib = 20, .compute_milli = 100}};
  const auto chosen = [&](const TopFilter& filter) {
    return ctl::choose_pods(pods, filter).value();
  };
  EXPECT_THAT(chosen({}), ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen({.name_space = "ml"}), ElementsAre(0, 1));
  EXPECT_THAT(chosen({.names = {"x"}}), ElementsAre(0, 2));
  EXPECT_THAT(chosen({.names = {"web/x"}}), ElementsAre(2));
  EXPECT_THAT(chosen({.sort_key = "memory"}), ElementsAre(2, 0, 1));
  EXPECT_THAT(chosen({.sort_key = "compute"}), ElementsAre(0, 2, 1));
  EXPECT_THAT(chosen({.sort_key = "pending"}), ElementsAre(1, 0, 2));
  EXPECT_EQ(ctl::choose_pods(pods, {.name_space = "web", .names = {"y"}}).error().message,
            "Snug does not know a GPU pod \"y\"");

  const std::vector<codec::ShownNamespace> namespaces{
      {.name = "ml", .pods = 2, .memory_mib = 5, .compute_milli = 100, .cap_milli = 200},
      {.name = "web", .pods = 3, .memory_mib = 9, .compute_milli = 50, .cap_milli = {}}};
  const auto shown = [&](const TopFilter& filter) {
    return ctl::choose_namespaces(namespaces, filter).value();
  };
  EXPECT_THAT(shown({}), ElementsAre(0, 1));
  EXPECT_THAT(shown({.name_space = "web"}), ElementsAre(1));
  EXPECT_THAT(shown({.names = {"ml"}}), ElementsAre(0));
  EXPECT_THAT(shown({.sort_key = "memory"}), ElementsAre(1, 0));
  EXPECT_THAT(shown({.sort_key = "cap"}), ElementsAre(0, 1));
  EXPECT_FALSE(ctl::choose_namespaces(namespaces, {.names = {"z"}}).has_value());
}

}  // namespace
}  // namespace snug::top_rows_test

#include "snug/codec/admin_replies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::admin_replies_test {
namespace {

constexpr const char* kNodes = R"({"generation":7,"nodes":[
  {"name":"a","pool":"auto","closed":null,"gpus":[
     {"index":0,"uuid":"GPU-0","model":"A100","memoryMiB":40960,"healthy":true,"closed":null,"freeWhole":true,"mode":"mig",
      "usedMemoryMiB":4864,"usedComputeMilli":142,
      "holders":[{"namespace":"ml","pod":"p","uid":"u","container":"main","memoryMiB":4864,"computeMilli":142}],
      "slices":{"axis":8,"instances":[
        {"profile":"1g.5gb","start":6,"size":1,"uuid":"MIG-1","holder":{"namespace":"ml","pod":"p","uid":"u","container":"main"}},
        {"profile":"1g.5gb","start":0,"size":1}]}},
     {"index":1,"uuid":"","model":"A100","memoryMiB":40960,"healthy":false,"closed":"unhealthy","freeWhole":false,"mode":"none",
      "usedMemoryMiB":0,"usedComputeMilli":0,"holders":[]}],"kubeletAssigned":[]},
  {"name":"b","pool":"whole","closed":"BadInventory","enforcer":"koordlet","agent":{"enforcement":"open","limits":"mps","alive":true},"gpus":[],"kubeletAssigned":[
     {"namespace":"ml","pod":"k","uid":"u","container":"c","resource":"nvidia.com/gpu","count":2}]}]})";

TEST(AdminRepliesTest, NodesAreRead) {
  const auto nodes = codec::read_nodes_reply(kNodes);
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2);
  const codec::ShownGpu& gpu = nodes->front().gpus.front();
  EXPECT_EQ(gpu.mode, "mig");
  EXPECT_EQ(gpu.used_memory_mib, 4864);
  EXPECT_EQ(gpu.holders.at(0).compute_milli, 142);
  EXPECT_EQ(gpu.axis, 8);
  EXPECT_EQ(gpu.slices.at(0).holder->pod, "p");
  EXPECT_FALSE(gpu.slices.at(1).holder);
  EXPECT_EQ(nodes->front().gpus.at(1).closed, "unhealthy");
  EXPECT_FALSE(nodes->front().gpus.at(1).free_whole);
  EXPECT_TRUE(gpu.free_whole);
  EXPECT_EQ(nodes->front().closed, "");
  EXPECT_EQ(nodes->back().closed, "BadInventory");
  EXPECT_FALSE(nodes->front().agent);
  EXPECT_EQ(nodes->front().enforcer, "");
  EXPECT_EQ(nodes->back().enforcer, "koordlet");
  ASSERT_TRUE(nodes->back().agent);
  EXPECT_EQ(nodes->back().agent->enforcement, "open");
  EXPECT_EQ(nodes->back().agent->limits, "mps");
  EXPECT_TRUE(nodes->back().agent->alive);
  EXPECT_EQ(nodes->back().units.at(0).count, 2);
}

TEST(AdminRepliesTest, PodsAreReadWithTheirDevices) {
  const auto pods = codec::read_pods_reply(R"({"generation":1,"pods":[
    {"namespace":"ml","pod":"a","uid":"1","node":"n","state":"bound","request":"gpu-fraction=0.5","memoryMiB":11,"computeMilli":22,"reservation":{"version":1,
      "uid":"1","node":"n","containers":[{"name":"x","request":"","devices":[
        {"index":0,"uuid":"","mode":"mps","memoryMiB":10,"computeMilli":20},
        {"index":0,"uuid":"","mode":"mps","memoryMiB":5,"computeMilli":9},
        {"index":3,"uuid":"","mode":"mig","memoryMiB":1,"computeMilli":2,"mig":{"profile":"1g.5gb","start":6,"size":1}}]},
       {"name":"y","request":"","assignedBy":"kubelet","resource":"nvidia.com/gpu","count":2}]}},
    {"namespace":"ml","pod":"b","uid":"2","state":"pending","reason":"NoRoom: no","request":""}]})");
  ASSERT_TRUE(pods) << pods.error().message;
  EXPECT_EQ(pods->at(0).devices, "0,3:1g.5gb@6,2 x nvidia.com/gpu");
  EXPECT_EQ(pods->at(0).memory_mib, 11);
  EXPECT_EQ(pods->at(0).compute_milli, 22);
  EXPECT_EQ(pods->at(1).node, "");
  EXPECT_EQ(pods->at(1).reason, "NoRoom: no");
}

const std::string kCluster =
    R"({"generation":7,"nodes":2,"gpus":3,"gpusClosed":1,"memoryMiB":10,
    "usedMemoryMiB":4,"computeMilli":3000,"usedComputeMilli":500,"freeWholeGpus":1,
    "largestFreeShare":{"computeMilli":1000,"memoryMiB":5,"node":"a","gpu":2},"fragmentedMilli":3,"freeMilli":2500,
    "models":[{"model":"A100","gpus":3,"memoryMiB":10,"usedMemoryMiB":4,"usedComputeMilli":500,"freeWholeGpus":1}],
    "namespaces":[{"namespace":"ml","pods":1,"memoryMiB":4,"computeMilli":500,"capMilli":null},
                  {"namespace":"x","pods":1,"memoryMiB":4,"computeMilli":500,"capMilli":700}],
    "pending":[{"code":"NoRoom","sentence":"no room","pods":3}],"policy":{"generation":2,"default":"tight"}})";

TEST(AdminRepliesTest, TheClusterIsRead) {
  const auto cluster = codec::read_cluster_reply(kCluster);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->largest_free_share->gpu, 2);
  EXPECT_FALSE(cluster->namespaces.at(0).cap_milli);
  EXPECT_EQ(cluster->namespaces.at(1).cap_milli, 700);
  EXPECT_EQ(cluster->pending.at(0).pods, 3);
  EXPECT_EQ(cluster->default_profile, "tight");
}

TEST(AdminRepliesTest, OtherTextsAreErrors) {
  const std::string deep =
      "{\"generation\":1,\"nodes\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  for (const std::string& text :
       {std::string(""), std::string("[]"), std::string("{}"), std::string("ok\n"),
        std::string(R"({"generation":1,"nodes":[{}]})"),
        std::string(R"({"generation":1,"nodes":[{"name":1}]})"),
        std::string(R"({"nodes":[],"pods":[]})"),
        std::string(R"({"generation":1,"nodes":{},"pods":{}})"), deep}) {
    EXPECT_FALSE(codec::read_nodes_reply(text)) << text.substr(0, 50);
    EXPECT_FALSE(codec::read_pods_reply(text)) << text.substr(0, 50);
    EXPECT_FALSE(codec::read_cluster_reply(text)) << text.substr(0, 50);
  }
  const std::string no_generation = "{" + kCluster.substr(kCluster.find("\"nodes\""));
  EXPECT_FALSE(codec::read_cluster_reply(no_generation));
}

TEST(AdminRepliesTest, ASelectionIsWrittenInItsOrder) {
  const std::string reply =
      R"({"generation":7,"more":1,"nodes":[{"name":"a"},{"name":"b"},{"name":"c"}]})";
  const std::vector<std::size_t> selected{2, 0};
  EXPECT_EQ(codec::write_selection(reply, "nodes", selected, codec::ReplyForm::kYaml),
            "generation: 7\nnodes:\n- name: c\n- name: a\n");
  EXPECT_EQ(codec::write_selection(reply, "nodes", {}, codec::ReplyForm::kYaml),
            "generation: 7\nnodes: []\n");
  EXPECT_EQ(codec::write_selection(reply, "nodes", selected, codec::ReplyForm::kJson),
            "{\n  \"generation\": 7,\n  \"nodes\": [\n    {\n      \"name\": \"c\"\n    },\n    "
            "{\n      \"name\": \"a\"\n"
            "    }\n  ]\n}\n");
}

TEST(AdminRepliesTest, YamlQuotesWhatWouldMeanSomethingElse) {
  EXPECT_EQ(
      codec::write_selection(
          R"({"plain":"a-b.c/d_1","number":"12","word":"No","null":null,"bool":true,"empty":"",
      "space":"a b","colon":"a: b","key: odd":1,"list":[[1,2],[],{"a":{"b":[]}}],"object":{}})",
          "", {}, codec::ReplyForm::kYaml),
      "plain: a-b.c/d_1\nnumber: \"12\"\nword: \"No\"\n\"null\": null\nbool: true\nempty: "
      "\"\"\nspace: \"a b\"\n"
      "colon: \"a: b\"\n\"key: odd\": 1\nlist:\n- - 1\n  - 2\n- []\n- a:\n    b: []\nobject: {}\n");
}

TEST(AdminRepliesTest, GpusAreAListOfTheirOwn) {
  const std::vector<std::size_t> second{1};
  EXPECT_EQ(codec::write_selection(codec::gpus_of_nodes_reply(kNodes), "gpus", second,
                                   codec::ReplyForm::kYaml),
            "generation: 7\ngpus:\n- node: a\n  index: 1\n  uuid: \"\"\n  model: A100\n  "
            "memoryMiB: 40960\n  healthy: false\n"
            "  closed: unhealthy\n  freeWhole: false\n  mode: none\n  usedMemoryMiB: 0\n  "
            "usedComputeMilli: 0\n  "
            "holders: []\n");
}

}  // namespace
}  // namespace snug::admin_replies_test

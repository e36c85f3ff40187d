// A driver that reports a little less memory, under pods that fill the GPU.
#include <string>
#include <vector>

#include "unit/service/fixture.hpp"

namespace snug::testing::resized_gpu_test {
namespace {

class ResizedNodeTest : public ServiceTest {
 protected:
  std::vector<model::PodFacts> bind_all(const std::string& key, const std::string& value,
                                        int count) {
    std::vector<model::PodFacts> pods;
    for (int i = 0; i < count; ++i) {
      const model::PodFacts pod = arrive(key + std::to_string(i), {{key, value}});
      EXPECT_EQ(bind(pod, "n1"), "");
      pods.push_back(bound(pod, api.bindings.back()));
      reconciler.pod_changed(pods.back());
    }
    return pods;
  }
  /// As the running process and one that has just started see the GPU.
  std::vector<model::GpuState> resize(int mebibytes, const std::vector<model::PodFacts>& pods) {
    reconciler.node_changed(make_node("n1", 1, mebibytes));
    reconciler.tick();
    ProcessParts restarted;
    restarted.reconciler.nodes_listed({make_node("n1", 1, mebibytes)});
    restarted.reconciler.pod_list_started();
    restarted.reconciler.pods_listed(pods);
    return {ledger.snapshot()->nodes[0]->gpus[0], restarted.ledger.snapshot()->nodes[0]->gpus[0]};
  }
};

TEST_F(ResizedNodeTest, FourQuartersFollowTheirGpuAndARestartAgrees) {
  start();
  list({make_node("n1", 1, 81920)});
  const std::vector<model::PodFacts> pods = bind_all("gpu-fraction", "0.25", 4);
  for (const int mebibytes : {81559, 81917, 82000, 81920}) {
    for (const model::GpuState& gpu : resize(mebibytes, pods)) {
      EXPECT_EQ(gpu.closure, model::GpuClosure::kOpen) << mebibytes;
      EXPECT_EQ(gpu.used_memory.value, 4 * (mebibytes / 4)) << mebibytes;
      EXPECT_EQ(gpu.used_compute, base::kWholeGpu);
    }
  }
  EXPECT_TRUE(metrics.problems.empty());
  reconciler.node_changed(make_node("n1", 1, 81559));
  reconciler.pod_gone(pods[0]);
  EXPECT_EQ(bind(arrive("next", {{"gpu-fraction", "0.25"}}), "n1"), "") << "a quarter is free";
}

TEST_F(ResizedNodeTest, HalvesByMemoryDoNotAndCloseItAndARestartAgrees) {
  start();
  list({make_node("n1", 1, 81920)});
  const std::vector<model::PodFacts> pods = bind_all("gpu-memory", "40960", 2);
  for (const model::GpuState& gpu : resize(81559, pods)) {
    EXPECT_EQ(gpu.closure, model::GpuClosure::kOverCommitted);
    EXPECT_EQ(gpu.used_memory.value, 81920);
  }
  EXPECT_EQ(metrics.problems["over_commitment"], 1);
  EXPECT_EQ(api.notices.size(), 2U);
}

}  // namespace
}  // namespace snug::testing::resized_gpu_test

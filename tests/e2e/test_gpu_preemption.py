"""Scenario t: from Kubernetes 1.38 on kube-scheduler asks Snug for victims on nodes that only Snug refused, so that
pods are evicted for GPUs alone, without mirrored resources."""

from harness.objects import gpu_node, on_node, share
from harness.priorities import post_priorities
from harness.scenario import Scenario


class GpuPreemptionTest(Scenario):
    def test_t_victims_for_gpus_alone(self):
        """t: where only GPUs are short, the one pod that must go is evicted, and none of a higher priority"""
        self.need_kubernetes(38, "victims for GPUs alone")
        post_priorities(self.admin)
        self.start()
        self.post_nodes(gpu_node("n1", 2), gpu_node("n2", 1))
        for name, fraction, priority, node in (("one", "0.9", "low", "n1"), ("two", "0.5", "low", "n1"),
                                               ("three", "0.5", "low", "n1"), ("four", "0.7", "high", "n2")):
            self.place(share(name, fraction, priority=priority, **on_node(node)))
        self.place(share("new", "0.6", priority="middle"))
        left = {each["metadata"]["name"] for each in self.pods()}
        self.assertEqual(left, {"two", "three", "four", "new"})
        self.check_cluster()

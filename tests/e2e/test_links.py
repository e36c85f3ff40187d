"""Scenario o: several GPUs for one pod, and what is between them."""

from harness.objects import gpu_node, pairs, pod, share
from harness.scenario import Scenario

# The lower indices are not the linked ones.
PAIRS = [{0, 2}, {1, 3}]


class LinksTest(Scenario):
    def test_o_two_whole_gpus_are_a_pair(self):
        """o: gpu-fraction 2 gets two GPUs with NVLinks between them, each time"""
        self._start_with_pairs()
        for name in ("first", "second"):
            self.place(pod(name, {"gpu-fraction": "2"}))
            self.assertIn(self._indices(name), PAIRS)
        self.check_cluster()

    def test_o_a_broken_pair_is_passed_over(self):
        """o: with one GPU of a pair taken, two whole GPUs are the other pair"""
        self._start_with_pairs()
        self.place(pod("one", {"gpu-fraction": "1"}))
        self.place(pod("two", {"gpu-fraction": "2"}))
        self.assertIn(self._indices("two"), PAIRS)
        self.assertFalse(self._indices("one") & self._indices("two"))
        self.check_cluster()

    def test_o_two_shares_are_on_a_pair(self):
        """o: gpu-count 2 gives the share on two different GPUs with NVLinks between them"""
        self._start_with_pairs()
        for number in range(3):
            name = f"both-{number}"
            bound = self.place(pod(name, {"gpu-fraction": "0.5", "gpu-count": "2"}))
            devices = self.given(name)["main"]
            self.assertIn({device["index"] for device in devices}, PAIRS)
            self.assertEqual({device["memoryMiB"] for device in devices}, {20480})
            self.assertEqual(bound["metadata"]["annotations"]["snug.dev/visible-devices"],
                             ",".join(device["uuid"] for device in devices))
            self.assertEqual(bound["metadata"]["annotations"]["snug.dev/memory-limit"],
                             "0=20480M,1=20480M")
            self.check_cluster()

    def test_o_a_count_that_no_node_has_waits(self):
        """o: a share on more GPUs than any node has is too large, on more than have room it waits"""
        self._start_with_pairs()
        self.post_pods(pod("five", {"gpu-fraction": "0.5", "gpu-count": "5"}))
        self.wait_refused("five", "TooLarge")
        self.place(pod("whole", {"gpu-fraction": "1"}))
        self.post_pods(pod("four", {"gpu-memory": "4G", "gpu-count": "4"}))
        self.wait_refused("four", "NoRoom")
        self.delete_pod("whole")
        self.wait_bound("four")
        self.assertEqual(self._indices("four"), {0, 1, 2, 3})
        self.place(share("beside", "0.5"))
        self.check_cluster()

    def _start_with_pairs(self):
        self.start()
        self.post_nodes(gpu_node("n1", 4, links=pairs(*PAIRS)))

    def _indices(self, name):
        return {device["index"] for device in self.given(name)["main"]}

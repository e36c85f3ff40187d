"""Scenario d: the policy decides, in every answer mode, unless the pod has wishes of its own."""

from harness.objects import gpu_node, prefers_node, share
from harness.scenario import Scenario

ANSWERS = ("winner", "all", "advise", "auto")


class PolicyTest(Scenario):
    def test_d_best_fit_stacks(self):
        """d: best-fit puts eight quarters on two GPUs of one node, in each answer mode"""
        for answer in ANSWERS:
            with self.subTest(answer=answer):
                used = self._eight_quarters("best-fit", answer)
                self.assertEqual(len(used), 2, used)
                self.assertEqual(len({node for node, _ in used}), 1, used)

    def test_d_spread_spreads(self):
        """d: spread puts eight quarters on eight GPUs of four nodes, in each answer mode"""
        for answer in ANSWERS:
            with self.subTest(answer=answer):
                self.assertEqual(len(self._eight_quarters("spread", answer)), 8)

    def test_d_preferred_node_under_auto(self):
        """d: under auto a pod with a preferred node affinity gets its node"""
        self.start(answer="auto")
        self.post_nodes(*(gpu_node(f"n{number}", 2) for number in range(4)))
        self.place(share("first", "0.25"))
        self.assertEqual(self.gpu_of("first")[0], "n0")
        self.place(share("picky", "0.25", **prefers_node("n2")))
        self.assertEqual(self.gpu_of("picky")[0], "n2")
        self.place(share("third", "0.25"))
        self.assertEqual(self.gpu_of("third")[0], "n0")
        self.check_cluster()

    def _eight_quarters(self, policy, answer):
        """Equal nodes, no preferences, in-tree scores off: only Snug's answer counts."""
        self.doCleanups()
        self.setUp()
        self.start(answer=answer, policy=policy, in_tree_scores=False)
        self.post_nodes(*(gpu_node(f"n{number}", 2) for number in range(4)))
        pods = [share(f"pod-{number}", "0.25") for number in range(8)]
        if answer == "advise":  # the scheduler has the last word, so nothing is promised in flight
            for pod in pods:
                self.place(pod)
        else:
            self.post_pods(*pods)
            self.wait_settled(8)
        return self.check_cluster().used_gpus()

"""Scenario c: many pods at once, more than fit."""

import re

from harness import truth
from harness.objects import gpu_node, share
from harness.scenario import Scenario, refusal

PODS_AT_ONCE = 500
NODE_COUNT = 50
GPUS_PER_NODE = 8
ROOM = NODE_COUNT * GPUS_PER_NODE


class BurstTest(Scenario):
    def test_c_burst_of_whole_gpus(self):
        """c: 500 pods of gpu-fraction 1 on 400 GPUs: 400 bound, the rest NoRoom"""
        self._burst("1")

    def test_c_burst_of_large_shares(self):
        """c: 500 pods of gpu-fraction 0.8 on 400 GPUs: 400 bound, the rest NoRoom"""
        self._burst("0.8")

    def _burst(self, fraction):
        self.start()
        self.post_nodes(*(gpu_node(f"n{number:02}", GPUS_PER_NODE)
                          for number in range(NODE_COUNT)))
        self.post_pods(*(share(f"pod-{number:03}", fraction) for number in range(PODS_AT_ONCE)))
        self.wait_settled(ROOM, PODS_AT_ONCE - ROOM)
        seen = self.check_cluster()
        self.assertEqual(len(seen.used_gpus()), ROOM)
        reasons = "NoRoom|Promised" if self.reasons_stay() else "NoRoom"
        for pod in self.pods():
            if not truth.is_bound(pod):
                counts = re.findall(rf"(\d+) (?:{reasons}): ", refusal(pod)[1])
                self.assertEqual(sum(map(int, counts)), NODE_COUNT, refusal(pod)[1])
        self._check_calls()

    def _check_calls(self):
        all_binds = self.extender.metric("snug_bind_total")
        lost = self.extender.metric("snug_bind_total", end="lost_race")
        self.assertGreaterEqual(all_binds, ROOM)
        self.assertLessEqual(lost, 0.02 * all_binds, f"{lost} of {all_binds} binds lost a race")
        posts = self.extender_calls()["create pods/binding"]
        self.assertGreaterEqual(posts, ROOM)
        self.assertLessEqual(posts, ROOM + 0.02 * ROOM)

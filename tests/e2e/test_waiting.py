"""Scenario f: a pod that waits for room on a quiet cluster is tried again when room appears."""

import time

from harness import manifests
from harness.objects import gpu_node, share
from harness.scenario import OWN_PODS, Scenario

WITHIN_SECONDS = 2.0


class WaitingTest(Scenario):
    def test_f_own_pod_is_touched(self):
        """f: ten times, a waiting pod is bound within 2 s of the DELETE that makes its room"""
        self.start(own_pod="snug-0")
        self._take_turns(10)
        own = self.admin.get(f"{OWN_PODS}/snug-0")
        self.assertIn("snug.dev/room", own["metadata"]["annotations"])
        calls = self.extender_calls()
        self.assertGreaterEqual(calls["patch pods"], 1)
        self.assertLessEqual(calls["patch pods"], 20)
        self.assertEqual(calls["patch nodes"], 0)

    def test_f_a_node_is_touched_where_there_is_no_own_pod(self):
        """f: the same without a pod of its own, by the optional right to patch nodes"""
        manifests.apply(self.admin, "rbac-node-touch.yaml")
        self.addCleanup(manifests.remove, self.admin, "rbac-node-touch.yaml")
        self.start(own_pod="")
        self._take_turns(3)
        calls = self.extender_calls()
        self.assertEqual(calls["patch pods"], 0)
        self.assertGreaterEqual(calls["patch nodes"], 1)

    def test_f_a_new_node_is_room_too(self):
        """f: a waiting pod is bound when a node with a GPU joins"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("holds", "0.9"))
        self.post_pods(share("waits", "0.5"))
        self.wait_refused("waits", "NoRoom")
        self.post_nodes(gpu_node("n2", 1))
        self.wait_bound("waits")
        self.check_cluster()

    def _take_turns(self, turns):
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("turn-0", "0.8"))
        slowest = 0.0
        for turn in range(1, turns + 1):
            self.post_pods(share(f"turn-{turn}", "0.8"))
            self.wait_refused(f"turn-{turn}", "NoRoom")
            deleted = time.monotonic()
            self.delete_pod(f"turn-{turn - 1}")
            self.wait_bound(f"turn-{turn}")
            slowest = max(slowest, time.monotonic() - deleted)
        self.assertLess(slowest, WITHIN_SECONDS)
        self.check_cluster()

"""Scenario f: a pod that waits on a quiet cluster is retried when capacity becomes free."""

import time

from harness import manifests
from harness.objects import gpu_node, pod, share
from harness.processes import bound, wait_until
from harness.scenario import CAPACITY, OWN_PODS, Scenario

WITHIN_SECONDS = 2.0
RESTS_SECONDS = 3.0
# Far below the five minutes after which the scheduler tries such a pod of its own accord.
WAKE_SECONDS = 15.0
CLOSED = """version: 1
default: stack
profiles:
  stack: {terms: [{term: best-fit, weight: 1}]}
  apart: {terms: [{term: spread, weight: 1}]}
"""
OPEN = CLOSED + "podChoice: [{namespaces: [default], profiles: [apart]}]\n"


class WaitingTest(Scenario):
    def test_f_own_pod_is_touched(self):
        """f: ten times, a waiting pod is bound within 2 s of the DELETE that makes its room, by a touch of
        Snug's own pod, or before 1.32 of its storage capacity"""
        self.start(own_pod="snug-0")
        self._take_turns(10)
        before_1_32 = self.plane.minor < 32
        touched = self.admin.get(CAPACITY if before_1_32 else f"{OWN_PODS}/snug-0")
        self.assertIn("snug.dev/room", touched["metadata"]["annotations"])
        calls = self.extender_calls()
        touches = calls["patch csistoragecapacities" if before_1_32 else "patch pods/status"]
        self.assertGreaterEqual(touches, 1)
        self.assertLessEqual(touches, 20)
        self.assertEqual(calls["patch nodes"] + calls["patch pods/status"],
                         0 if before_1_32 else touches)

    def test_f_a_node_is_touched_where_there_is_no_own_pod(self):
        """f: the same without a pod of its own, by the optional right to patch nodes"""
        manifests.apply(self.admin, "rbac-node-touch.yaml")
        self.addCleanup(manifests.remove, self.admin, "rbac-node-touch.yaml")
        self.start(own_pod="")
        self._take_turns(3)
        # The touch at the start failed if there was no node yet, and the next one follows a second later:
        # the scheduler may have bound all pods by then, since the DELETE of a pod has it try again.
        wait_until("a node is touched", lambda: self.extender_calls()["patch nodes"] >= 1)
        self.assertEqual(self.extender_calls()["patch pods/status"], 0)

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

    def test_f_only_the_touch_tells_of_a_policy(self):
        """f: a new policy is no event of Kubernetes: the touch alone has the pod tried again"""
        policy = self._start_with_a_pod_that_rests()
        policy.write_text(OPEN)
        self.extender.hang_up()
        self.wait_bound("picky", WAKE_SECONDS)
        self.check_cluster()

    def test_f_a_new_process_touches_with_a_new_value(self):
        """f: the same after a restart, whose touch must not repeat a value of the process before"""
        policy = self._start_with_a_pod_that_rests()
        self.extender.kill()
        policy.write_text(OPEN)
        self.extender.start()
        self.wait_bound("picky", WAKE_SECONDS)
        self.check_cluster()

    def _start_with_a_pod_that_rests(self):
        """A pod that its policy forbids, and that the scheduler has put aside."""
        policy = self.policy_file(CLOSED)
        # Before the start, so that both processes of a test list the same nodes: their numbers of
        # changes are equal then.
        self.post_nodes(gpu_node("n1", 1))
        self.start(policy=policy)
        self.post_pods(pod("picky", {"gpu-fraction": "0.5", "gpu-policy": "apart"}))
        self.wait_refused("picky", "ForbiddenPolicy")
        seen = {"calls": -1, "since": time.monotonic()}

        def rests():
            """Longer than the scheduler's back-off after its first tries."""
            calls = self.extender.metric("snug_verb_total", verb="filter")
            if calls != seen["calls"]:
                seen.update(calls=calls, since=time.monotonic())
            return time.monotonic() - seen["since"] > RESTS_SECONDS
        wait_until("the pod rests", rests, 60, every=0.2)
        return policy

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
        self.assertLess(slowest, bound(WITHIN_SECONDS))
        self.check_cluster()

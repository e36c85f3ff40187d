"""Scenario e: the extender is killed during a burst, and rebuilds its state after the restart."""

import concurrent.futures
import json

from harness import truth
from harness.bound_counter import BoundCounter
from harness.kubectl import snugctl
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.scenario import PODS, Scenario

PODS_AT_ONCE = 480


class CrashTest(Scenario):
    def test_e_three_kills_in_mid_burst(self):
        """e: SIGKILL three times in mid-burst: nothing is lost or doubled, and top and the dashboard show the sums of the annotations"""
        self.start()
        self.post_nodes(*(gpu_node(f"n{number:02}", 8) for number in range(16)))
        bound = BoundCounter(self.admin, PODS, PODS_AT_ONCE)
        self.addCleanup(bound.close)
        with concurrent.futures.ThreadPoolExecutor(1) as background:
            posts = background.submit(self.post_pods, *(
                share(f"pod-{number:03}", "0.25") for number in range(PODS_AT_ONCE)))
            for enough in (40, 120, 200):
                wait_until(f"{enough} pods are bound", lambda: bound.count >= enough, 60, 0.005)
                self._kill_and_restart()
            posts.result()
        self.wait_settled(PODS_AT_ONCE)
        seen = self.check_cluster()
        code, top = snugctl("top", "cluster", "-o", "json", "--server", f"http://127.0.0.1:{self.extender.admin_port}")
        self.assertEqual(code, 0, top)
        for shown in (self.extender.cluster(), json.loads(top)):
            self.assertEqual((shown["usedMemoryMiB"], shown["usedComputeMilli"]), seen.totals())
        # A call that the API server has not answered in time is made again; how many those are depends on
        # how busy the machine is.
        calls = self.extender_calls(answered=True)
        self.assertLessEqual(calls["create pods/binding"], PODS_AT_ONCE * 1.1)

    def _kill_and_restart(self):
        """What the API server had at the kill is in the ledger, word by word, when it is ready."""
        self.extender.kill()
        held = self.truth().reservations()
        self.assertLess(len(held), PODS_AT_ONCE, "the burst was over before the kill")
        self.extender.start()
        rebuilt = {pod["uid"]: (pod["node"], pod["reservation"]) for pod in self.extender.pods()
                   if pod["state"] == "bound"}
        self.assertEqual({uid: rebuilt.get(uid) for uid in held}, held)

    def test_e_restart_on_a_quiet_cluster_rebuilds_the_ledger(self):
        """e: after a restart the ledger is what the annotations say, before it is ready"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        for number in range(3):
            self.place(share(f"pod-{number}", "0.5"))
        before = self.check_cluster().as_ledger()
        self.extender.kill()
        self.extender.start()
        rebuilt = truth.ledger_of(self.extender.nodes(), self.extender.pods())
        self.assertEqual(truth.difference(before, rebuilt), "")
        self.place(share("last", "0.5"))
        self.post_pods(share("one-more", "0.5"))
        self.wait_refused("one-more", "NoRoom")
        self.check_cluster()

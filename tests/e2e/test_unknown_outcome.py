"""Scenario n: the network fails during a bind, and the outcome is unknown."""

from harness import truth
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.relay import Relay
from harness.scenario import PODS, Scenario

BIND = "create pods/binding"
GATE = "snug.dev/e2e"


class UnknownOutcomeTest(Scenario):
    def test_n_carried_out_and_the_answer_is_lost(self):
        """n: a bind whose answer is lost was carried out: its reservation stays, one POST in all"""
        self._start_behind_relay()
        self._release("pod-1", swallow="replies")
        self.wait_bound("pod-1")
        self._wait_unsettled("pod-1")
        self.relay.heal()
        self._wait_state("pod-1", "bound")
        self.check_cluster()
        self.assertEqual(self.extender_calls()[BIND], 1)

    def test_n_never_arrived_and_tried_again(self):
        """n: a bind that never arrived keeps its GPU until the scheduler's next try succeeds"""
        self._start_behind_relay()
        self._release("pod-1", swallow="requests")
        self._wait_unsettled("pod-1")
        [kept] = [row for row in self.extender.pods() if row["pod"] == "pod-1"]
        self.assertFalse(truth.is_bound(self.pod("pod-1")))
        self.relay.heal()
        self.wait_bound("pod-1")
        self.assertEqual(truth.reservation(self.pod("pod-1")), kept["reservation"])
        self.check_cluster()

    def test_n_never_arrived_and_the_pod_is_deleted(self):
        """n: the GPU of a bind that never arrived is free once its pod is deleted"""
        self._start_behind_relay()
        self._release("pod-1", swallow="requests")
        self._wait_unsettled("pod-1")
        self.post_pods(share("other", "0.9"))
        self.wait_refused("other", "NoRoom")
        self.delete_pod("pod-1")
        self.relay.heal()
        self.wait_bound("other")
        self.check_cluster()

    def _start_behind_relay(self):
        """One GPU, and a pod that the extender knows and the scheduler does not touch yet."""
        self.relay = Relay(self.plane.port)
        self.addCleanup(self.relay.close)
        self.start(kubeconfig=self.plane.extender_kubeconfig(self.relay.port))
        self.post_nodes(gpu_node("n1", 1))
        waiting = share("pod-1", "0.9")
        waiting["spec"]["schedulingGates"] = [{"name": GATE}]
        self.post_pods(waiting)
        wait_until("the extender has seen the pod", self.extender.pods)
        # A bind over a new connection would fail before anything is sent, and that is no doubt at
        # all. The last call of the start leaves a connection that the bind will use again.
        # That is the wake-up, or the mirror's call, after which it logs that it is ready.
        wait_until("the extender has nothing more to say", lambda: (
            self.extender.metric("snug_room_touches_total") > 0 and "ready: nodes and pods" in self.extender.log()))

    def _release(self, name, swallow):
        self.relay.swallow(swallow)
        self.admin.patch(f"{PODS}/{name}", {"spec": {"schedulingGates": []}})

    def _wait_unsettled(self, name):
        wait_until("the bind has ended without an answer",
                   lambda: self.extender.metric("snug_bind_total", end="unknown") > 0, 30)
        self._wait_state(name, "reserved")
        self.assertEqual(self.extender.metric("snug_holdings", state="unsettled"), 1)

    def _wait_state(self, name, state):
        wait_until(f"{name} is {state} in the ledger", lambda: any(
            row["pod"] == name and row["state"] == state for row in self.extender.pods()), 30)

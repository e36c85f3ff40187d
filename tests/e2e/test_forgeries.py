"""Scenario y: reservations that Snug did not write. The admission policy keeps everyone from writing
them (scenario m); here somebody writes under Snug's own name."""

import json

from harness import truth
from harness.controlplane import EXTENDER_USER
from harness.objects import gpu_node, gpu_uuid, pod, share
from harness.processes import wait_until
from harness.scenario import PODS, Scenario

KEY = "snug.dev/reservation"
PROBLEMS = "snug_reservation_problems_total"


def forged(uid, node, index, **changes):
    device = {"index": index, "uuid": gpu_uuid(node, index), "mode": "time-slicing",
              "memoryMiB": 10240, "computeMilli": 250, **changes}
    return json.dumps({"version": 1, "uid": uid, "node": node, "containers": [
        {"name": "main", "request": "gpu-fraction=0.25", "devices": [device]}]})


class ForgeriesTest(Scenario):
    def setUp(self):
        super().setUp()
        # The name that the admission policy lets through, with the rights of an administrator.
        self.forger = self.plane.client("forger", EXTENDER_USER, ["system:masters"])

    def test_y_an_edited_reservation_changes_nothing(self):
        """y: a reservation that is edited after the binding changes nothing and is reported"""
        self._start()
        edits = {"other-gpu": lambda uid: forged(uid, "n1", 1),
                 "less": lambda uid: forged(uid, "n1", 0, memoryMiB=1),
                 "anothers": lambda uid: forged("another", "n1", 0),
                 "broken": lambda uid: "{"}
        uids = {name: self.place(share(name, "0.25"))["metadata"]["uid"] for name in edits}
        before = self.check_cluster().as_ledger()["gpus"]
        self.assertEqual(set(before), {("n1", 0)})
        for number, (name, edit) in enumerate(edits.items(), 1):
            self.forger.patch(f"{PODS}/{name}", {"metadata": {"annotations": {
                KEY: edit(uids[name])}}})
            self._wait_reported(number)
            self.assertEqual(self._ledger_gpus(), before)
        self.place(pod("whole", {"gpu-fraction": "1"}))
        self.post_pods(share("waits", "0.1"))
        self.wait_refused("waits", "NoRoom")
        for name in edits:
            self.delete_pod(name)
        self.wait_bound("waits")
        self.check_cluster()

    def test_y_edited_requests_change_nothing(self):
        """y: what a bound pod says it asks may change, and what it holds does not"""
        self._start()
        self.place(share("pod-1", "0.25"))
        before = self.check_cluster().as_ledger()
        self.forger.patch(f"{PODS}/pod-1", {"metadata": {"annotations": {"gpu-fraction": "0.75"}}})
        self.place(share("pod-2", "0.75"))
        self.assertEqual(self.gpu_of("pod-1"), self.gpu_of("pod-2"))
        self.assertEqual(self._ledger_gpus()[self.gpu_of("pod-1")][1][0],
                         before["gpus"][self.gpu_of("pod-1")][1][0])
        self.extender.kill()
        self.extender.start()
        self.assertEqual(self.ledger_gpu(*self.gpu_of("pod-1"))["usedComputeMilli"], 1000)

    def test_y_a_forged_reservation_of_an_unbound_pod_is_overwritten(self):
        """y: what an unbound pod carries under snug.dev/ means nothing and is overwritten"""
        self._start()
        self.place(share("holds", "0.25"))
        taken = self.gpu_of("holds")
        waiting = share("pod-1", "0.5")
        waiting["spec"]["schedulingGates"] = [{"name": "snug.dev/e2e"}]
        waiting["metadata"]["annotations"].update({
            KEY: forged("forged", "n1", 1 - taken[1]), "snug.dev/visible-devices": "GPU-forged",
            "snug.dev/visible-devices.other": "GPU-forged", "snug.dev/more": "forged"})
        self.forger.create(PODS, waiting)
        self.assertEqual(set(self._ledger_gpus()), {taken})
        self.admin.patch(f"{PODS}/pod-1", {"spec": {"schedulingGates": []}})
        flat = truth.annotations(self.wait_bound("pod-1"))
        self.assertEqual(self.gpu_of("pod-1"), taken)
        self.assertEqual(flat["snug.dev/visible-devices"], gpu_uuid(*taken))
        self.assertEqual((flat["snug.dev/visible-devices.other"], flat["snug.dev/more"]), ("", ""))
        self.check_cluster()

    def test_y_anothers_reservation_on_a_pod_bound_by_hand(self):
        """y: a pod bound by hand with another pod's reservation holds nothing, and says so"""
        self._start()
        stolen = truth.annotations(self.place(share("owner", "0.25")))[KEY]
        self.forger.create(PODS, pod("thief", {"gpu-fraction": "0.25", KEY: stolen},
                                     scheduler="nobody"))
        self.bind_by_hand("thief", "n1")
        wait_until("the node is closed", lambda: self.ledger_node("n1")["closed"])
        uid = self.pod("thief")["metadata"]["uid"]
        wait_until("a Warning event", lambda: self.warning(uid))
        self.assertEqual({each.pod for _, uses in self._ledger_gpus().values() for each in uses},
                         {"owner"})
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "NodeClosed: ")
        self.delete_pod("thief")
        self.wait_bound("waits")
        self.check_cluster()

    def test_y_a_forged_reservation_seen_at_the_start(self):
        """y: a reservation for more than its pod asked counts as more, and closes its GPU"""
        self._start()
        self.place(share("pod-1", "0.25"))
        index = self.device("pod-1")["index"]
        self.extender.kill()
        uid = self.pod("pod-1")["metadata"]["uid"]
        self.forger.patch(f"{PODS}/pod-1", {"metadata": {"annotations": {
            KEY: forged(uid, "n1", index, memoryMiB=20480, computeMilli=500)}}})
        self.extender.start()
        gpu = self.ledger_gpu("n1", index)
        self.assertEqual((gpu["usedMemoryMiB"], gpu["usedComputeMilli"]), (20480, 500))
        self.assertIn("contradicts", gpu["closed"])
        wait_until("it is reported", lambda: self.extender.metric(PROBLEMS) > 0)
        self.place(share("elsewhere", "0.25"))
        self.assertEqual(self.device("elsewhere")["index"], 1 - index)

    def _start(self):
        self.start()
        self.post_nodes(gpu_node("n1", 2))

    def _wait_reported(self, count):
        wait_until("it is reported",
                   lambda: self.extender.metric(PROBLEMS, kind="reservation") >= count)

    def _ledger_gpus(self):
        return truth.ledger_of(self.extender.nodes(), self.extender.pods())["gpus"]

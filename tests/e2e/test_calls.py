"""Scenario j: what Snug costs the API server, and binds that are asked for more than once."""

from harness.objects import bare_node, gpu_node, pod, share
from harness.processes import wait_until
from harness.scenario import PODS, Scenario

BIND = "create pods/binding"
# Lists and watches belong to no pod; a GET of an unknown pod and the touch are counted apart.
NOT_PER_POD = {"list pods", "watch pods", "list nodes", "watch nodes", "get pods", "patch nodes",
               "patch pods/status", "list leases", "watch leases", "get leases", "create leases",
               "update leases", "delete mirrorparameters", "patch csistoragecapacities"}


class CallsTest(Scenario):
    def test_j_one_post_for_each_bound_pod(self):
        """j: exactly one POST binding and at most one event for each pod, and no other call for any"""
        self.start()
        self.post_nodes(gpu_node("n1", 8))
        self.post_pods(*(share(f"pod-{number}", "0.25") for number in range(40)))
        self.wait_settled(32, 8)
        self.check_cluster()
        calls = self.extender_calls()
        self.assertEqual(calls.pop(BIND), 32)
        # Only of pods that the scheduler's watch has shown before Snug's.
        self.assertLessEqual(calls.pop("get pods", 0), 32)
        self.assertLessEqual(calls.pop("create events", 0), 40)
        self.assertEqual(set(calls) - NOT_PER_POD, set(), calls)
        self.assertEqual(self.scheduler_calls()[BIND], 0)

    def test_j_pods_without_request_pass_through(self):
        """j: pods without a GPU request are bound by Snug, without a reservation"""
        self.start()
        self.post_nodes(gpu_node("n1", 1), bare_node("plain"))
        self.place(share("holds", "0.9"))
        for number in range(6):
            bound = self.place(pod(f"pod-{number}"))
            self.assertNotIn("annotations", bound["metadata"])
        zero = pod("zero", limits={"nvidia.com/gpu": "0"})
        self.assertNotIn("annotations", self.place(zero)["metadata"])
        self.check_cluster()
        self.assertEqual(self.extender_calls()[BIND], 8)
        self.assertEqual(self.scheduler_calls()[BIND], 0)

    def test_j_bind_twice_is_success(self):
        """j: binding a pod twice is success and costs no second POST"""
        self.start()
        self.post_nodes(gpu_node("n1", 1), gpu_node("n2", 1))
        bound = self.place(share("pod-1", "0.5"))
        self.check_cluster()
        again = self._binding(bound, bound["spec"]["nodeName"])
        self.assertEqual(self.extender.verb("bind", again), (200, {"Error": ""}))
        self.assertEqual(self.extender_calls()[BIND], 1)
        self.check_cluster()

    def test_j_bind_of_a_pod_that_is_elsewhere_is_an_error(self):
        """j: binding a pod that is on another node already is an error"""
        self.start()
        self.post_nodes(gpu_node("n1", 1), gpu_node("n2", 1))
        bound = self.place(share("pod-1", "0.5"))
        other = {"n1": "n2", "n2": "n1"}[bound["spec"]["nodeName"]]
        status, reply = self.extender.verb("bind", self._binding(bound, other))
        self.assertEqual(status, 200)
        self.assertTrue(reply["Error"])
        self.check_cluster()

    def test_j_bind_of_what_the_api_server_refuses_leaves_nothing(self):
        """j: another uid, a missing pod and a missing node leave nothing reserved"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        [waiting] = self.post_pods(share("pod-1", "0.5", scheduler="nobody"))
        wait_until("the extender has seen the pod", self.extender.pods)
        other_uid = {**self._binding(waiting, "n1"), "PodUID": "no-such-uid"}
        missing = {**self._binding(waiting, "n1"), "PodName": "missing", "PodUID": "no-such-uid"}
        for args in (other_uid, missing, self._binding(waiting, "n9")):
            status, reply = self.extender.verb("bind", args)
            self.assertEqual(status, 200, args)
            self.assertTrue(reply["Error"], args)
        self.assertEqual(self.check_cluster().used_gpus(), set())
        self.assertEqual(self.extender.verb("bind", self._binding(waiting, "n1")),
                         (200, {"Error": ""}))
        self.wait_bound("pod-1")
        self.check_cluster()

    def test_j_a_deleted_pod_frees_its_room_once(self):
        """j: room comes back when pods end, by deletion or by finishing"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("deleted", "0.5"))
        self.place(share("finished", "0.5"))
        self.delete_pod("deleted")
        self.admin.patch(f"{PODS}/finished/status", {"status": {"phase": "Succeeded"}})
        self.place(share("third", "0.5"))
        self.place(share("fourth", "0.5"))
        self.check_cluster()

    @staticmethod
    def _binding(pod_object, node):
        metadata = pod_object["metadata"]
        return {"PodName": metadata["name"], "PodNamespace": metadata["namespace"],
                "PodUID": metadata["uid"], "Node": node}

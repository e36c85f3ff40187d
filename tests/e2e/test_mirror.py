"""Scenario x: GPU shares as extended resources of the nodes, and the admission policy's parameters."""

from harness import manifests
from harness.api import ApiError
from harness.mirror import MEMORY, MILLI, PARAMETERS, serve_parameters, units
from harness.objects import bare_node, gpu_node, inventory, labelled_node, pod
from harness.objects import A100, A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, Scenario

ON = {"smallest-gpu-mib": str(A100_MIB), "largest-gpu-mib": str(A100_MIB)}
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/snug-extender"
OTHER_RANGE = {"smallest-gpu-mib": "16384", "largest-gpu-mib": str(A100_MIB)}


def gpus(count):
    """(milli-GPU, MiB) of so many GPUs."""
    return (1000 * count, A100_MIB * count)


def mirrored_share(name, fraction, **options):
    """A share whose container has the resources in its limits, as admission would write them."""
    thousandths = round(float(fraction) * 1000)
    return pod(name, {"gpu-fraction": fraction}, limits={
        MILLI: str(thousandths), MEMORY: str(thousandths * A100_MIB // 1000)}, **options)


class MirrorTest(Scenario):
    def setUp(self):
        super().setUp()
        serve_parameters(self.admin)
        self.admin.delete(PARAMETERS, missing_ok=True)
        self.addCleanup(self.admin.delete, PARAMETERS, missing_ok=True)

    def test_x_nodes_show_their_gpus(self):
        """x: the capacity appears on GPU nodes only, and a pod with the resources in its limits is bound"""
        self.start(flags=ON)
        self.post_nodes(gpu_node("n1", 2), labelled_node("n2", 4, memory_mib=A100_MIB),
                        bare_node("cpu"))
        self._wait_shown(n1=gpus(2), n2=gpus(4), cpu=None)
        self.place(mirrored_share("pod", "0.5"))
        self.check_cluster()

    def test_x_a_kubelet_that_registers_its_node_again(self):
        """x: resources that a kubelet set to 0 are put back, without the kubelet's other values"""
        self.start(flags=ON)
        self.post_nodes(gpu_node("n1", 2))
        self._wait_shown(n1=gpus(2))
        zero = {MILLI: "0", MEMORY: "0"}
        self.admin.patch(f"{NODES}/n1/status", {"status": {
            "capacity": {**zero, "cpu": "8"}, "allocatable": {**zero, "cpu": "8"}}})
        wait_until("the kubelet's values", lambda: self._status("n1")["capacity"]["cpu"] == "8")
        self._wait_shown(n1=gpus(2))
        self.assertEqual(self._status("n1")["allocatable"]["cpu"], "8")

    def test_x_a_kubelet_changes_no_capacity(self):
        """x: a kubelet that sets the resources to 0 or removes them is refused, and may change all others"""
        self.start(flags=ON)
        self.post_nodes(gpu_node("n1", 2))
        self._wait_shown(n1=gpus(2))
        kubelet = self.plane.client("kubelet", "system:node:n1", ["system:nodes", "system:masters"])
        for amount in ("0", "1", None):
            for name in (MILLI, MEMORY):
                with self.subTest(name=name, amount=amount), self.assertRaisesRegex(
                        ApiError, "422 .* is written by Snug alone"):
                    kubelet.patch(f"{NODES}/n1/status", {"status": {"capacity": {name: amount, "cpu": "8"}}})
        kubelet.patch(f"{NODES}/n1/status", {"status": {"capacity": {"cpu": "8", "example.com/x": "1"}}})
        kubelet.patch(f"{NODES}/n1/status", {"status": {"capacity": {"example.com/x": "0"}}})
        self.assertEqual(self._status("n1")["capacity"]["cpu"], "8")
        self._wait_shown(n1=gpus(2))

    def test_x_a_vanished_gpu_with_a_running_pod(self):
        """x: the capacity never falls below the sum of the limits of the pods on the node"""
        self.start(flags=ON)
        self.post_nodes(gpu_node("n1", 3))
        self._wait_shown(n1=gpus(3))
        limits = dict(zip((MILLI, MEMORY), map(str, gpus(2))))
        self.place(pod("pod", {"gpu-fraction": "0.5"}, limits=limits))
        self.set_inventory("n1", inventory("n1", 0, A100_MIB, A100))
        self._wait_shown(n1=gpus(2))
        self.delete_pod("pod")
        self._wait_shown(n1=None)

    def test_x_the_parameters_wait_for_all_gpu_nodes(self):
        """x: the parameters appear when every GPU node shows the resources, and then stay"""
        role = self.admin.get(ROLE)
        self.addCleanup(manifests.apply, self.admin, "rbac.yaml")
        self.admin.patch(ROLE, {"rules": [rule for rule in role["rules"]
                                          if rule["resources"] != ["nodes/status"]]})
        self.admin.create_all(NODES, [gpu_node("n1", 2), gpu_node("n2", 1), bare_node("cpu")])
        amounts = dict(zip((MILLI, MEMORY), map(str, gpus(2))))
        self.admin.patch(f"{NODES}/n1/status",
                         {"status": {"capacity": amounts, "allocatable": amounts}})
        self.start(flags=ON)
        failure = "node n2 could not be written: "
        wait_until("a patch fails", lambda: failure in self.extender.log())
        self.assertIsNone(self.admin.find(PARAMETERS))
        self.assertGreater(self.extender.metric(
            "snug_api_requests_total", what="patch_node", result="error"), 0)
        manifests.apply(self.admin, "rbac.yaml")
        self._wait_shown(n1=gpus(2), n2=gpus(1), cpu=None)
        self._wait_parameters({"smallestMib": A100_MIB, "largestMib": A100_MIB})
        self.assertEqual(self.extender.log().count(failure), 1)

    def test_x_another_range_and_off(self):
        """x: another range is written to the parameters; without a range, nothing is left"""
        self.start(flags=ON)
        self.post_nodes(gpu_node("n1", 2), gpu_node("n2", 1))
        self._wait_shown(n1=gpus(2), n2=gpus(1))
        self._wait_parameters({"smallestMib": A100_MIB, "largestMib": A100_MIB})
        self.extender.stop()
        self.start_extender(flags=OTHER_RANGE)
        self._wait_parameters({"smallestMib": 16384, "largestMib": A100_MIB})
        self._wait_shown(n1=gpus(2), n2=gpus(1))
        self.extender.stop()
        self.start_extender()
        self._wait_shown(n1=None, n2=None)
        self._wait_parameters(None)
        self.check_cluster()

    def _status(self, node):
        return self.admin.get(f"{NODES}/{node}")["status"]

    def _shown(self, node):
        """(milli, MiB) in the capacity and in the allocatable; None for what is not there."""
        status = self._status(node)
        return [tuple(units(status[name].get(key)) for key in (MILLI, MEMORY))
                for name in ("capacity", "allocatable")]

    def _wait_shown(self, **expected):
        for node, amounts in expected.items():
            wanted = [amounts or (None, None)] * 2
            try:
                wait_until("", lambda node=node, wanted=wanted: self._shown(node) == wanted)
            except TimeoutError:
                self.fail(f"{node} shows {self._shown(node)}, not {wanted}")

    def _wait_parameters(self, data):
        def written():
            found = self.admin.find(PARAMETERS)
            return (found and found["spec"]) == data
        wait_until(f"the parameters are {data}", written)

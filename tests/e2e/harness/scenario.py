"""The base of every scenario: an empty cluster, an extender and a scheduler, and the checks."""

import unittest

from . import manifests, truth
from .controlplane import EXTENDER_USER, SCHEDULER_USER
from .extender import Extender
from .objects import bare_node
from .processes import wait_until
from .scheduler import Schedulers

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
OWN_PODS = "/api/v1/namespaces/snug/pods"
NAMESPACES = ("default", "snug")


def bind_by_hand(admin, name, node, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
    admin.create(path, {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}})


class Session:
    """What all scenarios of one run share: the control plane and the programs' kubeconfigs."""

    def __init__(self, plane):
        self.plane = plane
        self.schedulers = Schedulers(plane)
        self.extender_kubeconfig = plane.extender_kubeconfig()

    def make_own_pod(self, name):
        """A pod as deploy/dedicated.yaml makes it, on a node that takes no others; no kubelet."""
        [deployment] = [value for value in manifests.read("dedicated.yaml")
                        if value["kind"] == "Deployment"]
        template = deployment["spec"]["template"]
        node = bare_node("control")
        node["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane",
                                    "effect": "NoSchedule"}]}
        self.plane.admin.create(NODES, node)
        self.plane.admin.create(OWN_PODS, {
            "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {**template["metadata"], "name": name, "namespace": "snug"}})
        bind_by_hand(self.plane.admin, name, "control", "snug")


class Scenario(unittest.TestCase):
    session = None  # set by run.py
    maxDiff = 4000

    def setUp(self):
        self.plane = self.session.plane
        self.admin = self.plane.admin
        self.extender = None
        self.scheduler = None
        self._wipe()
        self.mark = self.plane.audit.mark()

    def start(self, *, answer="auto", policy="best-fit", kubeconfig=None, own_pod="snug-0",
              flags=None, **scheduler_options):
        """Starts the extender and the scheduler; both end with the scenario. `own_pod` is the one
        that the extender believes to run in; empty: none. `flags`: more of the extender's."""
        if own_pod:
            self.session.make_own_pod(own_pod)
        self.extender = Extender(
            self.plane, kubeconfig or self.session.extender_kubeconfig,
            {"answer": answer, "policy": manifests.ROOT / "policies" / f"{policy}.yaml",
             **(flags or {})},
            {"POD_NAME": own_pod, "POD_NAMESPACE": "snug" if own_pod else ""})
        self.addCleanup(self.extender.stop)
        self.extender.start()
        self.scheduler = self.session.schedulers.start(
            extender_port=self.extender.port, answer=answer, **scheduler_options)
        self.addCleanup(self.scheduler.stop)

    # Objects.

    def post_nodes(self, *nodes):
        """Posts nodes and waits until the extender knows them."""
        self.admin.create_all(NODES, nodes)
        if self.extender:
            names = {node["metadata"]["name"] for node in nodes}
            wait_until("the extender knows the nodes", lambda: names <= {
                node["name"] for node in self.extender.nodes()})

    def post_pods(self, *pods):
        return self.admin.create_all(PODS, pods)

    def place(self, pod, seconds=30):
        """Posts a pod and returns it bound."""
        self.post_pods(pod)
        return self.wait_bound(pod["metadata"]["name"], seconds=seconds)

    def bind_by_hand(self, name, node, namespace="default"):
        bind_by_hand(self.admin, name, node, namespace)

    def delete_pod(self, name):
        self.admin.delete(f"{PODS}/{name}")

    def pod(self, name):
        return self.admin.get(f"{PODS}/{name}")

    def pods(self):
        return self.admin.list(PODS)

    def ledger_node(self, name):
        return next(node for node in self.extender.nodes() if node["name"] == name)

    # Waits.

    def wait_bound(self, name, seconds=30):
        def bound():
            pod = self.pod(name)
            return truth.is_bound(pod) and pod
        return wait_until(f"{name} is bound ({self._why(name)})", bound, seconds)

    def wait_refused(self, name, text, seconds=30):
        """The pod is Pending, and its PodScheduled condition contains `text`."""
        try:
            wait_until(f"{name} is refused", lambda: text in self._why(name), seconds)
        except TimeoutError:
            self.fail(f"{name} is not refused with {text!r}; it says: {self._why(name)!r}")
        self.assertEqual(refusal(self.pod(name))[0], "Unschedulable", name)
        self.assertFalse(truth.is_bound(self.pod(name)), name)

    def wait_settled(self, bound, refused=0, text="NoRoom", seconds=120):
        """So many pods are bound, and so many refused with that text."""
        seen = {}

        def settled():
            pods = self.pods()
            seen["bound"] = sum(map(truth.is_bound, pods))
            seen["refused"] = sum(text in refusal(pod)[1] and refusal(pod)[0] == "Unschedulable"
                                  for pod in pods)
            return (seen["bound"], seen["refused"]) == (bound, refused)
        try:
            wait_until("", settled, seconds, every=0.3)
        except TimeoutError:
            self.fail(f"not {bound} bound and {refused} {text} within {seconds} s: {seen}")

    # Checks.

    def truth(self):
        return truth.Truth(self.admin.list(NODES), self.admin.list("/api/v1/pods"))

    def check_cluster(self):
        """Nothing is over-committed, and the ledger is what the API server says."""
        seen = self.truth()
        self.assertEqual(seen.problems(), [])
        last = {}

        def equal():
            ledger = truth.ledger_of(self.extender.nodes(), self.extender.pods())
            last["difference"] = truth.difference(self.truth().as_ledger(), ledger)
            return not last["difference"]
        try:
            wait_until("", equal, 10, every=0.2)
        except TimeoutError:
            self.fail(f"the ledger differs: {last['difference']}")
        self.assertEqual(self.plane.audit.forbidden_since(self.mark, EXTENDER_USER), [])
        return seen

    def extender_calls(self):
        return self.plane.audit.calls_since(self.mark, EXTENDER_USER)

    def scheduler_calls(self):
        return self.plane.audit.calls_since(self.mark, SCHEDULER_USER)

    def device(self, name):
        """The only device of a bound pod, as its reservation has it, with the node's name."""
        pod = self.pod(name)
        [container] = truth.reservation(pod)["containers"]
        [device] = container["devices"]
        return {"node": pod["spec"]["nodeName"], **device}

    def gpu_of(self, name):
        device = self.device(name)
        return device["node"], device["index"]

    def _why(self, name):
        pod = self.admin.find(f"{PODS}/{name}")
        return refusal(pod)[1] if pod else "no such pod"

    def _wipe(self):
        for namespace in NAMESPACES:
            self.admin.delete(f"/api/v1/namespaces/{namespace}/pods")
        self.admin.delete(NODES)
        wait_until("the cluster is empty",
                   lambda: not self.admin.list("/api/v1/pods") and not self.admin.list(NODES), 60)


def refusal(pod):
    """(reason, message) of the condition PodScheduled=False; empty texts where there is none."""
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason", ""), condition.get("message", "")
    return "", ""

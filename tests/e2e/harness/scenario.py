"""The base of every scenario: an empty cluster, an extender and a scheduler, and the checks."""

import json
import pathlib
import tempfile
import unittest

from . import manifests, truth
from .api import MERGE_PATCH, ApiError
from .controllers import ControllerManagers, remove_workloads
from .controlplane import EXTENDER_USER, SCHEDULER_USER
from .extender import Extender
from .kubectl import Kubectl
from .objects import bare_node
from .processes import wait_until
from .scheduler import Schedulers

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
OWN_PODS = "/api/v1/namespaces/snug/pods"
CAPACITY = "/apis/storage.k8s.io/v1/namespaces/snug/csistoragecapacities/snug-room"  # changed to wake pods before 1.32
TENANTS = ("team-a", "team-b")
NAMESPACES = ("default", "snug", *TENANTS)


def pods_of(namespace):
    return f"/api/v1/namespaces/{namespace}/pods"


def bind_by_hand(admin, name, node, namespace):
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
    admin.create(path, {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}})


class Session:
    """What all scenarios of one run share: the control plane and the programs' kubeconfigs."""

    def __init__(self, plane):
        self.plane = plane
        self.schedulers = Schedulers(plane)
        self.extender_kubeconfig = plane.extender_kubeconfig()
        self.controllers = ControllerManagers(plane)
        self.kubectl = Kubectl(plane)
        for name in TENANTS:
            manifests.apply_object(plane.admin, {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def post_own_pod(self, name):
        """A pod as deploy/dedicated.yaml makes it."""
        [deployment] = [value for value in manifests.read("dedicated.yaml")
                        if value["kind"] == "Deployment"]
        template = deployment["spec"]["template"]
        self.plane.admin.create(OWN_PODS, {
            "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {**template["metadata"], "name": name, "namespace": "snug"}})

    def make_own_pod(self, name):
        """The same, on a node that takes no others; no kubelet."""
        self.make_control_node()
        self.post_own_pod(name)
        bind_by_hand(self.plane.admin, name, "control", "snug")

    def make_control_node(self):
        """A node for own pods, which takes no others."""
        if self.plane.admin.find(f"{NODES}/control"):
            return
        node = bare_node("control")
        node["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane",
                                    "effect": "NoSchedule"}]}
        self.plane.admin.create(NODES, node)


class Scenario(unittest.TestCase):
    session = None  # set by run.py
    maxDiff = 4000

    def setUp(self):
        self.plane = self.session.plane
        self.admin = self.plane.admin
        self.kubectl = self.session.kubectl
        self.extender = None
        self.scheduler = None
        self._wipe()
        self.plane.release_lease()
        self.mark = self.plane.audit.mark()

    def start(self, *, answer="auto", policy="best-fit", kubeconfig=None, own_pod="snug-0",
              flags=None, **scheduler_options):
        """Starts the extender and the scheduler; both end with the scenario. `policy`: the name of
        a shipped one, or a file. `own_pod` is the one that the extender believes to run in; empty:
        none. `flags`: more of the extender's."""
        self.start_extender(answer=answer, policy=policy, kubeconfig=kubeconfig, own_pod=own_pod,
                            flags=flags)
        self.scheduler = self.start_scheduler(extender_port=self.extender.port, answer=answer,
                                              **scheduler_options)

    def start_extender(self, *, answer="auto", policy="best-fit", kubeconfig=None,
                       own_pod="snug-0", flags=None):
        if own_pod and not self.admin.find(f"{OWN_PODS}/{own_pod}"):
            self.session.make_own_pod(own_pod)
        if not isinstance(policy, pathlib.Path):
            policy = manifests.ROOT / "policies" / f"{policy}.yaml"
        self.extender = self.make_extender(answer=answer, policy=policy, kubeconfig=kubeconfig,
                                           own_pod=own_pod, flags=flags)
        self.extender.start()

    def make_extender(self, *, answer="auto", policy, kubeconfig=None, own_pod="snug-0",
                      flags=None, host=None):
        """One that is not started yet; it ends with the scenario."""
        extender = Extender(
            self.plane, kubeconfig or self.session.extender_kubeconfig,
            {"answer": answer, "policy": policy, "kubernetes-minor": self.plane.minor,
             **(flags or {})},
            {"POD_NAME": own_pod, "POD_NAMESPACE": "snug" if own_pod else "",
             **self._uid_of(own_pod)}, host)
        self.addCleanup(extender.stop)
        return extender

    def _uid_of(self, own_pod):
        pod = own_pod and self.admin.find(f"{OWN_PODS}/{own_pod}")
        return {"POD_UID": pod["metadata"]["uid"]} if pod else {}

    def start_scheduler(self, **options):
        """One more kube-scheduler; `options` are those of harness.scheduler's start()."""
        scheduler = self.session.schedulers.start(**options)
        self.addCleanup(scheduler.stop)
        return scheduler

    def start_controllers(self, *controllers):
        """A kube-controller-manager with these controllers, or with harness.controllers.CONTROLLERS;
        what it controls ends with the scenario."""
        manager = self.session.controllers.start(*[controllers] if controllers else [])
        self.addCleanup(manager.stop)
        self.addCleanup(remove_workloads, self.admin, ("default", *TENANTS))

    def policy_file(self, text):
        """A file with that policy, which goes with the scenario."""
        folder = tempfile.TemporaryDirectory(prefix="snug-policy-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "policy.yaml"
        path.write_text(text)
        return path

    def need_kubernetes(self, minor, what):
        """Skips the scenario, or the rest of it, where the control plane is older than 1.<minor>.
        `what` came with that version."""
        if self.session.plane.minor < minor:
            self.skipTest(f"{what}: since Kubernetes 1.{minor}")

    def reasons_stay(self):
        """Before 1.32 kube-scheduler does not try a pod again because other pods were bound. One that was
        refused while they were about to be bound says so (Promised) until it is tried again."""
        return self.plane.minor < 32

    # Objects.

    def post_nodes(self, *nodes):
        """Posts nodes and waits until the extender knows them."""
        self.admin.create_all(NODES, nodes)
        if self.extender:
            names = {node["metadata"]["name"] for node in nodes}
            wait_until("the extender knows the nodes", lambda: names <= {
                node["name"] for node in self.extender.nodes()})

    def post_pods(self, *pods):
        """All of one namespace."""
        [namespace] = {pod["metadata"]["namespace"] for pod in pods}
        return self.admin.create_all(pods_of(namespace), pods)

    def place(self, pod, seconds=30):
        """Posts a pod and returns it bound."""
        self.post_pods(pod)
        return self.wait_bound(pod["metadata"]["name"], seconds, pod["metadata"]["namespace"])

    def bind_by_hand(self, name, node, namespace="default"):
        bind_by_hand(self.admin, name, node, namespace)

    def delete_pod(self, name, namespace="default"):
        self.admin.delete(f"{pods_of(namespace)}/{name}")

    def pod(self, name, namespace="default"):
        return self.admin.get(f"{pods_of(namespace)}/{name}")

    def pods(self, namespace="default"):
        return self.admin.list(pods_of(namespace))

    def set_inventory(self, node, value):
        """As the node's agent would, while pods live there."""
        self.admin.patch(f"{NODES}/{node}", {"metadata": {"annotations": {
            "snug.dev/inventory": json.dumps(value)}}})

    def ledger_node(self, name):
        return next(node for node in self.extender.nodes() if node["name"] == name)

    def ledger_gpu(self, node, index):
        return next(gpu for gpu in self.ledger_node(node)["gpus"] if gpu["index"] == index)

    def ledger_pod(self, name, namespace="default"):
        return next((row for row in self.extender.pods()
                     if (row["namespace"], row["pod"]) == (namespace, name)), None)

    # Waits.

    def wait_bound(self, name, seconds=30, namespace="default"):
        def bound():
            pod = self.pod(name, namespace)
            return truth.is_bound(pod) and pod
        try:
            return wait_until("", bound, seconds)
        except TimeoutError:
            self.fail(f"{name} is not bound; it says: {self._why(name, namespace)!r}")

    def wait_refused(self, name, text, seconds=30, namespace="default"):
        """The pod is Pending, and its PodScheduled condition contains `text`."""
        try:
            wait_until("", lambda: text in self._why(name, namespace), seconds)
        except TimeoutError:
            self.fail(f"{name} is not refused with {text!r}; it says: "
                      f"{self._why(name, namespace)!r}")
        pod = self.pod(name, namespace)
        self.assertEqual(refusal(pod)[0], "Unschedulable", name)
        self.assertFalse(truth.is_bound(pod), name)

    def wait_settled(self, bound, refused=0, text="NoRoom", seconds=120, namespace="default"):
        """So many pods are bound, and so many refused with that text."""
        seen = {}
        texts = (text, "Promised: ") if self.reasons_stay() else (text,)

        def says(pod):
            return any(each in refusal(pod)[1] for each in texts)

        def settled():
            pods = self.pods(namespace)
            seen["bound"] = sum(map(truth.is_bound, pods))
            seen["refused"] = sum(says(pod) and refusal(pod)[0] == "Unschedulable" for pod in pods)
            return (seen["bound"], seen["refused"]) == (bound, refused)
        try:
            wait_until("", settled, seconds, every=0.3)
        except TimeoutError:
            others = [refusal(pod) for pod in self.pods(namespace)
                      if not truth.is_bound(pod) and not says(pod)]
            self.fail(f"not {bound} bound and {refused} {text} within {seconds} s: {seen}; {others}")

    # Checks.

    def refused(self, method, path, value, why, kind=None):
        """Whether an admission policy refuses this, with a message that contains `why`."""
        kind = kind or (MERGE_PATCH if method == "PATCH" else "application/json")
        try:
            self.admin.call(method, path, value, kind)
        except ApiError as error:
            self.assertEqual(error.status, 422, str(error))
            self.assertIn(why, error.message)
            return True
        return False

    def truth(self, vanished=()):
        return truth.Truth(self.admin.list(NODES), self.admin.list("/api/v1/pods"), vanished)

    def check_cluster(self, vanished=(), restarted=False):
        """Nothing is over-committed, and the ledger is what the API server says. `vanished`: what
        truth.Truth counts as it was. `restarted`: an API server was, which refuses everybody until
        it has read its roles."""
        seen = self.truth(vanished)
        self.assertEqual(seen.problems(), [])
        last = {}

        def equal():
            ledger = truth.ledger_of(self.extender.nodes(), self.extender.pods(), seen.kinds)
            last["difference"] = truth.difference(self.truth(vanished).as_ledger(), ledger)
            return not last["difference"]
        try:
            wait_until("", equal, 10, every=0.2)
        except TimeoutError:
            self.fail(f"the ledger differs: {last['difference']}")
        if not restarted:
            self.assertEqual(self.plane.audit.forbidden_since(self.mark, EXTENDER_USER), [])
        return seen

    def extender_calls(self, answered=False):
        return self.plane.audit.calls_since(self.mark, EXTENDER_USER, answered)

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

    def given(self, name, namespace="default"):
        """Container name -> its devices, of a bound pod."""
        return {container["name"]: container["devices"] for container in
                truth.reservation(self.pod(name, namespace))["containers"]}

    def warning(self, uid, reason=None):
        """The first Warning event that Snug wrote about that object, for that reason, or None."""
        events = self.admin.list("/apis/events.k8s.io/v1/events")
        return next((event for event in events if event["type"] == "Warning"
                     and event["regarding"].get("uid") == uid
                     and reason in (None, event["reason"])
                     and event["reportingController"].startswith("snug")), None)

    def _why(self, name, namespace="default"):
        pod = self.admin.find(f"{pods_of(namespace)}/{name}")
        return refusal(pod)[1] if pod else "no such pod"

    def _wipe(self):
        wait_until("the cluster is empty", self._is_empty, 120, every=0.5)

    def _is_empty(self):
        """Once more where the API server could not delete thousands of pods within its own limit of a minute."""
        try:
            for namespace in NAMESPACES:
                self.admin.delete(pods_of(namespace))
            self.admin.delete(NODES)
            return not self.admin.list("/api/v1/pods") and not self.admin.list(NODES)
        except TimeoutError:
            return False
        except ApiError as error:
            if error.status < 500:
                raise
            return False


def refusal(pod):
    """(reason, message) of the condition PodScheduled=False; empty texts where there is none."""
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("reason", ""), condition.get("message", "")
    return "", ""

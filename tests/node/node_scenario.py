"""The base of the scenarios: a node with GPUs, and shares whose containers run there."""

from harness import manifests
from harness.api import ApiError
from harness.mirror import MEMORY, MILLI, PARAMETERS, serve_parameters
from harness.objects import A100, A100_MIB, inventory, pod
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Scenario
from image import IMAGE
from node import Node
from watching import Recorder, amounts


RANGE = {"smallest-gpu-mib": str(A100_MIB), "largest-gpu-mib": str(A100_MIB)}
POLICIES = "admission-gpu-pods.yaml"
GPUS = 2
SHOWN = (1000 * GPUS, A100_MIB * GPUS)
# The policies, by file and name, that meet a kubelet which sets the capacity to 0.
CORRECTS = (POLICIES, "snug-mirrored-capacity")
REFUSES = ("node-capacity.yaml", "snug-node-capacity")
NAME = "n1"
PATH = f"{NODES}/{NAME}"


def share(name, annotations):
    """As an author writes it, but for the host's network: the node has no other."""
    value = pod(name, annotations)
    spec = value["spec"]
    del spec["schedulerName"]
    spec["hostNetwork"] = True
    spec["containers"][0].update(
        image=IMAGE, command=["/bin/sh", "-c", "env; echo END; exec sleep 1000000"])
    return value


def requested(pods):
    """(milli, MiB) that these pods ask for in total."""
    limits = [each["resources"].get("limits", {}) for value in pods
              for each in value["spec"]["containers"]]
    return tuple(sum(int(each.get(name, 0)) for each in limits) for name in (MILLI, MEMORY))


def container_ids(value):
    return [each.get("containerID") for each in value["status"].get("containerStatuses", [])]


def is_running(value):
    return value["status"]["phase"] == "Running" and all(
        "running" in each["state"] for each in value["status"]["containerStatuses"])


class NodeScenario(Scenario):
    programs = plugins = runtime = None  # set by run.py
    nri = None  # how the runtime serves plug-ins

    def setUp(self):
        super().setUp()
        serve_parameters(self.admin)
        self.admin.delete(PARAMETERS, missing_ok=True)
        manifests.apply(self.admin, POLICIES)
        self.addCleanup(manifests.remove, self.admin, POLICIES)
        self.kubelet_user = self.plane.client("kubelet", f"system:node:{NAME}", ["system:nodes"])
        self.start(flags=RANGE)
        self.node = Node(self.plane, self.programs, NAME, self.nri, self.runtime)
        self.addCleanup(self.node.remove)
        self.prepare_node()
        self.node.start()
        wait_until("the node is registered", lambda: self.admin.find(PATH), 60)
        self.give_gpus()
        self.wait_shown(SHOWN)
        wait_until("the kubelet is ready", self._node_is_ready, 60)
        wait_until("the policies' parameters are there", lambda: self.admin.find(PARAMETERS))
        wait_until("a kubelet's 0 is corrected", lambda: self.zero_is() == "corrected")

    def prepare_node(self):
        """Before the runtime starts: a scenario may place plug-ins in node.nri_plugins."""

    def give_gpus(self):
        self.set_inventory(NAME, inventory(NAME, GPUS, A100_MIB, A100))

    def _node_is_ready(self):
        self.node.kubelet.must_run()
        conditions = self.admin.get(PATH)["status"].get("conditions", [])
        return any((each["type"], each["status"]) == ("Ready", "True") for each in conditions)

    def shown(self):
        """What the node's capacity and allocatable say."""
        node = self.admin.get(PATH)
        return [amounts(node, kind) for kind in ("capacity", "allocatable")]

    def wait_shown(self, wanted):
        wait_until(f"the node shows {wanted}", lambda: self.shown() == [wanted] * 2, 60)

    def zero_is(self):
        """What a kubelet's update becomes that sets the capacity to 0: corrected, refused or written."""
        try:
            node = self.kubelet_user.patch(f"{PATH}/status?dryRun=All", {"status": {
                kind: {MILLI: "0", MEMORY: "0"} for kind in ("capacity", "allocatable")}})
        except ApiError as error:
            self.assertIn("is written by Snug alone", error.message)
            return "refused"
        return "corrected" if amounts(node) == SHOWN else "written"

    def without_correction(self):
        """As before Kubernetes 1.36."""
        self._unbind(CORRECTS, "refused")

    def without_policies(self):
        self.without_correction()
        self._unbind(REFUSES, "written")
        self.addCleanup(manifests.apply, self.admin, REFUSES[0])

    def _unbind(self, policy, then):
        file, name = policy
        [binding] = [value for value in manifests.read(file)
                     if value["kind"].endswith("Binding") and value["metadata"]["name"] == name]
        self.admin.delete(manifests.path_of(binding))
        wait_until(f"a 0 is {then}", lambda: self.zero_is() == then)

    def run_share(self, name, annotations):
        """Creates the pod and returns it when its container runs."""
        self.admin.create(PODS, share(name, annotations))
        self.wait_bound(name)
        return self.wait_running(name)

    def wait_running(self, name, not_in=(), namespace="default"):
        """`not_in`: ids of containers that do not count."""
        def running():
            value = self.pod(name, namespace)
            if value["status"]["phase"] in ("Failed", "Succeeded"):
                self.fail(f"{name}: {value['status']}")
            return is_running(value) and not set(container_ids(value)) & set(not_in) and value
        try:
            return wait_until("", running, 90)
        except TimeoutError:
            self.fail(f"{name} does not run: {self.pod(name, namespace)['status']}")

    def variables(self, value):
        """What the container of the running pod sees."""
        lines = wait_until("the container has written", lambda: "END" in self.node.output(value)
                           and self.node.output(value), 10)
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def watch(self, path):
        recorder = Recorder(self.admin, path)
        self.addCleanup(recorder.stop)
        return recorder

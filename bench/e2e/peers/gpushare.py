"""Alibaba's gpushare scheduler extender, configured as its documents say, with nodes as its device plug-in leaves them: GPU
memory in GiB, the plug-in's default, in which every size of these pods is whole. Its program is built from its own repository."""

import collections
import socket

from harness import manifests
from harness.objects import bare_node
from harness.processes import free_port, wait_until

from .system import System, memory_of, size_of

MEMORY, COUNT = "aliyun.com/gpu-mem", "aliyun.com/gpu-count"
ANNOTATION = "ALIYUN_COM_GPU_MEM_"
MIB_OF_A_UNIT = 1024
ACCOUNT = "gpushare-schd-extender"
USER = f"system:serviceaccount:kube-system:{ACCOUNT}"
PROGRAM = "gpushare-extender"
# Those of its manifest, and configmaps, which it waits for before it serves.
RIGHTS = (
    (("nodes", "configmaps"), ("get", "list", "watch")),
    (("events",), ("create", "patch")),
    (("pods",), ("update", "patch", "get", "list", "watch")),
    (("bindings", "pods/binding"), ("create",)),
)


def units_of(thousandths):
    return memory_of(thousandths) // MIB_OF_A_UNIT


def held(value):
    """((node, index), MiB) of a bound pod."""
    annotations = value["metadata"].get("annotations", {})
    name = value["metadata"]["name"]
    index, units = (annotations.get(ANNOTATION + each) for each in ("IDX", "POD"))
    if index is None:
        raise RuntimeError(f"{name} is bound without {ANNOTATION}IDX")
    if int(units) != units_of(size_of(value)):
        raise RuntimeError(f"{name} has {units} GiB, not {units_of(size_of(value))}")
    return (value["spec"]["nodeName"], int(index)), int(units) * MIB_OF_A_UNIT


class Gpushare(System):
    """As it is published: its client of the API server has client-go's defaults, 5 calls per second, and no setting."""
    name, title = "gpushare", "gpushare"
    program_file = None  # comparison.py sets it

    def install(self):
        self.components[USER] = PROGRAM
        manifests.apply_object(self.admin, {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ACCOUNT},
            "rules": [{"apiGroups": [""], "resources": list(resources), "verbs": list(verbs)}
                      for resources, verbs in RIGHTS]})
        manifests.apply_object(self.admin, {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", "namespace": "kube-system", "name": ACCOUNT}]})
        self._extender_kubeconfig = self.plane.kubeconfig(PROGRAM, USER)

    def extender_port(self):
        """It listens when it has listed nodes and pods."""
        port = free_port()
        process = self.plane.run(PROGRAM, [self.program_file.resolve()], {
            "KUBECONFIG": str(self._extender_kubeconfig), "PORT": str(port)})
        self.program(process)

        def listens():
            process.must_run()
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0
        wait_until("gpushare listens", listens, every=0.01)
        return port

    def tune(self, config):
        [extender] = config["extenders"]
        config["extenders"] = [{
            "urlPrefix": f"{extender['urlPrefix']}/gpushare-scheduler", "filterVerb": "filter", "bindVerb": "bind",
            "enableHTTPS": False, "nodeCacheCapable": True, "ignorable": False,
            "managedResources": [{"name": MEMORY, "ignoredByScheduler": False}]}]

    def node(self, name):
        return bare_node(name, {"gpushare": "true"}, None, {
            MEMORY: str(self.gpus * units_of(1000)), COUNT: str(self.gpus)})

    def pod(self, name, thousandths):
        return self.base_pod(name, thousandths, limits={MEMORY: str(units_of(thousandths))})

    def used(self, pods):
        taken = collections.Counter()
        for value in pods:
            place, mebibytes = held(value)
            taken[place] += mebibytes
        return taken, memory_of(1000)


class GpushareUnlimited(Gpushare):
    """One more line in initKubeClient() of its cmd/main.go: restConfig.QPS, restConfig.Burst = 5000, 5000"""
    name, title = "gpushare-unlimited", "gpushare, client not limited"
    runs = ("burst", "kill")

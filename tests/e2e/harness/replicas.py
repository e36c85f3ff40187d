"""The dedicated shape with several replicas: each a kube-scheduler and Snug in one pod, which know
each other by Leases alone. A pod has a host name of its own."""

from . import manifests
from .controlplane import SCHEDULER_USER
from .relay import Relay

SCHEDULER_LEASE = "snug/snug-scheduler"
POLICY = manifests.ROOT / "policies/best-fit.yaml"


def allow_leases(admin):
    """What dedicated.yaml allows both service accounts; here the scheduler has a user of its own."""
    for value in manifests.read("dedicated.yaml"):
        name = value["metadata"]["name"]
        if name in ("snug-scheduler-lease", "snug-extender-scheduler-lease"):
            manifests.apply_object(admin, value)
        if (value["kind"], name) == ("RoleBinding", "snug-scheduler-lease"):
            manifests.apply_object(admin, {**value, "metadata": {
                "name": "e2e-scheduler-lease", "namespace": "snug"}, "subjects": [
                    {"apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                     "name": SCHEDULER_USER}]})


class Replica:
    """Started by start(); ends with the scenario."""

    def __init__(self, scenario, name, flags=None):
        self.name = name
        self._scenario = scenario
        self.relay = Relay(scenario.plane.port)
        scenario.addCleanup(self.relay.close)
        self.extender = scenario.make_extender(
            policy=POLICY, own_pod=name, host=name,
            kubeconfig=scenario.plane.extender_kubeconfig(self.relay.port),
            flags={"scheduler-lease": SCHEDULER_LEASE, **(flags or {})})
        self.scheduler = None

    def start(self):
        self.extender.start(wait_ready=False)
        self.start_scheduler()

    def start_scheduler(self):
        self.scheduler = self._scenario.start_scheduler(
            extender_port=self.extender.port, elect=True, host=self.name)

    def terminate(self):
        """As a kubelet ends a pod: SIGTERM to both."""
        for program in (self.scheduler, self.extender.process):
            program.terminate()

    def stop(self):
        """terminate(), and both have ended."""
        self.terminate()
        for program in (self.scheduler, self.extender.process):
            program.stop()

    def kill(self):
        self.scheduler.kill()
        self.extender.kill()

    def decides(self):
        return self.extender.ready()

    def is_warm(self):
        status, text = self.extender.readiness()
        return status == 200 and text.startswith("ok")

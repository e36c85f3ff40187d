"""A cluster of its own for what the chart installs, which is run as its pod would run it: no kubelet starts it here."""

from .admission import completed_by_webhook
from .controlplane import ControlPlane
from .helm import Helm
from .kubectl import Kubectl
from .scenario import Scenario

SNUG = "/api/v1/namespaces/snug"


class InstalledScenario(Scenario):
    """Nothing of deploy/ is installed at first, and what helm removes is missing nowhere else."""

    def setUp(self):
        super().setUp()
        self.plane = ControlPlane(self.session.plane.programs, deployed=())
        self.addCleanup(self.plane.stop)
        self.plane.start()
        self.admin = self.plane.admin
        self.kubectl = Kubectl(self.plane)
        self.helm = Helm(self.plane)
        self.by_webhook = completed_by_webhook(self.plane)


def kubeconfig_of(plane, account):
    """With a token as a pod of that account gets it."""
    request = {"spec": {"expirationSeconds": 3600}}
    token = plane.admin.create(f"{SNUG}/serviceaccounts/{account}/token", request)["status"]["token"]
    return plane.pki.kubeconfig(account, plane.server, {"token": token})


def start_scheduler(plane, extender_port, host):
    """kube-scheduler with the installed configuration, but for the port of Snug."""
    kubeconfig = kubeconfig_of(plane, "snug-scheduler")
    deployed = plane.admin.get(f"{SNUG}/configmaps/snug-scheduler-config")["data"]["scheduler-config.yaml"]
    path = plane.folder / "scheduler-config.yaml"
    path.write_text(deployed.replace("127.0.0.1:8888", f"127.0.0.1:{extender_port}").replace(
        "clientConnection:", f"clientConnection:\n  kubeconfig: {kubeconfig}"))
    plane.run("kube-scheduler", [
        plane.programs / "kube-scheduler", f"--config={path}", "--secure-port=0"], host=host)

"""kube-controller-manager, with the controllers that a scenario needs."""

from .processes import wait_until

MANAGER_USER = "system:kube-controller-manager"
CONTROLLERS = ("daemonset", "deployment", "job", "replicaset", "resourcequota", "statefulset")
# In the order in which nothing comes back.
OWNERS = (("apps/v1", "deployments"), ("apps/v1", "replicasets"), ("apps/v1", "statefulsets"),
          ("apps/v1", "daemonsets"), ("batch/v1", "jobs"))


class ControllerManagers:
    """Starts one kube-controller-manager after another. Each controller has the rights that
    Kubernetes gives it, by a service account of its own."""

    def __init__(self, plane):
        self._plane = plane
        self._kubeconfig = plane.kubeconfig("controller-manager", MANAGER_USER)

    def start(self, controllers=CONTROLLERS, flags=()):
        """`controllers`: their names without the `-controller` in which each ends. The tokens of
        service accounts have a controller, too. `flags`: more of the program's."""
        names = ",".join(f"{name}-controller" for name in controllers)
        return self._plane.run("kube-controller-manager", [
            self._plane.programs / "kube-controller-manager", f"--kubeconfig={self._kubeconfig}",
            f"--controllers={names}",
            f"--service-account-private-key-file={self._plane.pki.service_account_key}",
            f"--root-ca-file={self._plane.pki.ca}", "--use-service-account-credentials=true",
            "--leader-elect=false", "--secure-port=0", *flags])


def remove_workloads(admin, namespaces):
    """Deletes what makes pods, and the pods. The controllers must still run: that of Jobs takes its
    finalizer from their pods."""
    for namespace in namespaces:
        for api, kind in OWNERS:
            owners = f"/apis/{api}/namespaces/{namespace}/{kind}"
            # By default a Job gets the finalizer `orphan`, and here no garbage collector removes it.
            admin.delete(owners, propagationPolicy="Background")
            wait_until(f"none of the {kind} is left", lambda path=owners: not admin.list(path))
        wait_until("no pod is left", lambda where=namespace: _without_pods(admin, where))


def _without_pods(admin, namespace):
    """A controller may make pods until it has seen that their owner is gone."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    admin.delete(pods)
    return not admin.list(pods)

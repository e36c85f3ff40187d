"""Scenario n: the plug-in of kubectl reaches Snug by a port-forward through API server, kubelet and containerd."""

import json
import pathlib

from harness import manifests
from harness.objects import pod
from harness.scenario import TENANTS, pods_of
from image import IMAGE
from node import SLEEP
from node_scenario import NAME, NodeScenario

RIGHTS = "examples/plugin-users.yaml"
# Pods may use the host's network there.
NAMESPACE = TENANTS[0]
JANE = ("--as=jane", "--as-group=gpu-users")


def port_forwards():
    """The command lines of the port-forwards to the pod of these tests that run."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"pod/reached" in words:
            found.append(words)
    return found


class PluginTest(NodeScenario):
    def test_n_the_plugin_reaches_snug(self):
        """n: kubectl snug shows the GPUs by a port-forward, with the rights of examples/plugin-users.yaml alone"""
        self.run_share("quarter", {"gpu-fraction": "0.25"})
        code, text = self.kubectl.snug("top")
        self.assertEqual((code, text), (1, (
            "kubectl snug: namespace snug has no running pod with the label app.kubernetes.io/name=snug; if Snug runs in "
            "another one, name it with --snug-namespace\n")))
        self._run_own_pod()
        code, text = self._snug("top", *JANE)
        self.assertEqual(code, 1)
        self.assertIn('User "jane" cannot list resource "pods" in API group "" in the namespace', text)
        self._grant_rights()
        for user in ((), JANE):
            code, text = self._snug("top", NAME, *user)
            self.assertEqual(code, 0, text)
            self.assertIn("default/quarter (main)", text)
        code, text = self._snug("top", "-o", "json")
        self.assertEqual((code, json.loads(text)["nodes"]), (0, [self.ledger_node(NAME)]))
        self.assertEqual(port_forwards(), [])
        self.check_cluster()

    def test_n_the_plugin_says_why_not(self):
        """n: kubectl snug says so when nothing listens behind the port-forward"""
        self._run_own_pod()
        self.extender.kill()
        code, text = self._snug("top")
        self.assertEqual(code, 1)
        self.assertIn(f"kubectl snug: kubectl port-forward to pod {NAMESPACE}/reached does not reach Snug: ", text)
        self.assertIn("connection refused", text)
        self.assertEqual(port_forwards(), [])

    def _snug(self, *words):
        return self.kubectl.snug(*words, "--snug-namespace", NAMESPACE)

    def _grant_rights(self):
        for value in manifests.read(RIGHTS):
            value["metadata"]["namespace"] = NAMESPACE
            manifests.apply_object(self.admin, value)
            self.addCleanup(self.admin.delete, manifests.path_of(value))

    def _run_own_pod(self):
        """A pod with Snug's label on the host's network, where the extender's admin port listens on loopback, as
        in the shared shape."""
        value = pod("reached", scheduler=None, namespace=NAMESPACE, labels={"app.kubernetes.io/name": "snug"})
        spec = value["spec"]
        spec.update(hostNetwork=True, nodeName=NAME)
        spec["containers"][0].update(image=IMAGE, command=SLEEP, ports=[
            {"name": "admin", "containerPort": self.extender.admin_port, "hostPort": self.extender.admin_port}])
        self.admin.create(pods_of(NAMESPACE), value)
        self.addCleanup(self.delete_pod, "reached", NAMESPACE)
        self.wait_running("reached", namespace=NAMESPACE)

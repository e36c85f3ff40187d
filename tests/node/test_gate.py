"""Scenario a, with snug-gate: a node whose runtime has no validator, or has it off, fails closed too."""

import contextlib
import os
import pathlib
import re
import signal
import time

from harness import manifests
from harness.processes import wait_until
from harness.scenario import NODES, pods_of
from agent_scenario import NAMESPACE, AgentScenario, plain, programs_folder
from node import SLEEP
from node_scenario import NAME, PATH
from containerd import PERMITS
from test_uninstall import LEASES, block

REQUIRED = "required-plugins.noderesource.dev/container."
GATE, GATE_IMAGE = "99-snug-gate", "localhost/snug-gate:1"
LOCK = pathlib.Path("/run/snug/gate.lock")  # fixed, since the runtime tells its plug-ins nothing about it
REFUSED = 'snug-gate: required plugin "snug" not present'


def remove_lock():
    with contextlib.suppress(OSError):
        LOCK.unlink(missing_ok=True)
        LOCK.parent.rmdir()


class GateScenario(AgentScenario):
    nri = PERMITS

    def gates(self):
        """The processes of the gate."""
        program = str(self.node.nri_plugins / GATE)
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(process / "exe").removesuffix(" (deleted)") == program:
                    found.append(int(process.name))
        return found


class GateTest(GateScenario):
    def prepare_node(self):
        (self.node.nri_plugins / GATE).write_bytes((programs_folder() / "snug-gate").read_bytes())
        (self.node.nri_plugins / GATE).chmod(0o755)
        self.addCleanup(remove_lock)

    def kill_gate(self):
        [process] = self.gates()
        os.kill(process, signal.SIGKILL)

    def wait_not_enforced(self):
        wait_until("the label is gone", lambda: not self.is_enforced(), 20)
        wait_until("the inventory says open", lambda: self.inventory()["enforcement"] == "open", 20)

    def test_a_the_gate_refuses_while_the_agent_is_away(self):
        """a: with snug-gate the node is proved; without the agent GPU containers wait, others start; they run after its return"""
        self.wait_enforced()
        self.assertEqual(self.inventory()["enforcement"], "fail-closed")
        self.assertIn("nvidiactl", self.run_pod("before", {"gpu-fraction": "0.5"}).devices)
        self.assertEqual(self.pod("before")["metadata"]["annotations"][f"{REQUIRED}main"], '["snug"]')
        self.check_away(REFUSED, plain("ordinary"))
        self.check_cluster()

    def test_a_the_gate_is_killed(self):
        """a: when snug-gate is killed, the node counts as open; a restart of the runtime brings the gate and the label back"""
        self.wait_enforced()
        self.kill_gate()
        self.wait_not_enforced()
        wait_until("the agent says why", lambda: any("snug-gate has ended" in line for line in self.agent_log()), 10)
        self.assertIn("nvidiactl", self.run_pod("half", {"gpu-fraction": "0.5"}).devices)
        self.assertNotIn(f"{REQUIRED}main", self.pod("half")["metadata"]["annotations"])
        self.node.containerd.kill()
        self.node.start_containerd()
        self.wait_agent_ready()
        self.wait_enforced()
        self.assertEqual(len(self.gates()), 1)

    def test_a_the_runtime_restarts_with_its_gate(self):
        """a: when the runtime restarts the old gate ends, the new one is proved, and the label stays"""
        self.wait_enforced()
        [before] = self.gates()
        nodes = self.watch(NODES)
        proofs = self.proofs()
        self.node.containerd.kill()
        wait_until("the gate ends with its runtime", lambda: not self.gates(), 10)
        self.node.start_containerd()  # it answers before it starts its plug-ins
        [after] = wait_until("the new gate runs", self.gates, 20)
        self.assertNotEqual(before, after)
        self.wait_agent_ready()
        wait_until("the new gate has refused the probe, too", lambda: self.proofs() > proofs, 90)
        self.assertEqual({each["metadata"]["labels"].get("snug.dev/enforced") for each in nodes.catch_up(PATH)
                          if each["metadata"]["name"] == NAME}, {"true"})


class InstallGateTest(GateScenario):
    def test_a_the_gate_is_installed(self):
        """a: the pod of agent-gate.yaml installs snug-gate; after a restart of the runtime an open node fails closed; the
        steps of the page remove it"""
        self.addCleanup(remove_lock)
        self.wait_open()
        self.node.import_image(GATE_IMAGE, {"usr/bin/snug-gate": programs_folder() / "snug-gate"}, SLEEP)
        self.admin.patch(f"{NODES}/{NAME}", {"metadata": {"labels": {"snug.dev/gate": "true"}}})
        [daemon_set] = manifests.read("agent-gate.yaml")
        template = daemon_set["spec"]["template"]
        spec = template["spec"]
        spec.update(nodeName=NAME, hostNetwork=True)
        del spec["priorityClassName"]
        spec["containers"][0].update(image=GATE_IMAGE, imagePullPolicy="Never")
        spec["volumes"][0]["hostPath"]["path"] = str(self.node.nri_plugins.parent)
        self.admin.create(pods_of(NAMESPACE), {
            "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {**template["metadata"], "name": "gate", "namespace": NAMESPACE}})
        self.wait_running("gate", namespace=NAMESPACE)
        wait_until("the gate is there", (self.node.nri_plugins / GATE).exists, 20)
        self.node.containerd.kill()
        self.node.start_containerd()
        self.wait_enforced()
        self.assertEqual(self.inventory()["enforcement"], "fail-closed")
        self.assertEqual((len(self.gates()), LOCK.exists()), (1, True))
        start = time.monotonic()
        self.uninstall()
        print(f"     agent and gate are uninstalled in {time.monotonic() - start:.1f} s", flush=True)

    def uninstall(self):
        """Steps 2 and 4 of the page."""
        for name in ("agent-0", "gate"):  # as the controllers of the DaemonSets do when the labels go
            self.admin.delete(f"{pods_of(NAMESPACE)}/{name}")
        for text in ("snug.dev/agent-", "snug.dev/gate-"):
            code, said = self.kubectl.shell(re.sub(r"\bNODE\b", NAME, block("agent.md", "Uninstall", text)), {}, 400)
            self.assertEqual(code, 0, said)
        wait_until("the pod of the gate is gone", lambda: not self.admin.list(pods_of(NAMESPACE)), 60)
        self.assertTrue(self.gates())  # it stays without its pod
        (self.node.nri_plugins / GATE).unlink()
        self.node.containerd.kill()
        self.node.start_containerd()
        LOCK.unlink(missing_ok=True)
        LOCK.parent.rmdir()
        self.run_pod("ordinary")
        self.assertEqual((self.gates(), list(self.node.nri_plugins.iterdir()), LOCK.parent.exists()), ([], [], False))
        self.assertFalse([each for each in self.admin.list(LEASES) if each["metadata"]["name"] == f"agent.{NAME}"])
        node = self.admin.get(f"{NODES}/{NAME}")["metadata"]
        self.assertFalse([key for key in (*node["labels"], *node["annotations"]) if key.startswith("snug.dev/")])

"""Scenario a, continued: snugctl verify checks the node by pods of its own."""

import json
import shutil

from harness import manifests
from harness.processes import wait_until
from harness.scenario import PODS
from agent_scenario import AGENT_IMAGE, LIBRARIES, AgentScenario, nvml_state, programs_folder
from containerd import PERMITS
from node_scenario import NAME

LABEL = "snug.dev/verify"
# The node has no other network than the host's.
HOST_NETWORK = [
    {"kind": "MutatingAdmissionPolicy", "spec": {
        "failurePolicy": "Fail", "reinvocationPolicy": "Never",
        "matchConstraints": {"resourceRules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
        "matchConditions": [{"name": "is-of-verify", "expression": f"'{LABEL}' in object.metadata.?labels.orValue({{}})"}],
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
            "expression": "Object{spec: Object.spec{hostNetwork: true}}"}}]}},
    {"kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "verify-host-network"}}]


class VerifyScenario(AgentScenario):
    def setUp(self):
        super().setUp()
        for each in HOST_NETWORK:
            value = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "verify-host-network"}, **each}
            manifests.apply_object(self.admin, value)
            self.addCleanup(self.admin.delete, manifests.path_of(value))
        wait_until("the policy is in force", lambda: self.admin.create(f"{PODS}?dryRun=All", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {LABEL: "x"}},
            "spec": {"containers": [{"name": "x", "image": "x"}]}})["spec"].get("hostNetwork"))

    def use_cuda(self, folder):
        """From now on containers get this stand-in for CUDA's library."""
        shutil.copy(programs_folder() / "tests/standin" / folder / "libcuda.so.1",
                    self.driver / LIBRARIES / f"libcuda.so.{nvml_state.DRIVER}")

    def verify(self, seconds=240):
        """(exit code, {check: (verdict, what was seen)}). `seconds`: for its pods."""
        code, text = self.kubectl.snug("verify", NAME, "--server", f"http://127.0.0.1:{self.extender.admin_port}",
                                       "--image", AGENT_IMAGE, "--run-as-user=65532", "-o", "json", f"--timeout={seconds}",
                                       seconds=seconds)
        warnings, begin, rest = text.partition("{\n")  # kubectl warns of what admission warns of
        self.assertTrue(begin, f"exit code {code}: {warnings}")
        rows = {row["check"]: (row["verdict"], row["seen"]) for row in json.loads(begin + rest)["checks"]}
        wait_until("its pods are gone", lambda: not [
            each for each in self.admin.list(PODS) if LABEL in each["metadata"].get("labels", {})], 60)
        return code, rows

    @staticmethod
    def with_verdict(rows, verdict):
        return {check for check, (given, _) in rows.items() if given == verdict}


class VerifyTest(VerifyScenario):
    def start_agent(self, name="agent-0"):
        """With HAMi-core as the enforcer, for whose library there is one that changes nothing of CUDA."""
        folder = self.node.folder / "hami-core"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(programs_folder() / "tests/standin/libnvidia-ml.so.1", folder / "libvgpu.so")
            (folder / "ld.so.preload").write_text("/usr/local/vgpu/libvgpu.so\n")
        self.agent_flags = ("--modes=whole,time-slicing", "--limits=hami-core", f"--hami-core={folder}")
        super().start_agent(name)

    def test_a_snugctl_verifies_a_node(self):
        """a: snugctl verify finds a good node good, and a driver that gives a share more memory than its limit"""
        self.wait_enforced()
        self.use_cuda(".")
        code, rows = self.verify()
        self.assertEqual(self.with_verdict(rows, "not-enforced"), {"share: a process that sets its limit again"}, rows)
        self.assertEqual((code, len(self.with_verdict(rows, "ok"))), (0, 11), rows)
        self.assertIn("out of memory after 2048 MiB", rows["share: memory"][1])
        self.use_cuda("unlimited")
        code, rows = self.verify()
        self.assertEqual((code, self.with_verdict(rows, "failed")), (1, {"share: memory"}), rows)
        self.check_cluster()


class PermittingVerifyTest(VerifyScenario):
    nri = PERMITS

    def test_a_snugctl_verifies_a_node_without_its_agent(self):
        """a: on a runtime that fails open snugctl verify finds out that the agent is away"""
        self.use_cuda(".")
        code, rows = self.verify()
        self.assertEqual(self.with_verdict(rows, "not-enforced"), {"fails closed", "limits", "share: memory"}, rows)
        self.assertEqual((code, len(self.with_verdict(rows, "ok"))), (0, 8), rows)
        self.stop_agent()
        code, rows = self.verify(60)  # those with CDI devices never end
        self.assertEqual(code, 1, rows)
        self.assertLessEqual({"share: devices", "share: variables", "share: libraries",
                              "no reservation: NVIDIA_VISIBLE_DEVICES=all", "no reservation: annotation cdi.k8s.io/…",
                              "no reservation: annotation nvidia.cdi.k8s.io/…"}, self.with_verdict(rows, "failed"), rows)

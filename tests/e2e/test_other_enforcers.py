"""Scenario enforcer: nodes on which other software enforces. The binding carries what this software reads, and nobody else
writes it. The software itself does not run here."""

import json

from harness.controlplane import EXTENDER_USER
from harness.objects import gpu_node, many_annotations, pod, share
from harness.processes import wait_until
from harness.scenario import PODS, Scenario
from test_admission import DRY, annotate

KAI, KOORDLET = "nvidia.com/container.", "scheduling.koordinator.sh/device-allocated"
OURS = "by Snug alone"


def labelled(name, enforcer, **options):
    return gpu_node(name, 2, labels={"snug.dev/enforcer": enforcer, "pool": enforcer}, **options)


def others(bound):
    """The annotations that neither Snug reads nor the author wrote."""
    return {key: value for key, value in bound["metadata"]["annotations"].items()
            if not key.startswith(("snug.dev/", "gpu-"))}


class OtherEnforcersTest(Scenario):
    def test_enforcer_the_binding_has_the_keys(self):
        """enforcer: a pod on a node with the label has the keys of its enforcer, and others have none"""
        self.start()
        self.post_nodes(labelled("n1", "nvfractions", modes=["whole", "time-slicing", "mps"]),
                        labelled("n2", "koordlet"), gpu_node("n3", 2, labels={"pool": "none"}))
        two = pod("two", {"gpu-memory.main": "4Gi", "gpu-isolation.main": "time-slicing",
                          "gpu-fraction.side": "0.5", "gpu-isolation.side": "mps"},
                  containers=("main", "side"), node_selector={"pool": "nvfractions"})
        self.place(two)
        uuids = {name: [device["uuid"] for device in devices] for name, devices in self.given("two").items()}
        percent = 1000 * 4096 // 40960 // 10
        self.assertEqual(others(self.pod("two")), {
            **self._fractions("main", uuids["main"], "4096Mi", "time-slicing", f"0.{percent:02d}"),
            **self._fractions("side", uuids["side"], "20480Mi", "sm-sharing", "0.50")})
        part = self.place(share("part", "0.25", node_selector={"pool": "koordlet"}))
        [device] = self.given("part")["main"]
        self.assertEqual(set(others(part)), {KOORDLET})
        self.assertEqual(json.loads(others(part)[KOORDLET]), {"gpu": [{
            "minor": device["index"], "id": device["uuid"], "resources": {
                "koordinator.sh/gpu-core": "25", "koordinator.sh/gpu-memory": "10240Mi",
                "koordinator.sh/gpu-memory-ratio": "25"}}]})
        self.assertEqual(others(self.place(share("plain", "0.25", node_selector={"pool": "none"}))), {})
        self.post_pods(pod("wide", {"gpu-fraction.main": "0.1", "gpu-fraction.side": "0.1"},
                           containers=("main", "side"), node_selector={"pool": "koordlet"}))
        self.wait_refused("wide", "WrongPool: ")
        self.assertEqual([self._node(name).get("enforcer") for name in ("n1", "n2", "n3")],
                         ["nvfractions", "koordlet", None])
        self.check_cluster()

    def test_enforcer_the_label_of_a_node_changes(self):
        """enforcer: a label that nobody knows closes the node, and pods come when it is right"""
        self.start()
        self.post_nodes(labelled("n1", "hami"))
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "BadInventory: ")
        self.assertIn('the label snug.dev/enforcer is "hami"; expected nvfractions or koordlet', self._node("n1")["closed"])
        self.admin.patch("/api/v1/nodes/n1", {"metadata": {"labels": {"snug.dev/enforcer": "nvfractions"}}})
        self.assertIn(KAI + "main.gpus.devices", others(self.wait_bound("waits")))
        self.check_cluster()

    def test_enforcer_nobody_else_writes_the_keys(self):
        """enforcer: nobody but Snug writes, changes or removes the keys on a pod that asks for GPUs"""
        forged = {KAI + "main.gpus.devices": "GPU-1", KAI + "side.gpu-memory.limit": "80Gi", KOORDLET: "{}"}
        wait_until("the policy is enforced", lambda: all(
            self.refused("POST", DRY, pod("another", {"gpu-fraction": "0.5", key: value}), OURS)
            for key, value in forged.items()))
        many = many_annotations(20_000, 250_000)
        snug = self.plane.client("snug-itself", EXTENDER_USER, ["system:masters"])
        snug.create(PODS, pod("part", {"gpu-fraction": "0.5", **forged}, scheduler="nobody"))
        path = f"{PODS}/part"
        for key in forged:
            for value in (None, "", "other"):
                self.assertTrue(self.refused("PATCH", path, annotate({key: value}), OURS), (key, value))
                self.assertTrue(self.refused("PATCH", f"{path}/status", annotate({key: value}), OURS), (key, value))
        self.assertTrue(self.refused("PATCH", path, annotate({**many, KAI + "new.gpus.devices": "GPU-2"}), OURS))
        hidden = {**many_annotations(80_000, 250_000), "gpu-fraction": "0.5", KAI + "x.gpus.devices": ""}
        self.assertTrue(self.refused("POST", DRY, pod("another", hidden), OURS))
        self.admin.patch(path, annotate({"mine": "1", "nvidia.com/other": "1", **forged}))
        self.admin.patch(path, annotate(many))
        self.admin.create(DRY, pod("plain", forged))
        self.admin.create(DRY, pod("of-kai", {"gpu-fraction": "0.5", **forged}, scheduler="kai-scheduler"))

    def _node(self, name):
        [node] = [node for node in self.extender.nodes() if node["name"] == name]
        return node

    @staticmethod
    def _fractions(container, uuids, memory, mode, compute):
        prefix = KAI + container
        return {f"{prefix}.gpus.devices": ",".join(uuids), f"{prefix}.gpu-memory.request": memory,
                f"{prefix}.gpu-memory.limit": memory, f"{prefix}.gpu-compute.mode": mode,
                f"{prefix}.gpu-compute.portion": compute}

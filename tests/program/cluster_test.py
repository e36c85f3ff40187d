"""GET /v1/cluster, /v1/history and /v1/policy of an extender in the embedded mode: they match
api/openapi.yaml, and their sums are those of /v1/nodes and of the reservations."""

import json
import tempfile
import unittest
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from programs import ROOT, ask_filter, fetch, place, start_on

POLICY = """version: 1
default: spread
profiles: {spread: {terms: [{term: spread, weight: 1}]}}
sharing: [{namespaces: [team-a], capMilli: 1500}]  # a comment stays
"""


def node(name, gpus, model, mebibytes):
    inventory = {"version": 1, "gpus": [
        {"index": i, "uuid": f"GPU-{name}-{i}", "model": model, "memoryMiB": mebibytes, "healthy": i < 3}
        for i in range(gpus)]}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"snug.dev/inventory": json.dumps(inventory)}}}


def pod(namespace, name, **annotations):
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}",
                         "annotations": {key.replace("_", "-"): value for key, value in annotations.items()}},
            "spec": {"containers": [{"name": "main"}]}}


class TwoNodes(unittest.TestCase):
    """An extender on a node with four A100 and one with two T4."""

    def start_extender(self, *flags):
        folder = tempfile.TemporaryDirectory(prefix="snug-cluster-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        cluster = self.folder / "cluster.json"
        nodes = [node("n1", 4, "NVIDIA-A100-SXM4-40GB", 40960), node("n2", 2, "Tesla-T4", 15360)]
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        self.policy = self.folder / "policy.yaml"
        self.policy.write_text(POLICY)
        _, self.verbs, self.admin = start_on(self, cluster, "--policy", self.policy, *flags)

    def filter(self, asking):
        return ask_filter(self.verbs, asking, ["n1", "n2"])

    def place(self, asking):
        return place(self, self.verbs, asking, ["n1", "n2"])


class ClusterTest(TwoNodes):
    def setUp(self):
        self.document = yaml.safe_load((ROOT / "api/openapi.yaml").read_text())
        self.start_extender()

    def get(self, path, schema):
        status, reply = fetch(self.admin + path)
        self.assertEqual(status, 200)
        check = {"$ref": f"#/components/schemas/{schema}", "components": self.document["components"]}
        self.assertEqual([error.message for error in Draft202012Validator(check).iter_errors(reply)], [])
        return reply

    def test_an_empty_cluster_is_free(self):
        cluster = self.get("/v1/cluster", "Cluster")
        self.assertEqual((cluster["nodes"], cluster["gpus"], cluster["gpusClosed"], cluster["freeWholeGpus"]), (2, 6, 1, 5))
        self.assertEqual(cluster["largestFreeShare"], {"computeMilli": 1000, "memoryMiB": 40960, "node": "n1", "gpu": 0})
        self.assertEqual((cluster["namespaces"], cluster["pending"]), ([], []))

    def test_the_sums_are_those_of_the_nodes_and_of_the_reservations(self):
        self.place(pod("team-a", "a", gpu_fraction="0.5"))
        self.place(pod("team-a", "b", gpu_memory="4Gi", gpu_count="2"))
        self.place(pod("team-b", "c", gpu_fraction="1"))
        self.place(pod("team-b", "d", gpu_memory="1000"))
        self.assertEqual(self.filter(pod("team-a", "e", gpu_fraction="1"))["NodeNames"], [])
        self.filter(pod("team-b", "f", gpu_fraction="8"))
        self.filter(pod("team-b", "g", gpu_fraction="8"))
        self.filter(pod("team-b", "h", gpu_fraction="50%"))
        cluster = self.get("/v1/cluster", "Cluster")
        gpus = [gpu for row in fetch(self.admin + "/v1/nodes")[1]["nodes"] for gpu in row["gpus"]]
        for key in ("usedMemoryMiB", "usedComputeMilli", "memoryMiB"):
            self.assertEqual(cluster[key], sum(gpu[key] for gpu in gpus), key)
            self.assertEqual(cluster[key], sum(model[key] for model in cluster["models"]), key)
        devices = [(row["namespace"], device) for row in fetch(self.admin + "/v1/pods")[1]["pods"] if "reservation" in row
                   for container in row["reservation"]["containers"] for device in container["devices"]]
        for namespace in cluster["namespaces"]:
            own = [device for name, device in devices if name == namespace["namespace"]]
            self.assertEqual((namespace["memoryMiB"], namespace["computeMilli"]),
                             (sum(d["memoryMiB"] for d in own), sum(d["computeMilli"] for d in own)))
        self.assertEqual([(row["namespace"], row["pods"], row["capMilli"]) for row in cluster["namespaces"]],
                         [("team-a", 2, 1500), ("team-b", 2, None)])
        self.assertEqual([(row["code"], row["pods"]) for row in cluster["pending"]],
                         [("TooLarge", 2), ("CapReached", 1), ("Malformed", 1)])

    def test_the_history_begins_with_the_program(self):
        history = self.get("/v1/history", "History")
        self.assertEqual(history["intervalSeconds"], 60)
        self.assertLessEqual(len(history["points"]), 1)  # the ticker takes the first at its first turn

    def test_the_policy_is_the_text_of_the_file(self):
        self.assertEqual(self.get("/v1/policy", "Policy"),
                         {"generation": 1, "source": str(self.policy), "yaml": POLICY})
        self.assertEqual(self.get("/v1/cluster", "Cluster")["policy"], {"generation": 1, "default": "spread"})

"""Scenario g: a malformed request is refused with an error message, and other pods are not affected."""

import json

from harness.api import MERGE_PATCH
from harness.objects import gpu_node, pod, share
from harness.scenario import NODES, PODS, Scenario

# Annotations, and what the sentence must name.
MALFORMED = [
    ({"gpu-fraction": "0.25x"}, ["gpu-fraction", "0.25x"]),
    ({"gpu-fraction": "1.5"}, ["gpu-fraction", "1.5"]),
    ({"gpu-fraction": "-1"}, ["gpu-fraction", "-1"]),
    ({"gpu-fraction": "0"}, ["gpu-fraction", "0"]),
    ({"gpu-fraction": "0.1234"}, ["gpu-fraction", "0.1234"]),
    ({"gpu-memory": "4000m"}, ["gpu-memory", "4000m"]),
    ({"gpu-memory": "much"}, ["gpu-memory", "much"]),
    ({"gpu-fraction": "0.5", "gpu-memory": "4G"}, ["gpu-fraction", "gpu-memory"]),
]


# Of one value. etcd holds objects of 1.5 MiB, and JSON writes a `<` as six bytes.
LARGEST = 1_450_000


# What the API server takes, keeps and gives back as it is.
FIELDS = b'{"f:a":' * 400 + b"{}" + b"}" * 400


def _managed(value):
    """The object with FIELDS in its managedFields, as JSON."""
    value.setdefault("metadata", {})["managedFields"] = [{
        "manager": "e2e", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": "FIELDS"}]
    return json.dumps(value).encode().replace(b'"FIELDS"', FIELDS)


class BadPodsTest(Scenario):
    def test_g_malformed_annotations(self):
        """g: a malformed pod is Pending with the sentence, the others are bound"""
        self.start()
        self.post_nodes(gpu_node("n1", 2), gpu_node("n2", 2))
        self.post_pods(*(pod(f"bad-{number}", annotations)
                         for number, (annotations, _) in enumerate(MALFORMED)))
        self.post_pods(*(share(f"good-{number}", "0.5") for number in range(8)))
        for number, (_, words) in enumerate(MALFORMED):
            name = f"bad-{number}"
            self.wait_refused(name, "Malformed: ")
            for word in words:
                self.assertIn(word, self._why(name))
        for number in range(8):
            self.wait_bound(f"good-{number}")
        self.check_cluster()

    def test_g_both_ways_at_once(self):
        """g: an annotation and nvidia.com/gpu in one pod are a contradiction"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, kubelet=True))
        self.post_pods(pod("both", {"gpu-fraction": "0.5"}, limits={"nvidia.com/gpu": "1"}))
        self.wait_refused("both", "Malformed: ")
        self.assertIn("nvidia.com/gpu", self._why("both"))
        self.place(share("good", "0.5"))
        self.check_cluster()

    def test_g_whatever_stands_in_managed_fields(self):
        """g: nobody's managedFields keep a Snug that starts from its lists, nor a running one from its watch"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(share("before", "0.5"))
        status, answer = self.admin.send("POST", PODS, _managed(pod("odd", scheduler="nobody")))
        self.assertEqual(status, 201, answer)
        status, answer = self.admin.send("PATCH", f"{NODES}/n1", _managed({}), MERGE_PATCH)
        self.assertEqual(status, 200, answer)
        self.place(share("between", "0.5"))
        self.extender.kill()
        self.extender.start()
        self.place(share("after", "0.5"))
        self.check_cluster()

    def test_g_a_pod_as_large_as_etcd_holds(self):
        """g: a pod as large as etcd holds is placed, and known after a restart"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        large = share("large", "0.5")
        large["spec"]["containers"][0]["env"] = [{"name": "TEXT", "value": "<" * LARGEST}]
        self.place(large)
        self.extender.kill()
        self.extender.start()
        self.check_cluster()

    def test_g_a_refused_pod_rests(self):
        """g: a refused pod keeps its text, so that the scheduler does not retry it in a loop"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("holds", "0.9"))
        self.post_pods(share("waits", "0.5"))
        self.wait_refused("waits", "NoRoom")
        for number in range(10):
            self.place(pod(f"plain-{number}"))
        self.assertEqual(self.scheduler_calls()["patch pods/status"], 1)
        self.check_cluster()

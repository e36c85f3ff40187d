"""A policy file that changes while snug-extender runs: the log, the metrics and the placements."""

import json
import os
import re
import signal
import tempfile
import unittest
import urllib.request
from pathlib import Path

from programs import fetch, place, start_on

# By the term it is named after: best-fit stacks pods on one GPU, spread takes the emptiest.
GOOD = "version: 1\ndefault: {0}\nprofiles: {{{0}: {{terms: [{{term: {0}, weight: 1}}]}}}}\n"
NODES = ("a", "b")


def node(name):
    gpu = {"index": 0, "uuid": f"GPU-{name}", "model": "A", "memoryMiB": 40960}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "annotations": {
        "snug.dev/inventory": json.dumps({"version": 1, "gpus": [gpu]})}}}


def numbers(admin):
    """{series: value} of what is said about the policy."""
    with urllib.request.urlopen(admin + "/metrics", timeout=10) as answer:
        rows = re.findall(r'^snug_policy_(?:reloads_total\{result="(\w+)"\}|(up_to_date)) (\d+)$',
                          answer.read().decode(), re.M)
    return {first or second: int(value) for first, second, value in rows}


class ReloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-reload-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "policy.yaml"
        self.cluster = self.folder / "cluster.json"
        self.cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(map(node, NODES))}))
        self.pods = 0

    def start(self, *flags):
        self.process, self.verbs, self.admin = start_on(self, self.cluster, "--policy", self.file, *flags)
        self.wait_line("ready: ")

    def write(self, text):
        """All at once: half a file would be refused, and rightly."""
        new = self.folder / "new"
        new.write_text(text)
        os.replace(new, self.file)

    def wait_line(self, text):
        for line in self.process.stderr:
            if text in line:
                return line
        return self.fail(f"the log ended without '{text}'")

    def place(self):
        """The GPU that the next pod gets; all pods are equal."""
        self.pods += 1
        metadata = {"name": f"p{self.pods}", "namespace": "default", "uid": f"u{self.pods}"}
        pod = {"metadata": {**metadata, "annotations": {"gpu-fraction": "0.2"}},
               "spec": {"containers": [{"name": "main"}]}}
        winner = place(self, self.verbs, pod, NODES)
        [held] = [row for row in fetch(self.admin + "/v1/pods")[1]["pods"] if row["uid"] == metadata["uid"]]
        [container] = held["reservation"]["containers"]
        [device] = container["devices"]
        self.assertEqual(held["node"], winner)
        return device["uuid"]

    def place_stacked(self):
        """Two pods on the same GPU, so that the next one is placed apart by spread alone."""
        self.assertEqual([self.place(), self.place()], ["GPU-a", "GPU-a"])

    def test_sighup_reads_it(self):
        """Nothing else reads a file that has not changed."""
        self.file.write_text(GOOD.format("best-fit"))
        self.start()
        self.process.send_signal(signal.SIGHUP)
        self.assertIn(f"the policy was reloaded from {self.file}: default best-fit, 1 profile",
                      self.wait_line("policy"))
        self.assertEqual(numbers(self.admin), {"loaded": 1, "refused": 0, "up_to_date": 1})
        self.place_stacked()
        self.write(GOOD.format("spread"))
        self.process.send_signal(signal.SIGHUP)
        self.assertIn("default spread", self.wait_line("reloaded from"))
        self.assertEqual(self.place(), "GPU-b")

    def test_a_change_is_seen_and_a_bad_one_keeps_the_last_good(self):
        self.file.write_text(GOOD.format("best-fit"))
        self.start()
        self.place_stacked()
        self.write("version: 1\nprofile: {}\n")
        self.assertIn(f"{self.file}:2:1: unknown key \"profile\"", self.wait_line("last valid policy stays"))
        self.assertEqual(numbers(self.admin)["up_to_date"], 0)
        self.assertEqual(self.place(), "GPU-a")
        self.write(GOOD.format("spread"))
        self.assertIn("default spread", self.wait_line("reloaded from"))
        self.assertEqual(numbers(self.admin)["up_to_date"], 1)
        self.assertEqual(self.place(), "GPU-b")

    def test_a_config_map_that_is_swapped_is_seen(self):
        """As the kubelet does it: ..data leads to a folder with all files, and is renamed over."""
        for name in ("best-fit", "spread"):
            (self.folder / f"..{name}").mkdir()
            (self.folder / f"..{name}" / "policy.yaml").write_text(GOOD.format(name))
        (self.folder / "..data").symlink_to("..best-fit")
        self.file.symlink_to("..data/policy.yaml")
        self.start()
        self.place_stacked()
        (self.folder / "..data_tmp").symlink_to("..spread")
        os.rename(self.folder / "..data_tmp", self.folder / "..data")
        self.assertIn("default spread", self.wait_line("reloaded from"))
        self.assertEqual(self.place(), "GPU-b")


if __name__ == "__main__":
    unittest.main()

"""docs/how-to/request-gpus.md: each example gets what the page says, and each command of it works. The pod of README.md
is whole and is placed as it stands."""

import json
import re
import tempfile
import unittest
import urllib.request
from pathlib import Path

import yaml

from programs import ROOT, post, run, start_on

GUIDE = ROOT / "docs/how-to/request-gpus.md"
NODES = ROOT / "deploy/examples/nodes.yaml"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
REFUSED = re.compile(r"(\S+) refused: (.+)")
GIVEN = re.compile(r"(\S+) (in all|\S+): (\S+) GPU ([\d, ]+): (\d+) MiB, (\d+) milli(?:, (\S+(?: \S+)?))?")
SPEC = {"schedulerName": "snug", "containers": [{"name": "main", "image": "my-image"}]}


def examples():
    """((policy or None, node or None), pod, lines) of each example, in the page's order. A policy is in
    force, and a node is there besides, until its section ends."""
    for section in re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.M):
        policy, node, pod = None, None, None
        for language, text in BLOCK.findall(section):
            if language == "yaml":
                value = yaml.safe_load(text)
                if value.get("kind") == "Node":
                    node = text
                elif "metadata" in value:
                    pod = {"apiVersion": "v1", "kind": "Pod", "spec": SPEC, **value}
                elif "version" in value:
                    policy = text
                else:  # what a pod may have besides
                    assert set(value) == {"spec"}, text
            elif language == "text":
                yield (policy, node), pod, text.splitlines()


class Extender:
    """The program on the example nodes, and one more or not, asked as kube-scheduler asks."""

    def __init__(self, case, policy, node):
        folder = tempfile.TemporaryDirectory(prefix="snug-guide-")
        case.addCleanup(folder.cleanup)
        options = ["--policy", ROOT / "policies/best-fit.yaml"]  # as the page says
        nodes = yaml.safe_load(NODES.read_text())["items"]
        if policy:
            options = ["--policy", Path(folder.name) / "policy.yaml"]
            options[1].write_text(policy, encoding="utf-8")
        if node:
            options += ["--cluster", Path(folder.name) / "node.yaml"]
            options[-1].write_text(node, encoding="utf-8")
            nodes.append(yaml.safe_load(node))
        _, self.verbs, self.admin = start_on(case, NODES, *options)
        self.names = [each["metadata"]["name"] for each in nodes]

    def state(self, what):
        with urllib.request.urlopen(f"{self.admin}/v1/{what}", timeout=10) as answer:
            return json.loads(answer.read())[what]

    def filter(self, pod, names):
        """(the names that fit, node -> reason)."""
        reply = post(self.verbs + "/filter", {"Pod": pod, "Nodes": None, "NodeNames": names})
        refused = {**(reply["FailedNodes"] or {}), **(reply["FailedAndUnresolvableNodes"] or {})}
        return reply["NodeNames"] or [], refused

    def bind(self, pod, node):
        metadata = pod["metadata"]
        return post(self.verbs + "/bind", {
            "PodName": metadata["name"], "PodNamespace": metadata["namespace"],
            "PodUID": metadata["uid"], "Node": node})["Error"]

    def delete(self, pod):
        metadata = pod["metadata"]
        url = f"{self.admin}/v1/pods/{metadata['namespace']}/{metadata['name']}"
        with urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10):
            pass


def mode_of(device):
    return device["mode"] + (" " + device["mig"]["profile"] if "mig" in device else "")


def lines_of(extender, pod):
    """What the pod has been given, in the page's words."""
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    [row] = [each for each in extender.state("pods") if each["uid"] == uid]
    for container in row["reservation"]["containers"]:
        devices = container["devices"]
        [(memory, milli, mode)] = {(each["memoryMiB"], each["computeMilli"], mode_of(each)) for each in devices}
        indices = ", ".join(str(each["index"]) for each in devices)
        yield f"{name} {container['name']}: {row['node']} GPU {indices}: {memory} MiB, {milli} milli, {mode}"
    if any(container["name"] not in {each["name"] for each in pod["spec"]["containers"]}
           for container in row["reservation"]["containers"]):
        [node] = [each for each in extender.state("nodes") if each["name"] == row["node"]]
        for gpu in node["gpus"]:
            if gpu["holders"]:
                yield (f"{name} in all: {row['node']} GPU {gpu['index']}: {gpu['usedMemoryMiB']} MiB, "
                       f"{gpu['usedComputeMilli']} milli")


class GuideTest(unittest.TestCase):
    def test_every_example_gets_what_the_page_says(self):
        extenders = {}
        for number, (setting, pod, lines) in enumerate(examples()):
            metadata = pod["metadata"] = {"namespace": "default", **pod["metadata"], "uid": f"uid-{number}"}
            with self.subTest(metadata["name"]):
                if setting not in extenders:
                    extenders[setting] = Extender(self, *setting)
                self._compare(extenders[setting], pod, lines)

    def _compare(self, extender, pod, lines):
        refused = REFUSED.fullmatch(lines[0])
        if refused:
            self.assertEqual(lines, lines[:1])
            fits, reasons = extender.filter(pod, extender.names)
            self.assertEqual((refused[1], fits), (pod["metadata"]["name"], []))
            codes = {reason.partition(":")[0] for reason in reasons.values()}
            self.assertEqual(codes, set(refused[2].split(", ")), reasons)
            return
        [node] = {GIVEN.fullmatch(line)[3] for line in lines}
        # All nodes are offered, as kube-scheduler does: the page says where the pod goes, not only what fits.
        fits, reasons = extender.filter(pod, extender.names)
        self.assertEqual(fits, [node], reasons)
        self.assertEqual(extender.bind(pod, node), "")
        try:
            self.assertEqual(list(lines_of(extender, pod)), lines)
        finally:
            extender.delete(pod)

    def test_every_annotation_has_an_example(self):
        schema = json.loads((ROOT / "api/annotations.schema.json").read_text())
        shown = {key.partition(".")[0] for _, pod, _ in examples() for key in pod["metadata"]["annotations"]}
        self.assertLessEqual(set(schema["properties"]) - {"gpu-container"}, shown)

    def test_every_block_is_an_example_or_a_command(self):
        kinds = [language for language, _ in BLOCK.findall(GUIDE.read_text(encoding="utf-8"))]
        self.assertEqual(GUIDE.read_text(encoding="utf-8").count("```"), 2 * len(kinds))
        self.assertEqual(set(kinds), {"yaml", "text", "sh"})
        self.assertGreater(len(list(examples())), 15)

    def test_the_commands_work(self):
        extender = Extender(self, None, None)
        commands = [line for language, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
                    if language == "sh" for line in text.splitlines()]
        self.assertTrue(commands)
        for command in commands:
            done = run("bash", "-c", command.replace("http://127.0.0.1:8889", extender.admin))
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("generation", json.loads(done.stdout), command)


class ReadmeTest(unittest.TestCase):
    def test_its_first_example_is_a_whole_pod(self):
        [text] = re.findall(r"^## Why$.*?^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
        pod = yaml.safe_load(text)
        self.assertEqual((pod["apiVersion"], pod["kind"]), ("v1", "Pod"))
        self.assertTrue(pod["spec"]["containers"][0]["command"])
        pod["metadata"] = {"namespace": "default", "uid": "uid-readme", **pod["metadata"]}
        extender = Extender(self, None, None)
        [node], _ = extender.filter(pod, extender.names)
        self.assertEqual(extender.bind(pod, node), "")
        self.assertEqual(list(lines_of(extender, pod)), ["quarter main: by-labels GPU 0: 3840 MiB, 250 milli, time-slicing"])


if __name__ == "__main__":
    unittest.main()

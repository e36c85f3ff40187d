"""snugctl explain and GET /v1/explain, against an extender in the embedded mode."""

import json
import tempfile
import unittest
import urllib.parse
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from defrag_test import node, pod
from programs import ROOT, SNUGCTL, ask_filter, fetch, place, run, start_on

DEPLOYMENT = """\
kind: Service
---
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {annotations: {gpu-fraction: "%s"}}
    spec: {containers: [{name: main}]}
"""


class ExplainTest(unittest.TestCase):
    """Node n1 has two GPUs that are half full; n2 is for whole GPUs of the kubelet alone."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-explain-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        whole = node("n2", 1)
        whole["metadata"]["labels"] = {"snug.dev/pool": "whole"}
        cluster = self.folder / "cluster.json"
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1", 2), whole]}))
        policy = self.folder / "policy.yaml"
        policy.write_text("version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n")
        _, self.verbs, self.admin = start_on(self, cluster, "--policy", policy)
        self.bind("a", "0.6")
        self.bind("b", "0.5")

    def filter(self, name, fraction):
        return ask_filter(self.verbs, pod(name, fraction), ["n1", "n2"])

    def bind(self, name, fraction):
        self.assertEqual(place(self, self.verbs, pod(name, fraction), ["n1", "n2"]), "n1")

    def explain(self, *flags):
        return run(SNUGCTL, "explain", "--server", self.admin, *flags)

    def test_a_pending_pod(self):
        self.filter("w", "0.55")
        done = self.explain("team/w")
        self.assertEqual((done.returncode, done.stdout), (0, (
            "pod team/w is pending: it fits on none of 2 nodes\n"
            "\n"
            "request\n"
            "  main  gpu-fraction=0.55  55 % of the memory and compute of one GPU\n"
            "\n"
            "why\n"
            "  NoRoom     1 node  no GPU has room for the request\n"
            "  WrongPool  1 node  the node's pool does not take this kind of GPU pod\n"
            "\n"
            "nearest: node n1\n"
            "  NoRoom: no GPU has room for the request (GPU 1 (NVIDIA-A100-SXM4-40GB) of node n1 lacks 2048 MiB and "
            "5 %: 20480 MiB and 50 % are free, 22528 MiB and 55 % are needed)\n"
            "\n"
            "held there by\n"
            "  team/b  GPU 1  20480 MiB, 50 %\n"
            "\n"
            "what would make it fit\n"
            "  - a smaller request: gpu-fraction=0.5 would fit now, on node n1\n"
            "  - the pod will fit on node n1 once team/b has ended\n"
            "  - with the label snug.dev/pool=auto, node n2 would take the pod; its current value limits which pods the node "
            "takes\n"
            "      kubectl label node n2 --overwrite snug.dev/pool=auto\n")))
        guide = (ROOT / "docs/how-to/debug.md").read_text()
        self.assertIn(f"```\n$ snugctl explain team/w\n{done.stdout}```\n", guide, "the example of the guide")
        self.assertIn("  n2  WrongPool:", self.explain("-n", "team", "w", "-o", "wide").stdout)

    def test_a_bound_pod(self):
        done = self.explain("team/b")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("pod team/b is bound on node n1\n", done.stdout)
        self.assertIn("why node n1: profile a, scores when it was bound\n", done.stdout)
        self.assertIn("  no other node would take the pod\n", done.stdout)

    def test_names_that_top_prints(self):
        names = run(SNUGCTL, "top", "pods", "-o", "name", "--server", self.admin).stdout.split()
        self.assertEqual(names, ["pod/team/a", "pod/team/b"])
        expected = self.explain("team/b").stdout
        for flags in (names[1:], ["pod/b", "-n", "team"]):
            self.assertEqual(self.explain(*flags).stdout, expected, flags)

    def test_the_formats_are_completed(self):
        self.assertEqual(run(SNUGCTL, "__complete", "explain", "-o", "").stdout, "wide\njson\n:4\n")

    def test_a_file_of_pods_that_do_not_exist(self):
        manifest = self.folder / "web.yaml"
        manifest.write_text(DEPLOYMENT % "0.3")
        done = self.explain("-f", manifest)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.startswith("pod default/web would fit on 1 of 2 nodes\n"), done.stdout)
        self.assertTrue(done.stdout.endswith("\nnote: this is about one pod of the Deployment\n"), done.stdout)
        done = self.explain("-f", manifest, "-n", "team")
        self.assertTrue(done.stdout.startswith("pod team/web would fit on 1 of 2 nodes\n"), done.stdout)
        manifest.write_text((DEPLOYMENT % "0.3").replace("{name: web}", "{name: web, namespace: a}"))
        self.assertEqual(self.explain("-f", manifest, "-n", "a").returncode, 0)
        done = self.explain("-f", manifest, "-n", "b")
        self.assertEqual((done.returncode, done.stdout), (2, (
            f"snugctl: {manifest}: web is of the namespace a, but --namespace is b; expected the same namespace\n")))
        manifest.write_text(DEPLOYMENT % "30%")
        self.assertIn("Malformed: gpu-fraction is \"30%\"", self.explain("-f", manifest).stdout)
        manifest.write_text("kind: Service\n")
        done = self.explain("-f", manifest)
        self.assertEqual((done.returncode, done.stdout), (2, (
            f"snugctl: {manifest}: there is no pod and no workload that makes pods (Deployment, Job…); "
            "it has Service\n")))

    def test_a_pod_that_is_too_large_for_one_request(self):
        manifest = self.folder / "large.yaml"

        def explain(containers, resources):
            pod = {"kind": "Pod", "metadata": {"name": "large", "annotations": {"gpu-fraction.c-0": "0.3"}},
                   "spec": {"containers": [{"name": f"c-{number}", **resources} for number in range(containers)]}}
            manifest.write_text(json.dumps(pod))
            return self.explain("-f", manifest)
        self.assertIn("pod default/large would fit on 1 of 2 nodes\n", explain(80, {}).stdout)
        done = explain(80, {"resources": {"requests": {"cpu": "250m", "memory": "1Gi"}}})
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, f"^snugctl: {manifest}: the pod default/large is too large: a request about it has "
                                      r"\d{4,} bytes; Snug reads at most 8192\n$")

    def test_annotations_of_the_workload_itself(self):
        manifest = self.folder / "web.yaml"
        manifest.write_text(DEPLOYMENT.replace("{name: web}", '{name: web, annotations: {gpu-fraction: "0.3"}}')
                            .replace('    metadata: {annotations: {gpu-fraction: "%s"}}\n', ""))
        for output in ((), ("-o", "json")):
            self.assertIn(
                f"snugctl: warning: {manifest}: the Deployment web has the annotation gpu-fraction, and Snug reads "
                "annotations of pods only; expected it under spec.template.metadata.annotations\n",
                self.explain("-f", manifest, *output).stdout)

    def test_the_reply_is_as_documented(self):
        self.filter("w", "0.55")
        self.filter("m", "25%")
        api = yaml.safe_load((ROOT / "api/openapi.yaml").read_text())
        schema = {"$ref": "#/components/schemas/Explanation", "components": api["components"]}
        manifest = urllib.parse.quote(json.dumps({"metadata": {"name": "x", "namespace": "y"}}))
        for query in ("namespace=team&pod=w&nodes=true", "namespace=team&pod=b", "namespace=team&pod=m",
                      f"manifest={manifest}"):
            _, reply = fetch(f"{self.admin}/v1/explain?{query}")
            Draft202012Validator(schema).validate(reply)

    def test_wrong_flags_and_pods(self):
        rows = [
            ((), 2, "explain takes a pod (NAMESPACE/POD) or --filename, and not both; see --help"),
            (("a", "-f", "b"), 2, "explain takes a pod (NAMESPACE/POD) or --filename, and not both; see --help"),
            (("team/a", "-n", "other"), 2,
             "the pod is given as team/a, but --namespace is other; expected the same namespace"),
            (("pod/team/a", "-n", "other"), 2,
             "the pod is given as pod/team/a, but --namespace is other; expected the same namespace"),
            (("team/a", "-o", "xml"), 2, '--output: must be one of wide|json, not "xml"'),
            (("team/",), 2, "the pod is given as team/; expected NAMESPACE/POD"),
            (("team/none",), 1, "pod team/none is neither pending nor holds a GPU"),
        ]
        for flags, code, sentence in rows:
            with self.subTest(flags=flags):
                done = self.explain(*flags)
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertIn(sentence, done.stdout)


if __name__ == "__main__":
    unittest.main()

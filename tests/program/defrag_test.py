"""snugctl defrag and GET /v1/defrag, against an extender in the embedded mode."""

import json
import re
import tempfile
import unittest
import urllib.error
import urllib.parse
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

from programs import ROOT, SNUGCTL, ask_filter, fetch, place, run, start_on


def node(name, gpus):
    inventory = {"version": 1, "gpus": [
        {"index": i, "uuid": f"GPU-{name}-{i}", "model": "NVIDIA-A100-SXM4-40GB", "memoryMiB": 40960}
        for i in range(gpus)]}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"snug.dev/inventory": json.dumps(inventory)}}}


def pod(name, fraction):
    return {"metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}",
                         "annotations": {"gpu-fraction": fraction}},
            "spec": {"containers": [{"name": "main"}]}}


class DefragTest(unittest.TestCase):
    """Two GPUs of n1 have a share each; whole GPUs are asked for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-defrag-")
        self.addCleanup(folder.cleanup)
        cluster = Path(folder.name) / "cluster.json"
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1", 2)]}))
        policy = Path(folder.name) / "policy.yaml"
        policy.write_text("version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n")
        _, self.verbs, self.admin = start_on(self, cluster, "--policy", policy)
        self.place("a", "0.5")
        self.place("b", "0.4")

    def filter(self, name, fraction):
        return ask_filter(self.verbs, pod(name, fraction), ["n1"])

    def place(self, name, fraction):
        self.assertEqual(place(self, self.verbs, pod(name, fraction), ["n1"]), "n1")

    def defrag(self, *flags):
        return run(SNUGCTL, "defrag", "--server", self.admin, *flags)

    def test_the_pods_to_move_are_a_table(self):
        self.assertNotEqual(self.filter("w", "1")["FailedAndUnresolvableNodes"], {})
        done = self.defrag("--namespace", "team", "--pod", "w")
        self.assertEqual((done.returncode, done.stdout), (0, (
            "request: gpu-fraction=1\n"
            "it would fit on n1 GPU 1, if this pod moved:\n"
            "\n"
            "   POD     FROM      TO\n"
            "1  team/b  n1 GPU 1  n1 GPU 0\n"
            "\n"
            "Nothing was changed. To move a pod, delete it; its controller creates a new one, which is scheduled\n"
            "like any new pod.\n")))

    def test_what_is_advised_helps(self):
        self.filter("w", "1")
        _, advice = fetch(f"{self.admin}/v1/defrag?namespace=team&pod=w")
        for move in advice["moves"]:
            gone = run("curl", "-sS", "-X", "DELETE", f"{self.admin}/v1/pods/{move['namespace']}/{move['pod']}")
            self.assertEqual(gone.returncode, 0, gone.stdout)
        self.place("w", "1")

    def test_a_request_may_be_stated(self):
        done = self.defrag("--gpu-fraction", "1", "--gpu-model", "*A100*")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("request: gpu-fraction=1;gpu-model=*A100*\nit would fit on n1 GPU 1,", done.stdout)
        done = self.defrag("--gpu-fraction", "0.5")
        self.assertEqual((done.returncode, done.stdout), (
            0, "request: gpu-fraction=0.5\nit already fits on n1 GPU 1; no pod needs to move\n"))

    def test_that_nothing_helps_is_no_error(self):
        done = self.defrag("--gpu-fraction", "2")
        self.assertEqual((done.returncode, done.stdout), (
            0, "request: gpu-fraction=2\n"
               "no solution found: the pods that would have to leave a node do not fit elsewhere\n"))

    def test_the_json_is_the_reply_and_as_described(self):
        done = self.defrag("--gpu-fraction", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stdout)
        query = urllib.parse.urlencode({"gpu-fraction": "1"})
        self.assertEqual(json.loads(done.stdout), fetch(f"{self.admin}/v1/defrag?{query}")[1])
        api = yaml.safe_load((ROOT / "api/openapi.yaml").read_text())["components"]["schemas"]
        schema = {"$defs": {}, **api["Advice"]}
        text = json.dumps(schema).replace("#/components/schemas/", "#/$defs/").replace(
            "reservation.schema.json", "#/$defs/reservation")
        schema = json.loads(text)
        schema["$defs"] = {name: json.loads(json.dumps(api[name]).replace("#/components/schemas/", "#/$defs/"))
                           for name in ("Move", "DevicesOfNode")}
        reservation = json.loads((ROOT / "api/reservation.schema.json").read_text())
        schema["$defs"]["DevicesOfNode"]["properties"]["devices"]["items"] = {"type": "object"}
        schema["$defs"]["reservation"] = reservation
        for flags in (["--gpu-fraction", "1"], ["--gpu-fraction", "2"], ["--gpu-fraction", "0.1"]):
            shown = json.loads(self.defrag(*flags, "--json").stdout)
            Draft202012Validator(schema).validate(shown)

    def test_bad_flags_are_refused(self):
        for flags, said in (([], "defrag takes --pod"),
                            (["--namespace", "team"], "defrag takes --pod"),
                            (["--pod", "w", "--gpu-fraction", "1"], "defrag takes --pod"),
                            (["--gpu-fraction", "1.5"], 'Malformed: gpu-fraction is "1.5"'),
                            (["--gpu-count", "2"], "Malformed: gpu-count"),
                            (["--pod", ""], "--pod must not be empty; "),
                            (["--gpu-mig-profile", ""], "--gpu-mig-profile must not be empty; "),
                            (["--gpu-fraction", "1", "--namespace", ""], "--namespace must not be empty; "),
                            (["--server", "b"], "--server was given 2 times; it may be given only once; "),
                            (["--no-such"], "see --help")):
            done = self.defrag(*flags)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stdout)
            self.assertEqual(done.stdout.count("\n"), 1, done.stdout)
        done = run(SNUGCTL, "defrag", "--gpu-fraction", "1", "--server", "127.0.0.1")
        self.assertEqual((done.returncode, done.stdout), (
            2, 'snugctl: the server must be http://HOST:PORT or https://HOST:PORT, not "127.0.0.1"\n'))

    def test_what_cannot_be_answered_is_one_sentence(self):
        done = self.defrag("--namespace", "team", "--pod", "nobody")
        self.assertEqual((done.returncode, done.stdout), (1, "snugctl: no pod team/nobody is pending\n"))
        done = run(SNUGCTL, "defrag", "--gpu-fraction", "1", "--server", self.verbs)
        self.assertEqual((done.returncode, done.stdout), (
            1, f"snugctl: {self.verbs} is not the admin address of snug-extender (adminListen, whose port is 8889 by "
               "default)\n"))

    def test_an_unknown_key_is_refused(self):
        for query, said in (("gpu=1", 'has the unknown key "gpu"; allowed keys: namespace, pod, gpu-fraction,'),
                            ("pod=", "the query's pod is empty; expected a name")):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                fetch(f"{self.admin}/v1/defrag?{query}")
            with refused.exception:
                self.assertEqual(refused.exception.code, 400)
                self.assertIn(said, json.load(refused.exception)["Error"])

    def test_the_flags_are_the_querys_keys(self):
        api = yaml.safe_load((ROOT / "api/openapi.yaml").read_text())["paths"]["/v1/defrag"]["get"]["parameters"]
        own = run(SNUGCTL, "defrag", "--help").stdout.partition("How to reach Snug:")[0]
        shown = re.findall(r"^ +(?:-n,)?--([a-z-]+)", own, re.M)
        self.assertEqual([name for name in shown if name not in ("help", "json")],
                         [parameter["name"] for parameter in api])

    def test_the_endpoint_is_listed(self):
        self.assertIn("/v1/defrag", [each["path"] for each in fetch(f"{self.admin}/")[1]["endpoints"]])


if __name__ == "__main__":
    unittest.main()

"""snugctl simulate --cluster: what kubectl prints of a cluster, and what a running Snug has made of one."""

import json
import random
import re
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from programs import CLUSTER, ROOT, fetch, post, run, start_on
from simulate_test import KEYS, POLICY, SNUGCTL, SimulateTest

PODS = yaml.safe_load((ROOT / "deploy/demo/pods.yaml").read_text(encoding="utf-8"))["items"]
OPENB = ROOT / "bench/packing/openb"


def gpu(index, model="T4", memory=16384):
    return {"index": index, "uuid": f"GPU-{index}", "model": model, "memoryMiB": memory, "healthy": True}


def node(name, gpus, **metadata):
    inventory = json.dumps({"version": 1, "gpus": gpus})
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"snug.dev/inventory": inventory}, **metadata},
            "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110"}}}


def pod(name, annotations=None, limits=None, **spec):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"namespace": "ml", "name": name, "uid": name, "annotations": annotations or {}},
            "spec": {"containers": [{"name": "main", "resources": {"limits": limits or {}}}], **spec}}


def kubectl_list(*items):
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


class ClusterTest(SimulateTest):
    def cluster(self, *items, name="cluster.json"):
        return self.file(name, json.dumps(kubectl_list(*items)))

    def simulated(self, *items, flags=()):
        return self.report("--cluster", self.cluster(*items), *flags)


class ResultsTest(ClusterTest):
    def test_the_json_has_the_present_and_the_simulated_state(self):
        """Two pods with a quarter of a GPU each, which a scheduler that knows no shares gave a GPU each."""
        report = self.simulated(node("a", [gpu(0), gpu(1)]),
                                *(pod(f"p{i}", limits={"nvidia.com/gpu": "1"}, nodeName="a") for i in (1, 2)))
        self.assertEqual(list(report), KEYS + ["cluster"])
        cluster = report["cluster"]
        whole = {"pods": 2, "gpus": 2, "in_use": 2, "free": 0, "most_free_on_a_node": 0, "free_mig": 0, "closed": 0, "reserved_milli": 2000}
        self.assertEqual((cluster["now"], cluster["simulated"]), (whole, whole))
        self.assertEqual(cluster["pods"][0], {
            "namespace": "ml", "pod": "p1", "request": "nvidia.com/gpu=1", "node_now": "a", "node": "a", "gpus": [],
            "refused": None})
        shares = self.simulated(node("a", [gpu(0), gpu(1)]), *(pod(f"p{i}", {"gpu-fraction": "0.25"}) for i in (1, 2)))
        self.assertEqual(shares["cluster"]["simulated"]["free"], 1)
        self.assertEqual([shares["cluster"]["pods"][i]["gpus"] for i in (0, 1)], [[0], [0]])

    def test_the_table_says_what_changes_and_who_is_refused(self):
        done = self.run_ctl("--cluster", self.cluster(
            node("a", [gpu(0), gpu(1)]), pod("half", {"gpu-fraction": "0.5"}), pod("trio", {"gpu-fraction": "3"}),
            pod("typo", {"gpu-fraction": "0,5"})))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("1 node, 2 GPUs, 3 pods that ask for GPUs\n"), done.stdout)
        self.assertRegex(done.stdout, r"\n +now +tight\npods placed +0 +1 \(\+1\)\n"
                                      r"reserved of all GPUs +0\.0 % +25\.0 %\nGPUs in use +0 +1 \(\+1\)\n"
                                      r"GPUs free +2 +1 \(-1\)\nmost GPUs free on one node +2 +1 \(-1\)\n")
        self.assertRegex(done.stdout, r"\ntight refuses 2 pods:\n  Malformed: [^\n]*\"0,5\"[^\n]* \(1 pod\)\n    ml/typo\n"
                                      r"  TooLarge: [^\n]* \(1 pod\)\n    ml/trio  gpu-fraction=3\n$")

    def test_many_refused_pods_are_counted(self):
        done = self.run_ctl("--cluster", self.cluster(node("a", [gpu(0)]), *(
            pod(f"p{i}", {"gpu-fraction": "2"}) for i in range(30))))
        self.assertIn("(30 pods)\n", done.stdout)
        self.assertTrue(done.stdout.endswith("    and 10 more; --json names them all\n"), done.stdout)

    def test_stdin_files_and_yaml_are_the_same(self):
        """The nodes of one file and the pods of another; kubectl's output on stdin; the same as YAML."""
        items = [node("a", [gpu(0)]), pod("p", {"gpu-fraction": "0.5"})]
        one = self.simulated(*items)["cluster"]
        parts = [self.cluster(item, name=f"part{i}.json") for i, item in enumerate(items)]
        self.assertEqual(self.report("--cluster", parts[0], "--cluster", parts[1])["cluster"], one)
        as_yaml = self.file("cluster.yaml", yaml.safe_dump(kubectl_list(*items)))
        self.assertEqual(self.report("--cluster", as_yaml)["cluster"], one)
        done = run("bash", "-c", f"'{SNUGCTL}' simulate --cluster - --json - < '{as_yaml}'")
        self.assertEqual(json.loads(done.stdout)["cluster"], one)

    def test_labels_and_taints_exclude_nodes(self):
        tainted = node("a", [gpu(0)])
        tainted["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
        report = self.simulated(tainted, node("b", [gpu(0)], labels={"zone": "b"}),
                                pod("free", {"gpu-fraction": "0.1"}),
                                pod("tolerant", {"gpu-fraction": "0.1"}, tolerations=[{"operator": "Exists"}],
                                    nodeSelector={"zone": "a"}))
        self.assertEqual([(p["node"], (p["refused"] or {}).get("code")) for p in report["cluster"]["pods"]],
                         [("b", None), (None, "NodeSelection")])

    def test_warnings_are_on_stderr(self):
        done = self.run_ctl("--cluster", self.cluster(
            node("a", [gpu(0)]), pod("amd", limits={"amd.com/gpu": "1"}),
            pod("h100", {"gpu-fraction": "0.5", "gpu-model": "H100*"})), "--json", "-")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(json.loads(done.stdout)["arrivals"], 1)
        self.assertEqual(done.stderr.splitlines(), [
            "snugctl: warning: 1 pod requesting amd.com/gpu, which the simulation cannot read: left where they are (ml/amd)",
            'snugctl: warning: 1 pod with gpu-model "H100*", which no GPU of the cluster matches (ml/h100)'])
        self.pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nx,1,1,1,500,Z9\n")
        done = self.run_ctl(*self.trace("p 0\n"))
        self.assertEqual(done.stderr, 'snugctl: warning: 1 pod with gpu_spec "Z9", a model that no node has (x)\n')

    def test_the_requests_of_the_guide_to_migrate(self):
        """What a row has for another system is simulated as what it has for Snug."""
        page = (ROOT / "docs/how-to/migrate.md").read_text(encoding="utf-8")
        rows = [list(map(yaml.safe_load, row)) for row in re.findall(r"^\| `(\{.*?\})` \| `(\{.*?\})` \|$", page, re.M)]
        self.assertGreater(len(rows), 4)
        for limits, annotations in rows:
            with self.subTest(limits):
                cluster = self.cluster(node("a", [gpu(0, memory=8192), gpu(1, memory=8192)]), pod("ours", annotations), pod(
                    "theirs", limits={key: str(value) for key, value in limits.items()}))
                pods = json.loads(self.run_ctl("--cluster", cluster, "--json", "-").stdout)["cluster"]["pods"]
                ours, theirs = (row["request"].replace("=4Gi", "=4096") for row in pods)
                self.assertEqual(ours, theirs)
                self.assertEqual([row["refused"] for row in pods], [None, None])

    def test_no_name_controls_the_terminal(self):
        done = self.run_ctl("--cluster", self.cluster(
            node("a", [gpu(0)]), pod("amd\x1b[2J", limits={"amd.com/gpu": "1"}), pod("two\x1b[2J", {"gpu-fraction": "2"})))
        self.assertEqual(done.returncode, 0)
        self.assertIn("(ml/amd?[2J)\n", done.stderr)
        self.assertIn("ml/two?[2J", done.stdout)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_the_chart_shows_free_gpus(self):
        chart = self.folder / "chart.svg"
        self.simulated(node("a", [gpu(0), gpu(1)]), pod("p", {"gpu-fraction": "0.5"}), flags=("--svg", chart))
        self.assertIn(">tight 1</text>", chart.read_text())
        self.assertIn(">now 2</text>", chart.read_text())

    def test_help_says_how_kubectl_is_asked(self):
        self.assertIn("kubectl get nodes,pods -A -o json | snugctl simulate --cluster -", self.run_ctl("--help").stdout)


class RefusedTest(ClusterTest):
    def test_flags_and_files(self):
        good = self.cluster(node("a", [gpu(0)]))
        for said, flags in (
                ("--cluster and --nodes were both given; --cluster has the nodes and the pods", ("--cluster", good, "--nodes", "n")),
                ("--cluster and --timestamps were both given", ("--cluster", good, "--timestamps")),
                ("--cluster names the same file twice: ", ("--cluster", good, "--cluster", f"{self.folder}/./cluster.json")),
                (f"--json would overwrite {good}", ("--cluster", good, "--json", good)),
                (f"{self.folder}/none: cannot be read: No such file", ("--cluster", self.folder / "none")),
                ("text.json: ", ("--cluster", self.file("text.json", "no JSON"))),
                ("cut.json: ", ("--cluster", self.file("cut.json", '{"kind":"List","items":['))),
                ("kind.json: the manifest is of kind \"Service\"; expected List",
                 ("--cluster", self.file("kind.json", '{"kind":"Service"}'))),
                ("none.json: items[0].metadata", ("--cluster", self.file("none.json", '{"kind":"PodList","items":[{}]}'))),
                ("--cluster has no node; expected the output of kubectl get nodes,pods -A -o json",
                 ("--cluster", self.cluster(pod("p"), name="pods.json"))),
                ("given twice", ("--cluster", good, "--cluster", self.cluster(node("a", []), name="again.json"))),
                ("--timestamps needs --pods, whose times it reads", ("--nodes", self.nodes, "--timestamps")),
                ("--seed and --timestamps were both given",
                 ("--nodes", self.nodes, "--pods", self.pods, "--timestamps", "--seed", "1")),
                (f"{self.pods}:1: the column creation_time is missing",
                 ("--nodes", self.nodes, "--pods", self.pods, "--timestamps"))):
            with self.subTest(said=said):
                self.refused(said, *flags)


class PolicyInForceTest(ClusterTest):
    """A server that answers GET /v1/policy."""

    def serve(self, status, reply):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(reply).encode()
                self.send_response(status if self.path == "/v1/policy" else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_it_is_compared_with_another(self):
        url = self.serve(200, {"generation": 3, "source": "default", "yaml": POLICY.format("wide", "spread")})
        cluster = self.cluster(node("a", [gpu(0)]), node("b", [gpu(0)]),
                               *(pod(f"p{i}", {"gpu-fraction": "0.5"}) for i in (1, 2)))
        reports = self.report("--cluster", cluster, "--policy", "policies/best-fit.yaml", "--server", url)
        self.assertEqual([(report["policy"], report["cluster"]["simulated"]["free"]) for report in reports],
                         [("in force: wide", 0), ("best-fit", 1)])
        self.assertEqual(self.report(*self.trace("p 1\n"), "--server", url)["policy"], "in force: wide")

    def test_what_is_no_policy_is_refused(self):
        cluster = ("--cluster", self.cluster(node("a", [gpu(0)])))
        for status, reply, said in (
                (200, {"yaml": "x"}, 'it is not the policy in force: the text "source" is missing'),
                (200, [], 'it is not the policy in force'),
                (200, {"source": "default", "yaml": "version: 2\n"}, "the policy in force:1:10: version must be 1")):
            url = self.serve(status, reply)
            with self.subTest(said=said):
                self.refused(said, *cluster, "--server", url)
        self.refused("--server: not ready", *cluster, "--server",
                     self.serve(503, {"Error": "not ready"}), code=1)
        self.refused("cannot be connected to", *cluster, "--server", "http://127.0.0.1:1", code=1)
        self.refused("http://HOST:PORT", *cluster, "--server", "nonsense")


class TimestampsTest(SimulateTest):
    def test_pods_come_and_go_at_their_times(self):
        self.nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,8000,8000,1,A\n")
        self.pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
                             "late,1,1,1,1000,100,\nfirst,1,1,1,1000,0,100\ntoo-early,1,1,1,1000,99,200\n")
        report = self.report("--nodes", self.nodes, "--pods", self.pods, "--timestamps")
        self.assertEqual((report["arrivals"], report["accepted"], report["rejected"]["one"]), (3, 2, 1))

    def test_openb(self):
        """The whole cluster was nearly empty at all times; six of its nodes are full at the peaks."""
        flags = ("--pods", OPENB / "openb_pod_list_default.csv", "--timestamps")
        every = OPENB / "openb_node_list_gpu_node.csv"
        self.assertEqual(self.report("--nodes", every, *flags)["accepted"], 8152)
        rows = every.read_text().splitlines()
        self.nodes.write_text("\n".join(rows[:1] + [row for row in rows if row.endswith(",8,G2")][:6]) + "\n")
        report = self.report("--nodes", self.nodes, *flags, "--svg", self.folder / "x.svg")
        self.assertEqual((report["gpus"], report["arrivals"]), (48, 8152))
        self.assertEqual(report["accepted"] + sum(report["rejected"].values()), 8152)
        self.assertLess(report["accepted"], 8152)
        self.assertIn("days since the first pod arrived", (self.folder / "x.svg").read_text())


class RoundTripTest(ClusterTest):
    """Pods bound by snug-extender: its reservations, read again, and its choices, made again."""

    def start_on(self, cluster, *flags):
        self.node_items = yaml.safe_load(Path(cluster).read_text(encoding="utf-8"))["items"]
        _, self.verbs, self.admin = start_on(self, cluster, *flags)

    def bind_all(self, manifests):
        """The pods as the API server would show them afterwards."""
        names = [item["metadata"]["name"] for item in self.node_items]
        pods = []
        for number, manifest in enumerate(manifests):
            manifest = json.loads(json.dumps(manifest))
            meta = manifest["metadata"]
            meta.update(namespace="default", uid=f"uid-{number:03d}",
                        creationTimestamp=f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z")
            pods.append(manifest)
            found = post(f"{self.verbs}/filter", {"Pod": manifest, "NodeNames": names})["NodeNames"]
            if not found:
                continue
            call = {"PodName": meta["name"], "PodNamespace": "default", "PodUID": meta["uid"], "Node": found[0]}
            self.assertEqual(post(f"{self.verbs}/bind", call), {"Error": ""})
            manifest["spec"]["nodeName"] = found[0]
        held = {row["uid"]: row for row in fetch(f"{self.admin}/v1/pods")[1]["pods"]}
        for manifest in pods:
            reservation = held.get(manifest["metadata"]["uid"], {}).get("reservation")
            if reservation:
                annotations = manifest["metadata"].setdefault("annotations", {})
                annotations["snug.dev/reservation"] = json.dumps(reservation)
        return pods

    maxDiff = None

    def test_the_example_of_the_page(self):
        """The table in docs/how-to/simulate.md: twelve nodes whose pods, drawn at random, were spread."""
        nodes = [node(f"gpu-{number}", [gpu(index, "NVIDIA-A100-SXM4-80GB", 81920) for index in range(8)])
                 for number in range(12)]
        for item in nodes:
            item["status"]["allocatable"].update(cpu="96", memory="1Ti")
        draw = random.Random(7)
        requests = draw.choices(("8", "4", "1", "0.1", "0.2", "0.25", "0.35", "0.5"),
                                (4, 4, 22, 14, 14, 14, 14, 14), k=88)
        self.start_on(self.cluster(*nodes), "--policy", ROOT / "policies/spread.yaml")
        pods = self.bind_all(pod(f"p{number}", {"gpu-fraction": request}) for number, request in enumerate(requests))
        table = run(SNUGCTL, "simulate", "--cluster", self.cluster(*nodes, *pods)).stdout
        page = (ROOT / "docs/how-to/simulate.md").read_text(encoding="utf-8")
        self.assertEqual(table, re.search(r"```\n(12 nodes.*?\n)```\n", page, re.DOTALL)[1])

    def test_the_simulation_counts_and_chooses_what_the_extender_did(self):
        self.start_on(CLUSTER)
        pods = self.bind_all(PODS)
        report = self.simulated(*self.node_items, *pods)
        nodes = fetch(f"{self.admin}/v1/nodes")[1]["nodes"]
        by_kubelet = sum(unit["count"] for item in nodes for unit in item["kubeletAssigned"])
        in_use = sum(bool(card["holders"]) for item in nodes for card in item["gpus"]) + by_kubelet
        cluster = report["cluster"]
        self.assertEqual(cluster["now"]["in_use"], in_use)
        self.assertEqual(cluster["now"], cluster["simulated"])
        for outcome in cluster["pods"]:
            self.assertEqual(outcome["node"], outcome["node_now"], outcome)
        asked = [item for item in pods if item["metadata"]["name"] != "website"]
        refused = sum(outcome["refused"] is not None for outcome in cluster["pods"])
        self.assertEqual((report["arrivals"], report["accepted"] + refused), (len(asked), len(asked)))
        self.assertGreater(refused, 0)


if __name__ == "__main__":
    unittest.main()

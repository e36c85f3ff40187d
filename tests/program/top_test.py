"""snugctl top, against an extender in the embedded mode: its views, formats, colours and --watch."""

import json
import re
import signal
import tempfile
import unittest
import urllib.request
from pathlib import Path

import yaml

from programs import EXTENDER, ROOT, SNUGCTL, fetch, run, start, start_on
from terminal import CTRL_C, Terminal

ASCII = {"LC_ALL": "C"}
UTF8 = {"LC_ALL": "C.UTF-8"}
A100 = "NVIDIA-A100-SXM4-40GB"


def node(name, gpus, **more):
    inventory = {"version": 1, "gpus": [
        {"index": i, "uuid": f"GPU-{name}-{i}", "model": A100, "memoryMiB": 40960, **more} for i in range(gpus)]}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "annotations": {"snug.dev/inventory": json.dumps(inventory)}}}


def bound_pod(name, namespace, on, devices, request):
    uid = f"uid-{name}"
    reservation = {"version": 1, "uid": uid, "node": on,
                   "containers": [{"name": "main", "request": request, "devices": devices}]}
    key, value = request.split("=")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": name, "namespace": namespace, "uid": uid,
        "annotations": {key: value, "snug.dev/reservation": json.dumps(reservation)}},
        "spec": {"nodeName": on, "containers": [{"name": "main"}]}, "status": {"phase": "Running"}}


def share(name, namespace, on, index, milli):
    return bound_pod(name, namespace, on, [{"index": index, "uuid": f"GPU-{on}-{index}", "mode": "time-slicing",
                                            "memoryMiB": 40960 * milli // 1000, "computeMilli": milli}],
                     f"gpu-fraction=0.{milli:03d}".rstrip("0"))


def slice_pod():
    return bound_pod("slice", "ml", "mig", [{"index": 0, "uuid": "GPU-mig-0", "mode": "mig", "memoryMiB": 9856,
                                             "computeMilli": 285, "mig": {"profile": "2g.10gb", "start": 2, "size": 2}}],
                     "gpu-mig-profile=2g.10gb")


class WithSnug(unittest.TestCase):
    """n1: a shared and an empty GPU. n2: one whole GPU in use, one unhealthy. mig: slices."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-top-")
        self.addCleanup(folder.cleanup)
        n2 = node("n2", 2)
        inventory = json.loads(n2["metadata"]["annotations"]["snug.dev/inventory"])
        inventory["gpus"][1]["healthy"] = False
        n2["metadata"]["annotations"]["snug.dev/inventory"] = json.dumps(inventory)
        whole = bound_pod("trainer", "web", "n2", [{"index": 0, "uuid": "GPU-n2-0", "mode": "whole", "memoryMiB": 40960,
                                                    "computeMilli": 1000}], "gpu-fraction=1")
        mig = node("mig", 1, mig=True, migInstances=[{"profile": "1g.5gb", "start": 6, "size": 1, "uuid": "MIG-1"},
                                                     {"profile": "2g.10gb", "start": 2, "size": 2, "uuid": "MIG-2"}])
        waiting = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "waiting", "namespace": "ml", "uid": "uid-waiting", "annotations": {"gpu-fraction": "8"}},
            "spec": {"schedulerName": "snug", "containers": [{"name": "main"}]}, "status": {"phase": "Pending"}}
        cluster = Path(folder.name) / "cluster.json"
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            node("n1", 2), n2, mig, share("a", "ml", "n1", 0, 250), share("b", "web", "n1", 0, 500), whole, slice_pod(),
            share("ghost", "old", "gone", 0, 500), waiting]}))
        policy = Path(folder.name) / "policy.yaml"
        policy.write_text("version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n"
                          "sharing: [{namespaces: [web], capMilli: 2000}]\n")
        _, _, self.admin = start_on(self, cluster, "--policy", policy)

    def top(self, *words, code=0, **environment):
        done = run(SNUGCTL, "top", *words, "--server", self.admin, **{**ASCII, **environment})
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def names(self, *words):
        return self.top(*words, "-o", "name").split()


class ViewsTest(WithSnug):
    def test_a_node_is_a_line(self):
        self.assertEqual(self.top(), (
            "NODE  GPUS  FREE  MEMORY                          COMPUTE             PODS  MODEL           REMARKS\n"
            "mig   3        0  ###.........  24 %  9.6/40 GiB  ###.........  29 %     1  A100-SXM4-40GB\n"
            "n1    8.       1  #####.......  38 %  30/80 GiB   #####.......  38 %     2  A100-SXM4-40GB\n"
            "n2    #x       0  ######......  50 %  40/80 GiB   ######......  50 %     1  A100-SXM4-40GB  1 GPU closed\n"
            "3 nodes, 5 GPUs, 4 pods; 1 whole GPU free, 1 closed\n"
            "reserved: 40 % of memory (79.6/200 GiB), 41 % of compute (2.035/5 GPUs)\n"))
        self.assertEqual(self.top("nodes"), self.top())
        self.assertIn("n1    ▆·       1  █████░░░░░░░  38 %", self.top(**UTF8))

    def test_a_named_node_is_shown_with_its_holders(self):
        self.assertEqual(self.top("n1"), (
            "GPU  MODEL           MEMORY                         COMPUTE             MODE\n"
            "n1\n"
            "  0  A100-SXM4-40GB  #########...  75 %  30/40 GiB  #########...  75 %  time-slicing\n"
            "      ml/a (main)  10240 MiB, 25 %\n"
            "      web/b (main)  20480 MiB, 50 %\n"
            "  1  A100-SXM4-40GB  ............   0 %  0/40 GiB   ............   0 %  free\n"
            "1 node, 2 GPUs, 2 pods; 1 whole GPU free, 0 closed\n"
            "reserved: 38 % of memory (30/80 GiB), 38 % of compute (0.75/2 GPUs)\n"))
        self.assertEqual(self.top("nodes", "n1"), self.top("n1"))
        self.assertIn("closed: unhealthy\n", self.top("n2", "n1"))

    def test_slices_stand_at_their_places(self):
        self.assertIn("         .       .    [   2g.10gb    ]   .       .    [1g.5gb]   .\n"
                      "      2g.10gb at 2-3: ml/slice (main)\n"
                      "      1g.5gb at 6: free\n", self.top("mig"))

    def test_wide_shows_every_node(self):
        text = self.top("-o", "wide")
        for words in ("\nn1\n", "\nn2\n", "ml/slice", "web/trainer (main)  40960 MiB, 100 %"):
            self.assertIn(words, text)

    def test_gpus(self):
        lines = self.top("gpus").splitlines()
        self.assertEqual([line.split()[:3] for line in lines], [
            ["NODE", "GPU", "MODE"], ["mig", "0", "mig"], ["n1", "0", "time-slicing"], ["n1", "1", "-"], ["n2", "0", "whole"],
            ["n2", "1", "-"]])
        self.assertTrue(lines[3].endswith("A100-SXM4-40GB  free"), lines[3])
        self.assertTrue(lines[5].endswith("closed: unhealthy"), lines[5])
        self.assertIn("GPU-n1-0   ml/a, web/b", self.top("gpus", "-o", "wide"))

    def test_pods(self):
        self.assertEqual(self.top("pods"), (
            "NAMESPACE  POD      STATE    NODE  GPUS            MEMORY  COMPUTE  REASON\n"
            "ml         a        bound    n1    0            10240 MiB     0.25\n"
            "ml         slice    bound    mig   0:2g.10gb@2   9856 MiB    0.285\n"
            "ml         waiting  pending  -     -                    -        -\n"
            "old        ghost    bound    gone  0            20480 MiB      0.5  Snug does not know node gone\n"
            "web        b        bound    n1    0            20480 MiB      0.5\n"
            "web        trainer  bound    n2    0            40960 MiB        1\n"))

    def test_namespaces_against_their_caps(self):
        self.assertEqual(self.top("namespaces"), (
            "NAMESPACE  PODS    MEMORY   GPUS  CAP  OF THE CAP\n"
            "ml            2  19.6 GiB  0.535    -  -\n"
            "web           2    60 GiB    1.5    2  #########... 75 %\n"))

    def test_the_cluster(self):
        text = self.top("cluster")
        for line in ("nodes       3 with 5 GPUs, of which 1 closed\n",
                     "compute     #####.......  41 %  2.035/5 GPUs\n",
                     "free        1 whole GPU; the largest share for one pod is 40960 MiB and 100 % of the compute, on GPU 1 of node n1\n",
                     "policy      a, generation 1\n", "\nPENDING  REASON\n      1  -       Snug has not refused them yet\n"):
            self.assertIn(line, text)
        _, cluster = fetch(f"{self.admin}/v1/cluster")
        self.assertEqual(json.loads(self.top("cluster", "-o", "json")), cluster)

    def test_filters_and_order(self):
        for words, expected in (
                ([], ["node/mig", "node/n1", "node/n2"]), (["-n", "ml"], ["node/mig", "node/n1"]), (["n2"], ["node/n2"]),
                (["-A"], ["node/mig", "node/n1", "node/n2"]), (["--sort-by", "memory"], ["node/n2", "node/n1", "node/mig"]),
                (["gpus", "-n", "web"], ["gpu/n1/0", "gpu/n2/0"]), (["gpus", "n1"], ["gpu/n1/0", "gpu/n1/1"]),
                (["pods", "-n", "web", "--sort-by", "memory"], ["pod/web/trainer", "pod/web/b"]),
                (["pods", "ml/a"], ["pod/ml/a"]), (["pods", "pod/a"], ["pod/ml/a"]), (["pods", "pod/ml/a"], ["pod/ml/a"]),
                (["node", "n2"], ["node/n2"]), (["pod", "b"], ["pod/web/b"]), (["namespace"], ["namespace/ml", "namespace/web"]),
                (["gpu", "n2"], ["gpu/n2/0", "gpu/n2/1"]), (["node/n2"], ["node/n2"]), (["nodes", "node/n1", "n2"], ["node/n1", "node/n2"]),
                (["gpus", "gpu/n1/1", "n2/0"], ["gpu/n1/1", "gpu/n2/0"]), (["namespaces", "namespace/web"], ["namespace/web"]),
                (["namespaces"], ["namespace/ml", "namespace/web"]), (["namespaces", "web"], ["namespace/web"])):
            self.assertEqual(self.names(*words), expected, words)

    def test_a_namespace_has_only_its_pods_and_gpus(self):
        text = self.top("-n", "web")
        self.assertIn("2 nodes, 2 GPUs, 2 pods; 0 whole GPUs free, 0 closed\n", text)
        for view, nothing in (("nodes", "no node with GPUs"), ("gpus", "no GPU"), ("pods", "no pod that holds or wants GPUs"),
                              ("namespaces", "no namespace that holds GPUs")):
            self.assertIn(f'\n{nothing} in namespace "nope"\n', self.top(view, "-n", "nope"))
        self.assertEqual([line.split()[:3] for line in text.splitlines()[1:3]], [["n1", "8", "0"], ["n2", "#", "0"]])
        for words in (["n1"], ["-o", "wide"], ["gpus", "-o", "wide"]):
            text = self.top("-n", "web", *words)
            self.assertIn("web/b", text)
            self.assertNotIn("ml/", text)

    def test_the_json_and_yaml_are_the_reply(self):
        _, nodes = fetch(f"{self.admin}/v1/nodes")
        _, pods = fetch(f"{self.admin}/v1/pods")
        self.assertEqual(json.loads(self.top("-o", "json")), nodes)
        self.assertEqual(yaml.safe_load(self.top("-o", "yaml")), nodes)
        self.assertEqual(json.loads(self.top("pods", "-o", "json")), pods)
        self.assertEqual(yaml.safe_load(self.top("pods", "-o", "yaml")), pods)
        chosen = json.loads(self.top("n1", "-o", "json"))
        self.assertEqual(chosen["nodes"], [each for each in nodes["nodes"] if each["name"] == "n1"])
        gpus = json.loads(self.top("gpus", "--sort-by", "memory", "-o", "json"))["gpus"]
        self.assertEqual((len(gpus), gpus[0]), (5, {"node": "n2", **nodes["nodes"][2]["gpus"][0]}))

    def test_what_a_view_does_not_take_is_refused(self):
        for words, said in ((["pods", "-l", "a=b"], "top pods takes no --selector"),
                            (["cluster", "-n", "ml"], "top cluster takes no --namespace; top namespaces does"),
                            (["cluster", "x"], 'top cluster takes no names, but "x" was given; it shows the whole cluster'),
                            (["cluster", "-o", "name"], "top cluster has no names"),
                            (["cluster", "--sort-by", "name"], "top cluster takes no --sort-by"),
                            (["pods", "--sort-by", "free"], "top pods takes --sort-by with one of name, memory, compute, pending"),
                            (["gpus", "--sort-by", "x"],
                             "top gpus takes --sort-by with one of name, memory, compute, free-memory, pods"),
                            (["--sort-by", "size"],
                             "top nodes takes --sort-by with one of name, memory, compute, free, closed, pods"),
                            (["--sort-by", ""], "--sort-by must not be empty"),
                            (["-o", "xml"], '--output: must be one of wide|json|yaml|name, not "xml"'),
                            (["-o", ""], '--output: must be one of wide|json|yaml|name, not ""'),
                            (["--watch", "--interval", "99ms"], "--interval must be a duration from 100ms to 3600s"),
                            (["--interval", "2s"], "--interval requires --watch"),
                            (["-A", "-n", "ml"], "--namespace and --all-namespaces were both given"),
                            (["--no-such"], "unknown flag --no-such"), (["pods", "--no-such"], "unknown flag --no-such"),
                            (["--server", "b"], "--server was given 2 times")):
            text = self.top(*words, code=2)
            self.assertIn(said, text)
            self.assertEqual(text.count("\n"), 1, text)

    def test_what_there_is_not(self):
        for words, said in ((["nods"], 'Snug does not know a node "nods"; the views of top are nodes, gpus, pods, namespaces, cluster'),
                            (["n1", "n9"], 'Snug does not know a node "n9"'), (["pods", "x"], 'Snug does not know a GPU pod "x"'),
                            (["namespaces", "x"], 'Snug does not know a namespace with GPU pods called "x"'),
                            (["--usage"], "no node publishes what its pods use of their GPUs, so --usage has nothing to show; "
                                          "top shows what they have reserved")):
            self.assertEqual(self.top(*words, code=1), f"snugctl: {said}\n")


def labelled_node(name, units, allocatable, labels=None):
    """Four GPUs by labels of GPU Feature Discovery."""
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {f"nvidia.com/{key}": value for key, value in {
                "gpu.product": "Tesla-T4", "gpu.count": "4", "gpu.memory": "16384", **(labels or {})}.items()}},
            "status": {"capacity": {"nvidia.com/gpu": units}, "allocatable": {"nvidia.com/gpu": allocatable}}}


class ClosedToAnnotatedPodsTest(unittest.TestCase):
    def test_nodes_and_the_cluster_count_the_same_free_and_closed_gpus(self):
        unplaced = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": "by-hand", "namespace": "ml", "uid": "uid-by-hand", "annotations": {"gpu-fraction": "1"}},
            "spec": {"nodeName": "unplaced", "containers": [{"name": "main"}]}, "status": {"phase": "Running"}}
        items = [labelled_node("ill", "4", "3"), labelled_node("well", "4", "4"), node("unplaced", 2), unplaced,
                 node("slices", 1, mig=True), node("bad", 1, healthy=False),
                 labelled_node("shared", "16", "16", {"gpu.product": "Tesla-T4-SHARED", "gpu.replicas": "4"})]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": items}, file)
            file.flush()
            _, _, admin = start_on(self, file.name)
        lines = run(SNUGCTL, "top", "--server", admin, **ASCII).stdout.splitlines()
        rows = {line.split()[0]: line.split()[1:3] for line in lines[1:7]}
        self.assertEqual(rows, {"ill": ["....", "3"], "well": ["....", "4"], "unplaced": ["..", "0"], "slices": [".", "0"],
                                "bad": ["x", "0"], "shared": ["....", "0"]})
        self.assertIn("closed: to annotated pods: Unhealthy", next(line for line in lines if line.startswith("ill ")))
        cluster = fetch(f"{admin}/v1/cluster")[1]
        self.assertEqual((cluster["freeWholeGpus"], cluster["gpusClosed"]), (7, 1))
        self.assertTrue(lines[7].endswith("; 7 whole GPUs free, 1 closed"), lines[7])
        gpus = run(SNUGCTL, "top", "gpus", "--server", admin, **ASCII).stdout
        self.assertIn("free; node closed: to annotated pods: ", gpus)
        self.assertRegex(gpus, r"\nslices +0  mig +\.")


class TerminalTest(WithSnug):
    def terminal(self, *words, columns=100, rows=24, **environment):
        return Terminal(self, [SNUGCTL, "top", *words, "--server", self.admin], (columns, rows), {**UTF8, **environment})

    def test_only_a_terminal_has_colours_and_only_if_it_may(self):
        for environment, flags, coloured in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True),
                                             ({"TERM": "dumb"}, [], False), ({}, ["--color", "never"], False),
                                             ({"NO_COLOR": "1"}, ["--color", "always"], True)):
            text = self.terminal(*flags, **environment).read_all()
            self.assertEqual("\x1b[" in text, coloured, (environment, flags))
        self.assertNotIn("\x1b", self.top())
        self.assertIn("\x1b[", self.top("--color", "always"))

    def test_lines_fit_the_terminal(self):
        for columns in (30, 60, 80, 200):
            lines = self.terminal(columns=columns, NO_COLOR="1").read_all().splitlines()
            self.assertEqual(len(lines), 6)
            self.assertLessEqual(max(map(len, lines)), columns)
        self.assertTrue(any(line.endswith("…") for line in self.terminal(columns=60, NO_COLOR="1").read_all().splitlines()))

    def test_watch_redraws_until_ctrl_c(self):
        terminal = self.terminal("--watch", "--interval", "100ms", rows=24, NO_COLOR="1")
        terminal.read_until("4 pods; 1 whole GPU free")
        request = urllib.request.Request(f"{self.admin}/v1/pods/web/trainer", method="DELETE")
        urllib.request.urlopen(request, timeout=10).close()
        terminal.read_until("3 pods; 2 whole GPUs free")
        self.assertGreater(terminal.text.count("\x1b[H"), 1)
        terminal.press(CTRL_C)
        self.assertEqual(terminal.process.wait(30), -signal.SIGINT)

    def test_watch_leaves_out_what_does_not_fit(self):
        terminal = self.terminal("gpus", "--watch", "--interval", "100ms", rows=5, NO_COLOR="1")
        terminal.read_until("… 3 more lines")
        self.assertNotIn("n2 ", terminal.text)


class WatchWithoutTerminalTest(WithSnug):
    def test_it_appends(self):
        process = start(self, SNUGCTL, "top", "-w", "--interval", "100ms", "--server", self.admin, **ASCII)
        pages = [process.stdout.readline() for _ in range(14)]
        self.assertEqual(pages[:7], pages[7:])
        self.assertEqual((pages[0].split()[0], pages[6]), ("NODE", "\n"))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), -signal.SIGINT)

    def test_each_json_is_a_document(self):
        process = start(self, SNUGCTL, "top", "-w", "-o", "yaml", "--interval", "100ms", "--server", self.admin)
        lines = []
        while lines.count("---\n") < 2:
            lines.append(process.stdout.readline())
        first, second, _ = "".join(lines).split("---\n")
        self.assertEqual(yaml.safe_load(first), yaml.safe_load(second))


class ManyNodesTest(unittest.TestCase):
    def test_1000_nodes_are_1000_lines_and_the_sums(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            items = [node(f"node-{number:04d}", 8) for number in range(1000)]
            items += [share(f"p{number}", "ml", f"node-{number:04d}", number % 8, 500) for number in range(1000)]
            json.dump({"apiVersion": "v1", "kind": "List", "items": items}, file)
            file.flush()
            _, _, admin = start_on(self, file.name)
        done = run(SNUGCTL, "top", "--server", admin, **ASCII)
        lines = done.stdout.splitlines()
        self.assertEqual((done.returncode, len(lines)), (0, 1003))
        self.assertTrue(lines[3].startswith("node-0002  ..5.....     7  #..."), lines[3])
        self.assertEqual(lines[-2], "1000 nodes, 8000 GPUs, 1000 pods; 7000 whole GPUs free, 0 closed")
        self.assertEqual(len({re.sub(r"\S", "x", line[:60]) for line in lines[1:1001]}), 1, "the columns are aligned")


class PageTest(unittest.TestCase):
    """Pages whose examples are of the demo."""
    PAGES = ("docs/reference/snugctl.md", "docs/tutorial/laptop.md")

    def setUp(self):
        demo = start(self, "/usr/bin/python3", ROOT / "deploy/demo/demo.py", "--extender", EXTENDER, "--serve")
        first = demo.stdout.readline()
        self.admin = re.search(r"and people at (\S+)\.\n", first)[1]
        self.demo = [first, *iter(demo.stdout.readline, "Ctrl-C ends it.\n")]

    def test_each_command_of_a_page_prints_what_stands_below_it(self):
        for page in self.PAGES:
            shown = re.findall(r"^```\n\$ snugctl ([^\n]*)\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
            self.assertGreaterEqual(len(shown), 2, page)
            for command, output in shown:
                with self.subTest(page=page, command=command):
                    terminal = Terminal(self, [SNUGCTL, *command.split(), "--server", self.admin], (120, 50),
                                        {**UTF8, "NO_COLOR": "1"})
                    self.assertEqual(terminal.read_all().replace("\r\n", "\n"), output)

    def test_the_tutorial_shows_lines_of_the_demo(self):
        [shown] = re.findall(r"^\$ bash deploy/demo.sh\n(.*?)^```$", (ROOT / self.PAGES[1]).read_text(), re.M | re.S)
        lines = [line for line in shown.splitlines(keepends=True) if line != "…\n"]
        self.assertGreater(len(lines), 8)
        demo = iter(self.demo)
        self.assertEqual([line for line in lines if line not in demo], [], "in this order")


if __name__ == "__main__":
    unittest.main()

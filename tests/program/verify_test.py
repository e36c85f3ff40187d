"""snugctl verify with a stand-in for kubectl: which pods it creates, that it removes them however it ends, and its exit
codes. tests/node runs it on a real node."""

import ctypes
import json
import os
import signal
import unittest

from connection_test import WithKubectl, admin_stub, wait_until
from programs import BUILD, SNUGCTL, run, start
from terminal import CTRL_C, Terminal

UUID = "GPU-00000001-1111-2222-3333-444444444444"
OBSERVED = {
    "nodes": [{"name": "nvidia1", "denied": False}, {"name": "nvidiactl", "denied": False}],
    "variables": {"NVIDIA_VISIBLE_DEVICES": "void"},
    "cuda": {"library": "/usr/local/nvidia/lib64/libcuda.so.1", "problem": "", "devices": 1, "uuid": UUID[4:], "totalMiB": 40960},
    "allocation": {"wantedMiB": 2304, "gotMiB": 2048, "outOfMemory": True}}
NOTHING = {**OBSERVED, "nodes": [], "cuda": {"library": "", "problem": "no libcuda", "devices": 0, "uuid": "", "totalMiB": 0}}
REFUSED = {"status": {"containerStatuses": [
    {"name": "observe", "state": {"waiting": {"message": "it asks for GPUs by CDI; GPUs are"}}}]}}
RESERVATION = json.dumps({"version": 1, "uid": "u", "node": "n1", "containers": [{
    "name": "observe", "request": "gpu-memory=2048Mi",
    "devices": [{"index": 1, "uuid": UUID, "mode": "time-slicing", "memoryMiB": 2048, "computeMilli": 50}]}]})


def ended(observation, **parts):
    return {**parts, "status": {"containerStatuses": [{"name": "observe", "state": {"terminated": {
        "exitCode": 0, "message": json.dumps(observation)}}}]}}


def libcuda_exists():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def node(limits="driver", alive=True, enforcement="fail-closed"):
    return {"generation": 1, "nodes": [{
        "name": "n1", "pool": "auto", "gpus": [], "kubeletAssigned": [],
        "agent": {"enforcement": enforcement, "limits": limits, "alive": alive}}]}


class VerifyTest(WithKubectl):
    def setUp(self):
        super().setUp()
        self.replies = {"/v1/nodes?name=n1": json.dumps(node())}
        self.admin = admin_stub(self, self.replies)
        self.created = self.folder / "created"
        self.orders |= {
            "created": str(self.created), "replies": {"get node": "true", "get daemonset": "registry/snug-agent:1", "delete pods": ""},
            "pods_are": {
                "share": ended(OBSERVED, metadata={"annotations": {"snug.dev/reservation": RESERVATION}}, spec={"nodeName": "n1"}),
                "greedy": ended(NOTHING), "cdi": REFUSED, "toolkits-cdi": REFUSED}}

    def words(self, *words):
        return ("verify", "n1", "--server", f"http://{self.admin}", *words)

    def verify(self, *words):
        return self.snugctl(*self.words(*words))

    def pods(self):
        return {pod["metadata"]["name"].split("-", 3)[3]: pod for pod in map(json.loads, self.created.read_text().splitlines())}

    def check_removed(self):
        """All pods have the label by which they are removed, after they were created."""
        [run_id] = {pod["metadata"]["labels"]["snug.dev/verify"] for pod in self.pods().values()}
        calls = self.calls()[0]
        self.assertTrue(calls[-1].startswith(f"delete pods --namespace=default --selector=snug.dev/verify={run_id} "), calls)

    def test_a_good_node(self):
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], "^VERDICT +CHECK +EXPECTED +SEEN$")
        self.assertEqual({line.split()[0] for line in lines[1:-1]}, {"ok"}, done.stdout)
        self.assertEqual(lines[-1], "n1: 11 ok")
        self.check_removed()
        pods = self.pods()
        self.assertEqual(set(pods), {"share", "greedy", "cdi", "toolkits-cdi"})
        self.assertEqual({pod["spec"]["containers"][0]["image"] for pod in pods.values()}, {"registry/snug-agent:1"})
        self.assertIn("--allocate-mib=2304", pods["share"]["spec"]["containers"][0]["args"])

    def test_nobody_limits(self):
        self.replies["/v1/nodes?name=n1"] = json.dumps(node("none"))
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "n1: 9 ok, 2 not enforced")
        self.assertEqual(self.pods()["share"]["spec"]["containers"][0]["args"], ["--result=/dev/termination-log"])

    def test_a_failed_check(self):
        self.orders["pods_are"]["greedy"] = ended({**NOTHING, "nodes": OBSERVED["nodes"]})
        done = self.verify()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("n1: 10 ok, 1 failed\n", done.stdout)
        self.check_removed()

    def test_what_could_not_be_checked(self):
        """A pod that gets no node is waited for until the time is over."""
        self.orders["pods_are"]["share"] = {"spec": {}, "status": {"conditions": [{"type": "PodScheduled", "message": "0/1 nodes"}]}}
        done = self.verify("--timeout=5", "-o", "json", "--namespace=default")
        self.assertEqual(done.returncode, 3, done.stdout)
        rows = {row["check"]: row for row in json.loads(done.stdout)["checks"]}
        self.assertEqual((rows["share"]["verdict"], rows["share"]["seen"]), ("not-checked", "the pod got no node: 0/1 nodes"))
        self.check_removed()

    def test_flags_reach_the_pods(self):
        done = self.verify("--image=other:2", "--scheduler-name=gpu", "--memory-mib=100", "--run-as-user=0", "--timeout=30")
        self.assertEqual(done.returncode, 0, done.stdout)
        share = self.pods()["share"]["spec"]
        self.assertEqual((share["containers"][0]["image"], share["schedulerName"], share["activeDeadlineSeconds"]),
                         ("other:2", "gpu", 90))
        self.assertEqual((share["securityContext"]["runAsUser"], share["securityContext"]["runAsNonRoot"]), (0, False))
        self.assertEqual(self.pods()["share"]["metadata"]["annotations"], {"gpu-memory": "100Mi"})
        self.assertFalse([call for call in self.calls()[0] if call.startswith("get daemonset")])

    def test_admission_refuses_the_pods_that_name_gpus(self):
        said = "Error from server (Forbidden): ValidatingAdmissionPolicy 'x' denied request: "
        self.orders["refuse"] = {"greedy": said + "NVIDIA_VISIBLE_DEVICES names GPUs", "cdi": said + "annotations under cdi.k8s.io/",
                                 "toolkits-cdi": said + "annotations under nvidia.cdi.k8s.io/"}
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout.count("admission refused the pod: " + said), 3)
        self.assertIn("n1: 11 ok\n", done.stdout)

    def test_a_refusal_for_another_reason_proves_nothing(self):
        said = "Error from server (Forbidden): ValidatingAdmissionPolicy 'x' denied request: spec.nodeName must not be set"
        self.orders["refuse"] = {kind: said for kind in ("greedy", "cdi", "toolkits-cdi")}
        done = self.verify()
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertEqual(done.stdout.count("admission refused the pod: " + said), 3)
        self.assertIn("n1: 8 ok, 3 not checked\n", done.stdout)
        for said in ('Error from server (Forbidden): User "jane" cannot create resource "pods"',
                     "Unable to connect to the server: getting credentials: exec: permission denied"):
            self.orders["fail"] = {"create": [said, 1]}
            done = self.verify()
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertEqual(done.stdout.count("the pod could not be created: " + said), 4, done.stdout)

    def test_another_container_comes_first(self):
        """Admission may put a container of its own before that of the check."""
        first = {"name": "injected", "state": {"running": {}}}
        for pod in self.orders["pods_are"].values():
            pod["status"] = {"containerStatuses": [first, *pod["status"]["containerStatuses"]]}
        done = self.verify()
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "n1: 11 ok"), done.stdout)

    def test_words_of_a_later_agent(self):
        for reply, said in ((node(limits="later"), "limits later"), (node(enforcement="half"), "enforcement half")):
            self.replies["/v1/nodes?name=n1"] = json.dumps(reply)
            done = self.verify()
            self.assertEqual((done.returncode, done.stdout),
                             (3, f"snugctl: the inventory says {said}, which this snugctl does not know\n"))
        self.assertFalse(self.created.exists())

    def test_kubectl_fails_while_the_pods_run(self):
        self.replace_kubectl('[ "$1 $2" = "get pods" ] && { echo lost >&2; exit 1; }\nexec "$real" "$@"')
        done = self.verify()
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("snugctl: kubectl could not list the pods of the check (its exit code is 1)\n", done.stdout)
        self.check_removed()

    def test_pods_that_cannot_be_removed_are_named(self):
        self.orders["fail"] = {"delete pods": ["error: no", 1]}
        done = self.verify()
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"snugctl: warning: kubectl could not remove the pods of the check \(its exit code is 1\): "
                                      r"their containers end within 150 s of their start; remove them with `kubectl delete pods "
                                      r"--namespace=default --selector=snug.dev/verify=\w{8}`\n")

    def test_a_signal_removes_the_pods(self):
        self.orders["pods_are"]["share"] = {"spec": {}}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                self.log.unlink(missing_ok=True)
                self.created.unlink(missing_ok=True)
                process = start(self, SNUGCTL, *self.words(), **self.environment())
                wait_until("it waits", lambda: any(call.startswith("get pods") for call in self.calls()[0]))
                process.send_signal(number)
                self.assertEqual(process.wait(30), -number)
                self.check_removed()

    def test_ctrl_c_in_a_terminal(self):
        """It reaches kubectl too, which runs in the same process group."""
        self.orders["pods_are"]["share"] = {"spec": {}}
        terminal = Terminal(self, [SNUGCTL, *self.words()], (200, 30), self.environment())
        wait_until("it waits", lambda: any(call.startswith("get pods") for call in self.calls()[0]))
        terminal.press(CTRL_C)
        self.assertEqual(terminal.process.wait(30), -signal.SIGINT)
        self.check_removed()

    def test_a_second_ctrl_c_does_not_stop_the_clean_up(self):
        self.orders["pods_are"]["share"] = {"spec": {}}
        os.mkfifo(self.folder / "go-on")
        go_on = open(self.folder / "go-on", "r+b", buffering=0)
        self.addCleanup(go_on.close)
        self.replace_kubectl(f'[ "$1 $2" = "delete pods" ] && {{ echo $$ > "$left"; read -r < "{go_on.name}"; }}\nexec "$real" "$@"')
        terminal = Terminal(self, [SNUGCTL, *self.words()], (200, 30), self.environment())
        wait_until("it waits", lambda: any(call.startswith("get pods") for call in self.calls()[0]))
        terminal.press(CTRL_C)
        self.left_behind()
        terminal.press(CTRL_C + b"echoed after the signal\n")
        terminal.read_until("echoed after the signal")
        go_on.write(b"go on\n")
        self.assertEqual(terminal.process.wait(30), -signal.SIGINT)
        self.check_removed()
        self.assertIn("snugctl removes the pods of the check, which takes at most 20 s", terminal.text)

    def test_what_there_is_nothing_to_check_on(self):
        self.replies["/v1/nodes?name=n1"] = json.dumps({"generation": 1, "nodes": [{
            "name": "n1", "pool": "auto", "gpus": [], "kubeletAssigned": []}]})
        done = self.verify()
        self.assertEqual((done.returncode, "node n1 has no inventory of an agent" in done.stdout), (3, True), done.stdout)
        self.replies["/v1/nodes?name=n1"] = '{"Error":"no such node"}'
        self.assertEqual(self.verify().returncode, 3)
        self.assertFalse(self.created.exists())

    def test_flags(self):
        for words in ((), ("n1", "--timeout=4"), ("n1", "--memory-mib=0"), ("n1", "--run-as-user=-1"), ("n1", "-o", "yaml")):
            self.assertEqual(run(SNUGCTL, "verify", *words).returncode, 2, words)
        self.assertEqual(run(SNUGCTL, "verify", "n1", "--timeout=x").stdout,
                         "snugctl: --timeout: must be a whole number from 5 to 1800; see --help\n")


class ObserveTest(unittest.TestCase):
    """snug-observe on this machine, whose /dev may have anything."""

    def observe(self, library, *words, **variables):
        folder = BUILD / "tests/standin" / library
        done = run(BUILD / "snug-observe", *words, LD_LIBRARY_PATH=str(folder), **variables)
        self.assertEqual(done.returncode, 0, done.stdout)
        return json.loads(done.stdout)

    def test_without_a_gpu(self):
        seen = self.observe(".", NVIDIA_VISIBLE_DEVICES="void")
        self.assertEqual(seen["variables"]["NVIDIA_VISIBLE_DEVICES"], "void")
        self.assertTrue(seen["cuda"]["library"].endswith("/libcuda.so.1"))
        if not seen["nodes"]:
            self.assertEqual(seen["cuda"]["problem"], "cuInit returns 100")
        self.assertEqual(seen["allocation"]["wantedMiB"], 0)

    @unittest.skipIf(libcuda_exists(), "this machine has NVIDIA's driver")
    def test_without_the_library(self):
        seen = json.loads(run(BUILD / "snug-observe").stdout)
        self.assertEqual(seen["cuda"]["library"], "")
        self.assertIn("libcuda.so.1", seen["cuda"]["problem"])

    def test_flags(self):
        for words, code in ((["--help"], 0), (["--version"], 0), (["--allocate-mib=-1"], 2), (["--allocate-mib=x"], 2),
                            (["--allocate-mib=9999999"], 2), (["x"], 2)):
            self.assertEqual(run(BUILD / "snug-observe", *words).returncode, code, words)
        for word, said in (("x", "unknown flag x; see --help"), ("--allocate-mib", "unknown flag --allocate-mib; see --help"),
                           ("--allocate-mib=x", "--allocate-mib=x: must be a whole number from 0 to 1048576")):
            self.assertEqual(run(BUILD / "snug-observe", word).stdout, f"snug-observe: {said}\n")


if __name__ == "__main__":
    unittest.main()

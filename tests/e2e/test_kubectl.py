"""Scenario kubectl: what people see and do with kubectl: edit, apply, quotas, and the capacity of a node."""

import contextlib
import io
import json
import pathlib
import re

import show_node
from harness import manifests
from harness.admission import check_variables, enforce, minimal, need_policies, wait_mirrored
from harness.mirror import MEMORY, MILLI
from harness.objects import A100_MIB, gpu_node, pod
from harness.processes import wait_until
from harness.scenario import Scenario
from harness.truth import is_bound
from harness.webhook import start_with_webhook
from harness.workloads import template, workload

MIRRORED = {"smallest-gpu-mib": str(A100_MIB), "largest-gpu-mib": str(A100_MIB)}
TEAM = "team-a"


class Kubectl:
    """The scenarios. Who uses them starts Snug with what completes pods."""

    def test_kubectl_edit_of_a_bound_pod(self):
        """kubectl: kubectl edit changes labels and images of a bound pod, and not what it asked for"""
        self._start()
        self.place(minimal({"gpu-fraction": "0.25", "note": "old-note"}, name="quarter"))
        self.kubectl.must("edit", "pod", "quarter", editor="sed -i s/old-note/new-note/")
        self.kubectl.must("edit", "pod", "quarter", editor="sed -i s/busy/busier/")
        pod = self.pod("quarter")
        self.assertEqual(pod["metadata"]["annotations"]["note"], "new-note")
        self.assertEqual(pod["spec"]["containers"][0]["image"], "busier")
        code, text = self.kubectl.call("edit", "pod", "quarter",
                                       editor="sed -i /gpu-fraction:/s/0.25/0.5/")
        self.assertNotEqual(code, 0, text)
        # kubectl shows it in the editor.
        shown = pathlib.Path(re.search('stored to "(.+)"', text)[1]).read_text()
        self.assertIn("the annotations by which a pod asks for GPUs do not change once it has a node",
                      shown)
        self.assertEqual(self.pod("quarter")["metadata"]["annotations"]["gpu-fraction"], "0.25")
        self.check_cluster()

    def test_kubectl_describe_node(self):
        """kubectl: kubectl describe node shows the node's GPUs, and the sums of the shares on it"""
        self._start_mirrored()
        self.place(minimal({"gpu-fraction": "0.25"}, name="quarter"))
        self.place(minimal({"gpu-memory": "4Gi"}, name="memory"))
        shown = self.kubectl.must("describe", "node", "n1")
        capacity, _, allocated = shown.partition("Allocated resources:")
        self.assertEqual(re.findall(r"^  snug.dev/gpu-milli: +(\S+)$", capacity, re.M), ["2k"] * 2)
        self.assertEqual(re.findall(r"^  snug.dev/gpu-memory-mib: +(\S+)$", capacity, re.M),
                         [str(2 * A100_MIB)] * 2)
        self.assertEqual(re.findall(r"^  snug.dev/(\S+) +(\S+) +(\S+)$", allocated, re.M),
                         [("gpu-memory-mib", "14336", "14336"), ("gpu-milli", "350", "350")])

    def test_kubectl_edit_of_a_deployment(self):
        """kubectl: kubectl edit of a Deployment's share gives its pods the new one"""
        self._start()
        self.start_controllers()
        self._apply(workload("Deployment", "web", template("web", {"gpu-fraction": "0.25"})))
        wait_until("a quarter", lambda: self._shares() == [250])
        self.kubectl.must("edit", "deployment", "web", editor="sed -i /gpu-fraction:/s/0.25/0.5/")
        wait_until("a half", lambda: 500 in self._shares())
        self.check_cluster()

    def test_kubectl_apply_again(self):
        """kubectl: the same manifest can be applied again, by both kinds of apply, before and after the bind"""
        self._start()
        bare = minimal({"gpu-fraction": "0.25"})
        own = minimal({"gpu-fraction": "0.25"})
        own["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
        own["spec"]["containers"][0].update(
            env=[{"name": "MINE", "value": "1"}], resources={"limits": {"cpu": "1"}})
        for name, value, *options in (("bare", bare), ("bare-server", bare, "--server-side"),
                                      ("own", own), ("own-server", own, "--server-side")):
            value["metadata"]["name"] = name
            self._apply(value, *options)
            self._apply(value, *options)
            bound = self.wait_bound(name)
            check_variables(self, bound)
            value["metadata"]["labels"] = {"new": "1"}
            self._apply(value, *options)
            again = self.pod(name)
            self.assertEqual(again["metadata"]["labels"], {"new": "1"})
            self.assertEqual(again["spec"], bound["spec"])
        self.check_cluster()

    def test_kubectl_a_quota(self):
        """kubectl: with examples/quota.yaml two quarters are let in, kubectl tells why the third is refused,
        and the events of a Deployment tell it, too"""
        self._start_mirrored()
        self._quota(*manifests.read("examples/quota.yaml"))
        for name in ("one", "two"):
            self._apply(minimal({"gpu-fraction": "0.25"}, name=name, namespace=TEAM))
            self.wait_bound(name, namespace=TEAM)
        full = (f"exceeded quota: gpus, requested: requests.{MEMORY}=10240,requests.{MILLI}=250, "
                f"used: requests.{MEMORY}=20480,requests.{MILLI}=500, "
                f"limited: requests.{MEMORY}=20480,requests.{MILLI}=500")
        text = self._refused({"gpu-fraction": "0.25"})
        self.assertIn("Error from server (Forbidden): error when creating", text)
        self.assertIn(f'pods "more" is forbidden: {full}', text)
        web = workload("Deployment", "web", template("web", {"gpu-fraction": "0.25"}))
        self._apply(web, "--namespace", TEAM)
        wait_until("the event of the ReplicaSet", lambda: full in self.kubectl.must(
            "get", "events", "--namespace", TEAM, "--field-selector", "reason=FailedCreate"))
        self.delete_pod("one", TEAM)
        wait_until("the Deployment has the room", lambda: any(
            pod["metadata"]["name"].startswith("web-") and is_bound(pod)
            for pod in self.pods(TEAM)), 60)
        self.check_cluster()

    def test_kubectl_a_quota_of_memory(self):
        """kubectl: a quota of GPU memory counts containers that ask by memory and by fraction"""
        self._start_mirrored()
        [quota] = manifests.read("examples/quota.yaml")
        del quota["spec"]["hard"][f"requests.{MILLI}"]
        self._quota(quota)
        self._apply(minimal({"gpu-memory.a": "8Gi", "gpu-fraction.b": "0.25"}, ("a", "b"),
                            name="one", namespace=TEAM))
        self.wait_bound("one", namespace=TEAM)
        self.assertIn(f"exceeded quota: gpus, requested: requests.{MEMORY}=2049, used: "
                      f"requests.{MEMORY}=18432, limited: requests.{MEMORY}=20480",
                      self._refused({"gpu-memory": "2049"}))
        self._apply(minimal({"gpu-memory": "2048"}, name="two", namespace=TEAM))
        self.wait_bound("two", namespace=TEAM)
        self.check_cluster()

    def _start_mirrored(self):
        self._start(MIRRORED)
        self.start_controllers("deployment", "replicaset", "resourcequota")
        wait_mirrored(self.admin)

    def _quota(self, quota):
        """In force when this returns."""
        path = manifests.path_of(quota)
        self.kubectl.must("apply", "-f", "-", manifest=quota)
        self.addCleanup(self.admin.delete, path)
        wait_until("the quota's status",
                   lambda: self.admin.get(path).get("status", {}).get("used"))

    def _refused(self, annotations):
        """What kubectl says of a pod that is not created."""
        code, text = self.kubectl.call("apply", "-f", "-", manifest=minimal(
            annotations, name="more", namespace=TEAM))
        self.assertNotEqual(code, 0, text)
        return text

    def _start(self, flags=None):
        self.start_completing(flags)
        self.post_nodes(gpu_node("n1", 2))

    def _apply(self, value, *options):
        return self.kubectl.must("apply", *options, "-f", "-", manifest=value)

    def _shares(self):
        return [device["computeMilli"] for row in self.extender.pods()
                for each in row.get("reservation", {}).get("containers", [])
                for device in each["devices"]]


class KubectlTest(Kubectl, Scenario):
    def start_completing(self, flags):
        enforce(self)
        self.start(flags=flags)

    def test_kubectl_snug_top(self):
        """kubectl: the sums of kubectl snug top are those of the pods' annotations, also after a kill"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, labels={"zone": "a"}), gpu_node("n2", 2))
        for number, fraction in enumerate(("0.25", "0.5", "0.4", "1", "0.3")):
            self.place(pod(f"p{number}", {"gpu-fraction": fraction}, namespace=TEAM if number % 2 else "default"))
        self._check_top()
        self.delete_pod("p3", TEAM)
        self.extender.kill()
        self.extender.start()
        self._check_top()
        for selector, names in (("zone=a", ["node/n1"]), ("zone notin (a)", ["node/n2"]), ("zone=b", [])):
            code, text = self._snug("top", "-l", selector, "-o", "name")
            self.assertEqual((code, text.split()), (0, names), text)
        code, text = self.kubectl.snug("top")
        self.assertEqual(code, 1)
        self.assertIn("namespace snug has no running pod with the label app.kubernetes.io/name=snug", text)

    def test_kubectl_completes_its_plugin(self):
        """kubectl: kubectl completes the command line of its plug-in"""
        self.assertIn(":4", self.kubectl.completions("snug", "to"))
        for words, line in ((("to",), "top\t"), (("top", "--sort-b"), "--sort-by\t"), (("top", "-o", "ya"), "yaml")):
            lines = self.kubectl.completions("snug", *words)
            self.assertTrue(any(each.startswith(line) for each in lines), lines)

    def _snug(self, *words):
        """No kubelet runs here, so there is no port-forward; tests/node has one."""
        return self.kubectl.snug(*words, "--server", f"http://127.0.0.1:{self.extender.admin_port}")

    def _check_top(self):
        def held(pods):
            reservations = [json.loads(pod["metadata"]["annotations"]["snug.dev/reservation"]) for pod in pods]
            devices = [device for each in reservations for container in each["containers"] for device in container["devices"]]
            return [sum(device[key] for device in devices) for key in ("memoryMiB", "computeMilli")]

        pods = {namespace: self.pods(namespace) for namespace in ("default", TEAM)}
        code, text = self._snug("top", "cluster", "-o", "json")
        self.assertEqual(code, 0, text)
        cluster = json.loads(text)
        self.assertEqual([cluster["usedMemoryMiB"], cluster["usedComputeMilli"]],
                         held([pod for each in pods.values() for pod in each]))
        self.assertEqual({row["namespace"]: [row["memoryMiB"], row["computeMilli"]] for row in cluster["namespaces"]},
                         {namespace: held(each) for namespace, each in pods.items()})
        code, text = self._snug("top", "gpus", "-o", "json")
        gpus = json.loads(text)["gpus"]
        self.assertEqual([sum(gpu[key] for gpu in gpus) for key in ("usedMemoryMiB", "usedComputeMilli")],
                         [cluster["usedMemoryMiB"], cluster["usedComputeMilli"]])

    def test_kubectl_the_demo(self):
        """kubectl: the demo's last part shows a node as the page does"""
        need_policies(self)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            show_node.run(self.plane.programs)
        block = shown.getvalue().partition("\n\n")[2]
        self.assertIn("gpu-milli       982       982", block)
        self.assertIn(f"```\n{block}```\n", (manifests.ROOT / "docs/how-to/mirror-shares.md").read_text())


class KubectlWithTheWebhookTest(Kubectl, Scenario):
    def start_completing(self, flags):
        start_with_webhook(self, flags)

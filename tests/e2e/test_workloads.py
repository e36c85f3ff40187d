"""Scenario workload: pods that Kubernetes' own controllers make from a template with annotations alone."""

from harness.admission import check_variables, enforce
from harness.objects import bare_node, gpu_node
from harness.processes import wait_until
from harness.scenario import Scenario
from harness.truth import is_bound
from harness.webhook import start_with_webhook
from harness.workloads import job, report, template, workload

GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
NO_GPU = "NoGpu"


class Workloads:
    """The scenarios. Who uses them starts Snug with what completes pods."""

    def setUp(self):
        super().setUp()
        self.start_completing()
        self.start_controllers()

    def test_workload_a_deployment_and_its_rollout(self):
        """workload: a Deployment with shares for two of three containers, which then get other shares"""
        self.post_nodes(gpu_node("n1", 4))
        shares = {"gpu-fraction.a": "0.25", "gpu-fraction.b": "0.125"}
        self._apply(workload("Deployment", "web", template("web", shares, ("a", "b", "c")),
                             replicas=3))
        old = self._bound("web", 3)
        self.assertEqual(self._milli("web"), [(250, 125)] * 3)
        shares["gpu-fraction.a"] = "0.5"
        self._apply(workload("Deployment", "web", template("web", shares, ("a", "b", "c")),
                             replicas=3))
        wait_until("the rollout is over", self._rolled_out, 60)
        self._bound("web", 3)
        self.assertEqual(self._milli("web"), [(500, 125)] * 3)
        self.assertFalse(old & self._uids("web"))
        self.check_cluster()

    def test_workload_a_job_on_one_gpu(self):
        """workload: of three halves of a Job two share a GPU, and the third follows when one has ended"""
        self.post_nodes(gpu_node("n1", 1))
        self._apply(job("train", template("train", {"gpu-fraction": "0.5"}), completions=3,
                        parallelism=3))
        self.wait_settled(2, 1)
        for _ in range(3):
            first = next(pod for pod in self._pods("train") if is_bound(pod))
            check_variables(self, first)
            report(self.admin, first, "Succeeded")
            wait_until("no half waits", lambda: all(
                pod["spec"].get("nodeName") for pod in self._pods("train")))
        wait_until("the Job is complete", lambda: "Complete" in self.kubectl.must(
            "get", "job", "train", "-o", "jsonpath={.status.conditions[*].type}"))
        self.check_cluster()

    def test_workload_a_stateful_set(self):
        """workload: the pods of a StatefulSet follow each other, and one that is deleted is placed again"""
        self.post_nodes(gpu_node("n1", 2))
        self._apply(workload("StatefulSet", "db", template("db", {"gpu-memory": "20Gi"}),
                             replicas=2, serviceName="db"))
        self._bound("db", 1)
        old = self._bound("db", 2)
        self.delete_pod("db-0")
        wait_until("another db-0", lambda: len(self._uids("db") - old) == 1
                   and len(self._pods("db")) == 2)
        self.assertEqual(len(old & self._bound("db", 2)), 1)
        self.check_cluster()

    def test_workload_a_daemon_set(self):
        """workload: a DaemonSet has a bound pod on each node with GPUs; elsewhere its pod waits, and with a
        nodeSelector there is none"""
        self.post_nodes(*[gpu_node(name, 1, labels={"gpus": "yes"}) for name in ("n1", "n2")],
                        bare_node("cpu"))
        daemon = workload("DaemonSet", "agent", template("agent", {"gpu-fraction": "0.1"}))
        daemon["spec"]["updateStrategy"] = {"type": "OnDelete"}  # its pods on n1 and n2 stay
        self._apply(daemon)
        self.wait_settled(2, 1, NO_GPU)
        self.assertEqual({pod["spec"].get("nodeName") for pod in self._pods("agent")},
                         {"n1", "n2", None})
        daemon["spec"]["template"]["spec"]["nodeSelector"] = {"gpus": "yes"}
        self._apply(daemon)
        wait_until("the pod that waits is gone", lambda: len(self._pods("agent")) == 2)
        self._bound("agent", 2)
        self.check_cluster()

    def test_workload_a_daemon_set_and_taints(self):
        """workload: a DaemonSet makes no pod for a tainted node unless its template has the toleration: its
        controller looks at the template, before admission adds tolerations to a pod"""
        tainted = gpu_node("tainted", 1)
        tainted["spec"] = {"taints": [GPU_TAINT]}
        self.post_nodes(tainted, gpu_node("open", 1))
        daemon = workload("DaemonSet", "agent", template("agent", {"gpu-fraction": "0.1"}))
        daemon["spec"]["updateStrategy"] = {"type": "OnDelete"}  # its first pod stays as it is
        self._apply(daemon)
        self._bound("agent", 1)
        self.assertEqual(self.kubectl.must("get", "daemonset", "agent", "-o",
                                           "jsonpath={.status.desiredNumberScheduled}"), "1")
        daemon["spec"]["template"]["spec"]["tolerations"] = [
            {"key": GPU_TAINT["key"], "operator": "Exists"}]
        self._apply(daemon)
        self._bound("agent", 2)
        self.check_cluster()

    def _apply(self, value):
        self.kubectl.must("apply", "-f", "-", manifest=value)

    def _pods(self, name):
        return [pod for pod in self.pods() if pod["metadata"]["labels"].get("app") == name]

    def _uids(self, name):
        return {pod["metadata"]["uid"] for pod in self._pods(name)}

    def _bound(self, name, count):
        """Waits until there are so many pods and all are bound; returns their uids."""
        def bound():
            pods = self._pods(name)
            return len(pods) == count and all(map(is_bound, pods)) and pods
        pods = wait_until(f"{count} bound pods of {name}", bound)
        for pod in pods:
            check_variables(self, pod)
            report(self.admin, pod, "Running")
        return self._uids(name)

    def _rolled_out(self):
        """Every bound pod is ready, and no pod of the old template is left."""
        for pod in filter(is_bound, self._pods("web")):
            if pod["status"]["phase"] == "Pending":
                report(self.admin, pod, "Running")
        code, _ = self.kubectl.call("rollout", "status", "deployment/web", "--watch=false")
        status = self.kubectl.must("get", "deployment", "web", "-o",
                                   "jsonpath={.status.updatedReplicas} {.status.replicas}")
        return code == 0 and status == "3 3"

    def _milli(self, name):
        """Of each pod, of the containers with devices."""
        return [tuple(device["computeMilli"] for each in self.given(pod["metadata"]["name"]).values()
                      for device in each) for pod in self._pods(name)]


class WorkloadsTest(Workloads, Scenario):
    def start_completing(self):
        enforce(self)
        self.start()


class WorkloadsWithTheWebhookTest(Workloads, Scenario):
    def start_completing(self):
        start_with_webhook(self)

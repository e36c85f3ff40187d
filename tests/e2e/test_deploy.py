"""Scenario m: the manifests of deploy/ work as documented, on the real API server."""

import pathlib
import re
import tempfile

from harness import manifests, slices
from harness.api import ApiError
from harness.asks import all_containers, annotations
from harness.controlplane import EXTENDER_USER
from harness.objects import gpu_node, pod, share
from harness.pki import follow_page
from harness.processes import wait_until
from harness.scenario import PODS, Scenario

MAY = [("", "nodes", "", "list"), ("", "nodes", "", "watch"), ("", "pods", "", "get"),
       ("", "pods", "", "list"), ("", "pods", "", "watch"), ("", "pods", "binding", "create"),
       ("events.k8s.io", "events", "", "create")]
MAY_NOT = [("", "nodes", "", "patch"), ("", "pods", "", "patch"), ("", "pods", "", "delete"),
           ("events.k8s.io", "events", "", "patch"), ("events.k8s.io", "events", "", "get"),
           ("", "pods", "", "create"), ("", "pods", "status", "patch"), ("", "secrets", "", "get"),
           ("", "configmaps", "", "get"), ("coordination.k8s.io", "leases", "", "get")]
CERTIFICATES = re.compile(r"^   ```\n(   mkdir -m 700 snug-pki .*?)^   ```$", re.M | re.S)
FIELD = re.compile(r"metadata\.annotations\['(.+)'\]")


def variables_of(pod_object):
    """Container name -> its environment, as the kubelet resolves it from the pod: a variable made
    of an annotation that is not there is empty."""
    written = annotations(pod_object)

    def value_of(variable):
        if "value" in variable:
            return variable["value"]
        return written.get(FIELD.fullmatch(variable["valueFrom"]["fieldRef"]["fieldPath"])[1], "")
    return {container["name"]: {each["name"]: value_of(each) for each in container["env"]}
            for container in all_containers(pod_object)}


def shown(device):
    """How NVIDIA's runtime is told of it; a node known by its labels states no uuids."""
    return device.get("uuid") or str(device["index"])


class DeployTest(Scenario):
    def test_m_every_manifest_is_accepted(self):
        """m: the API server accepts every manifest, and the pod under Pod Security restricted"""
        files = set()
        self._make_runtime_class()
        for name, value in manifests.objects():
            with self.subTest(file=name, kind=value["kind"], name=value["metadata"]["name"]):
                answer = manifests.apply_object(self.admin, value, dry_run=True)
                self.assertEqual(answer["kind"], value["kind"])
                files.add(name)
        self.assertLessEqual({"rbac.yaml", "rbac-node-touch.yaml", "admission-policy.yaml",
                              "admission-dedicated.yaml", "dedicated.yaml", "shared-extender.yaml",
                              "kustomization.yaml", "demo/pods.yaml",
                              "examples/time-slicing.yaml", "examples/mps.yaml",
                              "examples/two-containers.yaml", "examples/mig.yaml",
                              "examples/nodes.yaml"}, files)
        answer = self._try_pod("dedicated.yaml", "Deployment")
        self.assertEqual(answer["spec"]["serviceAccountName"], "snug-extender")

    def test_m_the_shared_shape_needs_its_pod_security(self):
        """m: the shared shape's pod is accepted in the namespace as its own file makes it, alone"""
        with self.assertRaises(ApiError) as refused:
            self._try_pod("shared-extender.yaml", "DaemonSet")
        self.assertIn("host namespaces", refused.exception.message)
        self.addCleanup(wait_until, "the namespace is as before", self._is_restricted)
        self.addCleanup(manifests.apply, self.admin, "rbac.yaml")
        [namespace] = [value for value in manifests.read("shared-extender.yaml")
                       if value["kind"] == "Namespace"]
        manifests.apply_object(self.admin, namespace)
        wait_until("the namespace lets it in", lambda: not self._is_restricted())
        spec = self._try_pod("shared-extender.yaml", "DaemonSet")["spec"]
        self.assertEqual((spec["serviceAccountName"], spec["nodeName"], spec["hostNetwork"]),
                         ("snug-extender", "control-plane-1", True))

    def test_m_a_share_in_turns(self):
        """m: examples/time-slicing.yaml is placed, and its variable names the very GPU"""
        made = self._place_example("time-slicing.yaml")
        device = self.device("share")
        self.assertEqual((device["mode"], device["computeMilli"]), ("time-slicing", 250))
        self.assertEqual(made, {"main": {"NVIDIA_VISIBLE_DEVICES": shown(device)}})
        self.check_cluster()

    def test_m_a_share_under_mps(self):
        """m: examples/mps.yaml is placed where MPS is allowed, with its limits in variables"""
        made = self._place_example("mps.yaml")
        device = self.device("mps-share")
        self.assertEqual((device["node"], device["mode"]), ("with-mps", "mps"))
        self.assertEqual(made, {"main": {
            "NVIDIA_VISIBLE_DEVICES": device["uuid"],
            "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=3815M",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "30",
            "CUDA_MPS_PIPE_DIRECTORY": "/mps/pipe"}})
        self.check_cluster()

    def test_m_containers_with_shares_of_their_own(self):
        """m: examples/two-containers.yaml is placed, and each container reads its own annotations"""
        made = self._place_example("two-containers.yaml")
        given = {name: device for name, [device] in self.given("two-containers").items()}
        self.assertEqual(set(given), {"serve", "rerank", "warm-up"})
        self.assertEqual(given["warm-up"]["index"], given["serve"]["index"])
        for name, variables in made.items():
            self.assertEqual(variables["NVIDIA_VISIBLE_DEVICES"], shown(given[name]))
            if name == "warm-up":
                continue
            self.assertEqual(variables["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"],
                             f"0={given[name]['memoryMiB']}M")
            self.assertEqual(variables["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"],
                             str(given[name]["computeMilli"] // 10))
        self.check_cluster()

    def test_m_a_slice(self):
        """m: examples/mig.yaml is placed on the card in MIG mode, and its variable names the slice"""
        node = slices.sliced_node("slices", [[("3g.20gb", 0), ("2g.10gb", 4)]])
        made = self._place_example("mig.yaml", node)
        device = self.device("slice")
        self.assertEqual((device["node"], device["mig"]["profile"]), ("slices", "2g.10gb"))
        self.assertEqual(made, {"main": {
            "NVIDIA_VISIBLE_DEVICES": slices.slice_uuid("slices", 0, "2g.10gb", 4)}})
        self.check_cluster()

    def test_m_the_shared_shape_over_tls(self):
        """m: the cluster's own scheduler asks Snug over TLS, with a client certificate"""
        made = self._certificates_of_the_page()
        self.start(flags={"tls-cert": made / "server.crt", "tls-key": made / "server.key",
                          "client-ca": made / "ca.crt"},
                   shared_tls={"caFile": str(made / "ca.crt"), "certFile": str(made / "client.crt"),
                               "keyFile": str(made / "client.key")})
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("part", "0.5", scheduler="default-scheduler"))
        self.place(pod("plain", scheduler="default-scheduler"))
        self.post_pods(share("waits", "0.75", scheduler="default-scheduler"))
        self.wait_refused("waits", "NoRoom")
        self.assertEqual(self.extender_calls()["create pods/binding"], 2)
        self.check_cluster()

    def test_m_least_rights(self):
        """m: rbac.yaml gives the extender what it needs and no more"""
        for allowed, rights in ((True, MAY), (False, MAY_NOT)):
            for right in rights:
                self.assertEqual(self._allowed("default", *right), allowed, right)
        self.assertTrue(self._allowed("snug", "", "pods", "", "patch"))
        self.assertTrue(self._allowed("snug", "coordination.k8s.io", "leases", "", "create"))
        self.assertFalse(self._allowed("snug", "coordination.k8s.io", "leases", "", "update"),
                         "of any name")

    def _certificates_of_the_page(self):
        """The folder that the commands of deploy/README.md make."""
        [commands] = CERTIFICATES.findall((manifests.DEPLOY / "README.md").read_text())
        folder = tempfile.TemporaryDirectory(prefix="snug-pki-")
        self.addCleanup(folder.cleanup)
        follow_page(commands, folder.name)
        return pathlib.Path(folder.name) / "snug-pki"

    def _try_pod(self, name, kind):
        """A pod as that file's Deployment or DaemonSet makes it, made by dry run."""
        [owner] = [value for value in manifests.read(name) if value["kind"] == kind]
        template = owner["spec"]["template"]
        return self.admin.create(
            "/api/v1/namespaces/snug/pods?dryRun=All&fieldValidation=Strict",
            {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
             "metadata": {**template["metadata"], "name": "snug-tried"}})

    def _is_restricted(self):
        try:
            self._try_pod("shared-extender.yaml", "DaemonSet")
        except ApiError as error:
            self.assertEqual(error.status, 403, str(error))
            return True
        return False

    def _place_example(self, name, *more_nodes):
        """Container name -> the variables that the kubelet would give it, of that file's pod."""
        self._make_runtime_class()
        self.start()
        [nodes] = manifests.read("examples/nodes.yaml")
        self.post_nodes(*nodes["items"], *more_nodes)
        [example] = manifests.read(f"examples/{name}")
        metadata = {"namespace": "default", **example["metadata"]}
        return variables_of(self.place({**example, "metadata": metadata}))

    def _make_runtime_class(self):
        """As NVIDIA's operator does; a pod that names a class that is not there is refused."""
        manifests.apply_object(self.admin, {
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
            "metadata": {"name": "nvidia"}, "handler": "nvidia"})

    def _allowed(self, namespace, group, resource, subresource, verb):
        answer = self.admin.create(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": EXTENDER_USER, "resourceAttributes": {
                 "namespace": namespace, "group": group, "resource": resource,
                 "subresource": subresource, "verb": verb}}})
        return answer["status"]["allowed"]

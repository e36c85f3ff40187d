"""Scenario m: the manifests of deploy/ work as documented, on the real API server."""

import pathlib
import re
import tempfile

from harness import manifests, slices
from harness.admission import POLICIES, need_policies, variables_of
from harness.api import Api, ApiError
from harness.controlplane import EXTENDER_USER
from harness.mirror import MEMORY, MILLI
from harness.objects import A100_MIB, gpu_node, kubelet_pod, many_annotations, on_node, pod, share
from harness.pki import follow_page
from harness.processes import free_port, wait_until
from harness.scenario import NODES, OWN_PODS, PODS, Scenario, pods_of, refusal

MAY = [("", "nodes", "", "list"), ("", "nodes", "", "watch"), ("", "pods", "", "get"),
       ("", "pods", "", "list"), ("", "pods", "", "watch"), ("", "pods", "binding", "create"),
       ("", "nodes", "status", "patch"), ("events.k8s.io", "events", "", "create")]
MAY_NOT = [("", "nodes", "", "patch"), ("", "nodes", "status", "update"), ("", "pods", "", "patch"), ("", "pods", "", "delete"),
           ("events.k8s.io", "events", "", "patch"), ("events.k8s.io", "events", "", "get"),
           ("", "pods", "", "create"), ("", "pods", "status", "patch"), ("", "secrets", "", "get"),
           ("", "configmaps", "", "get"), ("coordination.k8s.io", "leases", "", "get")]
DEFAULT = "default-scheduler"
DRY = f"{PODS}?dryRun=All"
CERTIFICATES = re.compile(r"^   ```\n(   mkdir -m 700 snug-pki .*?)^   ```$", re.M | re.S)


def amounts(fraction):
    """The limits of such a share on the only size of card."""
    milli = round(1000 * float(fraction))
    return {MILLI: str(milli), MEMORY: str(milli * A100_MIB // 1000)}


def mirrored(name, fraction, **options):
    """As admission completes it in the shared shape."""
    return share(name, fraction, limits=amounts(fraction), scheduler=DEFAULT, **options)


def shown(device):
    """How NVIDIA's runtime is told of it; a node known by its labels states no uuids."""
    return device.get("uuid") or str(device["index"])


class DeployTest(Scenario):
    def test_m_every_manifest_is_accepted(self):
        """m: the API server accepts every manifest, and the pods under the Pod Security of their namespaces"""
        self._make_runtime_class()
        self.addCleanup(manifests.remove, self.admin, "agent-rbac.yaml")
        manifests.apply(self.admin, "agent-rbac.yaml")
        files = self._accepted(lambda name: name != POLICIES)
        self.assertLessEqual({"rbac.yaml", "rbac-node-touch.yaml", "wake-1.31.yaml",
                              "admission-policy.yaml", "mirror-parameters.yaml", "admission-webhook.yaml",
                              "admission-pods.yaml", "admission-devices.yaml", "node-capacity.yaml",
                              "admission-dedicated.yaml", "admission-shared.yaml",
                              "agent-rbac.yaml", "agent-policy.yaml", "agent.yaml", "mps.yaml", "agent-gate.yaml",
                              "dedicated.yaml", "shared-extender.yaml",
                              "kustomization.yaml", "demo/pods.yaml",
                              "examples/time-slicing.yaml", "examples/mps.yaml",
                              "examples/two-containers.yaml", "examples/mig.yaml",
                              "examples/nodes.yaml", "examples/quota.yaml"}, files)
        answer = self._try_pod("dedicated.yaml", "Deployment")
        self.assertEqual(answer["spec"]["serviceAccountName"], "snug-scheduler")
        answer = self._try_pod("agent.yaml", "DaemonSet")
        self.assertEqual((answer["metadata"]["namespace"], answer["spec"]["serviceAccountName"]), ("snug-node", "snug-agent"))

    def test_m_the_policies_that_change_pods_are_accepted(self):
        """m: the API server accepts admission-gpu-pods.yaml"""
        need_policies(self)
        self.assertEqual(self._accepted(lambda name: name == POLICIES), {POLICIES})

    def _accepted(self, wanted):
        """The files of deploy/ whose names are wanted, after a dry run of all that is in them."""
        files = set()
        for name, value in manifests.objects():
            if wanted(name):
                with self.subTest(file=name, kind=value["kind"], name=value["metadata"]["name"]):
                    answer = manifests.apply_object(self.admin, value, dry_run=True)
                    self.assertEqual(answer["kind"], value["kind"])
                    files.add(name)
        return files

    def test_m_the_scheduler_answers_its_probes(self):
        """m: the probes of the scheduler in dedicated.yaml are answered, also without a certificate"""
        [deployment] = [value for value in manifests.read("dedicated.yaml")
                        if value["kind"] == "Deployment"]
        [scheduler] = [each for each in deployment["spec"]["template"]["spec"]["containers"]
                       if each["name"] == "scheduler"]
        port = free_port()
        process = self.start_scheduler(port=port)
        probes = Api(port, self.plane.pki.ca)

        def answers():
            process.must_run()
            try:
                return probes.send("GET", "/metrics")
            except OSError:
                return None
        wait_until("the scheduler answers", answers)
        for kind in ("startupProbe", "livenessProbe"):
            path = scheduler[kind]["httpGet"]["path"]
            self.assertEqual(probes.send("GET", path), (200, b"ok"), kind)

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
            "CUDA_MPS_PIPE_DIRECTORY": "/mps/nvidia.com/gpu/pipe"}})
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
        """m: the cluster's own scheduler asks Snug over TLS, with a client certificate, about GPU pods"""
        self._start_shared(gpu_node("n1", 1), gpu_node("n2", 1, kubelet=True))
        self.place(mirrored("part", "0.5"))
        self.place(kubelet_pod("units", scheduler=DEFAULT))
        self.assertEqual(self.extender_calls()["create pods/binding"], 2)
        self.place(pod("plain", scheduler=DEFAULT))
        self.assertEqual(self.extender_calls()["create pods/binding"], 2)
        self.post_pods(mirrored("waits", "0.75", **on_node("n1")))
        self.wait_refused("waits", "Insufficient snug.dev/gpu-milli")
        self.post_pods(pod("exclusive", {"gpu-fraction": "0.5", "gpu-isolation": "mps"},
                           limits=amounts("0.5"), scheduler=DEFAULT))
        self.wait_refused("exclusive", "WrongMode")
        self.check_cluster()

    def test_m_the_shared_shape_while_snug_is_away(self):
        """m: without Snug the cluster's own scheduler binds pods without GPUs, and no other"""
        self._start_shared(gpu_node("n1", 1), gpu_node("n2", 1, kubelet=True))
        self.place(mirrored("part", "0.5"))
        self.extender.kill()
        self.post_pods(mirrored("share", "0.25"), kubelet_pod("units", scheduler=DEFAULT))
        for name in ("share", "units"):
            wait_until(f"{name} has been tried in vain",
                       lambda name=name: refusal(self.pod(name))[0] == "SchedulerError")
        self.place(pod("plain", scheduler=DEFAULT))
        self.extender.start()
        for name in ("share", "units"):
            self.wait_bound(name)
        self.check_cluster()

    def test_m_the_shared_shape_refuses_pods_that_snug_would_not_see(self):
        """m: admission-shared.yaml refuses every GPU pod about which the scheduler would not ask Snug"""
        self.admin.create(DRY, share("probe", "0.5", scheduler=DEFAULT))
        self.addCleanup(wait_until, "the policy has gone",
                        lambda: not self._is_unmanaged(share("probe", "0.5", scheduler=DEFAULT)))
        self.addCleanup(manifests.remove, self.admin, "admission-shared.yaml")
        manifests.apply(self.admin, "admission-shared.yaml")
        wait_until("the policy is enforced",
                   lambda: self._is_unmanaged(share("probe", "0.5", scheduler=DEFAULT)))
        slice_limits = {"nvidia.com/mig-1g.5gb": "1"}
        for value in (*(pod("made", {key: "1"}) for key in ("gpu-memory", "gpu-count",
                                                             "gpu-mig-profile.main", "gpu-policy")),
                      pod("made", {"gpu-fraction": "0.5"}, limits={"cpu": "1"}, init=("first",)),
                      pod("made", limits=slice_limits),
                      pod("made", {"gpu-policy": "x"}, limits=slice_limits)):
            self.assertTrue(self._is_unmanaged(value), value)
        for value in (pod("made"), pod("made", {"gpu-fractions": "1", "note": "gpu-fraction"}),
                      mirrored("made", "0.5"), kubelet_pod("made"),
                      pod("made", {"gpu-policy": "x"}, limits={"nvidia.com/gpu.shared": "1"}),
                      pod("made", limits={"example.org/mig-1g.5gb": "1"}),
                      pod("made", many_annotations(50_000))):
            self.assertFalse(self._is_unmanaged(value), value)

    def _start_shared(self, *nodes):
        made = self._certificates_of_the_page()
        self.start(flags={"tls-cert": made / "server.crt", "tls-key": made / "server.key",
                          "client-ca": made / "ca.crt", "smallest-gpu-mib": A100_MIB,
                          "largest-gpu-mib": A100_MIB},
                   shared_tls={"caFile": str(made / "ca.crt"), "certFile": str(made / "client.crt"),
                               "keyFile": str(made / "client.key")})
        self.post_nodes(*nodes)

    def _is_unmanaged(self, value):
        return self.refused("POST", DRY, value, "the scheduler would not ask Snug")

    def test_m_least_rights(self):
        """m: rbac.yaml gives the extender what it needs and no more"""
        for allowed, rights in ((True, MAY), (False, MAY_NOT)):
            for right in rights:
                self.assertEqual(self._allowed("default", *right), allowed, right)
        self.assertTrue(self._allowed("snug", "", "pods", "status", "patch"))
        self.assertFalse(self._allowed("snug", "", "pods", "", "patch"))
        self.assertTrue(self._allowed("", "snug.dev", "mirrorparameters", "", "create"))
        self.assertFalse(self._allowed("", "snug.dev", "mirrorparameters", "", "patch"),
                         "of any name")
        self.assertTrue(self._allowed("snug", "coordination.k8s.io", "leases", "", "create"))
        self.assertFalse(self._allowed("snug", "coordination.k8s.io", "leases", "", "update"),
                         "of any name")

    def test_m_what_snug_may_write(self):
        """m: with its rights to a pod's and a node's status Snug changes its annotation and the mirrored capacity alone"""
        self.session.make_own_pod("snug-0")
        self.post_nodes(gpu_node("n1", 1))
        snug = self.plane.client("as-snug", EXTENDER_USER, [])
        pod_status, node_status = f"{OWN_PODS}/snug-0/status", f"{NODES}/n1/status"
        image = self.admin.get(f"{OWN_PODS}/snug-0")["spec"]["containers"][0]["image"]
        done = snug.patch(pod_status, {"metadata": {"annotations": {"snug.dev/room": "1"}},
                                       "spec": {"containers": [{"name": "main", "image": "forged"}]}})
        self.assertEqual(done["metadata"]["annotations"]["snug.dev/room"], "1")
        self.assertEqual(done["spec"]["containers"][0]["image"], image)
        snug.patch(node_status, {"status": {"capacity": {MILLI: "1000"}}})
        snug.patch(node_status, {"status": {"capacity": {MILLI: None}}})
        not_ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        for path, value, words in (
                (pod_status, {"metadata": {"annotations": {"a": "b"}}}, "no annotation but snug.dev/room"),
                (pod_status, {"metadata": {"annotations": {"snug.dev/room": None}}}, "no annotation but snug.dev/room"),
                (pod_status, {"metadata": {"labels": {"a": "b"}}}, "no annotation but snug.dev/room"),
                (pod_status, {"status": {"phase": "Failed"}}, "no status of a pod"),
                (pod_status, not_ready, "no status of a pod"),
                (node_status, {"metadata": {"labels": {"snug.dev/enforced": "true"}}}, "no annotation but snug.dev/room"),
                (node_status, {"metadata": {"annotations": {"snug.dev/inventory": "{}"}}}, "no annotation but snug.dev/room"),
                (node_status, not_ready, "the capacity of resources under snug.dev/"),
                (node_status, {"status": {"capacity": {"cpu": "0"}}}, "the capacity of resources under snug.dev/"),
                (node_status, {"status": {"allocatable": {"cpu": None}}}, "the capacity of resources under snug.dev/"),
                (node_status, {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}},
                 "the capacity of resources under snug.dev/")):
            with self.subTest(path=path, value=value):
                with self.assertRaises(ApiError) as raised:
                    snug.patch(path, value)
                self.assertIn(words, raised.exception.message)
        with self.assertRaises(ApiError) as raised:
            snug.patch(f"{OWN_PODS}/snug-0", {"spec": {"containers": [{"name": "main", "image": "forged"}]}})
        self.assertEqual(raised.exception.status, 403)

    def _certificates_of_the_page(self):
        """The folder that the commands of docs/how-to/install-shared.md make."""
        [commands] = CERTIFICATES.findall((manifests.ROOT / "docs/how-to/install-shared.md").read_text())
        folder = tempfile.TemporaryDirectory(prefix="snug-pki-")
        self.addCleanup(folder.cleanup)
        follow_page(commands, folder.name)
        return pathlib.Path(folder.name) / "snug-pki"

    def _try_pod(self, name, kind):
        """A pod as that file's Deployment or DaemonSet makes it, made by dry run."""
        [owner] = [value for value in manifests.read(name) if value["kind"] == kind]
        template = owner["spec"]["template"]
        return self.admin.create(
            f"{pods_of(owner['metadata']['namespace'])}?dryRun=All&fieldValidation=Strict",
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

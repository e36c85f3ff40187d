"""Scenario m: what pods may have beside GPU annotations, and who may write the keys of a node's runtime, by
the admission policies of deploy/ and the real API server."""

import copy
import json

from harness import manifests
from harness.api import APPLY_PATCH, ApiError
from harness.controlplane import EXTENDER_USER
from harness.mirror import MEMORY, MILLI
from harness.objects import gpu_node, many_annotations, pod, share
from harness.processes import wait_until
from harness.scenario import NODES, OWN_PODS, PODS, TENANTS, Scenario, pods_of
from test_admission import DEFAULT, DRY, KEYS, NO_REQUESTS, SUFFIXES, annotate, on

FILES = ("admission-policy.yaml", "admission-pods.yaml", "admission-devices.yaml")
NVIDIA, CUDA = "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
ASKS = {"gpu-fraction": "0.5"}
MIRRORED = {MILLI: "500", MEMORY: "8000"}
REQUIRED = "required-plugins.noderesource.dev"
TOLERATE = "tolerate-missing-plugins.noderesource.dev"
TOLERATE_AGENT = "snug.dev/tolerate-missing-agent"
RUNTIME_KEYS = tuple(key + suffix for key in (REQUIRED, TOLERATE)
                     for suffix in ("", "/pod", "/container.main"))
CDI_KEYS = ("cdi.k8s.io/x", "cdi.k8s.io/vendor_gpu", "nvidia.cdi.k8s.io/container.main",
            "nvidia.cdi.k8s.io/pod")
NOT_CDI = ("my.cdi.k8s.io/x", "cdi.k8s.iox/a", "CDI.k8s.io/x", "note")
NOT_RUNTIME = ("my." + REQUIRED + "/pod", "noderesource.dev/x", "required-plugins/x")
# The sentences.
NAMES = "do not name devices in a pod with GPU annotations"
HIDES = "hides the GPU from a container that asks for one"
DEBUG = "an ephemeral container of a pod with GPU annotations gets no GPU"
PRIVILEGED = "has no privileged container"
MOUNTS = "mounts neither /dev or /proc"
BY_CDI = "names no devices by annotations"
MIRRORS = "only containers that ask for GPUs by annotation limit resources"
FIXED = "delete the pod and create it again"
LARGE = "at most 100 containers"
OURS = "by Snug alone"
FORGED = "that Snug may have given to other pods"
LIMITLESS = "in a pod that limits no nvidia.com/*"
ALL_PRIVILEGED = {"securityContext": {"privileged": True}}


def literal(name, value):
    return {"name": name, "value": value}


def field(path, name=NVIDIA):
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def ours(suffix="", name=NVIDIA):
    return field(f"metadata.annotations['snug.dev/visible-devices{suffix}']", name)


def from_source(kind, name=NVIDIA):
    return {"name": name, "valueFrom": {kind: {"name": "x", "key": "y"}}}


def made(annotations=None, env=None, where="main", change=None, volume=None, limits=None, **options):
    """A pod of `main`, `other`, the init container `init` and the sidecar `side`; `env` and `change` are those
    of the container `where`."""
    value = pod("made", annotations, containers=("main", "other"), init=("init", "+side"),
                scheduler=DEFAULT, limits=limits, **options)
    spec = value["spec"]
    [container] = [each for each in spec["containers"] + spec["initContainers"] if each["name"] == where]
    if env is not None:
        container["env"] = env
    container.update(change or {})
    if volume is not None:
        spec["volumes"] = [volume]
    return value


def host_path(path):
    return {"name": "v", "hostPath": {"path": path}}


def asking(env=None, **options):
    return made(ASKS, env, **options)


TWICE = asking([literal("A", "b"), ours(), literal(NVIDIA, "all")])  # which server-side apply does not allow
WRONG = (
    *((asking([variable], where=where), NAMES) for where in ("main", "other", "init", "side")
      for variable in (
          literal(NVIDIA, "all"), literal(NVIDIA, "0"), literal(NVIDIA, "GPU-1"), literal(NVIDIA, "VOID"),
          literal(NVIDIA, "$(X)"), literal(NVIDIA, " "), literal(CUDA, "0"), literal(CUDA, "void"),
          from_source("configMapKeyRef"), from_source("secretKeyRef", CUDA),
          field("metadata.name"), field("metadata.annotations['mine']"), field("status.podIP", CUDA),
          field("metadata.annotations['snug.dev/reservation']"), field("metadata.labels['a']"),
          field("metadata.annotations['snug.dev/visible-devices-x']"), ours(".another"),
          {"name": NVIDIA, "valueFrom": {"resourceFieldRef": {
              "containerName": "main", "resource": "limits.cpu"}}})),
    (TWICE, NAMES),
    (asking([ours(".main")], where="other"), NAMES),
    (made({"gpu-memory.side": "1Gi"}, [literal(NVIDIA, "all")], where="init"), NAMES),
    *((asking([variable]), HIDES) for variable in (
        literal(NVIDIA, "void"), literal(NVIDIA, "none"), literal(NVIDIA, ""), {"name": NVIDIA},
        literal(CUDA, ""), literal(CUDA, "-1"))),
    *((made(annotations, [literal(NVIDIA, "void")], where=where), HIDES) for annotations, where in (
        ({"gpu-memory.other": "1Gi"}, "other"), ({"gpu-memory.init": "1Gi"}, "init"),
        ({"gpu-memory.side": "1Gi", "gpu-fraction": "1"}, "side"),
        ({**ASKS, "gpu-container": "other"}, "other"),
        ({**ASKS, "gpu-fraction-container-name": "side"}, "side"),
        ({**ASKS, "kubectl.kubernetes.io/default-container": "other"}, "other"),
        ({**ASKS, "kubectl.kubernetes.io/default-container": "none"}, "main"))),
    *((made({**ASKS, key: ""}), BY_CDI) for key in CDI_KEYS),
    (made({**ASKS, **dict.fromkeys(NOT_CDI, ""), CDI_KEYS[0]: "nvidia.com/gpu=all"}), BY_CDI),
    *((asking(where=where, change=ALL_PRIVILEGED), PRIVILEGED)
      for where in ("main", "other", "init", "side")),
    *((asking(volume=host_path(path)), MOUNTS) for path in (
        "/dev", "/dev/", "/dev/nvidia0", "/dev/shm", "//dev", "/./dev/nvidia0", "/.//./dev", "/", "//", "/.",
        "/./", ".", "./", "dev", "./dev/nvidia0", "/proc", "/proc/1/root/dev", "/dev/\n", "/dev/.")),
    *((made(None, limits=limits), MIRRORS) for limits in (MIRRORED, {MILLI: "1"}, {"snug.dev/x": "1"})),
    *((made(None, where=where, change={"resources": {"limits": {MEMORY: "1"}}}), MIRRORS)
      for where in ("other", "init", "side")),
    (made({"gpu-policy": "tight"}, limits=MIRRORED), MIRRORS),
    (made(ASKS, where="side", change={"resources": {"limits": MIRRORED}}), MIRRORS),
    (made({"gpu-fraction.side": "0.5"}, limits=MIRRORED), MIRRORS),
    (made({"note": "gpu-fraction gpu-memory: 1"}, limits=MIRRORED), MIRRORS),
)
RIGHT = (
    asking(), asking([]), asking([literal("A", NVIDIA), literal("NVIDIA_DRIVER_CAPABILITIES", "all")]),
    asking([ours()]), asking([ours(".main")]), asking([ours(), ours(".main", CUDA)]),
    *(asking([ours(suffix)], where=where) for where in ("other", "init", "side")
      for suffix in ("", f".{where}")),
    *(asking([variable], where=where) for where in ("other", "init", "side") for variable in (
        literal(NVIDIA, "void"), literal(NVIDIA, "none"), literal(NVIDIA, ""), {"name": NVIDIA},
        literal(CUDA, ""), literal(CUDA, "-1"))),
    made({"gpu-memory.other": "1Gi"}, [literal(NVIDIA, "void")]),
    made({**ASKS, "gpu-container": "other"}, [literal(NVIDIA, "void")]),
    asking(limits=MIRRORED),
    asking([ours(".main"), field("metadata.annotations['snug.dev/memory-limit.main']",
                                 "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"),
            field("metadata.annotations['snug.dev/compute-percent.main']",
                  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE")], limits=MIRRORED),
    made({**ASKS, **dict.fromkeys(NOT_CDI, "cdi.k8s.io/x")}),
    asking(change={"securityContext": {"privileged": False}}), asking(change={"securityContext": {}}),
    *(asking(volume=host_path(path)) for path in (
        "/run/nvidia/mps/pipe", "/device", "/devices/x", "/.dev", "/var/dev", "/process", "/...", "/sys", "/d")),
    asking(volume={"name": "dev", "emptyDir": {}}), asking(volume={"name": "v"}),
)
# Of pods without GPU annotations: nothing is refused, and the answer is as without policies.
OTHERS = (
    pod("made", scheduler=DEFAULT), made(), made({"mine": "1"}, [literal("A", "b")]),
    made({"gpu-policy": "tight"}, change=ALL_PRIVILEGED), made(None, volume=host_path("/dev")),
    *(made({key: "1"}, [literal(NVIDIA, "void")], change=ALL_PRIVILEGED) for key in NO_REQUESTS),
    made(dict.fromkeys(NOT_RUNTIME, "1")), made(None, [literal(NVIDIA, "none"), literal(CUDA, "-1")]),
    made(None, [{"name": NVIDIA}, {"name": CUDA}]), made(None, [ours()]),
    made(None, [literal(CUDA, "0")], where="other", limits={"nvidia.com/gpu": "1"}),
    made(None, [literal("SNUG", "snug.dev/gpu-milli")]), made({"snug.devices/x": "1"}),
)
WARNED = (
    *((made(None, [variable], where=where), FORGED) for where in ("main", "init", "side") for variable in (
        literal(NVIDIA, "all"), literal(NVIDIA, "0"), from_source("configMapKeyRef"))),
    (made(None, [literal(CUDA, "0")]), LIMITLESS), (made(None, [field("metadata.name", CUDA)]), LIMITLESS),
    (made(None, [literal(NVIDIA, "all")], limits={"nvidia.com/gpu": "1"}), FORGED),
    (made({"gpu-policy": "tight"}, [literal(NVIDIA, "all")]), FORGED),
    *((made({key: ""}), FORGED) for key in CDI_KEYS),
)

PROBES = (WRONG[0], (made({TOLERATE: ""}), OURS))  # one for each policy that refuses


def sized(annotations, containers, variables=0, name="A"):
    value = pod("made", annotations, containers=[f"c{index}" for index in range(containers)], scheduler=DEFAULT)
    for container in value["spec"]["containers"]:
        container["env"] = [{"name": f"{name}{index}"} for index in range(variables)]
    return value


def without_moment(answer):
    """Without what differs from one creation to the next."""
    value = copy.deepcopy(answer)
    for key in ("uid", "creationTimestamp", "managedFields"):
        del value["metadata"][key]
    return value


class AdmissionPodsTest(Scenario):
    def setUp(self):
        super().setUp()
        self.admin.create(NODES, gpu_node("n1", 1))
        self.snug = self.plane.client("snug-itself", EXTENDER_USER, ["system:masters"])
        self.kubelet = self.plane.client("kubelet", "system:node:n1", ["system:nodes", "system:masters"])
        self._wait_enforced()

    def _wait_enforced(self):
        wait_until("the policies are enforced", lambda: all(
            self.refused("POST", DRY, value, why) for value, why in PROBES)
            and not self.refused("POST", DRY, *WARNED[0]) and self._warnings(WARNED[0][0]))

    def test_m_wrong_pods_are_refused(self):
        """m: a pod with GPU annotations that could get other GPUs is refused, with the reason"""
        for value, why in WRONG:
            self.assertTrue(self.refused("POST", DRY, value, why), json.dumps(value))
            if value != TWICE:
                self.assertTrue(self.refused("PATCH", f"{PODS}/made?fieldManager=e2e&dryRun=All", value, why,
                                             kind=APPLY_PATCH), json.dumps(value))

    def test_m_right_pods_are_admitted(self):
        """m: pods with GPU annotations, and all others, are admitted with what names no other GPU"""
        for value in RIGHT + OTHERS:
            self.assertEqual(self._warnings(value), [], json.dumps(value))
            self.admin.call("PATCH", f"{PODS}/made?fieldManager=e2e&dryRun=All", value, APPLY_PATCH)

    def test_m_every_request_key_makes_the_rules_hold(self):
        """m: the rules hold for each key by which a pod asks for GPUs, with and without a container"""
        for key in KEYS:
            for suffix in SUFFIXES:
                value = made({key + suffix: "1"}, change=ALL_PRIVILEGED)
                if key == "gpu-policy":
                    self.admin.create(DRY, value)
                else:
                    self.assertTrue(self.refused("POST", DRY, value, PRIVILEGED), key + suffix)

    def test_m_without_the_policies_all_is_admitted(self):
        """m: it is the policies that refuse, and they change no pod"""
        others = OTHERS + tuple(value for value, _ in WARNED)
        with_them = [without_moment(self.admin.create(DRY, value)) for value in others]
        self._without_policies()
        for value, before in zip(others, with_them):
            self.assertEqual(json.dumps(without_moment(self.admin.create(DRY, value)), sort_keys=True),
                             json.dumps(before, sort_keys=True))
        for value, _ in WRONG:
            self.admin.create(DRY, value)

    def test_m_a_namespace_may_have_access_to_the_host(self):
        """m: in a namespace that its operator labels, pods with GPU annotations may be privileged"""
        labelled, other = TENANTS
        path = f"/api/v1/namespaces/{labelled}"
        values = [(value, why) for value, why in WRONG if why in (PRIVILEGED, MOUNTS)]
        self.addCleanup(self.admin.patch, path, {"metadata": {"labels": {"snug.dev/host-access": None}}})
        for label, passes in (("denied", False), ("allowed", True)):
            self.admin.patch(path, {"metadata": {"labels": {"snug.dev/host-access": label}}})
            for namespace in TENANTS:
                for value, why in values:
                    value = {**value, "metadata": {**value["metadata"], "namespace": namespace}}
                    where = f"{pods_of(namespace)}?dryRun=All"
                    if passes and namespace == labelled:
                        wait_until("the label is known", lambda: not self.refused("POST", where, value, why))
                    else:
                        self.assertTrue(self.refused("POST", where, value, why), (label, namespace))
        value, why = WRONG[0]
        value = {**value, "metadata": {**value["metadata"], "namespace": labelled}}
        self.assertTrue(self.refused("POST", f"{pods_of(labelled)}?dryRun=All", value, why))

    def test_m_a_kubelet_shows_its_static_pods(self):
        """m: the mirror of a static pod is not refused, since it would run all the same"""
        for value, why in WRONG:
            if why != MIRRORS:
                self.kubelet.create(DRY, on("n1", copy.deepcopy(value)))

    # Updates.

    def test_m_devices_are_not_named_later(self):
        """m: annotations of CDI are not added to a pod with GPU annotations by any update"""
        self.post_pods(share("part", "0.5", scheduler="nobody"), pod("plain", scheduler="nobody"))
        path = f"{PODS}/part"
        for key in CDI_KEYS:
            changed = self.pod("part")
            changed["metadata"]["annotations"][key] = "nvidia.com/gpu=0"
            for method, where, value in (
                    ("PATCH", path, annotate({key: ""})), ("PUT", path, changed),
                    ("PATCH", f"{path}/status", annotate({key: ""})), ("PUT", f"{path}/status", changed)):
                self.assertTrue(self.refused(method, where, value, BY_CDI), f"{method} {where} {key}")
            self.admin.patch(f"{PODS}/plain", annotate({key: ""}))
        self.admin.patch(path, annotate(dict.fromkeys(NOT_CDI, "cdi.k8s.io/x")))
        self.snug.patch(path, annotate({CDI_KEYS[0]: "1"}))
        self.admin.patch(path, {"metadata": {"labels": {"a": "b"}, "annotations": {"mine": "1"}}})
        self.assertTrue(self.refused("PATCH", path, annotate({CDI_KEYS[0]: "2"}), BY_CDI))
        self.admin.patch(path, annotate({CDI_KEYS[0]: None}))

    def test_m_mirrored_limits_fix_what_a_pod_asks(self):
        """m: a waiting pod keeps its GPU annotations if its limits mirror them"""
        sidecar = made({**ASKS, "gpu-fraction.side": "0.5"}, where="side",
                       change={"resources": {"limits": MIRRORED}})
        sidecar["metadata"]["name"] = "sidecar"
        sidecar["spec"]["schedulerName"] = "nobody"
        self.post_pods(share("mirrored", "0.5", limits=MIRRORED, scheduler="nobody"), sidecar,
                       share("part", "0.5", scheduler="nobody"))
        for change in ({"gpu-fraction": "0.25"}, {"gpu-fraction": None}, {"gpu-compute": "20"},
                       {"gpu-memory.main": "1Gi"}):
            for name in ("mirrored", "sidecar"):
                self.assertTrue(self.refused("PATCH", f"{PODS}/{name}", annotate(change), FIXED), change)
            self.admin.patch(f"{PODS}/part?dryRun=All", annotate(change))
        self.admin.patch(f"{PODS}/mirrored", annotate({"mine": "1", "gpu-fractions": "2"}))
        self.admin.patch(f"{PODS}/mirrored/status", {"status": {"message": "waits"}})
        self.bind_by_hand("mirrored", "n1")
        self.assertTrue(self.refused("PATCH", f"{PODS}/mirrored", annotate({"gpu-fraction": "1"}),
                                     "once it has a node"))

    def test_m_ephemeral_containers_get_no_gpu(self):
        """m: a debug container of a pod with GPU annotations names no device and is not privileged"""
        self.post_pods(share("part", "0.5", scheduler="nobody"), pod("plain", scheduler="nobody"))
        rows = ((literal(NVIDIA, "all"), DEBUG), (literal(CUDA, "0"), DEBUG), (ours(), DEBUG),
                (ours(".debug"), DEBUG), (from_source("secretKeyRef"), DEBUG))
        for variable, why in rows:
            self.assertTrue(self._refused_debug("part", {"env": [variable]}, why), variable)
        self.assertTrue(self._refused_debug("part", ALL_PRIVILEGED, PRIVILEGED))
        for number, change in enumerate((
                {}, {"env": []}, {"env": [literal("A", "b")]}, {"env": [literal(NVIDIA, "void")]},
                {"env": [literal(NVIDIA, "none"), literal(CUDA, "-1")]}, {"env": [{"name": NVIDIA}]})):
            self._debug("part", {**change, "name": f"debug-{number}"})
        for variable, _ in rows:
            self._debug("plain", {"env": [variable], **ALL_PRIVILEGED}, "?dryRun=All")

    def test_m_what_is_there_does_not_stop_debugging(self):
        """m: a pod that was made before the policies may still get an ephemeral container"""
        old = asking([literal(NVIDIA, "all")], change=ALL_PRIVILEGED)
        old["metadata"]["name"] = "old"
        self._without_policies()
        self.post_pods(old)
        self._debug("old", {"name": "debug-0", "env": [literal(NVIDIA, "all")], **ALL_PRIVILEGED})
        self._with_policies()
        self._debug("old", {"name": "debug-1"})
        self.assertTrue(self._refused_debug("old", {"env": [literal(NVIDIA, "all")]}, DEBUG))
        self.admin.patch(f"{PODS}/old", annotate({"mine": "1"}))

    # The keys of a node's runtime.

    def test_m_nobody_else_requires_or_tolerates_plugins(self):
        """m: nobody but Snug writes or removes the keys by which a container needs its node's plug-ins"""
        for key in RUNTIME_KEYS:
            self.post_pods(pod("victim", scheduler="nobody"))
            path = f"{PODS}/victim"
            changed = self.pod("victim")
            changed["metadata"].setdefault("annotations", {})[key] = "[]"
            binding = {"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Node", "name": "n1"},
                       "metadata": {"name": "victim", "annotations": {key: "[]"}}}
            for method, where, value in (
                    ("POST", DRY, pod("another", {key: ""})), ("PATCH", path, annotate({key: ""})),
                    ("PUT", path, changed), ("PATCH", f"{path}/status", annotate({key: "[]"})),
                    ("PUT", f"{path}/status", changed), ("POST", f"{path}/binding", binding),
                    ("POST", "/api/v1/namespaces/default/bindings", binding)):
                self.assertTrue(self.refused(method, where, value, OURS), f"{method} {where} {key}")
            for forged in (f"{REQUIRED}/no key", f"{TOLERATE}/no key"):
                self.assertTrue(self.refused("POST", f"{path}/binding", {
                    **binding, "metadata": {"name": "victim", "annotations": {forged: ""}}}, OURS), forged)
            self.snug.create(f"{path}/binding", binding)
            self.assertEqual(self.pod("victim")["metadata"]["annotations"][key], "[]")
            for change in ({key: None}, {key: ""}, {key: "[]", REQUIRED + "/container.x": ""}):
                self.assertTrue(self.refused("PATCH", path, annotate(change), OURS), change)
            self.admin.patch(path, annotate({"mine": "1", key: "[]"}))
            self.delete_pod("victim")

    def test_m_pods_of_snugs_namespace_require_plugins(self):
        """m: a pod of Snug's own namespace has those keys, and no other annotation of Snug"""
        where = f"{OWN_PODS}?dryRun=All"
        spec = {"securityContext": {"runAsNonRoot": True, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "main", "image": "none", "securityContext": {
                    "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}
        def own(annotations):
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "annotations": annotations}, "spec": spec}
        self.admin.create(where, own({**dict.fromkeys(RUNTIME_KEYS, "[]"), TOLERATE_AGENT: "true"}))
        for key in ("snug.dev/reservation", TOLERATE_AGENT + ".main"):
            self.assertTrue(self.refused("POST", where, own({REQUIRED: "[]", key: ""}), OURS), key)
        self.assertTrue(self.refused("POST", DRY, pod("another", {TOLERATE_AGENT: "true"}), OURS))

    def test_m_what_only_looks_like_a_runtime_key(self):
        """m: keys that only look like those of a node's runtime are everybody's"""
        self.post_pods(pod("victim", dict.fromkeys(NOT_RUNTIME, REQUIRED), scheduler="nobody"))
        self.admin.patch(f"{PODS}/victim", annotate(dict.fromkeys(NOT_RUNTIME)))

    # Pods without GPU annotations that name devices.

    def test_m_pods_that_name_devices_are_warned_about(self):
        """m: a pod without GPU annotations that names GPUs is admitted with a warning, or is refused"""
        for value, why in WARNED:
            self.assertTrue(any(why in each for each in self._warnings(value)), json.dumps(value))
        policy, binding = manifests.read("admission-devices.yaml")
        self.addCleanup(self._with_policies)
        manifests.apply_object(self.admin, {**binding, "spec": {
            "policyName": policy["metadata"]["name"], "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {"matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [TENANTS[0]]}]}}}})
        wait_until("the policy refuses", lambda: self.refused("POST", DRY, *WARNED[0]))
        for value, why in WARNED:
            self.assertTrue(self.refused("POST", DRY, value, why), json.dumps(value))
        for value in RIGHT + OTHERS:
            self.admin.create(DRY, value)
        spared = {**WARNED[0][0], "metadata": {"name": "made", "namespace": TENANTS[0]}}
        self.admin.create(f"{pods_of(TENANTS[0])}?dryRun=All", spared)
        self.post_pods(pod("plain", scheduler="nobody"))
        self.assertTrue(self.refused("PATCH", f"{PODS}/plain", annotate({CDI_KEYS[0]: ""}), FORGED))
        self.assertTrue(self._refused_debug("plain", {"env": [literal(NVIDIA, "all")]}, FORGED))
        self._debug("plain", {"env": [literal(NVIDIA, "void")]})

    # Very large pods.

    def test_m_very_large_pods_of_others_are_admitted(self):
        """m: a pod without GPU annotations is admitted with thousands of containers and variables"""
        for value in (sized(None, 2000), sized(None, 1, 20_000), sized(None, 200, 100),
                      sized(many_annotations(20_000), 500, 5),
                      sized({"note": "gpu-fraction cdi.k8s.io/x " * 9000}, 100, 20)):
            self.assertEqual(self._warnings(value), [])

    def test_m_very_large_pods_with_gpu_annotations_are_refused(self):
        """m: a pod with GPU annotations is refused for its size, before a loop over it costs too much"""
        for value in (sized(ASKS, 101), sized(ASKS, 1, 1001), sized(ASKS, 1, 20_000, "NVIDIA_VISIBLE_DEVICES"),
                      sized(ASKS, 2000, 2)):
            self.assertTrue(self.refused("POST", DRY, value, LARGE))
        for value in (sized(ASKS, 100, 10), sized(ASKS, 1, 1000),
                      sized({**many_annotations(20_000, 250_000), **ASKS}, 10, 10)):
            self.admin.create(DRY, value)
        hidden = sized({**many_annotations(80_000, 250_000), **ASKS}, 100, 9)
        hidden["spec"]["containers"][99]["env"].append(literal(NVIDIA, "all"))
        self.assertTrue(self.refused("POST", DRY, hidden, NAMES))

    def _without_policies(self):
        """Until _with_policies(), at the latest until the end of the scenario."""
        self.addCleanup(self._with_policies)
        for name in FILES:
            manifests.remove(self.admin, name)
        wait_until("the policies have gone", lambda: not any(
            self.refused("POST", DRY, value, why) for value, why in PROBES)
            and not self._warnings(WARNED[0][0]))

    def _with_policies(self):
        for name in FILES:
            manifests.apply(self.admin, name)
        self._wait_enforced()

    def _warnings(self, value):
        """What the API server warns the author of a pod about; it admits the pod."""
        connection = self.admin.connect()
        try:
            connection.request("POST", DRY, json.dumps(value), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 201:
                raise ApiError("POST", DRY, answer.status, body)
            return [each for each in answer.headers.get_all("Warning") or [] if "snug" in each]
        finally:
            connection.close()

    def _debug(self, name, change, query=""):
        return self.admin.call("PATCH", f"{PODS}/{name}/ephemeralcontainers{query}", self._debugger(change),
                               "application/strategic-merge-patch+json")

    def _refused_debug(self, name, change, why):
        return self.refused("PATCH", f"{PODS}/{name}/ephemeralcontainers", self._debugger(change), why,
                            kind="application/strategic-merge-patch+json")

    def _debugger(self, change):
        return {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busy", **change}]}}

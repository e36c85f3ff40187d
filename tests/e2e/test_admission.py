"""Scenario m: what the admission policies of deploy/ refuse, and to whom, by the real API server."""

import re

from harness import manifests
from harness.api import APPLY_PATCH
from harness.controlplane import EXTENDER_USER
from harness.objects import gpu_node, many_annotations, pod, share
from harness.processes import wait_until
from harness.scenario import PODS, Scenario

KEY = "snug.dev/reservation"
OURS = "by Snug alone"
ASKS = "do not change once it has a node"
WITH_NODE = "is not created with a node"
FROM_CREATION = "from its creation on"
REMEDY = "set spec.schedulerName: snug"
DEFAULT = "default-scheduler"
DRY = f"{PODS}?dryRun=All"
KEYS = re.findall(r'\{\.name = "(gpu-[a-z-]+)"',
                  (manifests.ROOT / "src/request/annotation_keys.cpp").read_text())
SUFFIXES = ("", ".main", ".x/y")
# What only looks like a request, or like an annotation of Snug.
NO_REQUESTS = ("mine", "gpu-fractions", "my-gpu-fraction", "gpu-memory-bandwidth", "GPU-fraction",
               "gpu-fraction/main", "example.org/gpu-fraction", "gpu-fraction_main")
NOT_OURS = ("SNUG.dev/reservation", "my.snug.dev/reservation", "snug.devices/reservation", "snug.dev")
MOST = 87_000  # annotations of three letters and no value, and some more beside them


def on(node, value):
    value["spec"]["nodeName"] = node
    return value


def annotate(annotations):
    return {"metadata": {"annotations": annotations}}


class AdmissionTest(Scenario):
    def setUp(self):
        super().setUp()
        self.assertGreater(len(KEYS), 10)
        self.admin.create("/api/v1/nodes", gpu_node("n1", 1))
        self.snug = self.plane.client("snug-itself", EXTENDER_USER, ["system:masters"])
        self.kubelet = self.plane.client("kubelet", "system:node:n1",
                                         ["system:nodes", "system:masters"])
        # A policy takes effect some time after the API server has taken it.
        wait_until("the policy is enforced",
                   lambda: self._refused("POST", DRY, pod("probe", {KEY: "{}"})))

    # Annotations under snug.dev/.

    def test_m_nobody_else_writes_our_annotations(self):
        """m: the admission policy keeps everyone else from writing snug.dev/* on pods"""
        self.post_pods(pod("victim", {"mine": "1"}, scheduler="nobody"))
        path = f"{PODS}/victim"
        for method, where, value in (
                ("PATCH", path, annotate({KEY: "{}"})),
                ("PATCH", path, annotate({"snug.dev/x": ""})),
                ("PATCH", f"{path}/status", annotate({KEY: "{}"})),
                ("PUT", path, self._changed("victim", {KEY: "{}"})),
                ("PUT", f"{path}/status", self._changed("victim", {KEY: "{}"})),
                ("POST", DRY, pod("another", {KEY: ""})),
                ("POST", f"{path}/binding", self._binding({KEY: "{}"})),
                ("POST", f"{path}/binding", self._binding({"snug.dev/": "{}"})),
                ("POST", f"{path}/binding", self._binding({"snug.dev/no key": "{}"})),
                ("POST", "/api/v1/namespaces/default/bindings", self._binding({KEY: "{}"}))):
            self.assertTrue(self._refused(method, where, value), f"{method} {where} {value}")
        self.assertTrue(self._refused("PATCH", f"{path}?fieldManager=other", {
            "apiVersion": "v1", "kind": "Pod", **annotate({KEY: "{}"})}, kind=APPLY_PATCH))
        self.admin.patch(path, annotate({"mine": "2"}))
        self.admin.patch(path, annotate(dict.fromkeys(NOT_OURS, "{}")))
        self.bind_by_hand("victim", "n1")

    def test_m_a_reservation_can_be_kept_but_not_changed(self):
        """m: others may update a bound pod, but neither edit nor remove its reservation"""
        self.start()
        self.place(share("pod-1", "0.5"))
        path = f"{PODS}/pod-1"
        before = self.pod("pod-1")["metadata"]["annotations"]
        for value in ("{}", "", None):
            for where in (path, f"{path}/status"):
                self.assertTrue(self._refused("PATCH", where, annotate({KEY: value})), repr(value))
        self.assertTrue(self._refused("PATCH", path, {"metadata": {"annotations": None}}))
        self.assertTrue(self._refused("PATCH", path, annotate({**before, "snug.dev/more": "1"})))
        self.admin.patch(path, {"metadata": {"labels": {"other": "1"}}})
        self.admin.patch(path, annotate({**before, "other": "1"}))
        self.admin.patch(path, annotate({"other": None}))
        self.admin.patch(f"{path}/status", {"status": {"phase": "Running"}})
        self.admin.call("PATCH", f"{path}?fieldManager=other", {
            "apiVersion": "v1", "kind": "Pod", **annotate({KEY: before[KEY]})}, APPLY_PATCH)
        self.check_cluster()

    def test_m_ephemeral_containers_keep_the_annotations(self):
        """m: pods/ephemeralcontainers drops annotations, and goes on for a GPU pod"""
        self._check_kept_by("ephemeralcontainers", {
            "ephemeralContainers": [{"name": "debug", "image": "busy"}]})

    def test_m_a_resize_keeps_the_annotations(self):
        """m: pods/resize drops annotations, and goes on for a GPU pod"""
        self.need_kubernetes(33, "pods/resize")
        self._check_kept_by("resize", {"containers": [{"name": "main", "resources": {
            "requests": {"cpu": "20m"}}}]})

    def _check_kept_by(self, where, spec):
        self.start()
        self.place(share("pod-1", "0.5"))
        before = self.pod("pod-1")["metadata"]["annotations"]
        self.admin.call("PATCH", f"{PODS}/pod-1/{where}", {
            **annotate({KEY: "{}", "gpu-fraction": "1"}), "spec": spec},
            "application/strategic-merge-patch+json")
        self.assertEqual(self.pod("pod-1")["metadata"]["annotations"], before)
        self.check_cluster()

    # What a pod asks.

    def test_m_what_a_bound_pod_asks_is_fixed(self):
        """m: others cannot make a pod that runs, with or without GPUs, ask for any"""
        self.post_pods(pod("plain", {"mine": "1"}, scheduler="nobody"),
                       share("part", "0.25", scheduler="nobody"))
        for change in ({"gpu-fraction": "0.5"}, {"gpu-memory": "1G"}, {"gpu-fraction": "0.25", "gpu-memory": None}):
            self.admin.patch(f"{PODS}/part", annotate(change))
        for name in ("plain", "part"):
            self.bind_by_hand(name, "n1")
            for key in self._request_keys():
                for where in ("", "/status"):
                    self.assertTrue(self._refused("PATCH", f"{PODS}/{name}{where}",
                                                  annotate({key: "0.5"}), ASKS), f"{name} {key}")
        self.assertTrue(self._refused("PATCH", f"{PODS}/part", annotate({"gpu-fraction": None}), ASKS))
        for key in NO_REQUESTS:
            self.admin.patch(f"{PODS}/part", annotate({key: "2"}))
            self.admin.patch(f"{PODS}/part", annotate({key: None}))
        self.admin.patch(f"{PODS}/part", annotate({"note": '{"gpu-fraction": "1", "snug.dev/x": ""}'}))
        self.admin.patch(f"{PODS}/part", annotate({"note": None}))
        self.admin.patch(f"{PODS}/part/status", {"status": {"phase": "Running"}})
        self.snug.patch(f"{PODS}/part", annotate({"gpu-fraction": "0.5"}))

    def test_m_a_pod_asks_from_its_creation_on(self):
        """m: a pod that was created without asking for GPUs never asks: Snug may be binding it just now"""
        self.post_pods(pod("plain", {"note": "gpu-fraction"}, scheduler="nobody"),
                       pod("units", {"gpu-policy": "tight"}, scheduler="nobody",
                           limits={"nvidia.com/gpu": "1"}))
        for key in self._request_keys():
            for name in ("plain", "units"):
                if (name, key) == ("units", "gpu-policy"):
                    continue
                self.assertTrue(self._refused("PATCH", f"{PODS}/{name}?dryRun=All",
                                              annotate({key: "0.5"}), FROM_CREATION), (name, key))
        self.admin.patch(f"{PODS}/plain", annotate(dict.fromkeys(NO_REQUESTS, "1")))

    def test_m_a_binding_asks_for_nothing(self):
        """m: nobody else makes a pod ask for GPUs by the annotations of its binding"""
        self.post_pods(pod("victim", scheduler="nobody"))
        for where in (f"{PODS}/victim/binding", "/api/v1/namespaces/default/bindings"):
            for key in (*self._request_keys(), "gpu-fraction.no key"):
                self.assertTrue(self._refused("POST", where, self._binding({key: "0.5"})), key)
        self.admin.create(f"{PODS}/victim/binding", self._binding(dict.fromkeys(NO_REQUESTS, "1")))

    def test_m_a_pod_that_asks_is_not_created_with_a_node(self):
        """m: a pod that names its node does not ask for GPUs, unless a kubelet shows what it runs"""
        gpu = {"nvidia.com/gpu": "1"}
        init = pod("made", init=("warm", "+side"), scheduler=DEFAULT)
        init["spec"]["initContainers"][1]["resources"] = {"limits": gpu}
        later = pod("made", containers=("main", "second"), scheduler=DEFAULT)
        later["spec"]["containers"][1]["resources"] = {"limits": gpu, "requests": gpu}
        refused = [init, later, *(pod("made", {key: "1"}) for key in self._request_keys()), *(
            pod("made", limits={name: "1"}, scheduler=DEFAULT)
            for name in ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb"))]
        for value in refused:
            self.admin.create(DRY, value)
            self.assertTrue(self._refused("POST", DRY, on("n1", value), WITH_NODE), value)
            self.kubelet.create(DRY, value)
        for value in (pod("made"), pod("made", limits={"nvidia.com/gpu": "0"}),
                      pod("made", limits={"nvidia.com/hostdev": "1", "memory": "1Gi"}),
                      pod("made", dict.fromkeys(NO_REQUESTS, "1"))):
            self.admin.create(DRY, on("n1", value))

    def test_m_resources_of_a_whole_pod_are_no_gpus(self):
        """m: what all containers of a pod have together are no extended resources"""
        self.need_kubernetes(34, "resources of a whole pod")
        gpu = {"nvidia.com/gpu": "1"}
        level = pod("made")
        level["spec"]["resources"] = {"limits": gpu, "requests": gpu}
        self.assertTrue(self._refused("POST", DRY, level, "Unsupported value"))

    # The scheduler's name.

    def test_m_the_dedicated_shape_wants_its_scheduler(self):
        """m: where admission-dedicated.yaml is applied, an annotated pod of another scheduler is refused"""
        forgotten = share("forgotten", "0.5", scheduler=DEFAULT)
        self.admin.create(DRY, forgotten)  # as in the shared shape, which leaves that file out
        old = share("old", "0.5", scheduler=DEFAULT)
        old["spec"]["schedulingGates"] = [{"name": "snug.dev/e2e"}]
        self.post_pods(old)
        self._apply_dedicated(forgotten)
        for key in self._request_keys():
            self.assertTrue(self._refused("POST", DRY, pod("made", {key: "1"}, scheduler=DEFAULT),
                                          REMEDY), key)
            self.assertTrue(self._refused("PATCH", f"{PODS}/old?dryRun=All", annotate({key: "1"}),
                                          REMEDY), key)
            self.assertTrue(self._refused("PATCH", f"{PODS}/old/status?dryRun=All",
                                          annotate({key: "1"}), "not by its status"), key)
        del forgotten["spec"]["schedulerName"]
        self.assertTrue(self._refused("POST", DRY, forgotten, REMEDY))
        static = on("n1", share("static", "0.25", scheduler=DEFAULT))
        self.kubelet.create(DRY, static)
        for value in (pod("made", dict.fromkeys(NO_REQUESTS, "1"), scheduler=DEFAULT),
                      pod("made", limits={"nvidia.com/gpu": "1"}, scheduler=DEFAULT),
                      pod("made", {key: "1" for key in KEYS})):
            self.admin.create(DRY, value)
        self.admin.patch(f"{PODS}/old", annotate({"mine": "1"}))
        self.admin.patch(f"{PODS}/old/status", {"status": {"message": "waits"}})
        self.admin.patch(f"{PODS}/old", annotate({"gpu-fraction": None}))
        self.start()
        self.place(share("mended", "0.5"))
        self.check_cluster()

    # Very many annotations.

    def test_m_very_many_annotations_are_admitted(self):
        """m: 256 KiB of tiny annotations are admitted, and all of them may change at once"""
        self._apply_dedicated(share("probe", "0.5", scheduler=DEFAULT))
        self.admin.create(DRY, pod("made", many_annotations(MOST), scheduler=DEFAULT))
        tiny = self._bound_with_many()
        self.admin.patch(f"{PODS}/many", annotate(dict.fromkeys(tiny, "")))
        self.admin.patch(f"{PODS}/many/status", {"status": {"phase": "Running"}})
        self.admin.patch(f"{PODS}/many", annotate(dict.fromkeys(tiny)))

    def test_m_values_that_look_like_keys_are_admitted(self):
        """m: 256 KiB of text that looks like keys in a value changes nothing of what is refused"""
        for word in ("snug.dev/x ", "gpu-model ", '"gpu-fraction":"1",', "\x01"):
            text = word * (250_000 // len(word))
            self.post_pods(pod("texts", {"note": text}, scheduler=DEFAULT))
            self.bind_by_hand("texts", "n1")
            path = f"{PODS}/texts"
            self.admin.patch(path, annotate({"note": text[1:]}))
            self.assertTrue(self._refused("PATCH", path, annotate({"note": "", KEY: ""})), word)
            self.assertTrue(self._refused("PATCH", path, annotate({"gpu-count": "1"}), ASKS), word)
            self.delete_pod("texts")

    def test_m_very_many_annotations_hide_no_forged_one(self):
        """m: among 256 KiB of annotations a forged one is refused for what it is"""
        changed = dict.fromkeys(self._bound_with_many(), "")
        for key, value, why in ((KEY, "forged", OURS), ("snug.dev/visible-devices", None, OURS),
                                ("gpu-fraction", "1", ASKS), ("gpu-model.main", "x", ASKS)):
            self.assertTrue(self._refused("PATCH", f"{PODS}/many", annotate({**changed, key: value}),
                                          why), key)
        forged = {**many_annotations(MOST), KEY: "{}"}
        self.assertTrue(self._refused("POST", DRY, pod("made", forged)))

    def _bound_with_many(self):
        """Makes the pod `many`, as Snug and a kubelet would leave it; the annotations to change."""
        tiny = many_annotations(25_000, 250_000)
        self.snug.create(PODS, on("n1", pod("many", {
            **tiny, KEY: "{}", "snug.dev/visible-devices": "GPU-1", "gpu-fraction": "0.25"})))
        return tiny

    def _apply_dedicated(self, refused):
        """Until the end of the scenario; `refused`: a pod that then cannot be created."""
        self.addCleanup(wait_until, "the policy has gone",
                        lambda: not self._refused("POST", DRY, refused, REMEDY))
        self.addCleanup(manifests.remove, self.admin, "admission-dedicated.yaml")
        manifests.apply(self.admin, "admission-dedicated.yaml")
        wait_until("the policy is enforced", lambda: self._refused("POST", DRY, refused, REMEDY))

    def _request_keys(self):
        return [key + suffix for key in KEYS for suffix in SUFFIXES]

    def _binding(self, annotations):
        return {"apiVersion": "v1", "kind": "Binding",
                "metadata": {"name": "victim", "annotations": annotations},
                "target": {"kind": "Node", "name": "n1"}}

    def _changed(self, name, annotations):
        value = self.pod(name)
        value["metadata"]["annotations"].update(annotations)
        return value

    def _refused(self, method, path, value, why=OURS, kind=None):
        return self.refused(method, path, value, why, kind)

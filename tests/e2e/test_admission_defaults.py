"""Scenario m: what the policies of deploy/admission-gpu-pods.yaml give a pod that asks for GPUs. The
webhook gives the same: test_admission_webhook.py runs the same scenarios with it."""

import copy
import json

from harness import manifests, slices
from harness.admission import (DRY, POLICIES, VARIABLES, apply_policies, check_variables,
                               containers_of, limits_of, minimal, need_policies, scheduler_of,
                               wait_mirrored)
from harness.api import APPLY_PATCH, ApiError
from harness.controlplane import EXTENDER_USER
from harness.mirror import MEMORY, MILLI, PARAMETERS, serve_parameters, units
from harness.objects import gpu_node, many_annotations
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Scenario

TOLERATIONS = [{"key": "nvidia.com/gpu", "operator": "Exists"},
               {"key": "snug.dev/only", "operator": "Exists"}]
ROWS = json.loads((manifests.ROOT / "tests/contract/mirrored_amounts.json").read_text())
# What Snug's filter refuses; CEL must neither fail nor refuse it.
MALFORMED = (
    {"gpu-fraction": "0.25x"}, {"gpu-fraction": "1.5"}, {"gpu-fraction": "-1"},
    {"gpu-fraction": ""}, {"gpu-fraction": "0."}, {"gpu-fraction": "0.1234"},
    {"gpu-fraction": "9" * 100}, {"gpu-fraction": "'"}, {"gpu-fraction": "\u0660.5"},
    {"gpu-memory": "4000m"}, {"gpu-memory": "1e3"}, {"gpu-memory": "-4G"},
    {"gpu-memory": "9" * 30}, {"gpu-memory": "9" * 30 + "Ei"}, {"gpu-memory": "8Ei"},
    {"gpu-memory": "0"}, {"gpu-memory": "G"}, {"gpu-memory": "4G\n"}, {"gpu-memory": ".G"},
    {"gpu-mig-profile": "2G.10GB"}, {"gpu-mig-profile": ""}, {"gpu-mig-profile": "[x"},
    {"gpu-count": "2"}, {"gpu-compute": "10"}, {"gpu-fraction": "0.5", "gpu-count": "0"},
    {"gpu-fraction": "0.5", "gpu-count": "9" * 50}, {"gpu-fraction": "0.5", "gpu-compute": "101"},
    {"gpu-fraction": "0.5", "gpu-container": "nobody"}, {"gpu-fraction.nobody": "0.5"},
    {"gpu-fraction": "0.5", "gpu-memory": "4G"}, {"gpu-fraction.x.y": "0.5"},
    {"gpu-fraction": "0.5", "gpu-fraction.main": "0.5"},
)


def downward(container):
    """Variable -> annotation that the kubelet reads, of one container."""
    return {each["name"]: each.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            for each in container.get("env", [])}


def expected_variables(name):
    return {variable: f"metadata.annotations['snug.dev/{key}.{name}']"
            for variable, key in VARIABLES.items()}


def own_tolerations(value):
    return [each for each in value["spec"]["tolerations"]
            if not each["key"].startswith("node.kubernetes.io/")]


class Defaults:
    """The scenarios. Who uses them says how to install() and uninstall() what gives pods their
    defaults, and what comes of a malformed pod."""

    def setUp(self):
        super().setUp()
        serve_parameters(self.admin)
        self.addCleanup(self._remove)
        self.install()
        # It takes effect some time after the API server has taken it.
        wait_until("the defaults are in force", lambda: self._scheduler() == "snug")

    def _remove(self):
        self.uninstall()
        self.admin.delete(PARAMETERS, missing_ok=True)
        wait_until("the defaults are gone", lambda: self._scheduler() == "default-scheduler")

    def test_m_the_minimal_pod(self):
        """m: a pod with an annotation alone gets scheduler, tolerations and variables"""
        made = self._created(minimal({"gpu-fraction": "0.25"}))
        self.assertEqual(made["spec"]["schedulerName"], "snug")
        self.assertEqual(own_tolerations(made), TOLERATIONS)
        self.assertEqual(downward(made["spec"]["containers"][0]), expected_variables("main"))
        self.assertNotIn(MILLI, made["spec"]["containers"][0]["resources"].get("limits", {}))

    def test_m_each_container_that_asks(self):
        """m: of several containers those get variables that ask, init containers and sidecars too"""
        made = self._created(minimal(
            {"gpu-fraction": "0.25", "gpu-memory.setup": "1Gi", "gpu-mig-profile.proxy": "1g.5gb",
             "gpu-fraction.third": "0.5"},
            ("main", "second", "third"), ("setup", "idle", "+proxy")))
        seen = {name: downward(each) for name, each in containers_of(made).items()}
        self.assertEqual(seen, {name: expected_variables(name) if name not in ("second", "idle")
                                else {} for name in seen})
        self.assertEqual(len(seen), 6)

    def test_m_what_the_pod_has_stays(self):
        """m: variables, tolerations and resources that the pod has stay, in their order"""
        value = minimal({"gpu-fraction": "0.25"})
        container = value["spec"]["containers"][0]
        field = {"fieldRef": {"apiVersion": "v1",
                              "fieldPath": "metadata.annotations['snug.dev/visible-devices']"}}
        container["env"] = [{"name": "MINE", "value": "1"},
                            {"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": field},
                            {"name": "LAST", "value": "$(MINE)"}]
        container["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}}
        mine = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "snug.dev/only", "operator": "Equal", "value": "x"},
                {"key": "other", "operator": "Exists"}]
        value["spec"]["tolerations"] = mine
        value["spec"]["schedulerName"] = "another"
        made = self._created(value)
        self.assertEqual(made["spec"]["schedulerName"], "another")
        self.assertEqual(own_tolerations(made), mine + TOLERATIONS[1:])
        env = made["spec"]["containers"][0]["env"]
        self.assertEqual(env[:3], container["env"])
        self.assertEqual([each["name"] for each in env[3:]], list(VARIABLES)[1:])
        self.assertEqual(made["status"]["qosClass"], "Guaranteed")

    def test_m_again_nothing_is_added(self):
        """m: a pod that has its defaults comes out unchanged: server-side apply,
        and a pod that is created from another one"""
        for annotations, containers, init in (
                ({"gpu-fraction": "0.25"}, ("main",), ()),
                ({"gpu-memory": "4G", "gpu-fraction.b": "2"}, ("a", "b"), ("i", "+s"))):
            first = self._created(minimal(annotations, containers, init))
            again = self._created({"apiVersion": "v1", "kind": "Pod", "spec": first["spec"],
                                   "metadata": {"name": "probe", "annotations": annotations}})
            self.assertEqual(again["spec"], first["spec"])
        path = f"{PODS}/applied?fieldManager=author"
        value = {**minimal({"gpu-fraction": "0.25"}), "metadata": {
            "name": "applied", "annotations": {"gpu-fraction": "0.25"}}}
        applied = self.admin.call("PATCH", path, value, APPLY_PATCH)
        self.assertEqual(downward(applied["spec"]["containers"][0]), expected_variables("main"))
        value["metadata"]["labels"] = {"new": "1"}
        again = self.admin.call("PATCH", path, value, APPLY_PATCH)
        self.assertEqual(again["spec"], applied["spec"])
        self.assertEqual(again["metadata"]["labels"], {"new": "1"})

    def test_m_other_pods_are_unchanged(self):
        """m: a pod that asks for nothing comes out byte for byte as without any defaults"""
        others = [minimal(annotations) for annotations in (
            {}, {"mine": "gpu-fraction"}, {"my-gpu-fraction": "0.5"}, {"gpu-fractions": "0.5"},
            {"example.org/gpu-fraction": "0.5"}, {"gpu-fraction_main": "1"},
            {"kubernetes.io/config.mirror": "x", "gpu-fraction": "0.5"},
            many_annotations(20_000), many_annotations(50_000), {"escaped": "\x01" * 261_000})]
        others[0]["spec"]["containers"][0]["env"] = [{"name": f"V{i}", "value": "gpu-fraction"}
                                                     for i in range(3_000)]
        # The API server refuses a mirror pod from this user; its error is compared as well.
        with_defaults = [self._answer(each) for each in others]
        self.uninstall()
        wait_until("the defaults are gone", lambda: self._scheduler() == "default-scheduler")
        self.assertEqual([self._answer(each) for each in others], with_defaults)
        self.install()

    def test_m_the_amounts_of_the_rows(self):
        """m: each container gets the amounts of tests/contract/mirrored_amounts.json"""
        self._write_parameters()
        for row in ROWS["rows"]:
            made = self._created(minimal(row["annotations"], ("main", "second"),
                                         ("setup", "+proxy")))
            amounts = {}
            for name, container in containers_of(made).items():
                resources = container["resources"]
                if MILLI in resources.get("limits", {}):
                    amounts[name] = [units(resources["limits"][key]) for key in (MILLI, MEMORY)]
                for key in (MILLI, MEMORY):
                    self.assertEqual(resources.get("limits", {}).get(key),
                                     resources.get("requests", {}).get(key), row)
            self.assertEqual(amounts, row["amounts"], row)

    def test_m_amounts_replace_those_of_the_author(self):
        """m: nobody carries less than the request: the amounts of an author are replaced"""
        self._write_parameters()
        value = minimal({"gpu-fraction": "0.5"})
        value["spec"]["containers"][0]["resources"] = {
            "limits": {"cpu": "1", MILLI: "1", MEMORY: "1"}, "requests": {"cpu": "10m"}}
        made = self._created(value)["spec"]["containers"][0]["resources"]
        self.assertEqual(made, {"limits": {"cpu": "1", MILLI: "500", MEMORY: "8192"},
                                "requests": {"cpu": "10m", MILLI: "500", MEMORY: "8192"}})

    def test_m_almost_right_amounts_are_replaced(self):
        """m: amounts that the pod has already are kept only if all of them are right"""
        self._write_parameters()
        right = {MILLI: "250", MEMORY: "4096"}
        for annotations, kind, name, wrong in (
                ({}, "limits", MILLI, "249"), ({}, "limits", MEMORY, "4095"),
                ({}, "requests", MILLI, "1"), ({}, "requests", MEMORY, "8192"),
                ({"gpu-compute": "25"}, "limits", MILLI, "251"), ({}, None, None, None)):
            value = minimal({"gpu-fraction": "0.25", **annotations})
            resources = {"limits": dict(right), "requests": dict(right)}
            if kind:
                resources[kind][name] = wrong
            value["spec"]["containers"][0]["resources"] = resources
            made = self._created(value)["spec"]["containers"][0]["resources"]
            self.assertEqual(made, {"limits": right, "requests": right}, (kind, name))

    def test_m_almost_complete_pods_are_completed(self):
        """m: a pod that comes out of the policies and lost one thing gets it again"""
        self._write_parameters()
        annotations = {"gpu-fraction": "0.25", "gpu-memory.setup": "1Gi"}
        first = self._created(minimal(annotations, ("a", "b"), ("setup",)))["spec"]
        for lose in (
                lambda spec: spec.update(schedulerName="default-scheduler"),
                lambda spec: spec["tolerations"].remove(TOLERATIONS[1]),
                lambda spec: spec["containers"][0]["env"].pop(),
                lambda spec: spec["containers"][0].pop("env"),
                lambda spec: spec["initContainers"][0]["env"].pop(),
                lambda spec: spec["initContainers"][0]["resources"]["limits"].pop(MILLI),
                lambda spec: spec["containers"][0]["resources"].pop("limits")):
            spec = copy.deepcopy(first)
            lose(spec)
            self.assertNotEqual(spec, first)
            made = self._created({"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
                "name": "probe", "annotations": annotations}})["spec"]
            for each in (made, first):
                each["tolerations"] = sorted(each["tolerations"], key=lambda one: one["key"])
            self.assertEqual(made, first)

    def test_m_without_parameters_no_amounts(self):
        """m: the resources are injected only while the parameters exist; no pod is refused without
        them, nor without their kind"""
        self._write_parameters()
        self.admin.delete(PARAMETERS)
        wait_until("nothing is injected", lambda: MILLI not in limits_of(self.admin))
        # Nothing stops where somebody deletes the kind itself.
        manifests.remove(self.admin, "mirror-parameters.yaml")
        self.uninstall()
        self.install()
        wait_until("the defaults are in force", lambda: self._scheduler() == "snug")
        for _ in range(20):
            self._created(minimal({}))
            self.assertEqual(self._scheduler(), "snug")

    def test_m_after_the_bind_the_variables_are_the_reservation(self):
        """m: the minimal pod is bound, and its variables name the devices of its reservation"""
        self.start()
        self.post_nodes(*self._nodes())
        for name, annotations in (("quarter", {"gpu-fraction": "0.25"}),
                                  ("memory", {"gpu-memory": "4G"}), ("whole", {"gpu-fraction": "1"}),
                                  ("slice", {"gpu-mig-profile": "3g.20gb"})):
            bound = self.place(minimal(annotations, name=name))
            self.assertEqual(list(self.given(name)), ["main"])
            check_variables(self, bound)
        self.assertIn("mig", self.given("slice")["main"][0])
        self.check_cluster()

    def _nodes(self):
        nodes = [gpu_node("n1", 2), slices.sliced_node("mig", [slices.LAYOUTS["all-balanced"]])]
        for node in nodes:
            node["spec"] = {"taints": [{"key": "snug.dev/only", "value": "true",
                                        "effect": "NoSchedule"},
                                       {"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}
        return nodes

    def _write_parameters(self):
        manifests.apply_object(self.admin, {
            "apiVersion": "snug.dev/v1", "kind": "MirrorParameters", "metadata": {"name": "snug"},
            "spec": ROWS["cards"]})
        wait_mirrored(self.admin)

    def _scheduler(self):
        return scheduler_of(self.admin)

    def _created(self, value):
        return self.admin.create(DRY, value)

    def _answer(self, value):
        """What the API server makes of it, without what differs each time."""
        try:
            made = copy.deepcopy(self._created(value))
        except ApiError as error:
            return error.message
        for key in ("uid", "creationTimestamp", "managedFields"):
            made["metadata"].pop(key, None)
        return json.dumps(made)


class AdmissionDefaultsTest(Defaults, Scenario):
    def setUp(self):
        need_policies(self)
        super().setUp()
        self.snug = self.plane.client("snug-itself", EXTENDER_USER, ["system:masters"])

    def install(self):
        apply_policies(self.admin)

    def uninstall(self):
        manifests.remove(self.admin, POLICIES)

    def test_m_malformed_values_are_left_to_filter(self):
        """m: no value makes the policies fail, and the pod goes to Snug's scheduler"""
        self._write_parameters()
        for annotations in MALFORMED:
            made = self._created(minimal(annotations))
            self.assertEqual(made["spec"]["schedulerName"], "snug", annotations)

    def test_m_a_kubelet_that_registers_keeps_the_capacity(self):
        """m: a kubelet that sets the mirrored resources to 0 when it registers changes nothing"""
        self.admin.create(NODES, gpu_node("n1", 2, capacity={MILLI: "2k", MEMORY: "81920"}))
        status = f"{NODES}/n1/status"
        kubelet = self.plane.client("kubelet", "system:node:n1",
                                    ["system:nodes", "system:masters"])
        zeroes = {"cpu": "95", MILLI: "0", MEMORY: "0"}

        def sets_zeroes(query=""):
            try:
                return kubelet.call("PATCH", status + query, {"status": {
                    "capacity": zeroes, "allocatable": zeroes}}, "application/strategic-merge-patch+json")
            except ApiError:  # node-capacity.yaml refuses what this policy does not correct yet
                return None
        wait_until("the policy is in force", lambda: sets_zeroes("?dryRun=All"))
        self.assertIsNotNone(sets_zeroes())
        kept = {"cpu": "95", MILLI: "2k", MEMORY: "81920"}
        self.assertEqual(self._capacity(kept), [kept, kept])
        gone = {MILLI: None, MEMORY: None}
        kubelet.patch(status, {"status": {"capacity": gone, "allocatable": gone}})
        self.assertEqual(self._capacity(kept), [kept, kept])
        # Snug itself changes and removes them.
        more = {"cpu": "95", MILLI: "3k", MEMORY: "90k"}
        self.snug.patch(status, {"status": {"capacity": more, "allocatable": more}})
        self.assertEqual(self._capacity(kept), [more, more])
        self.snug.patch(status, {"status": {"capacity": gone, "allocatable": gone}})
        self.assertEqual(self._capacity(kept), [{"cpu": "95"}] * 2)

    def _capacity(self, keys):
        status = self.admin.get(f"{NODES}/n1")["status"]
        return [{key: status[kind][key] for key in keys if key in status[kind]}
                for kind in ("capacity", "allocatable")]

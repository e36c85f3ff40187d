"""The checks of the end-to-end tests find each kind of wrong placement, and no error in a correct one."""

import copy
import json
import sys
import unittest

from programs import ROOT

sys.path.insert(0, str(ROOT / "tests/e2e"))
from harness import asks, objects, slices, truth  # noqa: E402

LARGE = "NVIDIA-A100-SXM4-80GB"


def bound(pod, *containers):
    """The pod as it would be after its binding; `containers`: (name, GPUs, MiB, milli, mode)."""
    pod = copy.deepcopy(pod)
    uid = f"uid-of-{pod['metadata']['name']}"
    pod["metadata"]["uid"] = uid
    pod["spec"]["nodeName"], pod["status"] = "n1", {}
    held = {"version": 1, "uid": uid, "node": "n1", "containers": [
        {"name": name, "request": "", "devices": [
            {"index": index, "mode": mode, "memoryMiB": memory_mib, "computeMilli": milli}
            for index in gpus]} for name, gpus, memory_mib, milli, mode in containers]}
    pod["metadata"]["annotations"][truth.RESERVATION] = json.dumps(held)
    return pod


def problems(*pods, node=None):
    return truth.Truth([node or objects.gpu_node("n1", 4)], pods).problems()


def share(name, milli, gpus=(0,), mode="time-slicing", **more):
    """A pod of that many thousandths which has what it asks."""
    return bound(objects.pod(name, {"gpu-fraction": f"0.{milli:03}", **more}),
                 ("main", gpus, milli * objects.A100_MIB // 1000, milli, mode))


class AskTest(unittest.TestCase):
    def test_the_arithmetic_of_the_contract(self):
        for keys, charge in (({"gpu-fraction": "0.333"}, (13639, 333)), ({"gpu-memory": "4G"}, (3815, 93)),
                             ({"gpu-memory": "4096"}, (4096, 100)), ({"gpu-fraction": "2"}, (40960, 1000)),
                             ({"gpu-memory": "4G", "gpu-compute": "30"}, (3815, 300)),
                             ({"gpu-memory": "0.5Gi"}, (512, 12))):
            self.assertEqual(asks.Ask(keys).charge(40960), charge, keys)

    def test_the_profile_that_serves(self):
        balanced = {"1g.5gb", "2g.10gb", "3g.20gb"}
        for keys, among, profile in (
                ({"gpu-memory": "4G"}, slices.PROFILES, "1g.5gb"), ({"gpu-memory": "8G"}, slices.PROFILES, "1g.10gb"),
                ({"gpu-fraction": "0.25"}, slices.PROFILES, "1g.10gb"), ({"gpu-fraction": "0.25"}, balanced, "2g.10gb"),
                ({"gpu-fraction": "0.5"}, slices.PROFILES, "3g.20gb"), ({"gpu-fraction": "0.51"}, balanced, None),
                ({"gpu-memory": "4G", "gpu-compute": "43"}, slices.PROFILES, "4g.20gb"),
                ({"gpu-mig-profile": "1g.5gb+me"}, slices.PROFILES, "1g.5gb+me")):
            self.assertEqual(asks.Ask(keys).profile(among), profile, keys)

    def test_models(self):
        ask = asks.Ask({"gpu-fraction": "0.5", "gpu-model": "*a100*, !*80GB"})
        self.assertTrue(ask.allows(objects.A100 + "-SHARED"))
        self.assertFalse(ask.allows(LARGE))
        self.assertFalse(ask.allows("Tesla-T4"))

    def test_what_a_pod_takes_at_once(self):
        uses = [("warm", 500), ("side", 100), ("main", 250)]
        for init, most in ((("+side", "warm"), 600), (("warm", "+side"), 500)):
            kind_of = asks.kinds(objects.pod("job", init=init))
            self.assertEqual(asks.largest_at_once(kind_of, uses), most, init)

    def test_who_receives_what(self):
        pod = objects.pod("two", {"gpu-fraction": "0.5", "gpu-memory.b": "4G"}, containers=("a", "b"))
        self.assertEqual({name: ask.keys for name, ask in asks.of(pod).items()},
                         {"a": {"gpu-fraction": "0.5"}, "b": {"gpu-memory": "4G"}})
        pod["metadata"]["annotations"]["gpu-container"] = "b"
        del pod["metadata"]["annotations"]["gpu-memory.b"]
        self.assertEqual(list(asks.of(pod)), ["b"])


def sliced(name, profile, start, uuid="", **keys):
    """A pod that asks for that profile, or for `keys`, and has a slice of it on GPU 0."""
    card = slices.PROFILES[profile]
    pod = bound(objects.pod(name, keys or {"gpu-mig-profile": profile}),
                ("main", [0], card.memory_mib, slices.milli(profile), "mig"))
    held = truth.reservation(pod)
    held["containers"][0]["devices"][0]["mig"] = {"profile": profile, "start": start, "size": card.size,
                                                  **({"uuid": uuid} if uuid else {})}
    pod["metadata"]["annotations"][truth.RESERVATION] = json.dumps(held)
    return pod


class SliceJudgeTest(unittest.TestCase):
    DYNAMIC = slices.sliced_node("n1", [[]], dynamic=True)
    STATIC = slices.sliced_node("n1", [slices.LAYOUTS["all-balanced"]])
    LISTED = slices.slice_uuid("n1", 0, "2g.10gb", 0)

    def test_what_is_right_has_no_problems(self):
        pods = [sliced("four", "4g.20gb", 0), sliced("two", "2g.10gb", 4),
                sliced("one", "1g.5gb", 6, **{"gpu-memory": "4G"})]
        self.assertEqual(problems(*pods, node=self.DYNAMIC), [])
        self.assertEqual(problems(sliced("two", "2g.10gb", 0, self.LISTED), node=self.STATIC), [])

    def test_what_is_wrong(self):
        for node, pods, problem in (
                (self.DYNAMIC, [sliced("four", "4g.20gb", 0), sliced("two", "2g.10gb", 2)], "overlaps"),
                (self.DYNAMIC, [sliced("two", "2g.10gb", 6)], "no A100-40 can have"),
                (self.DYNAMIC, [sliced("more", "2g.10gb", 0, **{"gpu-memory": "4G"})], "asked for None"),
                (self.DYNAMIC, [sliced("turns", "1g.5gb", 0, **{"gpu-memory": "4G",
                                                                "gpu-isolation": "time-slicing"})], "in mode mig"),
                (self.DYNAMIC, [share("half", 500)], "in mode time-slicing"),
                (self.STATIC, [sliced("two", "2g.10gb", 0, "MIG-of-another")], "does not exist"),
                (self.STATIC, [sliced("two", "2g.10gb", 2)], "does not exist"),
                (None, [sliced("two", "2g.10gb", 0)], "in mode mig")):
            found = problems(*pods, node=node)
            self.assertTrue(any(problem in each for each in found), (problem, found))

    def test_the_ledger_has_every_slice_and_holder(self):
        pod = sliced("two", "2g.10gb", 0, self.LISTED)
        [rows] = truth.Truth([self.STATIC], [pod]).as_ledger()["slices"].values()
        self.assertEqual([(row[0], row[1], row[4]) for row in rows],
                         [(0, "2g.10gb", "uid-of-two"), (2, "1g.5gb", ""), (3, "1g.5gb", ""), (4, "3g.20gb", "")])


class JudgeTest(unittest.TestCase):
    def test_what_is_right_has_no_problems(self):
        job = bound(objects.pod("job", {"gpu-fraction": "0.25", "gpu-fraction.warm": "0.5"}, init=("warm",)),
                    ("warm", [0], 20480, 500, "time-slicing"), ("main", [0], 10240, 250, "time-slicing"))
        pair = share("pair", 500, gpus=(1, 2), **{"gpu-count": "2"})
        self.assertEqual(problems(job, share("half", 500), pair), [])

    def test_each_wrong_placement_is_found(self):
        whole = bound(objects.pod("whole", {"gpu-fraction": "1"}), ("main", [0], 40960, 1000, "whole"))
        wrong = {
            "over-committed": [share("a", 600), share("b", 500)],
            "does not exist": [share("a", 500, gpus=(7,))],
            "several modes": [whole, share("a", 1)],
            "asked for": [bound(objects.share("a", "0.5"), ("main", [0], 20480, 400, "time-slicing"))],
            "in mode mps": [share("a", 500, mode="mps")],
            "in mode time-slicing": [share("a", 500, **{"gpu-isolation": "mps"})],
            "which it excludes": [share("a", 500, **{"gpu-model": "!*a100*"})],
            "has the GPUs [0]": [share("a", 500, **{"gpu-count": "2"})],
            "has the GPUs [0, 0]": [share("a", 500, gpus=(0, 0), **{"gpu-count": "2"})],
            "an init container": [bound(
                objects.pod("job", {"gpu-fraction": "0.25", "gpu-fraction.warm": "0.5"}, init=("warm",)),
                ("warm", [1], 20480, 500, "time-slicing"), ("main", [0], 10240, 250, "time-slicing"))],
            "asked for nothing": [bound(objects.pod("a"), ("main", [0], 1, 1, "time-slicing"))],
        }
        for words, pods in wrong.items():
            with self.subTest(words):
                self.assertTrue(any(words in each for each in problems(*pods)), problems(*pods))

    def test_a_kubelet_gives_no_more_than_it_has(self):
        node = objects.labelled_node("n1", 1, replicas=2)
        pods = [objects.kubelet_pod(f"pod-{number}") for number in range(3)]
        for pod in pods:
            pod["metadata"]["uid"] = pod["metadata"]["name"]
            pod["spec"]["nodeName"], pod["status"] = "n1", {}
        self.assertEqual(problems(*pods[:2], node=node), [])
        self.assertIn("must give 3", problems(*pods, node=node)[0])


if __name__ == "__main__":
    unittest.main()

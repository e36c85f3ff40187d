"""Scenario x: preemption for GPUs beside disruption budgets, and beside pods that are nominated."""

from harness import manifests
from harness.mirror_scenario import MirrorScenario, bare
from harness.objects import gpu_node, on_node
from harness.priorities import HOUR
from harness.processes import wait_until
from harness.relay import Relay

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def share(name, fraction, priority="low", **options):
    return bare(name, {"gpu-fraction": fraction}, priority, **options)


def halves(team, count, node=None, **options):
    return [share(f"{team}-{number}", "0.5", labels={"team": team},
                  **(on_node(node) if node else {}), **options) for number in range(count)]


class BudgetsTest(MirrorScenario):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.admin.delete, BUDGETS)

    def test_x_the_gpu_without_a_budget(self):
        """x: of two GPUs of one node, the one goes whose pods no disruption budget protects"""
        for protected in ("first", "second"):
            with self.subTest(protected=protected):
                self._again(protected)
                self.start_mirrored(gpu_node("n1", 2))
                self.fill(*halves("first", 2), *halves("second", 2))
                self._assert_pairs("first", "second")
                self.assertEqual(self._teams_of(self.preempt(share("high", "1", "high"))),
                                 {"first", "second"} - {protected})

    def test_x_the_node_without_a_budget(self):
        """x: of two nodes, the pods of that one go which no disruption budget protects"""
        for protected in ("first", "second"):
            with self.subTest(protected=protected):
                self._again(protected)
                self.start_mirrored(gpu_node("n1", 1), gpu_node("n2", 1))
                self.fill(*halves("first", 2, "n1"), *halves("second", 2, "n2"))
                self.assertEqual(self._teams_of(self.preempt(share("high", "1", "high"))),
                                 {"first", "second"} - {protected})

    def test_x_the_fewest_violations(self):
        """x: where a budget protects pods on every node, the node goes with the fewest violations"""
        self._protect("first")
        self._protect("second", allowed=1)
        self._protect("third")
        self.start_mirrored(*(gpu_node(f"n{number}", 1) for number in (1, 2, 3)))
        self.fill(*halves("first", 2, "n1"), *halves("second", 2, "n2"), *halves("third", 2, "n3"))
        dead = self.preempt(share("high", "1", "high"))
        self.assertEqual((self._teams_of(dead), len(dead)), ({"second"}, 2))

    def test_x_protected_pods_go_where_all_are(self):
        """x: a pod of higher priority is placed although every victim violates a budget"""
        self._protect("first")
        self.start_mirrored(gpu_node("n1", 2))
        by_gpu = self.by_gpu(self.fill(*halves("first", 4)))
        dead = self.preempt(share("high", "1", "high"))
        [place] = self.gpus_of("high")
        self.assertEqual(dead, by_gpu[place])

    def _again(self, protected):
        """A new scenario, in which one team's pods are protected."""
        self.doCleanups()
        self.setUp()
        self._protect(protected)

    def _protect(self, team, allowed=0):
        """With a budget that allows so many disruptions; no controller runs that would count. Call it
        before the scheduler starts, which then knows the budget."""
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                  "metadata": {"name": team, "namespace": "default"},
                  "spec": {"minAvailable": 2 - allowed,
                           "selector": {"matchLabels": {"team": team}}}}
        made = manifests.apply_object(self.admin, budget)
        self.admin.patch(f"{BUDGETS}/{team}/status", {"status": {
            "observedGeneration": made["metadata"]["generation"], "disruptionsAllowed": allowed,
            "currentHealthy": 2, "desiredHealthy": 2 - allowed, "expectedPods": 2}})

    def _assert_pairs(self, *teams):
        for names in self.by_gpu(self.uids()).values():
            self.assertEqual((len(names), len(self._teams_of(names))), (2, 1), teams)

    @staticmethod
    def _teams_of(names):
        return {name.partition("-")[0] for name in names}


class NominatedTest(MirrorScenario):
    def test_x_a_second_pod_takes_other_victims(self):
        """x: while the victims of one pod end, the next one takes the other GPU's, and no more"""
        by_gpu = self._start(2)
        first = self.nominate(share("first", "1", "high"), 2)
        second = self.nominate(share("second", "1", "high"), 2)
        self.assertEqual({frozenset(first), frozenset(second)},
                         {frozenset(names) for names in by_gpu.values()})
        # Nobody of lower priority is left: the third one finds no victims.
        self.post_pods(share("third", "1", "high"))
        self.wait_refused("third", "preemption: ")
        self.assertEqual(self.evicted(), first | second)
        self.delete_pod("third")  # docs/explanation/preemption.md: it might be bound in place of one of them
        for name in first | second:
            self.end(name)
        self.wait_bound("first")
        self.wait_bound("second")
        self.assertEqual(self.by_gpu({"first"}).keys() | self.by_gpu({"second"}).keys(),
                         by_gpu.keys())
        self._check(first | second)

    def test_x_a_second_pod_does_not_take_the_firsts_place(self):
        """x: a second pod of the same priority, for which the freed half would be enough, takes one victim
        of the other GPU"""
        by_gpu = self._start(2)
        first = self.nominate(share("first", "1", "high"), 2)
        [place] = [place for place, names in by_gpu.items() if names == first]
        self.end(min(first))
        # Half of the GPU is free, and kept for the first pod, which is older.
        self.wait_until_pods_are_younger("first")
        second = self.nominate(share("second", "0.5", "high"), 1)
        self.assertFalse(second & by_gpu[place])
        self.end(max(first))
        # kube-scheduler counts a nominated pod of the same priority, even a younger one, and so
        # tries the first again when the victim of the second is gone.
        for name in second:
            self.end(name)
        self.wait_bound("first")
        self.wait_bound("second")
        self.assertEqual(self.gpus_of("first"), {place})
        self._check(first | second)

    def test_x_a_second_pod_that_needs_the_same_gpu(self):
        """x: where all room is nominated, a second pod of the same priority evicts nobody"""
        self._start(1)
        first = self.nominate(share("first", "1", "high"), 2)
        self.post_pods(share("second", "0.5", "high"))
        self.wait_refused("second", "preemption: ")
        self.assertFalse(self.pod("second")["status"].get("nominatedNodeName"))
        # docs/explanation/preemption.md: where no pod of lower priority is left, kube-scheduler may take back the
        # nomination of `first` in the moment in which the victims end.
        self.delete_pod("second")
        for name in first:
            self.end(name)
        self.wait_bound("first")
        self._check(first)

    def test_x_victims_whose_end_only_the_scheduler_sees(self):
        """x: while Snug's watch does not show that the victims are gone, nobody else dies for the pod"""
        relay = Relay(self.plane.port)
        self.addCleanup(relay.close)
        self.start_mirrored(gpu_node("n1", 1), gpu_node("n2", 1),
                            kubeconfig=self.plane.extender_kubeconfig(relay.port))
        by_gpu = self.fill_with_halves(2)
        relay.freeze()
        self.post_pods(share("high", "1", "high"))
        wait_until("the scheduler has asked again for victims", lambda: self.extender.metric(
            "snug_verb_total", verb="preempt") >= 2)
        relay.heal()
        self.wait_bound("high")
        [place] = self.gpus_of("high")
        self._check(by_gpu[place])

    def _start(self, gpus):
        self.start_mirrored(gpu_node("n1", gpus))
        return self.fill_with_halves(gpus, grace=HOUR)

    def _check(self, dead):
        """Only these died."""
        self.assertEqual(self.evicted(), dead)
        self.assertEqual(self.terminating(), set())
        self.check_cluster()

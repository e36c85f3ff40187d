"""Scenario mig: preemption by the resources that mirror shares, for slices of GPUs in MIG mode."""

from harness import slices
from harness.mig_agent import Agent
from harness.mirror_scenario import MirrorScenario, bare
from harness.slice_scenario import SliceScenario

SMALL, MIDDLE, LARGE, FOUR, ALL = "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"


def sliced(name, profile, priority="low"):
    return bare(name, {"gpu-mig-profile": profile}, priority)


class MirrorSlicesTest(MirrorScenario, SliceScenario):
    def test_mig_preemption_three_cells_of_one_card(self):
        """mig: of two cards full of 1g.5gb, a 3g.20gb takes the three of one that lie in its way"""
        agent = self._start(2)
        low = self._fill([SMALL] * 14)
        agent.round()
        dead = self._preempt("high", LARGE, low)
        # From memory slice 4 three slices lie, from 0 four.
        self.assertEqual((self.slice_of("high").start, len(dead)), (4, 3))
        agent.round()
        self.check_slices({SMALL: 11, LARGE: 1})

    def test_mig_preemption_a_place_that_is_fixed(self):
        """mig: a 4g.20gb, which has one place, takes the slices there, though two others would do by
        the sums"""
        agent = self._start(1)
        low = self._fill([LARGE, MIDDLE, SMALL, SMALL])
        self.assertEqual(self.slice_of("low-0").start, 4)
        agent.round()
        dead = self._preempt("high", FOUR, low)
        self.assertEqual(len(dead), 3)
        agent.round()
        self.check_slices({LARGE: 1, FOUR: 1})

    def test_mig_preemption_a_small_slice(self):
        """mig: a 1g.5gb takes one pod of two that fill the card"""
        self._start(1)
        low = self._fill([LARGE, LARGE])
        dead = self._preempt("high", SMALL, low)
        self.assertEqual(len(dead), 1)
        self.check_slices({LARGE: 1, SMALL: 1})

    def test_mig_preemption_the_whole_card(self):
        """mig: a 7g.40gb takes all pods of one card, and none of the other"""
        agent = self._start(2)
        low = self._fill([LARGE, LARGE, MIDDLE, MIDDLE, MIDDLE, SMALL])
        agent.round()
        self._preempt("high", ALL, low)
        agent.round()
        self.check_slices()

    def test_mig_preemption_by_memory_and_fraction(self):
        """mig: a pod with gpu-memory, and one with gpu-fraction, take the place of the slice that they
        get"""
        self._start(1)
        low = self._fill([SMALL] * 7)
        self.assertEqual(len(self._preempt("memory", LARGE, low, {"gpu-memory": "16Gi"})), 3)
        self.assertEqual(len(self._preempt("quarter", "1g.10gb", low, {"gpu-fraction": "0.25"})), 2)
        self.check_slices({LARGE: 1, "1g.10gb": 1, SMALL: 2})

    def test_mig_preemption_on_a_fixed_layout(self):
        """mig: where nobody makes slices, the pod that holds a slice of the profile goes"""
        self.start_mirrored(slices.sliced_node("n1", [slices.LAYOUTS["all-balanced"]]))
        low = self._fill([LARGE, MIDDLE, SMALL, SMALL])
        for name, profile in (("middle", MIDDLE), ("large", LARGE)):
            self.assertEqual(len(self._preempt(name, profile, low)), 1)
        self.check_slices({LARGE: 1, MIDDLE: 1, SMALL: 2})

    def test_mig_preemption_other_priorities(self):
        """mig: a place with four pods of low priority is taken, not one with a pod of middle priority"""
        self._start(1)
        self._fill([LARGE], "middle")
        low = self._fill([SMALL] * 4)
        self.assertEqual(self._preempt("high", LARGE, low), low)
        self.check_slices({LARGE: 2})

    def test_mig_preemption_no_place(self):
        """mig: where the sums are enough, but no place is free, the pod waits and nobody dies"""
        self._start(1)
        self._fill([SMALL] * 7)
        for name in [name for name, (_, _, one) in self.held().items() if one.start in (1, 5)]:
            self.delete_pod(name)
        self.assert_waits(sliced("high", MIDDLE, "high"), "NoRoom")

    def _start(self, cards):
        agent = Agent(self.admin, "n1", cards)
        self.start_mirrored(agent.node())
        return agent

    def _fill(self, profiles, priority="low"):
        return self.fill(*(sliced(f"{priority}-{number}", profile, priority)
                           for number, profile in enumerate(profiles)))

    def _preempt(self, name, profile, low, annotations=None):
        """The victims, which are those pods that held a part of the place that the pod now has."""
        held = self.held()
        dead = self.preempt(bare(name, annotations or {"gpu-mig-profile": profile}, "high"))
        node, index, given = self.held()[name]
        self.assertEqual(given.profile, profile)
        cells = slices.cells(profile, given.start)
        self.assertEqual(dead, {other for other in low & set(held)
                                if held[other][:2] == (node, index)
                                and cells & slices.cells(held[other][2].profile,
                                                         held[other][2].start)})
        return dead

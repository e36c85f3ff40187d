"""Scenarios mig: slices that an agent makes as reservations ask for them."""

import itertools
import random

from harness import slices, truth
from harness.mig_agent import Agent
from harness.objects import gpu_node, on_node, pod
from harness.processes import wait_until
from harness.scenario import refusal
from harness.slice_scenario import SliceScenario, sliced_pod

SMALL, MIDDLE, LARGE, FOUR, ALL = "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"


class MigDynamicTest(SliceScenario):
    def test_mig_dynamic_what_is_asked(self):
        """mig: by memory, fraction or name a pod gets the smallest slice that holds it, to be made"""
        agent = self._start(4)
        for name, keys, profile in (
                ("memory", {"gpu-memory": "4G"}, SMALL),
                ("named", {"gpu-mig-profile": MIDDLE}, MIDDLE),
                ("half", {"gpu-fraction": "0.5"}, LARGE),
                ("more", {"gpu-memory": "8G"}, "1g.10gb"),
                ("quarter", {"gpu-fraction": "0.25"}, "1g.10gb"),
                ("compute", {"gpu-memory": "4G", "gpu-compute": "43"}, FOUR),
                ("engine", {"gpu-mig-profile": "1g.5gb+me"}, "1g.5gb+me"),
                ("nearly", {"gpu-fraction": "0.999"}, ALL)):
            with self.subTest(name):
                self.place(pod(name, keys))
                given = self.slice_of(name)
                self.assertEqual((given.profile, given.uuid), (profile, ""))
        self.check_slices()
        self._round(agent)
        held = self.check_slices()
        rows = [row for gpu in self.ledger_node("n1")["gpus"] for row in slices.rows_of(gpu)]
        self.assertEqual(len(rows), len(held))
        self.assertTrue(all(uuid and holder for *_, uuid, holder in rows), rows)

    def test_mig_dynamic_a_finished_pods_slice(self):
        """mig: it is reused by an equal request, uuid and all, and given up for a larger one"""
        agent = self._start(1)
        for name in ("first", "second"):
            self.place(sliced_pod(name, MIDDLE))
        self._round(agent)
        _, _, old = self.held()["first"]
        self.finish("first")
        self._round(agent)
        self.assertEqual(len(agent.slices(0)), 2, "an idle slice stays")
        self.place(sliced_pod("equal", MIDDLE))
        given = self.slice_of("equal")
        self.assertEqual(given, (MIDDLE, old.start, agent.slices(0)[MIDDLE, old.start]))
        self._round(agent)
        self.check_slices({MIDDLE: 2})

        self.finish("second")
        self.finish("equal")
        before = agent.slices(0)
        self.place(sliced_pod("large", ALL))
        self.assertEqual(self.slice_of("large"), (ALL, 0, ""))
        self._round(agent)
        self.assertEqual(list(agent.slices(0)), [(ALL, 0)])
        self.assertFalse(set(agent.slices(0).values()) & set(before.values()))
        self.check_slices({ALL: 1})

    def test_mig_dynamic_reuse_comes_before_an_empty_card(self):
        """mig: an equal request takes the idle slice of one card, though another card is empty"""
        agent = self._start(2)
        names = [f"pod-{number}" for number in range(5)]
        for name in names:
            self.place(sliced_pod(name, SMALL))
        self._round(agent)
        for gone in (names[0], names[3]):
            place = self.held()[gone][1:]
            self.finish(gone)
            self.place(sliced_pod(f"after-{gone}", SMALL))
            _, index, given = self.held()[f"after-{gone}"]
            self.assertEqual((index, given.profile, given.start),
                             (place[0], SMALL, place[1].start))
            self.assertEqual(given.uuid, agent.slices(index)[SMALL, given.start])
            self._round(agent)
        self.check_slices({SMALL: 5})

    def test_mig_dynamic_another_profile_in_the_same_place(self):
        """mig: a 4g.20gb where an idle 3g.20gb lies is new, in the reservation and in /v1/nodes"""
        agent = self._start(1)
        self.place(sliced_pod("low", LARGE))
        self.place(sliced_pod("high", LARGE))
        self._round(agent)
        [below] = [name for name, (_, _, one) in self.held().items() if one.start == 0]
        self.finish(below)
        self.place(sliced_pod("four", FOUR))
        self.assertEqual(self.slice_of("four"), (FOUR, 0, ""))
        uid = self.pod("four")["metadata"]["uid"]
        rows = slices.rows_of(self.ledger_gpu("n1", 0))
        self.assertEqual([row for row in rows if row[-1] == uid], [(0, FOUR, 4, "", uid)])
        self.check_slices({LARGE: 1, FOUR: 1})
        self._round(agent)
        self.check_slices({LARGE: 1, FOUR: 1})

    def test_mig_dynamic_neighbours_keep_their_slices(self):
        """mig: idle slices make room for a larger one, those of running pods never do"""
        agent = self._start(1)
        self.post_slices(SMALL, 7)
        self.wait_settled(7)
        self._round(agent)
        before = agent.slices(0)
        for name, (_, _, one) in self.held().items():
            if one.start < 4:
                self.finish(name)
        self.post_pods(sliced_pod("large", LARGE), sliced_pod("other", LARGE))
        self.wait_settled(4, 1, "NoRoom: ")
        [given] = [one for _, _, one in self.held().values() if one.profile == LARGE]
        self.assertEqual(given.start, 0)
        self._round(agent)
        self.assertEqual({place: uuid for place, uuid in agent.slices(0).items() if place[1] > 3},
                         {place: uuid for place, uuid in before.items() if place[1] > 3})
        self.check_slices({SMALL: 3, LARGE: 1})

    def test_mig_dynamic_what_cannot_be_made(self):
        """mig: a place that the agent reports as failed takes nothing until it no longer does"""
        agent = self._start(1)
        agent.broken = {(0, LARGE, start) for start in (0, 4)}
        self.place(sliced_pod("first", LARGE))
        failed = self.slice_of("first").start
        self._round(agent)
        self.post_pods(sliced_pod("all", ALL))
        self.wait_refused("all", "Unhealthy: ")
        self.delete_pod("first")
        self.place(sliced_pod("second", LARGE))
        self.assertEqual(self.slice_of("second").start, 4 - failed)
        self.check_slices({LARGE: 1})
        self.post_slices(SMALL, 8)
        self.wait_settled(1, 8, "NoRoom: ")
        agent.broken.clear()
        self._round(agent)
        room = 3 if failed == 4 else 4
        self.wait_settled(1 + room, 9 - room, "NoRoom: ")
        self._round(agent)
        self.check_slices({LARGE: 1, SMALL: room})

    def test_mig_dynamic_failures_end_with_an_inventory_without_them(self):
        """mig: pods that were refused for a failed place are bound when the inventory has none"""
        agent = self._start(1)
        agent.broken = {(0, ALL, 0)}
        self.place(sliced_pod("first", ALL))
        self._round(agent)
        self.delete_pod("first")
        self.post_pods(sliced_pod("second", SMALL), sliced_pod("third", LARGE))
        self.wait_refused("second", "Unhealthy: ")
        self.wait_refused("third", "Unhealthy: ")
        agent.forget_failures()
        self.wait_settled(2)
        self._round(agent)
        self.check_slices({SMALL: 1, LARGE: 1})

    def test_mig_dynamic_isolation(self):
        """mig: gpu-isolation: mig goes to MIG GPUs only, time-slicing and mps never do"""
        agent = Agent(self.admin, "n1", 1, whole=1)
        self.start_on(agent.node(), gpu_node("n2", 2, modes=["whole", "time-slicing", "mps"]))
        self.post_pods(*(pod(f"slice-{number}", {"gpu-memory": "4G", "gpu-isolation": "mig"})
                         for number in range(8)))
        self.wait_settled(7, 1, "NoRoom: ")
        self.assertEqual({place[:2] for place in self.held().values()}, {("n1", 0)})
        for mode in ("time-slicing", "mps"):
            self.place(pod(mode, {"gpu-memory": "4G", "gpu-isolation": mode}, **on_node("n2")))
            self.assertEqual(self.device(mode)["mode"], mode)
        self.place(pod("whole", {"gpu-fraction": "1"}, **on_node("n1")))
        self.assertEqual(self.gpu_of("whole"), ("n1", 1))
        self._round(agent)
        self.check_slices({SMALL: 7})
        self.scale_to_0()
        self.place(pod("whole", {"gpu-fraction": "1"}, **on_node("n1")))
        for mode in ("time-slicing", "mps"):
            self.post_pods(pod(mode, {"gpu-memory": "4G", "gpu-isolation": mode}, **on_node("n1")))
        self.wait_refused("time-slicing", "NoRoom: ")
        self.wait_refused("mps", "WrongMode: ")
        self.check_slices({})

    def test_mig_dynamic_all_kinds_at_once(self):
        """mig: dynamic and static MIG nodes and a shared one serve shares, slices and whole GPUs"""
        agent = Agent(self.admin, "dynamic", 2, whole=2)
        self.start_on(agent.node(), gpu_node("shared", 4),
                      slices.sliced_node("static", [slices.LAYOUTS["all-balanced"]] * 2))
        pods = [
            *(sliced_pod(f"small-{number}", SMALL) for number in range(6)),
            *(sliced_pod(f"middle-{number}", MIDDLE) for number in range(4)),
            *(sliced_pod(f"large-{number}", LARGE) for number in range(2)),
            *(pod(f"mig-{number}", {"gpu-memory": "4G", "gpu-isolation": "mig"})
              for number in range(2)),
            *(pod(f"whole-{number}", {"gpu-fraction": "1"}) for number in range(3)),
            *(pod(f"turns-{number}", {"gpu-fraction": "0.5", "gpu-isolation": "time-slicing"})
              for number in range(6))]
        seed = 20261
        random.Random(seed).shuffle(pods)
        self.post_pods(*pods)
        self.wait_settled(len(pods))
        self._round(agent)
        held = self.check_slices({SMALL: 8, MIDDLE: 4, LARGE: 2})
        places = {name: self.gpu_of(name) for name in (each["metadata"]["name"] for each in pods)}
        mig = {("dynamic", 0), ("dynamic", 1), ("static", 0), ("static", 1)}
        self.assertEqual({name for name, place in places.items() if place in mig}, set(held),
                         f"seed {seed}")
        self.assertEqual({node for node, *_ in held.values()}, {"dynamic", "static"})
        self.post_pods(pod("one-more", {"gpu-fraction": "1"}))
        self.wait_refused("one-more", "NoRoom: ")
        self.delete_pod("whole-0")
        self.wait_bound("one-more")
        self.check_slices()

    def test_mig_dynamic_filled_exactly(self):
        """mig: 8 cards take 7 slices of 1g.5gb each, the next pod waits with NoRoom"""
        agent = self._start(8)
        self.post_slices(SMALL, 58)
        self.wait_settled(56, 2, "NoRoom: ")
        every = sorted((index, start) for index in range(8) for start in range(7))
        self.assertEqual(sorted((index, one.start) for _, index, one in self.held().values()),
                         every)
        self._round(agent)
        self.assertEqual(sorted(place for index in range(8) for place in agent.slices(index)),
                         sorted([(SMALL, start) for start in range(7)] * 8))
        held = self.check_slices({SMALL: 56})
        for gpu in self.ledger_node("n1")["gpus"]:
            self.assertEqual(gpu["slices"]["axis"], 8)
            self.assertEqual(len({row[-1] for row in slices.rows_of(gpu)}), 7)
        gone = next(iter(held))
        self.finish(gone)
        self.wait_settled(56, 1, "NoRoom: ")
        [new] = set(self.held()) - set(held)
        _, index, given = self.held()[new]
        self.assertEqual((index, given.start), (held[gone][1], held[gone][2].start))
        self.assertEqual(given.uuid, agent.slices(index)[SMALL, given.start])
        self.check_slices({SMALL: 56})

    def test_mig_dynamic_filled_with_all_sizes(self):
        """mig: by best-fit a 4g, a 2g and a 1g fill a card, in whatever order they come"""
        agent = self._start(1, policy="best-fit")
        for order in itertools.permutations((SMALL, MIDDLE, FOUR)):
            self.scale_to_0()
            with self.subTest(" ".join(order)):
                for number, profile in enumerate(order):
                    self.place(sliced_pod(f"pod-{number}", profile))
                self.post_pods(sliced_pod("no-room", SMALL))
                self.wait_refused("no-room", "NoRoom: ")
                self._round(agent)
                self.check_slices({SMALL: 1, MIDDLE: 1, FOUR: 1})

    def test_mig_dynamic_a_restart(self):
        """mig: after SIGKILL slices that run, that are idle and that are to be made are as before"""
        agent = self._start(2)
        for name, profile in (("a", SMALL), ("b", LARGE), ("idle", MIDDLE)):
            self.place(sliced_pod(name, profile))
        self._round(agent)
        self.finish("idle")
        self.place(sliced_pod("to-be-made", FOUR))
        before = self.check_slices({SMALL: 1, LARGE: 1, FOUR: 1})
        ledger = self.truth().as_ledger()
        self.extender.kill()
        self.extender.start()
        rebuilt = truth.ledger_of(self.extender.nodes(), self.extender.pods())
        self.assertEqual(truth.difference(ledger, rebuilt), "")
        self._round(agent)
        self.assertEqual(self.check_slices({SMALL: 1, LARGE: 1, FOUR: 1}), before)
        self.place(sliced_pod("again", MIDDLE))
        self._round(agent)
        self.check_slices({SMALL: 1, LARGE: 1, FOUR: 1, MIDDLE: 1})

    def test_mig_dynamic_pods_come_and_go(self):
        """mig: while 90 pods come and go in random sizes no slice is ever in another's way"""
        agent = self._start(3)
        seed = 20262
        chance = random.Random(seed)
        for wave in range(6):
            self.post_pods(*(sliced_pod(f"wave-{wave}-{number}", chance.choice(
                (SMALL, SMALL, MIDDLE, "1g.10gb", LARGE, FOUR, ALL))) for number in range(15)))
            self._wait_all_answered()
            self._round(agent)
            held = self.check_slices()
            self.assertGreaterEqual(len(held), 3, f"seed {seed}")
            for name in sorted(held):
                if chance.random() < 0.6:
                    self.finish(name)
            self._round(agent)
            for each in self.pods():
                if not each["spec"].get("nodeName"):
                    self.delete_pod(each["metadata"]["name"])
        self.check_cluster()

    # Steps.

    def _start(self, gpus, **options):
        """One node, `n1`, with its agent."""
        agent = Agent(self.admin, "n1", gpus)
        self.start_on(agent.node(), **options)
        return agent

    def _round(self, agent):
        """The agent's, and the extender knows its slices."""
        agent.round()

        def known():
            for gpu in self.ledger_node(agent.name)["gpus"]:
                if "slices" in gpu:
                    made = {uuid for *_, uuid, _ in slices.rows_of(gpu) if uuid}
                    if made != set(agent.slices(gpu["index"]).values()):
                        return False
            return True
        wait_until("the extender knows the agent's slices", known)

    def _wait_all_answered(self):
        """Every pod is bound, refused or over; which ones depends on the order."""
        wait_until("every pod is bound or refused", lambda: all(
            each["spec"].get("nodeName") or refusal(each)[0] == "Unschedulable"
            for each in self.pods()), 60, every=0.3)

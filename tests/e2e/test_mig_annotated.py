"""Scenarios mig: slices that a node's inventory lists, and that Snug gives."""

from harness import slices
from harness.objects import pod, share
from harness.processes import wait_until
from harness.slice_scenario import SliceScenario, sliced_pod

SMALL, MIDDLE, LARGE, FOUR = "1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"
GPUS = 8
# Half of the GPUs in a layout that no configuration of mig-parted's has, half of them whole.
CUSTOM = [[(FOUR, 0), (MIDDLE, 4), (SMALL, 6)]] * 4 + [None] * 4


def layout_of(name):
    return [slices.LAYOUTS[name]] * GPUS


class MigAnnotatedTest(SliceScenario):
    def test_mig_given_all_of_the_smallest_slices(self):
        """mig: of 100 pods that ask for a 1g.5gb, a p4d's list in all-1g.5gb has one for each of 56"""
        found = self._start(layout_of("all-1g.5gb"))
        self.post_slices(SMALL, 100)
        self.wait_settled(56, 44, "NoRoom: ")
        held = self.check_slices({SMALL: 56})
        self._check_all_are_held(found, held)
        self.post_pods(sliced_pod("other", MIDDLE), pod("whole", {"gpu-fraction": "1"}))
        self.wait_refused("other", "NoProfile: ")
        self.wait_refused("whole", "WrongMode: ")
        gone = next(iter(held))
        self.delete_pod(gone)
        self.wait_settled(56, 43, "NoRoom: ")
        after = self.check_slices({SMALL: 56})
        self._check_all_are_held(found, after)
        self.assertEqual({after[name] for name in set(after) - set(held)}, {held[gone]})

    def test_mig_given_one_slice_is_unhealthy(self):
        """mig: with one slice missing from the list 55 of 100 are bound, the 56th when it is back"""
        layout = layout_of("all-1g.5gb")
        missing = [*layout[:5], layout[5][:3] + layout[5][4:], *layout[6:]]
        found = self._start(missing)
        self.post_slices(SMALL, 100)
        self.wait_settled(55, 45, "NoRoom: ")
        self._check_all_are_held(found, self.check_slices({SMALL: 55}))
        found = self._publish(layout, again=0)
        self.wait_settled(56, 44, "NoRoom: ")
        self._check_all_are_held(found, self.check_slices({SMALL: 56}))

    def test_mig_given_balanced(self):
        """mig: in all-balanced 16, 8 and 8 of 20 pods each that ask for 1g.5gb, 2g.10gb, 3g.20gb"""
        found = self._start(layout_of("all-balanced"))
        for profile in (SMALL, MIDDLE, LARGE):
            self.post_slices(profile, 20)
        self.wait_settled(32, 28, "NoRoom: ")
        held = self.check_slices({SMALL: 16, MIDDLE: 8, LARGE: 8})
        self._check_all_are_held(found, held)

    def test_mig_given_by_size(self):
        """mig: in all-balanced pods that ask by memory or fraction get the smallest slice there is"""
        self._start(layout_of("all-balanced"))
        for keys, profile in (({"gpu-memory": "4G"}, SMALL), ({"gpu-memory": "8G"}, MIDDLE),
                              ({"gpu-fraction": "0.25"}, MIDDLE), ({"gpu-fraction": "0.5"}, LARGE),
                              ({"gpu-fraction": "0.3"}, LARGE),
                              ({"gpu-memory": "4G", "gpu-compute": "29"}, LARGE)):
            with self.subTest(str(keys)):
                name = "-".join(keys.values()).replace(".", "-").lower()
                self.place(pod(name, keys))
                self.assertEqual(self.slice_of(name).profile, profile)
        self.post_pods(share("more", "0.75"))
        self.wait_refused("more", "TooLarge: ")
        self.check_slices({SMALL: 1, MIDDLE: 2, LARGE: 3})

    def test_mig_given_in_another_layout(self):
        """mig: scaled to 0 and listed in another layout, and in a custom one, pods follow"""
        self._start(layout_of("all-balanced"))
        self.post_slices(SMALL, 20)
        self.wait_settled(16, 4, "NoRoom: ")
        self.check_slices({SMALL: 16})

        self.scale_to_0()
        self.post_slices("7g.40gb", 1)
        self.wait_refused("pod-7g-40gb-0", "NoProfile: ")
        found = self._publish(layout_of("all-3g.20gb"))
        self.post_slices(LARGE, 20)
        self.wait_settled(16, 4, "NoRoom: ")
        self._check_all_are_held(found, self.check_slices({LARGE: 16}))

        self.scale_to_0()
        found = self._publish(CUSTOM)
        for profile in (FOUR, MIDDLE, SMALL):
            self.post_slices(profile, 5)
        self.post_pods(*(pod(f"whole-{number}", {"gpu-fraction": "1"}) for number in range(5)))
        self.wait_settled(16, 4, "NoRoom: ")
        self._check_all_are_held(found, self.check_slices({FOUR: 4, MIDDLE: 4, SMALL: 4}))

        self.scale_to_0()
        self._publish([None] * GPUS)
        self.place(share("part", "0.5"))
        self.check_cluster()

    def test_mig_given_a_layout_that_changes_under_a_pod(self):
        """mig: a slice that is gone under its pod stays counted, and its GPU closes until it ends"""
        self._start([slices.ALL_SMALL, slices.ALL_SMALL])
        self.place(sliced_pod("first", SMALL))
        _, index, _ = self.held()["first"]
        other = [slices.LAYOUTS["all-3g.20gb"]] * 2
        self._publish(other)
        wait_until("the GPU closes", lambda: self.ledger_gpu("p4d", index)["closed"])
        gpu = self.ledger_gpu("p4d", index)
        self.assertEqual([each["pod"] for each in gpu["holders"]], ["first"])
        self.post_slices(LARGE, 3)
        self.wait_settled(3, 1, "NoRoom: ")
        self.assertEqual({gpu for name, (_, gpu, _) in self.held().items() if name != "first"},
                         {1 - index})
        self.delete_pod("first")
        self.wait_settled(3)
        self.check_slices({LARGE: 3})

    # Steps.

    def _start(self, layout):
        self.start_on(slices.sliced_node("p4d", layout))
        return slices.slices_of("p4d", layout)

    def _publish(self, layout, again=1):
        """Another list; `again`: of the uuids."""
        found = slices.slices_of("p4d", layout, again)
        self.set_inventory("p4d", slices.mig_inventory("p4d", found))

        def knows(gpu, listed):
            if listed is None:
                return "slices" not in gpu
            return {one.uuid for one in listed} <= {
                each.get("uuid") for each in gpu.get("slices", {}).get("instances", ())}
        wait_until("the extender knows the list", lambda: all(
            map(knows, self.ledger_node("p4d")["gpus"], found)))
        return found

    def _check_all_are_held(self, found, held):
        """Each slice of the list by one pod."""
        self.assertEqual(sorted((index, one) for _, index, one in held.values()),
                         sorted((index, one) for index, each in enumerate(found)
                                for one in each or ()))

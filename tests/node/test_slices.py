"""Scenario a, continued: MIG slices that the agent makes when they are reserved, and removes when their place is needed."""

import contextlib

from harness.processes import wait_until
from harness.scenario import NODES, PODS, refusal
from harness.truth import is_bound
from agent_scenario import EVENTS, VIOLATIONS, AgentScenario, only_if_closed
from node_scenario import NAME, container_ids
from test_agent import CONTROL

UNKNOWN_ERROR = 999  # as NVML numbers it
PROFILES = {"1g.5gb": 19, "2g.10gb": 14, "3g.20gb": 9, "7g.40gb": 0}  # the driver's ids
SIZES = {19: 1, 14: 2, 9: 4, 0: 8}  # by these ids: of a slice's place
COMPUTE_SLICES = {19: 1, 14: 2, 9: 3, 0: 7}


class SlicesScenario(AgentScenario):
    agent_flags = ("--dynamic-mig",)

    def setUp(self):
        super().setUp()
        self.make_capabilities(0)
        self.state.enable_mig(0)
        wait_until("the inventory says so", lambda: self.inventory()["gpus"][0]["mig"], 20)
        self.wait_settled()

    def slices(self):
        """(profile's id, start) of each instance that the driver has."""
        return sorted((each["profile"], each["start"]) for each in self.state.read()["cards"][0]["instances"])

    def reserved(self, name):
        mig = self.device(name)["mig"]
        return PROFILES[mig["profile"]], mig["start"]

    def check_slice(self, name, seen):
        """The container sees the device nodes of its slice, which the driver has, and no others."""
        [instance] = [each["id"] for each in self.state.read()["cards"][0]["instances"]
                      if (each["profile"], each["start"]) == self.reserved(name)]
        self.assertEqual(seen.devices, sorted(
            [*CONTROL, "nvidia0", *(f"nvidia-cap{minor}" for minor in self.capability_minors(instance))]))

    def exchange_ids(self):
        """As if the two slices of the node had been destroyed and made again in the other order."""
        with self.state.change() as state:
            one, other = state["cards"][0]["instances"]
            one["id"], other["id"] = other["id"], one["id"]


class SlicesTest(SlicesScenario):
    def test_a_slices_on_demand(self):
        """a: slices are made when they are reserved; an idle one stays until its place is needed"""
        self.check_slice("small", self.run_pod("small", {"gpu-mig-profile": "1g.5gb"}))
        self.check_slice("big", self.run_pod("big", {"gpu-mig-profile": "3g.20gb"}))
        made = sorted([self.reserved("small"), self.reserved("big")])
        self.assertEqual(self.slices(), made)
        wait_until("the inventory has them", lambda: len(self.inventory()["gpus"][0]["migInstances"]) == 2, 20)
        self.check_cluster()
        for name in ("small", "big"):
            self.delete_pod(name)
        wait_until("the pods have ended", lambda: not self.specs(), 90)
        self.check_slice("again", self.run_pod("again", {"gpu-mig-profile": "3g.20gb"}))
        mig = self.device("again")["mig"]
        taken = range(mig["start"], mig["start"] + mig["size"])
        big, small = made
        kept = [each for each, size in ((big, 4), (small, 1))
                if not set(range(each[1], each[1] + size)) & set(taken)]
        self.assertEqual(self.slices(), sorted([self.reserved("again"), *kept]))
        self.delete_pod("again")
        self.check_slice("all", self.run_pod("all", {"gpu-mig-profile": "7g.40gb"}))
        self.assertEqual(self.slices(), [(PROFILES["7g.40gb"], 0)])
        self.check_cluster()

    def test_a_slices_that_cannot_be_made(self):
        """a: a slice that the driver does not make is a failure in the inventory and an event; it is made when it can be"""
        self.state.set_card(0, fail={"nvmlDeviceCreateGpuInstanceWithPlacement": UNKNOWN_ERROR})
        self.create_pod("waits", {"gpu-mig-profile": "2g.10gb"})
        self.wait_bound("waits")
        self.wait_waiting("waits", "2g.10gb")
        wait_until("the inventory has the failure", lambda: [
            (each["profile"], each["pod"]) for each in self.inventory().get("migFailures", [])] == [
                ("2g.10gb", self.pod("waits")["metadata"]["uid"])], 20)
        uid = self.pod("waits")["metadata"]["uid"]
        wait_until("an event says so", lambda: any(
            each["regarding"].get("uid") == uid and "2g.10gb" in each.get("note", "")
            and each["reportingController"].startswith("snug") for each in self.admin.list(EVENTS)), 20)
        self.assertEqual(self.slices(), [])
        self.state.set_card(0, fail={})
        self.check_slice("waits", self.seen("waits"))
        wait_until("the inventory has no failure", lambda: not self.inventory().get("migFailures"), 20)
        self.check_cluster()

    def test_a_slices_of_others(self):
        """a: what a process uses is not touched; a half-made instance that is in the way is removed"""
        used, _ = self.state.make_slice(0, profile=PROFILES["1g.5gb"], start=6, size=1)
        with self.state.change() as state:
            card = state["cards"][0]
            card["processes"] = [{"pid": 77, "used_mib": 100, "gpu_instance": used, "compute_instance": 0}]
            card["instances"].append({"id": 9, "profile": PROFILES["3g.20gb"], "start": 0, "size": 4, "compute": []})
        self.create_pod("all", {"gpu-mig-profile": "7g.40gb"})
        self.wait_bound("all")
        self.wait_waiting("all", "7g.40gb")
        self.assertIn((PROFILES["1g.5gb"], 6), self.slices())
        self.state.set_card(0, processes=[])
        self.check_slice("all", self.seen("all"))
        self.assertEqual(self.slices(), [(PROFILES["7g.40gb"], 0)])
        self.check_cluster()

    @only_if_closed(True)
    def test_a_slices_after_a_reboot(self):
        """a: after a reboot, which ends all slices, the agent makes those of the node's pods again"""
        for name, profile in (("one", "1g.5gb"), ("two", "2g.10gb")):
            self.run_pod(name, {"gpu-mig-profile": profile})
        made = self.slices()
        ids = [each for name in ("one", "two") for each in container_ids(self.pod(name))]
        boot = self.admin.get(f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"]
        self.node.shut_down()
        self.state.unload_driver()
        self.state.load_driver()
        self.assertEqual(self.slices(), [])
        self.node.start_containerd()
        self.node.start_kubelet()
        wait_until("the kubelet shows the new boot", lambda: self.admin.get(
            f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"] != boot, 60)
        self.wait_agent_ready(90)
        for name in ("one", "two"):
            self.check_slice(name, self.seen(name, not_in=ids))
        self.assertEqual(self.slices(), made)
        self.check_cluster()

    def test_a_stale_slices_are_reported(self):
        """a: containers whose slices were made anew under them are reported, and run on"""
        for name in ("one", "two"):
            self.run_pod(name, {"gpu-mig-profile": "1g.5gb"})
        ids = [each for name in ("one", "two") for each in container_ids(self.pod(name))]
        self.exchange_ids()
        for name in ("one", "two"):
            wait_until("an event says so", lambda: self.reasons(name) == {"StaleDevices"}, 20)
        self.assertEqual(self.metric(VIOLATIONS.format("stale-devices")), 2)
        self.assertEqual([each for name in ("one", "two") for each in container_ids(self.pod(name))], ids)
        self.exchange_ids()
        wait_until("they are right again", lambda: self.metric(VIOLATIONS.format("stale-devices")) == 0, 20)
        self.check_cluster()


class SlicesUnderLoadTest(SlicesScenario):
    def half_made(self):
        """(profile's id, start) of each GPU instance without a compute instance."""
        instances = self.state.read()["cards"][0]["instances"]
        return [(each["profile"], each["start"]) for each in instances if not each["compute"]]

    def end_oldest(self, living):
        """Deletes the oldest pod after it has seen its slice."""
        name = living.pop(0)
        self.check_slice(name, self.seen(name))
        self.delete_pod(name)
        wait_until(f"{name} is gone", lambda: not self.admin.find(f"{PODS}/{name}"), 60)

    def bind(self, name, living):
        """Waits until the pod is bound; the oldest pods end for as long as it has no room."""
        wait_until("it is bound or refused", lambda: is_bound(self.pod(name)) or refusal(self.pod(name))[0])
        while living and not is_bound(self.pod(name)):
            self.end_oldest(living)
            with contextlib.suppress(TimeoutError):
                wait_until("", lambda: is_bound(self.pod(name)), 2)
        self.wait_bound(name)

    def kill_half_way(self, name, kills):
        """Kills the agent after it has made the GPU instance of the pod's slice and before the compute instance, and
        starts another one. False: the slice was there already."""
        wait_until("the slice is there or half made", lambda: self.reserved(name) in self.slices())
        if self.reserved(name) not in self.half_made():
            return False
        self.kill_agent(f"agent-{kills}")
        self.assertIn(self.reserved(name), self.half_made())
        self.state.set_card(0, create_ms=0)
        self.start_agent(f"agent-{kills + 1}")
        self.wait_agent_ready(90)
        return True

    def check_instances(self, expected):
        """The driver has these and no others, each with the compute instance that fills it."""
        gpu, other = self.state.read()["cards"]
        self.assertEqual(sorted((each["profile"], each["start"], [(one["id"], one["size"]) for one in each["compute"]])
                                for each in gpu["instances"]),
                         sorted((profile, start, [(0, COMPUTE_SLICES[profile])]) for profile, start in expected))
        self.assertEqual(other["instances"], [])

    @only_if_closed(True)
    def test_a_upgrades_while_slices_are_made(self):
        """a: 6 agents die with a slice half made while 40 pods come and go; at the end devices = reservations = driver"""
        shares, living, expected, kills = [], [], set(), 0
        for number in range(40):
            name = f"pod-{number}"
            if number % 4 == 3:
                self.create_pod(name, {"gpu-fraction": "0.05", "gpu-isolation": "time-slicing"})  # which no slice serves
                shares.append(name)
                continue
            due = number >= 5 * (kills + 1) and kills < 6
            self.state.set_card(0, create_ms=5000 if due else 0)
            profile = "7g.40gb" if number in (16, 28) else ("1g.5gb", "3g.20gb", "2g.10gb")[number % 4]
            while profile == "7g.40gb" and living:
                self.end_oldest(living)
            self.create_pod(name, {"gpu-mig-profile": profile})
            self.bind(name, living)
            living.append(name)
            slot = self.reserved(name)
            # Idle ones stay unless they are in the way. A pod ends after it has had its slice.
            expected = {each for each in expected if each == slot or not self.overlap(each, slot)} | {slot}
            if due and self.kill_half_way(name, kills):
                kills += 1
        self.assertEqual(kills, 6)
        self.check_end(shares, living, expected)

    @staticmethod
    def overlap(one, other):
        return one[1] < other[1] + SIZES[other[0]] and other[1] < one[1] + SIZES[one[0]]

    def check_end(self, shares, living, expected):
        for name in living:
            self.check_slice(name, self.seen(name))
        for name in shares:
            self.assertEqual(self.seen(name).devices, sorted([*CONTROL, f"nvidia{self.device(name)['index']}"]), name)
        self.check_instances(expected)
        wait_until("the inventory has them", lambda: sorted(
            (PROFILES[each["profile"]], each["start"]) for each in self.inventory()["gpus"][0].get("migInstances", [])
        ) == sorted(expected), 20)
        uids = {self.pod(name)["metadata"]["uid"] for name in [*shares, *living]}
        wait_until("CDI specifications are those of these pods", lambda: {
            each.removeprefix("snug.dev-gpu_").split("_")[0] for each in self.specs()} == uids, 60)
        idle = expected - {self.reserved(name) for name in living}
        print(f"     at the end {len(living)} pods have slices, and {len(idle)} slices are idle", flush=True)
        self.check_cluster()
        for name in [*shares, *living]:
            self.delete_pod(name)
        wait_until("no CDI specification is left", lambda: not self.specs(), 90)
        wait_until("no pod is left", lambda: not self.pods(), 60)
        self.check_instances(expected)
        self.check_cluster()
        self.assertEqual(self.extender.pods(), [])


class StoppingSlicesTest(SlicesScenario):
    agent_flags = ("--dynamic-mig", "--stop-violators")

    def test_a_stale_slices_are_stopped(self):
        """a: with --stop-violators containers whose slices were made anew under them start again with the new ones"""
        for name in ("one", "two"):
            self.check_slice(name, self.run_pod(name, {"gpu-mig-profile": "1g.5gb"}))
        ids = [each for name in ("one", "two") for each in container_ids(self.pod(name))]
        self.exchange_ids()
        for name in ("one", "two"):
            self.check_slice(name, self.seen(name, not_in=ids))
            wait_until("events say so", lambda: self.reasons(name) == {"StaleDevices", "StoppedContainer"}, 20)
        wait_until("the findings have ended", lambda: self.metric(VIOLATIONS.format("stale-devices")) == 0, 20)
        self.check_cluster()

"""Scenario a: containers see the devices of their reservation, and no others any."""

import os

from harness.objects import A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, PODS
from agent_scenario import ALLOWED, DENIED, AgentScenario, plain
from node import PERMITS
from node_scenario import NAME, container_ids, share

REQUIRED = "required-plugins.noderesource.dev/container."
CONTROL = ["nvidia-uvm", "nvidiactl"]
EVENTS = "/apis/events.k8s.io/v1/events"


def all_gpus(name):
    """A pod that asks for every GPU, as the images of CUDA do."""
    value = plain(name)
    value["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    return value


class AgentTest(AgentScenario):
    def test_a_a_share_sees_its_gpu_alone(self):
        """a: a pod that only has gpu-fraction gets the device, libraries and variables of its reservation; others get none"""
        self.wait_enforced()
        seen = self.run_pod("half", {"gpu-fraction": "0.5"})
        minor = self.device("half")["index"]
        self.assertEqual(seen.env["NVIDIA_VISIBLE_DEVICES"], "void")
        self.assertEqual(seen.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], f"0={A100_MIB // 2}M")
        self.assertEqual(seen.devices, sorted([*CONTROL, f"nvidia{minor}"]))
        self.assertIn(ALLOWED, seen.opened[minor])
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "nvidia-smi"):
            self.assertIn(name, seen.mounts)
        self.assertIn("/usr/local/nvidia/bin", seen.env["PATH"])
        self.assertIn("/usr/local/nvidia/lib64", seen.env["LD_LIBRARY_PATH"])
        self.assertEqual(self.pod("half")["metadata"]["annotations"][f"{REQUIRED}main"], '["snug"]')
        self.admin.create(PODS, all_gpus("greedy"))
        greedy = self.seen("greedy")
        self.assertEqual((greedy.env["NVIDIA_VISIBLE_DEVICES"], greedy.devices, greedy.mounts), ("void", [], []))
        self.check_cluster()
        self.delete_pod("half")
        wait_until("its CDI specification is removed", lambda: not self.specs(), 60)

    def test_a_whole_gpus_and_several_containers(self):
        """a: whole GPUs, and an init container and two containers with requests of their own; each sees its own devices"""
        seen = self.run_pod("both", {"gpu-fraction": "2"})
        self.assertEqual(seen.devices, sorted([*CONTROL, "nvidia0", "nvidia1"]))
        self.delete_pod("both")
        wait_until("the pod is gone", lambda: not self.admin.find(f"{PODS}/both"), 60)
        value = share("several", {"gpu-fraction.first": "0.75", "gpu-fraction.second": "0.5", "gpu-fraction.setup": "0.5"})
        [main] = value["spec"]["containers"]
        show = plain("x")["spec"]["containers"][0]["command"]
        once = [*show[:2], show[2].replace("exec sleep 1000000", "exit 0")]
        value["spec"]["containers"] = [{**main, "name": name, "command": show} for name in ("first", "second", "none")]
        value["spec"]["initContainers"] = [{**main, "name": "setup", "command": once}]
        self.admin.create(PODS, value)
        given = {name: devices[0]["index"] for name, devices in
                 (self.wait_bound("several") and self.given("several")).items()}
        self.assertNotEqual(given["first"], given["second"])
        for name, minor in given.items():
            self.assertEqual(self.seen("several", name).devices, sorted([*CONTROL, f"nvidia{minor}"]), name)
        self.assertEqual(self.seen("several", "none").devices, [])
        self.check_cluster()

    def test_a_forgeries_get_nothing(self):
        """a: CDI devices by annotation are refused; annotations and mounts that name GPUs give none"""
        self.wait_enforced()
        for name, annotations in {"cdi": {"cdi.k8s.io/mine": "nvidia.com/gpu=all"},
                                  "nri": {"nvidia.cdi.k8s.io/container.main": "nvidia.com/gpu=0"}}.items():
            value = plain(name)
            value["metadata"]["annotations"] = annotations
            self.admin.create(PODS, value)
            self.wait_waiting(name, "asks for GPUs by CDI")
        value = plain("mounts")
        value["spec"]["volumes"] = [{"name": "gpu", "hostPath": {"path": "/dev/null"}}]
        value["spec"]["containers"][0]["volumeMounts"] = [
            {"name": "gpu", "mountPath": "/var/run/nvidia-container-devices/all"}]
        self.admin.create(PODS, value)
        self.wait_waiting("mounts", "/var/run/nvidia-container-devices")
        value = plain("device")  # the node is there, and the device cgroup refuses it
        value["spec"]["volumes"] = [{"name": "gpu", "hostPath": {"path": f"{self.driver}/dev/nvidia0"}}]
        value["spec"]["containers"][0]["volumeMounts"] = [{"name": "gpu", "mountPath": "/dev/nvidia0"}]
        self.admin.create(PODS, value)
        self.assertIn(DENIED, self.seen("device").opened[0])

    def test_a_while_the_agent_is_away(self):
        """a: without the agent GPU containers wait and others start; after its return they run. Running ones stay"""
        self.wait_enforced()
        before = self.run_pod("before", {"gpu-fraction": "0.5"})
        ids = container_ids(self.pod("before"))
        self.stop_agent()
        self.create_pod("waits", {"gpu-fraction": "0.5"})
        self.wait_bound("waits")
        self.wait_waiting("waits", 'required plugin "snug" not present')
        self.admin.create(PODS, all_gpus("ordinary"))
        self.assertEqual(self.seen("ordinary").devices, [])
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.wait_running_within("waits", 15)
        self.assertEqual(self.seen("waits").devices, before.devices)
        self.assertEqual(container_ids(self.pod("before")), ids)
        self.assertTrue(self.is_enforced())
        # While the agent was away, nobody set the variable of the ordinary container to void.
        wait_until("the audit has found it", lambda: self.metric("snug_agent_audit_violations") == 1, 20)
        wait_until("an event says so", lambda: any(
            each["reason"] == "ForeignGpu" and each["regarding"]["name"] == "ordinary"
            for each in self.admin.list(EVENTS)), 20)
        self.check_cluster()

    def test_a_restarts(self):
        """a: containerd and the kubelet restart, and the node reboots; pods live on or run again with their devices"""
        self.wait_enforced()
        before = self.run_pod("half", {"gpu-fraction": "0.5"})
        ids = container_ids(self.pod("half"))
        self.node.containerd.kill()
        self.node.start_containerd()
        self.wait_agent_ready()
        self.assertEqual(self.run_pod("next", {"gpu-fraction": "0.5"}).devices, before.devices)
        wait_until("the new runtime has refused the probe, too", lambda: sum(
            "the node fails closed: the runtime refuses" in line for line in self.agent_log()) == 2, 60)
        self.assertTrue(self.is_enforced())
        self.node.stop_kubelet()
        self.node.start_kubelet()
        self.assertEqual(self.run_pod("third", {"gpu-fraction": "0.25"}).env["NVIDIA_VISIBLE_DEVICES"], "void")
        self.assertEqual(container_ids(self.pod("half")), ids)
        boot = self.admin.get(f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"]
        self.node.shut_down()
        self.node.start_containerd()
        self.node.start_kubelet()
        wait_until("the kubelet shows the new boot", lambda: self.admin.get(
            f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"] != boot, 60)
        self.wait_agent_ready(90)
        self.assertEqual(self.seen("half", not_in=ids).devices, before.devices)
        self.wait_enforced()
        self.assertEqual(self.inventory()["bootID"], self.admin.get(f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"])
        self.check_cluster()

    def test_a_a_gpu_is_lost(self):
        """a: a GPU that falls off the bus takes no new pods and keeps its own; after its return it serves again"""
        self.run_pod("first", {"gpu-fraction": "1"})
        lost = self.device("first")["index"]
        self.state.lose(lost)
        wait_until("the inventory says so", lambda: not self.inventory()["gpus"][lost]["healthy"], 20)
        self.run_pod("second", {"gpu-fraction": "1"})
        self.create_pod("third", {"gpu-fraction": "0.5"})
        self.wait_refused("third", "Insufficient snug.dev/gpu-milli")
        self.delete_pod("first")
        self.assertEqual(self.device("second")["index"], 1 - lost)
        self.state.return_card(lost)
        wait_until("the inventory says so", lambda: self.inventory()["gpus"][lost]["healthy"], 90)
        self.wait_bound("third")
        self.assertEqual(self.device("third")["index"], lost)
        self.check_cluster()

    def test_a_upgrades_under_load(self):
        """a: while pods are created, the agent's pod is replaced again and again; in the end each sees what it has reserved"""
        self.wait_enforced()
        names = [f"pod-{number}" for number in range(30)]
        for number, name in enumerate(names):
            self.create_pod(name, {"gpu-fraction": "0.05"})
            if number % 6 == 5:
                self.stop_agent(f"agent-{number // 6}")
                self.start_agent(f"agent-{number // 6 + 1}")
        self.wait_agent_ready()
        for name in names:
            self.wait_bound(name)
        for name in names:
            self.assertEqual(self.seen(name).devices, sorted([*CONTROL, f"nvidia{self.device(name)['index']}"]), name)
        uids = {self.pod(name)["metadata"]["uid"] for name in names}
        self.assertEqual({each.removeprefix("snug.dev-gpu_").split("_")[0] for each in self.specs()}, uids)
        self.assertLess(self.resident_mib(), 24)  # 21 here; the goal is 20
        self.check_cluster()
        for name in names:
            self.delete_pod(name)
        wait_until("no CDI specification is left", lambda: not self.specs(), 90)

    def test_a_existing_slices(self):
        """a: a container with a MIG slice gets the slice's device nodes and no other GPU's"""
        self.state.enable_mig(0)
        self._make_slice(0)
        wait_until("the inventory has the slice", lambda: self.inventory()["gpus"][0].get("migInstances"), 20)
        seen = self.run_pod("slice", {"gpu-mig-profile": "1g.5gb"})
        device = self.device("slice")
        self.assertEqual((device["mode"], device["mig"]["profile"]), ("mig", "1g.5gb"))
        self.assertEqual(seen.devices, sorted([*CONTROL, "nvidia-cap1", "nvidia-cap2", "nvidia0"]))
        self.check_cluster()

    def _make_slice(self, number):
        """As the driver does: an instance 1g.5gb, and the nodes that give access to it."""
        instance, compute = self.state.make_slice(number, profile=19, start=6, size=1)
        gpu = self.node.folder / f"proc/driver/nvidia/capabilities/gpu{number}/mig/gi{instance}"
        (gpu / f"ci{compute}").mkdir(parents=True)
        (gpu / "access").write_text("DeviceFileMinor: 1\nDeviceFileMode: 292\n")
        (gpu / f"ci{compute}/access").write_text("DeviceFileMinor: 2\nDeviceFileMode: 292\n")
        (self.node.folder / "proc/devices").write_text("Character devices:\n195 nvidia\n509 nvidia-caps\n")
        (self.driver / "dev/nvidia-caps").mkdir()
        for minor in (1, 2):
            os.mknod(self.driver / f"dev/nvidia-caps/nvidia-cap{minor}", 0o444 | 0o020000, os.makedev(509, minor))


class PermittingRuntimeTest(AgentScenario):
    nri = PERMITS

    def test_a_a_runtime_that_fails_open(self):
        """a: where the runtime's validator is off, the agent finds out, and neither labels the node nor has Snug require it"""
        wait_until("the agent knows", lambda: any("does not fail closed" in line and "validator" in line
                                                  for line in self.agent_log()), 90)
        self.assertFalse(self.is_enforced())
        self.assertEqual(self.inventory()["enforcement"], "open")
        self.assertIn("nvidiactl", self.run_pod("half", {"gpu-fraction": "0.5"}).devices)
        self.assertNotIn(f"{REQUIRED}main", self.pod("half")["metadata"]["annotations"])
        self.admin.create(PODS, all_gpus("greedy"))
        self.assertEqual(self.seen("greedy").env["NVIDIA_VISIBLE_DEVICES"], "void")

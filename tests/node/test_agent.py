"""Scenario a: containers see the devices of their reservation, and no others any."""

import collections
import os
import re
import signal

import yaml

from harness import manifests
from harness.api import ApiError
from harness.objects import A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, PODS
from agent_scenario import (
    ALLOWED, CUDA_IMAGE, DENIED, SHOW, VIOLATIONS, AgentScenario, only_if_closed, only_without_devices, plain)
from containerd import PERMITS
from node import SLEEP
from node_scenario import NAME, container_ids, share

REQUIRED = "required-plugins.noderesource.dev/container."
CONTROL = ["nvidia-uvm", "nvidiactl"]


def all_gpus(name):
    """A pod whose image asks for every GPU."""
    value = plain(name)
    value["spec"]["containers"][0]["image"] = CUDA_IMAGE
    return value


def exempt(name):
    """Such a pod, with an account that the agent of StoppingTest exempts."""
    value = all_gpus(name)
    value["spec"]["serviceAccountName"] = "monitor"
    return value


def privileged(name):
    """One with two privileged containers."""
    value = all_gpus(name)
    [main] = value["spec"]["containers"]
    main["securityContext"] = {"privileged": True}
    value["spec"]["containers"].append({**main, "name": "second"})
    return value


class AgentTest(AgentScenario):
    def test_a_a_share_sees_its_gpu_alone(self):
        """a: a pod that only has gpu-fraction gets the device, libraries and variables of its reservation, others none;
        whatever their image and author ask for"""
        self.wait_settled()
        seen = self.run_pod("half", {"gpu-fraction": "0.5"}, image=CUDA_IMAGE)
        minor = self.device("half")["index"]
        self.assertEqual(seen.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], f"0={A100_MIB // 2}M")
        self.assertEqual(seen.devices, sorted([*CONTROL, f"nvidia{minor}"]))
        self.assertIn(ALLOWED, seen.opened[minor])
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "nvidia-smi"):
            self.assertIn(name, seen.mounts)
        self.assertIn("/usr/local/nvidia/bin", seen.env["PATH"])
        self.assertIn("/usr/local/nvidia/lib64", seen.env["LD_LIBRARY_PATH"])
        self.assertEqual(self.pod("half")["metadata"]["annotations"].get(f"{REQUIRED}main"),
                         '["snug"]' if self.fails_closed() else None)
        self.admin.create(PODS, all_gpus("greedy"))
        self.create_pod("author", image=CUDA_IMAGE, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
        others = [self.seen(name) for name in ("greedy", "author")]
        self.assertEqual([each.env["NVIDIA_VISIBLE_DEVICES"] for each in (seen, *others)], ["void"] * 3)
        self.assertEqual([(each.devices, each.mounts) for each in others], [([], [])] * 2)
        self.check_cluster()
        for name in ("half", "author"):
            self.delete_pod(name)
        wait_until("their CDI specifications are removed", lambda: not self.specs(), 60)

    def test_a_the_pod_of_the_readme(self):
        """a: kubectl creates the pod of the README, and its container prints the devices, variables and mounts of its share"""
        self.wait_settled()
        [text] = re.findall(r"^## Why$.*?^```yaml\n(.*?)^```$", (manifests.ROOT / "README.md").read_text(), re.M | re.S)
        value = yaml.safe_load(text)
        name, [main] = value["metadata"]["name"], value["spec"]["containers"]
        self.node.import_image(f"docker.io/{main['image']}", {}, SLEEP, ["NVIDIA_VISIBLE_DEVICES=all"])
        main["command"] = SHOW
        value["spec"]["hostNetwork"] = True  # the node has no other
        self.kubectl.must("create", "-f", "-", manifest=value)
        seen = self.seen(name)
        self.assertEqual(seen.devices, sorted([*CONTROL, f"nvidia{self.device(name)['index']}"]))
        self.assertEqual((seen.env["NVIDIA_VISIBLE_DEVICES"], seen.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"]),
                         ("void", f"0={A100_MIB // 4}M"))
        self.assertIn("nvidia-smi", seen.mounts)
        self.check_cluster()

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

    def without_policy(self, name, refused):
        """Until the end of the scenario the policy of deploy/admission-policy.yaml refuses nothing."""
        [binding] = [each for each in manifests.read("admission-policy.yaml")
                     if each["kind"].endswith("Binding") and each["metadata"]["name"] == name]
        self.addCleanup(manifests.apply_object, self.admin, binding)
        self.admin.delete(manifests.path_of(binding))

        def is_admitted():
            try:
                return self.admin.create(f"{PODS}?dryRun=All", refused)
            except ApiError:
                return None
        wait_until("the policy refuses nothing", is_admitted)

    def test_a_forgeries_get_nothing(self):
        """a: CDI devices by annotation and a copied reservation are refused; other annotations and mounts give no GPUs"""
        self.wait_settled()
        self.run_pod("half", {"gpu-fraction": "0.5"})
        copied = plain("copied")
        copied["metadata"]["annotations"] = {
            key: each for key, each in self.pod("half")["metadata"]["annotations"].items() if key.startswith("snug.dev/")}
        with self.assertRaises(ApiError) as raised:
            self.admin.create(PODS, copied)
        self.assertIn("by Snug alone", raised.exception.message)
        self.without_policy("snug-annotations", copied)
        self.admin.create(PODS, copied)
        self.wait_waiting("copied", "is for the pod with the uid")
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
        # NRI changes the first of the three entries.
        self.node.import_image("localhost/twice:1", {}, SLEEP, ["NVIDIA_VISIBLE_DEVICES=GPU-a", "NVIDIA_VISIBLE_DEVICES=all"])
        self.create_pod("twice", image="localhost/twice:1", env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
        self.assertEqual(self.seen("twice").env["NVIDIA_VISIBLE_DEVICES"], "void")

    @only_if_closed(False)
    def test_a_while_the_agent_of_an_open_node_is_away(self):
        """a: on a node that fails open, containers start meanwhile without devices, and later ones have theirs again"""
        self.wait_settled()
        before = self.run_pod("before", {"gpu-fraction": "0.5"})
        self.assertIn("nvidiactl", before.devices)
        ids = container_ids(self.pod("before"))
        self.stop_agent()
        self.assertEqual(self.run_pod("early", {"gpu-fraction": "0.25"}).devices, [])
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.assertEqual(self.run_pod("after", {"gpu-fraction": "0.25"}).devices, before.devices)
        self.assertEqual(container_ids(self.pod("before")), ids)
        self.check_cluster()

    @only_if_closed(True)
    def test_a_while_the_agent_is_away(self):
        """a: after the agent was killed GPU containers wait, and Snug soon places no more; after its return they run"""
        self.wait_enforced()
        self.run_pod("before", {"gpu-fraction": "0.5"})
        self.check_away('required plugin "snug" not present', all_gpus("ordinary"), until_silent=True)
        # While the agent was away, nobody set the variable of the ordinary container to void.
        wait_until("the audit has found it", lambda: self.metric(VIOLATIONS.format("foreign-gpu")) == 1, 20)
        wait_until("an event says so", lambda: self.reasons("ordinary") == {"ForeignGpu"}, 20)
        self.check_cluster()

    @only_if_closed(True)
    def test_a_while_the_agent_hangs(self):
        """a: an agent that does not answer is as one that is away: the runtime drops it, and it connects again"""
        self.wait_enforced()
        self.run_pod("before", {"gpu-fraction": "0.5"})
        ids = container_ids(self.pod("before"))
        [process] = self._agent_processes()
        os.kill(int(process.name), signal.SIGSTOP)
        self.create_pod("hangs", {"gpu-fraction": "1"})
        self.wait_waiting("hangs", 'required plugin "snug" not present', 20)  # before the kubelet restarts the agent
        os.kill(int(process.name), signal.SIGCONT)
        self.assertEqual(self.seen("hangs").devices, sorted([*CONTROL, f"nvidia{self.device('hangs')['index']}"]))
        self.assertEqual(self._agent_processes(), [process])
        self.assertEqual(container_ids(self.pod("before")), ids)

    def test_a_restarts(self):
        """a: containerd and the kubelet restart, and the node reboots; pods live on or run again with their devices"""
        self.wait_settled()
        before = self.run_pod("half", {"gpu-fraction": "0.5"})
        ids = container_ids(self.pod("half"))
        proofs = self.proofs()
        self.node.containerd.kill()
        self.node.start_containerd()
        self.wait_agent_ready()
        self.assertEqual(self.run_pod("next", {"gpu-fraction": "0.5"}).devices, before.devices)
        if self.fails_closed():
            wait_until("the new runtime has refused the probe, too", lambda: self.proofs() > proofs, 60)
        self.assertEqual(self.is_enforced(), self.fails_closed())
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
        after = self.seen("half", not_in=ids)
        if self.fails_closed():  # elsewhere a container can be created before the agent's
            self.assertEqual(after.devices, before.devices)
        self.assertIn("nvidiactl", self.run_pod("fourth", {"gpu-fraction": "0.25"}).devices)
        self.wait_settled()
        self.assertEqual(self.inventory()["bootID"], self.admin.get(f"{NODES}/{NAME}")["status"]["nodeInfo"]["bootID"])
        self.check_cluster()

    def test_a_a_gpu_is_lost(self):
        """a: a GPU that falls off the bus takes no new pods and keeps its own; after its return it serves again. An error that
        only an XID shows counts too"""
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
        self.state.append_xid(1 - lost, 94)
        wait_until("the inventory says so", lambda: not self.inventory()["gpus"][1 - lost]["healthy"], 20)
        self.state.set_card(1 - lost, recovery=0)
        wait_until("the driver needs no recovery", lambda: self.inventory()["gpus"][1 - lost]["healthy"], 60)
        self.check_cluster()

    @only_if_closed(True)
    def test_a_upgrades_under_load(self):
        """a: 20 agents are killed while 200 pods are created; at the end each sees its devices, the agent has at most 20 MB"""
        self.wait_enforced()
        cards = self.state.read()["cards"]
        names = [f"pod-{number}" for number in range(200)]
        times, thread = collections.Counter(), collections.Counter()
        for number, name in enumerate(names):
            self.create_pod(name, {"gpu-fraction": "0.01"}, resources={"requests": {"cpu": "1m"}})
            if number % 10 == 9:
                times += self.answer_times()
                thread += self.thread_times()
                self.kill_agent(f"agent-{number // 10}")
                self.start_agent(f"agent-{number // 10 + 1}")
                self.wait_agent_ready(90)
        for name in names:
            self.wait_bound(name)
        for name in names:
            self.assertEqual(self.seen(name).devices, sorted([*CONTROL, f"nvidia{self.device(name)['index']}"]), name)
        uids = {self.pod(name)["metadata"]["uid"] for name in names}
        self.assertEqual({each.removeprefix("snug.dev-gpu_").split("_")[0] for each in self.specs()}, uids)
        times += self.answer_times()
        thread += self.thread_times()
        resident, most = self.resident_megabytes()
        ran, waited = (1e3 * thread[each] / times["+Inf"] for each in ("ran", "waited"))
        print(f"     {resident:.1f} MB resident, at most {most:.1f}; {times['0.005']} of {times['+Inf']} containers answered in 5 ms; "
              f"for each the thread ran {ran:.2f} ms and waited {waited:.2f} ms for a processor", flush=True)
        self.assertLessEqual(resident, 20)
        self.assertLess(ran, 5)  # the wait is the machine's
        self.check_cluster()
        self.assertEqual(self.state.read()["cards"], cards)
        for name in names:
            self.admin.delete(f"{PODS}/{name}")
        wait_until("no CDI specification is left", lambda: not self.specs(), 180)
        wait_until("no pod is left", lambda: not self.pods(), 60)
        self.check_cluster()
        self.assertEqual(self.extender.pods(), [])

    def test_a_existing_slices(self):
        """a: a container with a MIG slice gets the slice's device nodes and no other GPU's"""
        self.state.enable_mig(0)
        self.make_capabilities(0)
        instance, _ = self.state.make_slice(0, profile=19, start=6, size=1)
        wait_until("the inventory has the slice", lambda: self.inventory()["gpus"][0].get("migInstances"), 20)
        seen = self.run_pod("slice", {"gpu-mig-profile": "1g.5gb"})
        device = self.device("slice")
        self.assertEqual((device["mode"], device["mig"]["profile"]), ("mig", "1g.5gb"))
        self.assertEqual(seen.devices, sorted(
            [*CONTROL, "nvidia0", *(f"nvidia-cap{minor}" for minor in self.capability_minors(instance))]))
        self.check_cluster()


class StoppingTest(AgentScenario):
    agent_flags = ("--stop-violators", "--exempt=default/monitor")

    def test_a_violators_are_stopped(self):
        """a: with --stop-violators a container that started with all GPUs while the agent was away is stopped and runs right;
        exempt and privileged ones run on, and the latter are counted"""
        self.wait_enforced()
        self.run_pod("half", {"gpu-fraction": "0.5"})
        self.admin.create(PODS, exempt("exempt"))
        self.assertEqual(self.seen("exempt").env["NVIDIA_VISIBLE_DEVICES"], "all")
        self.stop_agent()
        for value in (exempt("exempt-early"), privileged("privileged")):
            self.admin.create(PODS, value)
        self.admin.create(PODS, all_gpus("greedy"))
        self.assertEqual(self.seen("greedy").env["NVIDIA_VISIBLE_DEVICES"], "all")
        ids = container_ids(self.pod("greedy"))
        others = ("half", "exempt", "exempt-early", "privileged")
        ran = {name: container_ids(self.wait_running(name)) for name in others}
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.assertEqual(self.seen("greedy", not_in=ids).env["NVIDIA_VISIBLE_DEVICES"], "void")
        wait_until("events say so", lambda: self.reasons("greedy") >= {"ForeignGpu", "StoppedContainer"}, 20)
        [last] = [each["lastState"]["terminated"] for each in self.pod("greedy")["status"]["containerStatuses"]]
        self.assertEqual(last["exitCode"], 137)
        wait_until("the finding has ended", lambda: self.metric(VIOLATIONS.format("foreign-gpu")) == 0, 20)
        self.assertEqual(self.metric('snug_agent_stopped_violators_total{result="ok"}'), 1)
        # Beside the two of the agent's own pod, of which one is made later.
        wait_until("the privileged containers are counted", lambda: self.metric("snug_agent_audit_unconfined") >= 3, 20)
        self.assertEqual({name: container_ids(self.pod(name)) for name in others}, ran)
        self.assertEqual({name: self.reasons(name) for name in others}, dict.fromkeys(others, set()))
        self.check_cluster()


class PermittingRuntimeTest(AgentScenario):
    nri = PERMITS

    @only_without_devices
    def test_a_a_runtime_that_drops_devices(self):
        """a: where the runtime drops the devices that a plug-in asks for, the agent says so, and leaves containers as they are"""
        self.wait_open()
        self.assertTrue(any("cannot add CDI devices" in line for line in self.agent_log()))
        seen = self.run_pod("half", {"gpu-fraction": "0.5"})
        self.assertEqual((seen.env["NVIDIA_VISIBLE_DEVICES"], seen.devices), (self.device("half")["uuid"], []))
        self.admin.create(PODS, all_gpus("greedy"))
        self.assertEqual(self.seen("greedy").env["NVIDIA_VISIBLE_DEVICES"], "all")

    def test_a_a_runtime_that_fails_open(self):
        """a: where the runtime has no validator, or it is off, the agent neither labels the node nor has Snug require it"""
        self.wait_open()
        self.assertIn("nvidiactl", self.run_pod("half", {"gpu-fraction": "0.5"}).devices)
        self.assertNotIn(f"{REQUIRED}main", self.pod("half")["metadata"]["annotations"])
        self.admin.create(PODS, all_gpus("greedy"))
        self.assertEqual(self.seen("greedy").env["NVIDIA_VISIBLE_DEVICES"], "void")

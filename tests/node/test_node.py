"""Scenario n: shares on a node with a real kubelet and containerd."""

from harness.mirror import MEMORY, MILLI
from harness.objects import A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, PODS
from gate import Gate
from node_scenario import NAME, PATH, SHOWN, NodeScenario, container_ids, requested
from watching import amounts

SHARES = ("one", "two", "three")
# What the kubelet logs.
ZEROED = "Zero out resource capacity in existing node"
REGISTERED = "Successfully registered node"
REFUSED = "Unable to reconcile node with API server"
FOUND_RUNTIME = "Container runtime initialized"


class NodeTest(NodeScenario):
    def test_n_shares_run_with_their_reservation(self):
        """n: containers of pods that only have an annotation see the devices and limits of their reservation"""
        asks = {"half": {"gpu-fraction": "0.5"}, "memory": {"gpu-memory": "8Gi"},
                "whole": {"gpu-fraction": "1"}}
        limits = {"half": (A100_MIB // 2, 50), "memory": (8192, 20), "whole": (A100_MIB, 100)}
        for name, annotations in asks.items():
            value = self.run_share(name, annotations)
            seen = self.variables(value)
            memory, percent = limits[name]
            self.assertEqual(seen["NVIDIA_VISIBLE_DEVICES"], self.device(name)["uuid"])
            self.assertEqual(seen["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], f"0={memory}M")
            self.assertEqual(seen["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], str(percent))
        self.assertEqual(self.gpu_of("half"), self.gpu_of("memory"))
        self.assertNotEqual(self.gpu_of("half"), self.gpu_of("whole"))
        self.check_cluster()

    def test_n_a_restarted_kubelet(self):
        """n: shares run on while their kubelet restarts without a checkpoint of the device manager"""
        before = self._run_shares()
        self.node.stop_kubelet()
        self.node.forget_device_plugins()
        self.node.start_kubelet()
        self._wait_admitted()
        self.assertEqual([container_ids(self.pod(name)) for name in SHARES], before)
        self._check_never_less()
        self.check_cluster()

    def test_n_a_rebooted_node(self):
        """n: after a reboot that emptied the device plug-ins' folder, every share runs again"""
        before = self._run_shares()
        self._reboot()
        self.node.start_containerd()
        self.node.start_kubelet()
        self._wait_admitted()
        for name, ids in zip(SHARES, before):
            self.wait_running(name, ids)
        self._check_never_less()
        self.check_cluster()

    def test_n_a_rebooted_node_whose_runtime_is_late(self):
        """n: the same if the kubelet registers before containerd serves, and so sets the capacity to 0"""
        before = self._run_shares()
        self._reboot()
        self._register_without_runtime().open()
        self._wait_admitted()
        for name, ids in zip(SHARES, before):
            self.wait_running(name, ids)
        self._check_never_less()
        self.check_cluster()

    def test_n_a_rebooted_node_before_1_36(self):
        """n: where no policy corrects the kubelet's 0, one refuses it until the runtime serves, without any Snug"""
        before = self._run_shares()
        self.without_correction()
        self.extender.stop()
        self._reboot()
        gate = self._register_without_runtime()
        self._wait_log(REFUSED)
        gate.open()
        for name, ids in zip(SHARES, before):
            self.wait_running(name, ids)
        self._wait_log(REGISTERED)
        self._check_never_less()

    def test_n_without_policies_snug_puts_it_back(self):
        """n: without policies, Snug puts the capacity back before the kubelet can run pods, and all run again"""
        before = self._run_shares()
        self.without_policies()
        self._reboot()
        gate = self._register_without_runtime()
        wait_until("Snug has seen the 0", lambda: (0, 0) in map(amounts, self._states()))
        self.wait_shown(SHOWN)
        gate.open()
        self._wait_admitted()
        for name, ids in zip(SHARES, before):
            self.wait_running(name, ids)
        self._check_phases()
        self.check_cluster()

    def test_n_without_policies_and_snug_the_pods_fail(self):
        """n: what the policies and Snug prevent: the kubelet refuses every share on a node that shows 0"""
        self._run_shares()
        self.without_policies()
        self.extender.stop()
        self._reboot()
        self._register_without_runtime().open()
        for name in SHARES:
            status = wait_until(f"{name} fails", lambda name=name: self._failure(name), 60)
            self.assertIn(status["reason"], (f"OutOf{MILLI}", f"OutOf{MEMORY}"))

    def test_n_mirroring_switched_off(self):
        """n: a Snug without the settings removes the resources, the kubelet adds none, and the pods run on"""
        before = self._run_shares()
        self.extender.stop()
        self.start_extender()
        self.wait_shown((None, None))
        self.node.stop_kubelet()
        self.node.forget_device_plugins()
        self.node.start_kubelet()
        self._wait_heartbeat()
        self.assertEqual(self.shown(), [(None, None)] * 2)
        for name, ids in zip(SHARES, before):
            self.assertEqual(container_ids(self.wait_running(name)), ids)
        self._check_phases()

    def _run_shares(self):
        """Runs the pods of SHARES and watches from then on. Returns the ids of their containers."""
        pods = [self.run_share(name, {"gpu-fraction": "0.5"}) for name in SHARES]
        self.least = requested(pods)
        self.assertEqual(self.least, (1500, 3 * A100_MIB // 2))
        self.seen_nodes, self.seen_pods = self.watch(NODES), self.watch(PODS)
        return [container_ids(each) for each in pods]

    def _reboot(self):
        self.node.shut_down()
        self.node.forget_device_plugins()

    def _register_without_runtime(self):
        """Boots the node until the kubelet sets the capacity to 0. Returns the gate that it found shut when
        it asked containerd, which it had found, for its status."""
        self.node.start_containerd()
        path = self.node.folder / "gate.sock"
        gate = Gate(path, self.node.socket, lambda: self._kubelet_says(FOUND_RUNTIME))
        self.addCleanup(gate.stop)
        self.node.start_kubelet(path)
        self._wait_log(ZEROED)
        return gate

    def _wait_log(self, text):
        wait_until(f"the kubelet logs {text!r}", lambda: self._kubelet_says(text), 60)

    def _kubelet_says(self, text):
        self.node.kubelet.must_run()
        return text in self.node.kubelet.stderr.read_text(errors="replace")

    def _wait_admitted(self):
        """The kubelet admits pods in the order of their creation, so this one is the last."""
        self.run_share("last", {"gpu-fraction": "0.5"})

    def _wait_heartbeat(self):
        start = self.admin.get(PATH)["status"]["conditions"][0]["lastHeartbeatTime"]
        wait_until("the kubelet has written its status", lambda: start != self.admin.get(
            PATH)["status"]["conditions"][0]["lastHeartbeatTime"], 60)

    def _states(self):
        """Those that the watch of the node has shown."""
        return [each for each in self.seen_nodes.objects() if each["metadata"]["name"] == NAME]

    def _failure(self, name):
        status = self.pod(name)["status"]
        return status["phase"] == "Failed" and status

    def _check_never_less(self):
        """The node has never shown less than the pods ask for, and no pod has failed."""
        self.seen_nodes.catch_up(PATH)
        for kind in ("capacity", "allocatable"):
            shown = {amounts(each, kind) for each in self._states()}
            self.assertFalse([each for each in shown if None in each or any(
                has < needed for has, needed in zip(each, self.least))], kind)
        self._check_phases()

    def _check_phases(self):
        phases = {(each["metadata"]["name"], each["status"]["phase"])
                  for each in self.seen_pods.catch_up(f"{PODS}/{SHARES[0]}")}
        self.assertFalse([each for each in phases if each[1] not in ("Pending", "Running")])

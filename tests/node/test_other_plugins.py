"""Scenario a, beside other software that gives containers GPUs: a device plug-in of the kubelet, and another NRI plug-in."""

import json

from harness.objects import pod
from harness.processes import wait_until
from harness.scenario import NODES, PODS
from agent_scenario import ALLOWED, CUDA_IMAGE, SHOW, VIOLATIONS, AgentScenario, only_if_closed, plain
from image import IMAGE
from node_scenario import NAME
from test_agent import REQUIRED

GPU, SHARED = "nvidia.com/gpu", "nvidia.com/gpu.shared"
VARIABLE = "NVIDIA_VISIBLE_DEVICES"
CONFIG = "/api/v1/namespaces/default/configmaps"


def assigned(name, resource, **container):
    """A pod whose GPU the kubelet assigns. Snug gives it the node."""
    value = pod(name)
    value["spec"]["hostNetwork"] = True
    main = {"image": IMAGE, "command": SHOW, "resources": {"limits": {resource: "1"}}, **container}
    value["spec"]["containers"][0].update(main)
    return value


class OtherPluginsTest(AgentScenario):
    def start_device_plugin(self, resource, *flags):
        """One that gives each container with the resource what its flags say."""
        name = resource.replace("/", "-")
        self.plane.run(name, [self.plugins / "device-plugin", f"--resource={resource}", *flags])
        wait_until(f"the kubelet offers {resource}", lambda: int(self.admin.get(
            f"{NODES}/{NAME}")["status"]["allocatable"].get(resource, 0)), 30)

    def start_device_plugins(self):
        """Both ways of NVIDIA's: the variable, for its runtime, whose part the device node plays; and CDI."""
        device = f"--device={self.driver}/dev/nvidia1:/dev/nvidia1"
        self.start_device_plugin(GPU, f"--env={VARIABLE}={self.uuid(1)}", device)
        self.start_device_plugin(SHARED, "--cdi=nvidia.com/gpu=0")
        self.write_cdi_device()

    def write_cdi_device(self):
        (self.node.cdi_specs / "nvidia.json").write_text(json.dumps({
            "cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "devices": [{"name": "0", "containerEdits": {
                "deviceNodes": [{"path": "/dev/nvidia0", "hostPath": f"{self.driver}/dev/nvidia0"}]}}]}))

    def uuid(self, index):
        return self.inventory()["gpus"][index]["uuid"]

    def env_from(self, name, value):
        """As a container has it that takes the variable from a ConfigMap."""
        self.admin.create(CONFIG, {"metadata": {"name": name}, "data": {VARIABLE: value}})
        self.addCleanup(self.admin.delete, f"{CONFIG}/{name}")
        return {"envFrom": [{"configMapRef": {"name": name}}]}

    def create_assigned(self, name, resource, **container):
        self.admin.create(PODS, assigned(name, resource, **container))
        return self.seen(name)

    def test_a_what_device_plugins_give(self):
        """a: a container has exactly what its device plug-in gives, by a variable and a device node or by CDI; its author adds none"""
        self.wait_settled()
        self.start_device_plugins()
        own, other = self.uuid(1), self.uuid(0)
        from_all, from_other = self.env_from("all", "all"), self.env_from("other", other)
        seen = self.create_assigned("one", GPU, image=CUDA_IMAGE)
        self.assertEqual((seen.env[VARIABLE], seen.devices, seen.mounts), (own, ["nvidia1"], []))
        self.assertIn(ALLOWED, seen.opened[1])
        seen = self.create_assigned("cdi", SHARED, **from_other)
        self.assertEqual((seen.env[VARIABLE], seen.devices, seen.mounts), ("void", ["nvidia0"], []))
        self.assertIn(ALLOWED, seen.opened[0])
        seen = self.create_assigned("all", GPU, **from_all)
        self.assertEqual((seen.env[VARIABLE], seen.devices), ("void", ["nvidia1"]))
        self.check_no_violations("one", "cdi", "all")
        author = {"env": [{"name": VARIABLE, "value": other}]}
        refused = (("author", author, "its env sets NVIDIA_VISIBLE_DEVICES, which replaces the GPUs that the kubelet assigned"),
                   ("config", from_other, "its envFrom may set NVIDIA_VISIBLE_DEVICES, which replaces the GPUs"))
        for name, fields, sentence in refused:
            self.admin.create(PODS, assigned(name, GPU, **fields))
            self.wait_waiting(name, sentence)
        self.check_required()
        # Without the agent: the kubelet puts the plug-in's variables first, and the runtime keeps the last.
        self.stop_agent("agent-1")
        for name, fields, _ in refused:
            self.admin.create(PODS, assigned(f"{name}-again", GPU, **fields))
        for name, _, _ in refused:
            if self.fails_closed():
                self.wait_waiting(f"{name}-again", 'required plugin "snug" not present')
            else:
                self.assertEqual(self.seen(f"{name}-again").env[VARIABLE], other)

    def check_required(self):
        """Each container with GPUs of the kubelet requires the agent where the node fails closed, the init containers too."""
        value = assigned("both", GPU)
        [main] = value["spec"]["containers"]
        value["spec"]["initContainers"] = [{**main, "name": "setup"}]
        self.admin.create(PODS, value)
        annotations = self.wait_bound("both")["metadata"]["annotations"]
        self.assertEqual({key for key in annotations if key.startswith(REQUIRED)},
                         {f"{REQUIRED}main", f"{REQUIRED}setup"} if self.fails_closed() else set())

    def check_no_violations(self, *names):
        """As the audit sees them that a new agent makes at its start."""
        self.stop_agent()
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.assertEqual(self.metric(VIOLATIONS.format("foreign-gpu")), 0)
        self.assertEqual([self.reasons(name) for name in names], [set()] * len(names))

    @only_if_closed(True)
    def test_a_what_another_nri_plugin_gives(self):
        """a: another NRI plug-in of the node cannot give containers GPUs: by CDI, by a device node, or by the variable"""
        self.wait_settled()
        self.write_cdi_device()
        plugin = self.plane.run("nri-plugin", [self.plugins / "nri-plugin", f"--socket={self.node.folder / 'nri/nri.sock'}"])
        self.assertEqual(plugin.first_line(), "registered")
        asks = {"cdi": "nvidia.com/gpu=0", "device": "/dev/nvidia0", "visible-devices": "all"}
        sentences = {"cdi": 'another NRI plug-in gives it the CDI device "nvidia.com/gpu=0"',
                     "device": 'another NRI plug-in gives it the device node "/dev/nvidia0"',
                     "visible-devices": "another NRI plug-in changes NVIDIA_VISIBLE_DEVICES; snug-agent sets it to `void`"}
        for name, value in asks.items():
            ordinary = plain(name)
            ordinary["metadata"]["annotations"] = {f"test.snug.dev/{name}": value}
            self.admin.create(PODS, ordinary)
        for name, sentence in sentences.items():
            self.wait_waiting(name, sentence)
        # It is the plug-in that gives: without the agent the container has the device.
        self.stop_agent()
        ordinary = plain("cdi-again")
        ordinary["metadata"]["annotations"] = {"test.snug.dev/cdi": asks["cdi"]}
        self.admin.create(PODS, ordinary)
        self.assertEqual(self.seen("cdi-again").devices, ["nvidia0"])

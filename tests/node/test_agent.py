"""Scenario a: containers see the devices of their reservation, and no others any."""

from harness.scenario import NODES, PODS
from harness.processes import wait_until
from agent_scenario import ALLOWED, AgentScenario, plain
from node_scenario import NAME


class AgentTest(AgentScenario):
    def test_a_a_share_sees_its_gpu_alone(self):
        """a: a pod that only has gpu-fraction gets the device, libraries and variables of its reservation; others get none"""
        self.wait_enforced()
        seen = self.run_pod("half", {"gpu-fraction": "0.5"})
        device = self.device("half")
        minor = device["index"]
        self.assertEqual(seen.env["NVIDIA_VISIBLE_DEVICES"], "void")
        self.assertEqual(seen.devices, sorted(["nvidia-uvm", f"nvidia{minor}", "nvidiactl"]))
        self.assertEqual([line for line in seen.opened if f"nvidia{minor}" in line and ALLOWED in line], seen.opened[minor:minor + 1])
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "nvidia-smi"):
            self.assertIn(name, seen.mounts)
        self.assertIn("/usr/local/nvidia/bin", seen.env["PATH"])
        self.assertIn("/usr/local/nvidia/lib64", seen.env["LD_LIBRARY_PATH"])
        annotations = self.pod("half")["metadata"]["annotations"]
        self.assertEqual(annotations["required-plugins.noderesource.dev/container.main"], '["snug"]')
        forged = self.run_pod("forged", env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}])
        self.assertEqual((forged.env["NVIDIA_VISIBLE_DEVICES"], forged.devices), ("void", []))
        self.check_cluster()

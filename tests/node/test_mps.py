"""Scenario a, continued: shares under MPS daemons, which snug-mps runs in a pod of its own."""

import contextlib
import os
import pathlib
import signal
import socket

from harness import manifests
from harness.objects import A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, PODS
from agent_scenario import CONTROL_PROGRAM, EVENTS, SHOW, AgentScenario
from node_scenario import NAME, container_ids, share
from test_agent import CONTROL

SIBLINGS = [*SHOW[:2], 'ls "$CUDA_MPS_PIPE_DIRECTORY/.." "$CUDA_MPS_PIPE_DIRECTORY/../.." | sed s/^/SIBLING=/; ' + SHOW[2]]
LISTS = [*SHOW[:2], 'ls "$CUDA_MPS_PIPE_DIRECTORY" /tmp/nvidia-mps; touch /dev/shm/$HOSTNAME-$POD; ' + SHOW[2]]


class MpsTest(AgentScenario):
    agent_flags = ("--modes=whole,mps", "--limits=mps")

    def start_agent(self, name="agent-0"):
        self.mps = self.node.folder / "mps"
        self.agent_flags = (*MpsTest.agent_flags, f"--mps-root={self.mps}")
        super().start_agent(name)

    def start_mps(self, *flags, name="mps-0"):
        """The pod of the DaemonSet."""
        self.admin.patch(f"{NODES}/{NAME}", {"metadata": {"labels": {"snug.dev/mps": "true"}}})
        objects = {each["kind"]: each for each in manifests.read("mps.yaml")}
        manifests.apply_object(self.admin, objects["ServiceAccount"])
        self.create_node_pod(name, self.mps_template(objects["DaemonSet"], *flags))

    def daemons(self, uuid):
        """The processes of the daemon of the GPU."""
        mark = f"CUDA_MPS_PIPE_DIRECTORY={self.mps / uuid}/pipe".encode()
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes()  # without -f: a client
                if mark in (process / "environ").read_bytes() and CONTROL_PROGRAM.name.encode() in command \
                        and b"-f" in command.split(b"\0"):
                    found.append(int(process.name))
        return found

    def daemon_state(self, uuid):
        file = self.mps / "state" / uuid
        return file.read_text().strip() if file.exists() else None

    def test_a_shares_under_mps(self):
        """a: a share waits for its daemon, then has its pipe and its limits; the daemon stops after the last share"""
        self.wait_settled()
        self.assertEqual(self.inventory()["limits"], "mps")
        value = share("early", {"gpu-fraction": "0.25"})
        value["spec"]["containers"][0].update(command=LISTS, env=[
            {"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=40000M"},
            {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/mine"}, {"name": "POD", "value": "early"}])
        self.admin.create(PODS, value)
        self.wait_bound("early")
        self.wait_waiting("early", "MPS daemon")
        self.start_mps()
        seen = self.seen("early")
        device = self.device("early")
        self.assertEqual(device["mode"], "mps")
        pipe = str(self.mps / device["uuid"] / "pipe")
        self.assertEqual(seen.env["CUDA_MPS_PIPE_DIRECTORY"], pipe)
        self.assertEqual(seen.env["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"], f"0={A100_MIB // 4}M")
        self.assertEqual(seen.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], "25")
        self.assertEqual(seen.lines.count("control"), 2, seen.lines)
        self.assertEqual(seen.devices, sorted([*CONTROL, f"nvidia{device['index']}"]))
        self.assertTrue(list((self.mps / "shm").glob("*-early")))
        self.assertEqual(self.daemon_state(device["uuid"]), "ready")
        self.create_pod("second", {"gpu-fraction": "0.25"})
        self.seen("second")
        ids = container_ids(self.pod("second"))
        self.delete_pod("early")
        self.stop_agent()  # clients live on while the agent is replaced
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.assertEqual(self.daemon_state(device["uuid"]), "ready")
        self.assertEqual(container_ids(self.pod("second")), ids)
        self.check_cluster()
        self.delete_pod("second")
        wait_until("the daemon has stopped", lambda: self.daemon_state(device["uuid"]) is None, 60)

    def limits_in(self, name):
        """What a client in the pod's container connects to: the namespace, its memory and its percent of threads."""
        pipe = self.pipes[name]
        mark = f"CUDA_MPS_PIPE_DIRECTORY={pipe}".encode()
        process = next(each for each in pathlib.Path("/proc").glob("[0-9]*") if self.has_variable(each, mark))
        folder = os.open(f"{process}/root{pipe}", os.O_PATH | os.O_DIRECTORY)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.connect(f"/proc/self/fd/{folder}/control")
                return client.recv(4096).decode().split()
        finally:
            os.close(folder)

    @staticmethod
    def has_variable(process, variable):
        with contextlib.suppress(OSError):
            return variable in (process / "environ").read_bytes().split(b"\0")
        return False

    def wait_namespaces(self, uuid, *names):
        text = "\n".join(("ready", "protocol 3", *sorted(pathlib.PurePath(self.pipes[name]).name for name in names)))
        wait_until(f"the namespaces of {names}", lambda: self.daemon_state(uuid) == text, 60)

    def test_a_namespaces_of_mps(self):
        """a: with --protocol=3 a container sees its own namespace alone, with its limits, also after daemon and agent were replaced"""
        self.start_mps("--protocol=3")
        self.pipes, wanted = {}, {}
        for name, fraction, percent in (("first", "0.25", 25), ("second", "0.5", 50)):
            self.create_pod(name, {"gpu-fraction": fraction}, command=SIBLINGS)
            seen = self.seen(name)
            self.pipes[name] = pathlib.PurePath(seen.env["CUDA_MPS_PIPE_DIRECTORY"])
            own = self.pipes[name].name
            self.assertEqual([line for line in seen.lines if line.startswith("SIBLING=") and "/" not in line],
                             [f"SIBLING={own}", "SIBLING=", "SIBLING=snug"])
            self.assertEqual(seen.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"], str(percent))
            wanted[name] = [own, f"{A100_MIB * percent // 100}M", str(percent)]
        uuid = self.device("first")["uuid"]
        self.assertEqual(self.device("second")["uuid"], uuid)
        self.wait_namespaces(uuid, "first", "second")
        self.assertEqual({name: self.limits_in(name) for name in wanted}, wanted)
        ids = [container_ids(self.pod(name)) for name in wanted]
        killed = self.daemons(uuid)
        for process in killed:
            os.kill(process, signal.SIGKILL)
        # Its state is `failed` for a second only.
        wait_until("there is another daemon", lambda: set(self.daemons(uuid)) - set(killed), 30)
        self.wait_namespaces(uuid, "first", "second")
        self.assertEqual({name: self.limits_in(name) for name in wanted}, wanted)
        self.stop_agent()
        self.start_agent("agent-1")
        self.wait_agent_ready()
        self.assertEqual({name: self.limits_in(name) for name in wanted}, wanted)
        self.assertEqual([container_ids(self.pod(name)) for name in wanted], ids)
        self.delete_pod("first")
        self.wait_namespaces(uuid, "second")
        wait_until("its folder is gone", lambda: not pathlib.Path(self.pipes["first"]).exists(), 30)
        self.assertEqual(self.limits_in("second"), wanted["second"])
        self.check_cluster()
        self.delete_pod("second")
        wait_until("the daemon has stopped", lambda: self.daemon_state(uuid) is None, 60)
        self.assertEqual(list((self.mps / uuid / "pipe").iterdir()), [])

    def test_a_a_daemon_that_fails(self):
        """a: while the daemon of a GPU fails, the GPU keeps its pods and takes no others; other GPUs do"""
        self.start_mps()
        self.create_pod("first", {"gpu-fraction": "0.25"})
        self.seen("first")
        uuid = self.device("first")["uuid"]
        (self.mps / uuid / "mode").write_text("die\n")
        for process in self.daemons(uuid):
            os.kill(process, signal.SIGKILL)
        gpu = self.device("first")["index"]
        wait_until("the inventory says so", lambda: not self.inventory()["gpus"][gpu]["healthy"], 30)
        self.assertIn("failed", self.inventory()["gpus"][gpu]["mps"])
        self.run_pod("second", {"gpu-fraction": "0.25"})
        self.assertEqual(self.device("second")["index"], 1 - gpu)
        (self.mps / uuid / "mode").unlink()
        wait_until("the daemon is back", lambda: self.daemon_state(uuid) == "ready", 90)
        wait_until("the inventory says so", lambda: self.inventory()["gpus"][gpu]["healthy"], 30)
        uids = {each["metadata"]["uid"] for each in self.pods()}
        self.assertEqual([each for each in self.admin.list(EVENTS)
                          if each["reason"] == "GpuClosed" and each["regarding"].get("uid") in uids], [])
        self.check_cluster()

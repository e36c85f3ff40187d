"""The base of the scenarios with snug-agent: it runs in a pod, as deploy/agent.yaml has it, on a stand-in for NVIDIA's
library, and the node's runtime calls it."""

import contextlib
import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

from harness import extender, manifests
from harness.objects import pod
from harness.processes import free_port, wait_until
from harness.scenario import NODES, PODS, pods_of
from node import IMAGE, SLEEP, VALIDATES
from node_scenario import GPUS, NAME, NodeScenario, share

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "standin"))
import nvml_state  # noqa: E402

AGENT_IMAGE = "localhost/snug-agent:1"
NAMESPACE = "snug-node"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Major numbers of device nodes, as NVIDIA's driver has them. No driver serves them here: whoever may open
# such a node gets ENXIO, and everybody else EPERM.
NVIDIA, UVM = 195, 511
ALLOWED, DENIED = "No such device or address", "Operation not permitted"
# Prints what a container sees, and lives on.
SHOW = ["/bin/sh", "-c", "env; echo DEVICES; ls /dev; ls /dev/nvidia-caps 2>/dev/null; echo MOUNTS; "
        "ls /usr/local/nvidia/lib64 /usr/local/nvidia/bin 2>/dev/null; echo OPENED; "
        "for each in 0 1; do cat /dev/nvidia$each 2>&1; done; echo END; exec sleep 1000000"]


def programs_folder():
    """Where snug-agent and the stand-in are built: beside the extender under test."""
    return extender.program().parent


def _closure(program):
    """The program's shared libraries, as paths in an image -> files here."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = [word for line in out.splitlines() for word in line.split() if word.startswith("/")]
    return {word.lstrip("/"): pathlib.Path(word).resolve() for word in words}


class Seen:
    """What the command SHOW has printed."""

    def __init__(self, lines):
        parts, current = {"env": []}, "env"
        for line in lines:
            if line in ("DEVICES", "MOUNTS", "OPENED", "END"):
                current = line.lower()
                parts[current] = []
            else:
                parts[current].append(line)
        self.env = dict(line.split("=", 1) for line in parts["env"] if "=" in line)
        self.devices = sorted(line for line in parts["devices"] if line.startswith("nvidia") and line != "nvidia-caps")
        self.mounts = parts["mounts"]
        self.opened = parts["opened"]


class AgentScenario(NodeScenario):
    nri = VALIDATES
    agent_flags = ()

    def give_gpus(self):
        self.driver = self.node.folder / "driver"
        self.state = nvml_state.NvmlState(
            self.node.folder / "nvml.json", [nvml_state.card(number) for number in range(GPUS)])
        self._make_driver()
        program = programs_folder() / "snug-agent"
        self.node.import_image(AGENT_IMAGE, {"snug-agent": program, **_closure(program)}, SLEEP)
        for name in ("agent-rbac.yaml", "agent-policy.yaml"):
            manifests.apply(self.admin, name)
        self.agent_port = free_port()
        self.admin.patch(f"{NODES}/{NAME}", {"metadata": {"labels": {"snug.dev/agent": "true"}}})
        self.addCleanup(self.admin.delete, pods_of(NAMESPACE))
        self.start_agent()
        self.wait_agent_ready()

    def _make_driver(self):
        """The files of a driver: libraries with their links, a program and device nodes."""
        libraries, programs, devices = (self.driver / each for each in (LIBRARIES, "usr/bin", "dev"))
        for each in (libraries, programs, devices):
            each.mkdir(parents=True)
        version = nvml_state.DRIVER
        shutil.copy(programs_folder() / "tests/standin/libnvidia-ml.so.1", libraries / f"libnvidia-ml.so.{version}")
        (libraries / f"libcuda.so.{version}").write_text("a library\n")
        for name in ("libnvidia-ml.so", "libcuda.so"):
            (libraries / f"{name}.1").symlink_to(f"{name}.{version}")
        (programs / "nvidia-smi").write_text("#!/bin/sh\necho a stand-in\n")
        (programs / "nvidia-smi").chmod(0o755)
        boot_id = self.node.folder / "proc/sys/kernel/random/boot_id"  # the node's, which is not the machine's
        boot_id.parent.mkdir(parents=True)
        boot_id.symlink_to("../../../../boot-id")
        nodes = {"nvidiactl": (NVIDIA, 255), "nvidia-uvm": (UVM, 0),
                 **{f"nvidia{number}": (NVIDIA, number) for number in range(GPUS)}}
        for name, (major, minor) in nodes.items():
            os.mknod(devices / name, 0o666 | 0o020000, os.makedev(major, minor))

    def start_agent(self, name="agent-0"):
        """The pod of the DaemonSet, on the node's network, since the node has no other."""
        manifests.apply_object(self.admin, {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": NAMESPACE},
            "data": {"ca.crt": pathlib.Path(self.plane.pki.ca).read_text()}})
        [daemon_set] = [each for each in manifests.read("agent.yaml") if each["kind"] == "DaemonSet"]
        template = copy.deepcopy(daemon_set["spec"]["template"])
        spec = template["spec"]
        spec.update(nodeName=NAME, hostNetwork=True)
        del spec["priorityClassName"]
        agent, probe = spec["containers"]
        for each in (agent, probe):
            each.update(image=AGENT_IMAGE, imagePullPolicy="Never", command=["/snug-agent"])
        agent["args"] += ["--proc-root=/standin", f"--driver-root={self.driver}", f"--dev-root={self.driver}",
                          f"--listen=127.0.0.1:{self.agent_port}", *self.agent_flags]
        agent["ports"] = []
        for probe_name in ("livenessProbe", "readinessProbe"):
            agent[probe_name]["httpGet"].update(port=self.agent_port, host="127.0.0.1")
        agent["env"] += [{"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
                         {"name": "KUBERNETES_SERVICE_PORT", "value": str(self.plane.port)},
                         {"name": "SNUG_STANDIN_NVML", "value": "/standin/nvml.json"}]
        for each in agent["volumeMounts"]:
            each.pop("mountPropagation", None)  # needs a root mount that is shared, as systemd makes it
        agent["volumeMounts"].append({"name": "standin", "mountPath": "/standin"})
        volumes = {each["name"]: each for each in spec["volumes"]}
        volumes["nri"]["hostPath"]["path"] = str(self.node.folder / "nri")
        volumes["cdi"]["hostPath"]["path"] = str(self.node.folder / "cdi-specs")
        spec["volumes"].append({"name": "standin", "hostPath": {"path": str(self.node.folder)}})
        self.admin.create(pods_of(NAMESPACE), {
            "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": {**template["metadata"], "name": name, "namespace": NAMESPACE}})

    def stop_agent(self, name="agent-0"):
        self.admin.delete(f"{pods_of(NAMESPACE)}/{name}")
        wait_until("the agent is gone", lambda: self._agent("/livez") is None, 30)

    def _agent(self, path):
        """(status, body) of the agent's port; None: nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.agent_port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None

    def wait_agent_ready(self, seconds=60):
        last = {}

        def ready():
            last["answer"] = self._agent("/readyz")
            return last["answer"] and last["answer"][0] == 200
        try:
            wait_until("", ready, seconds)
        except TimeoutError:
            self.fail(f"the agent is not ready: {last['answer']}; {self.agent_log()}; "
                      f"{self.admin.find(pods_of(NAMESPACE) + '/agent-0')['status']}")

    def agent_log(self, name="agent-0", container="agent"):
        value = self.admin.find(f"{pods_of(NAMESPACE)}/{name}")
        return self.node.output(value, container)[-60:] if value else []

    def resident_mib(self):
        """The memory of the agent's process."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[0] == b"/snug-agent" and b"--probe" not in words:
                    [line] = [each for each in (process / "status").read_text().splitlines() if each.startswith("VmRSS")]
                    return int(line.split()[1]) / 1024
        return None

    def metric(self, name):
        for line in self._agent("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def is_enforced(self):
        return self.admin.get(f"{NODES}/{NAME}")["metadata"]["labels"].get("snug.dev/enforced") == "true"

    def wait_enforced(self, seconds=90):
        try:
            wait_until("", self.is_enforced, seconds)
        except TimeoutError:
            self.fail(f"the node is not enforced: {self.agent_log()}; "
                      f"{self.admin.find(pods_of(NAMESPACE) + '/agent-0')['status']}")

    def create_pod(self, name, annotations=None, command=SHOW, **container):
        value = share(name, annotations or {}) if annotations else plain(name)
        value["spec"]["containers"][0].update(command=command, **container)
        self.admin.create(PODS, value)

    def run_pod(self, name, annotations=None, **container):
        """What the pod's container sees when it runs."""
        self.create_pod(name, annotations, **container)
        return self.seen(name)

    def seen(self, name, container="main", not_in=()):
        value = self.wait_running(name, not_in)
        return Seen(wait_until("the container has written", lambda: "END" in self.node.output(
            value, container) and self.node.output(value, container), 20))

    def wait_waiting(self, name, text, seconds=40):
        """The container is refused, and the kubelet's message contains `text`."""
        def waiting():
            states = [each["state"].get("waiting", {}) for each in self.pod(name)["status"].get("containerStatuses", [])]
            return any(each.get("reason") == "CreateContainerError" and text in each.get("message", "") for each in states)
        try:
            wait_until("", waiting, seconds)
        except TimeoutError:
            self.fail(f"{name} is not refused with {text!r}: {self.pod(name)['status']}; {self.agent_log()}")

    def wait_running_within(self, name, seconds):
        start = time.monotonic()
        self.wait_running(name)
        took = time.monotonic() - start
        print(f"     {name} runs {took:.1f} s after the agent was ready", flush=True)
        self.assertLess(took, seconds)

    def inventory(self):
        """What the agent has published."""
        return json.loads(self.admin.get(f"{NODES}/{NAME}")["metadata"]["annotations"]["snug.dev/inventory"])

    def specs(self):
        """The CDI specifications on the node."""
        return sorted(each.name for each in (self.node.folder / "cdi-specs").iterdir())


def plain(name):
    """A pod that asks for no GPU."""
    value = pod(name, {})
    spec = value["spec"]
    del spec["schedulerName"]
    spec.update(hostNetwork=True, nodeName=NAME)
    spec["containers"][0].update(image=IMAGE, command=SHOW)
    return value

"""The base of the scenarios with snug-agent: it runs in a pod, as deploy/agent.yaml has it, on a stand-in for NVIDIA's
library, and the node's runtime calls it."""

import collections
import contextlib
import copy
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from harness import extender, manifests
from harness.objects import pod
from harness.processes import free_port, wait_until
from harness.scenario import NODES, PODS, pods_of
from containerd import VALIDATES
from image import IMAGE
from node import SLEEP
from node_scenario import GPUS, NAME, NodeScenario, container_ids, share

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "standin"))
import nvml_state  # noqa: E402

CONTROL_PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "standin/nvidia-cuda-mps-control"
AGENT_IMAGE = "localhost/snug-agent:1"
CUDA_IMAGE = "localhost/cuda:1"  # asks for every GPU, as the images of CUDA do
NAMESPACE = "snug-node"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
# Major numbers of device nodes, as NVIDIA's driver has them. No driver serves them here: whoever may open
# such a node gets ENXIO, and everybody else EPERM.
NVIDIA, UVM = 195, 511
ALLOWED, DENIED = "No such device or address", "Operation not permitted"
EVENTS = "/apis/events.k8s.io/v1/events"
VIOLATIONS = 'snug_agent_audit_violations{{kind="{}"}}'
# Prints what a container sees, and lives on.
SHOW = ["/bin/sh", "-c", "env; echo DEVICES; ls /dev; ls /dev/nvidia-caps 2>/dev/null; echo MOUNTS; "
        "ls /usr/local/nvidia/lib64 /usr/local/nvidia/bin 2>/dev/null; echo OPENED; "
        "for each in 0 1; do cat /dev/nvidia$each 2>&1; done; echo END; exec sleep 1000000"]


def only_if_closed(wanted):
    """Of a scenario: it holds only where the node fails closed, or only where it does not."""
    def mark(scenario):
        scenario.fails_closed = wanted
        return scenario
    return mark


def only_without_devices(scenario):
    """Of a scenario: it holds only where the runtime drops the CDI devices that a plug-in asks for."""
    scenario.without_devices = True
    return scenario


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
        self.lines = lines
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

    def setUp(self):
        scenario = getattr(self, self._testMethodName)
        if self.runtime.injects == getattr(scenario, "without_devices", False):
            self.skipTest(f"{self.runtime.name} gives containers {'the' if self.runtime.injects else 'no'} devices of a plug-in")
        needed = getattr(scenario, "fails_closed", None)
        if needed not in (None, self.fails_closed()):
            self.skipTest(f"with {self.runtime.name} the node {'does not fail' if needed else 'fails'} closed")
        super().setUp()

    def give_gpus(self):
        self.make_gpus()
        for name in ("agent-rbac.yaml", "agent-policy.yaml"):
            manifests.apply(self.admin, name)
        self.admin.patch(f"{NODES}/{NAME}", {"metadata": {"labels": {"snug.dev/agent": "true"}}})
        self.addCleanup(self.admin.delete, pods_of(NAMESPACE))
        self.start_agent()
        self.wait_agent_ready()

    def make_gpus(self):
        """The driver, and the image of the agent."""
        self.driver = self.node.folder / "driver"
        self.state = nvml_state.NvmlState(
            self.node.folder / "nvml.json", [nvml_state.card(number) for number in range(GPUS)])
        self._make_driver()
        program = programs_folder() / "snug-agent"
        mps, observe = (programs_folder() / name for name in ("snug-mps", "snug-observe"))
        self.node.import_image(AGENT_IMAGE, {
            "snug-agent": program, "usr/bin/snug-mps": mps, "usr/bin/snug-observe": observe,
            **_closure(program), **_closure(mps), **_closure(observe)}, SLEEP)
        self.node.import_image(CUDA_IMAGE, {}, SLEEP, ["NVIDIA_VISIBLE_DEVICES=all"])
        self.agent_port = free_port()

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

    def make_capabilities(self, gpu):
        """The files by which the driver says which device nodes give access to the slices of a GPU. The nodes are
        not there."""
        folder = self.node.folder / f"proc/driver/nvidia/capabilities/gpu{gpu}/mig"
        (self.node.folder / "proc/devices").write_text("Character devices:\n195 nvidia\n509 nvidia-caps\n")
        for instance in range(15):
            access, inner = self.capability_minors(instance)
            (folder / f"gi{instance}/ci0").mkdir(parents=True)
            (folder / f"gi{instance}/access").write_text(f"DeviceFileMinor: {access}\nDeviceFileMode: 292\n")
            (folder / f"gi{instance}/ci0/access").write_text(f"DeviceFileMinor: {inner}\nDeviceFileMode: 292\n")

    @staticmethod
    def capability_minors(instance):
        """The minor numbers of the nodes of a GPU instance and of its compute instance 0."""
        return 3 + 9 * instance, 4 + 9 * instance

    def start_agent(self, name="agent-0"):
        """The pod of the DaemonSet."""
        self.make_root_certificates()
        [daemon_set] = [each for each in manifests.read("agent.yaml") if each["kind"] == "DaemonSet"]
        self.create_node_pod(name, self.agent_template(daemon_set, *self.agent_flags))

    def create_node_pod(self, name, template):
        self.admin.create(pods_of(NAMESPACE), {
            "apiVersion": "v1", "kind": "Pod", "spec": {**template["spec"], "nodeName": NAME},
            "metadata": {**template["metadata"], "name": name, "namespace": NAMESPACE}})

    def make_root_certificates(self):
        """As kube-controller-manager makes them in each namespace."""
        manifests.apply_object(self.admin, {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kube-root-ca.crt", "namespace": NAMESPACE},
            "data": {"ca.crt": pathlib.Path(self.plane.pki.ca).read_text()}})

    def agent_template(self, daemon_set, *flags):
        """Its pods, on the node's network, since the node has no other."""
        template = copy.deepcopy(daemon_set["spec"]["template"])
        spec = template["spec"]
        spec["hostNetwork"] = True
        del spec["priorityClassName"]
        agent, probe = spec["containers"]
        for each in (agent, probe):
            each.update(image=AGENT_IMAGE, command=["/snug-agent"])
        agent["args"] += ["--proc-root=/standin", f"--driver-root={self.driver}", f"--dev-root={self.driver}",
                          f"--listen=127.0.0.1:{self.agent_port}", *flags]
        agent["ports"] = []
        for probe_name in ("livenessProbe", "readinessProbe"):
            agent[probe_name]["httpGet"].update(port=self.agent_port, host="127.0.0.1")
        agent["livenessProbe"]["failureThreshold"] = 10  # instead of 3: after the waits for one that hangs
        agent["env"] += [{"name": "KUBERNETES_SERVICE_HOST", "value": "127.0.0.1"},
                         {"name": "KUBERNETES_SERVICE_PORT", "value": str(self.plane.port)},
                         {"name": "SNUG_STANDIN_NVML", "value": "/standin/nvml.json"}]
        for each in agent["volumeMounts"]:
            each.pop("mountPropagation", None)  # needs a root mount that is shared, as systemd makes it
        agent["volumeMounts"].append({"name": "standin", "mountPath": "/standin"})
        self.place_mps_folder(spec, agent)
        volumes = {each["name"]: each for each in spec["volumes"]}
        volumes["nri"]["hostPath"]["path"] = str(self.node.folder / "nri")
        volumes["cdi"]["hostPath"]["path"] = str(self.node.cdi_specs)
        spec["volumes"].append({"name": "standin", "hostPath": {"path": str(self.node.folder)}})
        return template

    def mps_template(self, daemon_set, *flags):
        """The pods of snug-mps, with the machine's files as the driver's."""
        template = copy.deepcopy(daemon_set["spec"]["template"])
        spec = template["spec"]
        spec["hostNetwork"] = True
        del spec["priorityClassName"]
        [container] = spec["containers"]
        container.update(image=AGENT_IMAGE, ports=[], args=[
            "--driver-root=/host", f"--control-program={CONTROL_PROGRAM}", f"--root={self.node.folder / 'mps'}",
            f"--listen=127.0.0.1:{free_port()}", *flags])
        for probe in ("livenessProbe", "readinessProbe"):
            del container[probe]
        for mount in container["volumeMounts"]:
            mount.pop("mountPropagation", None)  # needs a root mount that is shared, as systemd makes it
        self.place_mps_folder(spec, container)
        return template

    def place_mps_folder(self, spec, container):
        """In the node's folder, at the same path in the container."""
        path = str(self.node.folder / "mps")
        [volume] = [each for each in spec["volumes"] if each["name"] == "mps"]
        volume["hostPath"]["path"] = path
        [mount] = [each for each in container["volumeMounts"] if each["name"] == "mps"]
        mount["mountPath"] = path

    def stop_agent(self, name="agent-0"):
        self.admin.delete(f"{pods_of(NAMESPACE)}/{name}")
        wait_until("the agent is gone", lambda: self._agent("/livez") is None and not self._agent_processes(), 30)

    def kill_agent(self, name):
        """Ends its process without a chance to clean up, and removes its pod; ends also the process that the kubelet
        starts instead of it before it knows that the pod is removed."""
        path = f"{pods_of(NAMESPACE)}/{name}"
        uid = self.admin.get(path)["metadata"]["uid"]

        def kill():
            for process in self._agent_processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process.name), signal.SIGKILL)

        def is_gone():
            kill()
            return not self.node.has_cgroup(uid)
        kill()
        self.admin.delete(path)
        wait_until("the agent is gone", is_gone, 60)

    def _agent(self, path):
        """(status, body) of the agent's port; None: nothing answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.agent_port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):
            return None

    def _metrics(self):
        """The lines of its metrics; a busy agent may leave a question unanswered."""
        return wait_until("the agent shows its metrics", lambda: self._agent("/metrics"), 20)[1].splitlines()

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

    def proofs(self):
        """How often the agent's newest run has said that the runtime refused the probe."""
        value = self.admin.get(f"{pods_of(NAMESPACE)}/agent-0")
        return sum("the node fails closed: the runtime refuses" in line for line in self.node.output(value, "agent"))

    @staticmethod
    def _agent_processes():
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().split(b"\0")
                if words[0] == b"/snug-agent" and b"--probe" not in words:
                    found.append(process)
        return found

    def resident_megabytes(self):
        """The memory of the agent's process: now, and the most that it had."""
        [process] = self._agent_processes()
        sizes = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        return [int(sizes[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "VmHWM")]

    def metric(self, name):
        for line in self._metrics():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def reasons(self, name):
        """The reasons of the agent's events about the pod, not about one of this name in an earlier scenario."""
        uid = self.pod(name)["metadata"]["uid"]
        return {each["reason"] for each in self.admin.list(EVENTS)
                if each["regarding"].get("uid") == uid and each["reportingController"].startswith("snug")
                and each["type"] == "Warning" and not each["reason"].startswith("Gpu")}

    def answer_times(self):
        """upper bound in seconds -> how many requests for containers this agent has answered within it."""
        prefix = 'snug_agent_creation_duration_seconds_bucket{le="'
        return collections.Counter({line[len(prefix):].split('"')[0]: int(float(line.split()[-1]))
                                    for line in self._metrics() if line.startswith(prefix)})

    def thread_times(self):
        """Seconds of the agent's thread that answers the runtime: on a processor, and waiting for one."""
        [process] = self._agent_processes()
        for task in (process / "task").iterdir():
            if (task / "comm").read_text().strip() == "snug-nri":
                ran, waited, _ = (task / "schedstat").read_text().split()
                return collections.Counter(ran=int(ran) / 1e9, waited=int(waited) / 1e9)
        return self.fail("the agent has no thread snug-nri")

    def check_away(self, refusal, ordinary, until_silent=False):
        """After the agent was killed a GPU container waits with this message, and the pod `ordinary` runs without GPUs.
        `until_silent`: so long that Snug places none there. When the agent is back the containers run, and the pod
        `before` has run all the time."""
        devices, ids = self.seen("before").devices, container_ids(self.pod("before"))
        self.kill_agent("agent-0")
        killed = time.monotonic()
        self.create_pod("waits", {"gpu-fraction": "0.5"})
        self.wait_bound("waits")
        self.wait_waiting("waits", refusal)
        self.admin.create(PODS, ordinary)
        self.assertEqual(self.seen("ordinary").devices, [])
        names = ["waits"]
        if until_silent:
            names.append(self.place_none(killed))
        self.assertTrue(self.is_enforced())
        start = time.monotonic()
        self.start_agent("agent-1")
        for name in names:
            self.wait_running_within(name, 10 if name == "waits" else 30, start)
        self.assertEqual(self.seen("waits").devices, devices)
        self.wait_agent_ready()
        self.assertEqual(container_ids(self.pod("before")), ids)
        self.assertTrue(self.is_enforced())

    def place_none(self, killed):
        """Snug misses the heartbeat of the agent, and so neither its label nor its inventory counts. Returns the name of a
        pod that waits for it."""
        wait_until("Snug misses the heartbeat", lambda: f"the agents of these nodes are silent: {NAME}" in self.extender.log(), 60)
        print(f"     Snug misses the agent {time.monotonic() - killed:.1f} s after its end", flush=True)
        self.create_pod("late", {"gpu-fraction": "0.25"})
        self.wait_refused("late", "AgentAway: ")
        return "late"

    def is_enforced(self):
        return self.admin.get(f"{NODES}/{NAME}")["metadata"]["labels"].get("snug.dev/enforced") == "true"

    def wait_enforced(self, seconds=90):
        try:
            wait_until("", self.is_enforced, seconds)
        except TimeoutError:
            self.fail(f"the node is not enforced: {self.agent_log()}; "
                      f"{self.admin.find(pods_of(NAMESPACE) + '/agent-0')['status']}")

    def fails_closed(self):
        """Whether the node can refuse containers while the agent is away."""
        return self.runtime.validates and self.nri == VALIDATES

    def wait_settled(self):
        """The agent knows whether the node fails closed, and finds what it should."""
        if self.fails_closed():
            self.wait_enforced()
        else:
            self.wait_open()

    def wait_open(self, seconds=90):
        """The agent has found out that the node does not fail closed, and says why; Snug does not require it there."""
        why = "default validator on" if self.runtime.validates else "cannot refuse containers"
        try:
            wait_until("", lambda: any("does not fail closed" in line and why in line for line in self.agent_log()), seconds)
        except TimeoutError:
            self.fail(f"the agent does not say that the node is open: {self.agent_log()}")
        self.assertFalse(self.is_enforced())
        self.assertEqual(self.inventory()["enforcement"], "open")

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

    def wait_running_within(self, name, seconds, start):
        self.wait_running(name)
        took = time.monotonic() - start
        print(f"     {name} runs {took:.1f} s after the agent's pod was created", flush=True)
        self.assertLess(took, seconds)

    def inventory(self):
        """What the agent has published."""
        return json.loads(self.admin.get(f"{NODES}/{NAME}")["metadata"]["annotations"]["snug.dev/inventory"])

    def specs(self):
        """The CDI specifications on the node."""
        return sorted(each.name for each in self.node.cdi_specs.iterdir())


def plain(name):
    """A pod that asks for no GPU."""
    value = pod(name, {})
    spec = value["spec"]
    del spec["schedulerName"]
    spec.update(hostNetwork=True, nodeName=NAME)
    spec["containers"][0].update(image=IMAGE, command=SHOW)
    return value

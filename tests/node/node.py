"""One node: kubelet and container runtime, unmodified, as root on this machine."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import uuid

import image
from harness.processes import free_port, wait_until
from image import IMAGE, PAUSE
from runtimes import DEFAULT, RUNTIMES

KUBELET_ROOT = pathlib.Path("/var/lib/kubelet")  # the kubelet's own path for plug-ins
DEVICE_PLUGINS = KUBELET_ROOT / "device-plugins"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
SLEEP = ["/bin/sleep", "1000000"]


def obstacle():
    """Why no node can run on this machine, as a sentence, or None."""
    if os.geteuid() != 0:
        return "a kubelet needs root"
    if any(each.name != DEVICE_PLUGINS.name for each in _listed(KUBELET_ROOT)):
        return f"{KUBELET_ROOT} is in use: this machine is a node already"
    if any(CGROUPS.glob("kubepods")) or any(CGROUPS.glob("*/kubepods")):
        return "there are cgroups kubepods: this machine is a node already"
    return None


def _listed(folder):
    return list(folder.iterdir()) if folder.exists() else []


def _kubelet_config(folder, port, runtime, authority):
    none_left = dict.fromkeys(("nodefs.available", "nodefs.inodesFree", "imagefs.available"), "0%")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": f"unix://{runtime}",
        "cgroupDriver": "cgroupfs", "enforceNodeAllocatable": [], "failCgroupV1": False,
        "failSwapOn": False, "oomScoreAdj": 0, "makeIPTablesUtilChains": False,
        "localStorageCapacityIsolation": False, "maxPods": 250,
        # The API server reaches the kubelet at the node's address, and has a certificate of the tests'
        # authority.
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                           "x509": {"clientCAFile": str(authority)}},
        "authorization": {"mode": "AlwaysAllow"},
        "address": "0.0.0.0", "port": port, "healthzPort": 0, "resolvConf": "",
        "evictionHard": {"memory.available": "1Mi", **none_left},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "podLogsDir": f"{folder}/logs", "nodeStatusUpdateFrequency": "5s",
    }


class Node:
    """Made by start(); remove() in any case. Only one can exist on a machine: some paths are fixed."""

    def __init__(self, plane, programs, name, nri=None, runtime=RUNTIMES[DEFAULT]):
        """`nri`: VALIDATES or PERMITS."""
        self.name = name
        self._plane = plane
        self._programs = programs
        # Short, because the path of a Unix socket has at most 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="node-"))
        self.cdi_specs = self.folder / "cdi-specs"
        self.socket = self.folder / "c.sock"
        # Programs here, named NN-name, are the runtime's own plug-ins, which it starts with itself.
        self.nri_plugins = self.folder / "nri/plugins"
        self._boot_id = self.folder / "boot-id"
        self._kubeconfig = plane.kubeconfig(name, f"system:node:{name}", ["system:nodes"])
        self._port = free_port()
        self.containerd = self.kubelet = None
        self._write_settings()
        self._runtime = runtime.make(self.folder, programs, nri)

    def _write_settings(self):
        for folder in (*(self.folder / name for name in ("cni", "logs", "cdi-specs")), self.nri_plugins):
            folder.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", self.cdi_specs], check=True)  # in memory, as /var/run/cdi is
        # Makes the node Ready; the pods of the tests use the node's network.
        (self.folder / "cni/node.conflist").write_text(json.dumps({
            "cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "none"}]}))
        self._new_boot_id()

    def start(self):
        self.start_containerd()
        for name in (PAUSE, IMAGE):
            self.import_image(name, {}, SLEEP)
        self.start_kubelet()

    def start_containerd(self):
        """Or the other runtime of this node."""
        self.containerd = self._plane.run(
            self._runtime.command[0].name, [*self._runtime.enter, *self._runtime.command], {"PATH": f"{self._programs}:{os.environ['PATH']}"})
        wait_until("the container runtime answers", self._runtime_answers, 60)

    def start_kubelet(self, runtime=None):
        """It registers the node in the background. `runtime`: a socket in front of the runtime's."""
        (self.folder / "kubelet.json").write_text(json.dumps(
            _kubelet_config(self.folder, self._port, runtime or self.socket, self._plane.pki.ca)))
        self.kubelet = self._plane.run("kubelet", [
            *self._runtime.enter, self._programs / "kubelet", f"--config={self.folder / 'kubelet.json'}",
            f"--kubeconfig={self._kubeconfig}", f"--hostname-override={self.name}",
            f"--root-dir={self.folder / 'kubelet'}", f"--cert-dir={self.folder / 'kubelet/pki'}",
            f"--boot-id-file={self._boot_id}", "--v=2"])

    def stop_kubelet(self):
        self.kubelet.stop()

    def forget_device_plugins(self):
        """Empties the folder with the device manager's checkpoint, as an upgrade of an image does."""
        shutil.rmtree(DEVICE_PLUGINS, ignore_errors=True)

    def shut_down(self):
        """As a power cut ends a node: containers, containerd and kubelet are gone, with what stands in
        memory. start_containerd() and start_kubelet() boot it again."""
        if self.kubelet:
            self.kubelet.kill()
        self._kill_containers()
        if self.containerd:
            self.containerd.kill()
        self._unmount()
        shutil.rmtree(self.folder / "state", ignore_errors=True)
        wait_until("the cgroups are gone", self._remove_cgroups)
        self._new_boot_id()

    def remove(self):
        self.shut_down()
        self._runtime.remove()
        shutil.rmtree(KUBELET_ROOT, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def import_image(self, name, files, command, env=()):
        """An image that also has these files, path in the image -> path here, and variables, as NAME=VALUE."""
        archive = self.folder / "image.tar"
        image.write(archive, name, self._programs / "busybox", command, files, env)
        self._runtime.add_image(archive)

    def output(self, pod, container="main"):
        """What the container's newest run has written, as lines."""
        metadata = pod["metadata"]
        folder = self.folder / "logs" / "_".join(
            (metadata["namespace"], metadata["name"], metadata["uid"])) / container
        runs = sorted(folder.glob("*.log"), key=lambda path: int(path.stem)) if folder.exists() else []
        lines = runs[-1].read_text().splitlines() if runs else []
        return [line.split(" ", 3)[3] for line in lines]

    def kill_container(self, identifier):
        """Its processes; `identifier` as in the status of its pod."""
        self._runtime.kill(identifier.removeprefix("containerd://"))

    def has_cgroup(self, uid):
        """Whether the kubelet has not ended the pod yet."""
        return any(path.endswith(f"pod{uid}") for top in _cgroups() for path, _, _ in os.walk(top))

    def _new_boot_id(self):
        self._boot_id.write_text(f"{uuid.uuid4()}\n")

    def _runtime_answers(self):
        self.containerd.must_run()
        return self._runtime.answers()

    def _kill_containers(self):
        """The monitors, which outlive the runtime, and the processes in the containers' cgroups."""
        mark, monitor = str(self.folder).encode(), self._runtime.monitor.encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if command.partition(b"\0")[0].endswith(b"/" + monitor) and mark in command:
                _kill(int(process.name))
        wait_until("the containers are gone", self._kill_in_cgroups)

    @staticmethod
    def _kill_in_cgroups():
        """Whether there were none."""
        found = {process for top in _cgroups() for path in _below(top)
                 for process in _processes(path)}
        for process in found:
            _kill(process)
        return not found

    def _unmount(self):
        enter = self._runtime.enter
        mounts = subprocess.run([*enter, "cat", "/proc/mounts"], check=True, capture_output=True, text=True).stdout
        for path in reversed([line.split()[1] for line in mounts.splitlines()]):
            if path.startswith(f"{self.folder}/"):
                subprocess.run([*enter, "umount", "--lazy", path], check=False, capture_output=True)

    def _remove_cgroups(self):
        """Whether there are none. A runc that outlives its runtime may still start a process in one."""
        self._kill_in_cgroups()
        for top in _cgroups():
            for path in reversed(_below(top)):
                with contextlib.suppress(OSError):
                    path.rmdir()
        return not _cgroups()


def _cgroups():
    return [*CGROUPS.glob("kubepods"), *CGROUPS.glob("*/kubepods")]


def _below(top):
    """The folder and those in it, from the top. Runc may remove some at the same time."""
    return [pathlib.Path(folder) for folder, _, _ in os.walk(top)]


def _processes(cgroup):
    with contextlib.suppress(OSError):
        return [int(line) for line in (cgroup / "cgroup.procs").read_text().split()]
    return []


def _kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)

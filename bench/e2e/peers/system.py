"""What all of the systems have in common: nodes, pods, one configuration of kube-scheduler."""

import json
import pathlib

from harness.controlplane import SCHEDULER_USER
from harness.objects import A100_MIB, bare_node, pod
from harness.scenario import NODES, Session
from harness.scheduler import configuration
from load import QPS

SIZE = "thousandths"  # the label that says what share of a GPU a pod is to have
CPU_OF_A_GPU = 10  # so that scores by CPU see the shares, and CPU is never short


def memory_of(thousandths):
    return A100_MIB * thousandths // 1000


def size_of(value):
    """The thousandths of a GPU that the pod is to have."""
    return int(value["metadata"]["labels"][SIZE])


class System:
    """start() it, kill() all that decides, and start_programs() again. The control plane ends its programs."""
    name = title = None
    place = "GPU"  # what used() counts
    runs = ("burst", "kill", "mix")  # those in which it differs from another system

    def __init__(self, plane, nodes, gpus):
        self.plane, self.admin = plane, plane.admin
        self.nodes = [f"n{number:05}" for number in range(nodes)]
        self.gpus = gpus
        self.components = {SCHEDULER_USER: "kube-scheduler"}  # user of the API server -> program
        self._programs = []
        self._kubeconfig = plane.kubeconfig("measured-scheduler", SCHEDULER_USER)

    def start(self):
        self.session = Session(self.plane)
        self.session.make_control_node()
        self.install()
        self.admin.create_all(NODES, [self.node(name) for name in self.nodes])
        self.start_programs()

    def kill(self):
        """SIGKILL for all that decides."""
        for program in self._programs:
            program.kill()

    def install(self):
        """Objects and programs that are not killed."""

    def node(self, name):
        return bare_node(name)

    def pod(self, name, thousandths):
        """A pod with that share of one GPU."""
        raise NotImplementedError

    def used(self, pods):
        """(place -> MiB that the bound pods have there, MiB that a place has), by the API server."""
        raise NotImplementedError

    def extender_port(self):
        """The port of a fresh extender, or None."""
        return None

    def tune(self, config):
        """Changes the configuration of kube-scheduler."""

    def program(self, process):
        """Remembers what kill() is to kill."""
        self._programs.append(process)

    def clocks(self):
        """Name -> the processor time of a program, in seconds."""
        return self.plane.cpu_clocks()

    def start_programs(self):
        """Starts all that decides, and waits for nothing."""
        self._programs = []
        config = configuration(self._kubeconfig, extender_port=self.extender_port(), qps=QPS)
        self.tune(config)
        path = pathlib.Path(self.plane.folder) / "measured-scheduler.json"
        path.write_text(json.dumps(config, indent=1))
        self.program(self.plane.run("kube-scheduler", [
            self.plane.programs / "kube-scheduler", f"--config={path}", "--secure-port=0"]))

    @staticmethod
    def base_pod(name, thousandths, annotations=None, limits=None):
        value = pod(name, annotations, limits=limits, labels={SIZE: str(thousandths)},
                    cpu=f"{CPU_OF_A_GPU * thousandths}m")
        return value

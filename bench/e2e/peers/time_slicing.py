"""Time-slicing of NVIDIA's device plug-in: each GPU is offered as REPLICAS of nvidia.com/gpu, and a pod takes
one, whatever its size: the plug-in's documents say that more than one gives no more of a GPU. Only the kubelet
knows which GPU a pod gets, so what the API server says ends at the node."""

import collections

from harness.objects import labelled_node

from .system import System, memory_of, size_of

REPLICAS = 4
RESOURCE = "nvidia.com/gpu"


class TimeSlicing(System):
    name, title = "time-slicing", "time-slicing"
    place = "node"

    def node(self, name):
        return labelled_node(name, self.gpus, replicas=REPLICAS)

    def pod(self, name, thousandths):
        return self.base_pod(name, thousandths, limits={RESOURCE: "1"})

    def used(self, pods):
        taken = collections.Counter()
        for value in pods:
            taken[value["spec"]["nodeName"]] += memory_of(size_of(value))
        return taken, self.gpus * memory_of(1000)

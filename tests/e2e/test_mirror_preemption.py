"""Scenario x: kube-scheduler, which knows GPUs as sums only, preempts for them, and Snug corrects it.

The other preemption scenarios (test_preemption.py) have a lack of CPU; here GPUs alone are short.
Pods of one priority have no order, since no kubelet gives them a start time. So where kube-scheduler
may begin with any of them, the expected victims are one of several equal sets.
"""

from harness.mirror_scenario import MirrorScenario, bare
from harness.objects import (
    A100, A100_MIB, bare_node, gpu_node, inventory, on_node, with_inventory)

PCIE = "NVIDIA-A100-PCIE-40GB"


def share(name, fraction, priority="low", **options):
    return bare(name, {"gpu-fraction": fraction}, priority, **options)


def shares(prefix, fractions, priority="low", **options):
    return [share(f"{prefix}-{number}", fraction, priority, **options)
            for number, fraction in enumerate(fractions)]


def memory(name, gibibytes, priority="low", **options):
    return bare(name, {"gpu-memory": f"{gibibytes}Gi"}, priority, **options)


class MirrorPreemptionTest(MirrorScenario):
    def test_x_a_whole_gpu_against_halves(self):
        """x: of eight halves on two nodes, the two of one GPU go for a pod that needs it whole"""
        self.start_mirrored(gpu_node("n1", 2), gpu_node("n2", 2))
        by_gpu = self.fill_with_halves(4)
        dead = self.preempt(share("high", "1", "high"))
        [place] = self.gpus_of("high")
        self.assertEqual(dead, by_gpu[place])

    def test_x_a_whole_gpu_against_memory(self):
        """x: of four pods with different gpu-memory on two GPUs, the two of one GPU go"""
        self.start_mirrored(gpu_node("n1", 2))
        by_gpu = self.by_gpu(self.fill(*(memory(f"low-{size}", size) for size in (22, 24, 16, 18))))
        self.assertEqual(sorted(map(sorted, by_gpu.values())),
                         [["low-16", "low-24"], ["low-18", "low-22"]])
        dead = self.preempt(memory("high", 40, "high"))
        [place] = self.gpus_of("high")
        self.assertEqual(dead, by_gpu[place])

    def test_x_memory_against_memory(self):
        """x: where kube-scheduler's two victims are on two GPUs, the two of one GPU go instead"""
        self.start_mirrored(gpu_node("n1", 2))
        by_gpu = self.by_gpu(self.fill(memory("low-24", 24), memory("middle-16", 16, "middle"),
                                       memory("middle-24", 24, "middle"), memory("low-16", 16)))
        self.assertEqual(sorted(map(sorted, by_gpu.values())),
                         [["low-16", "middle-24"], ["low-24", "middle-16"]])
        # By the sums, the two low ones are enough.
        dead = self.preempt(memory("high", 30, "high"))
        [place] = self.gpus_of("high")
        self.assertEqual(dead, by_gpu[place])

    def test_x_one_victim_where_one_is_enough(self):
        """x: a pod with gpu-memory takes the one pod of low priority that holds as much, and no other"""
        self.start_mirrored(gpu_node("n1", 2))
        by_gpu = self.by_gpu(self.fill(memory("low-24", 24), memory("middle-16", 16, "middle"),
                                       memory("middle-24", 24, "middle"), memory("low-16", 16)))
        [place] = [place for place, names in by_gpu.items() if "low-24" in names]
        self.assertEqual(self.preempt(memory("high", 20, "high")), {"low-24"})
        self.assertEqual(self.gpus_of("high"), {place})

    def test_x_whole_gpus_against_wholes(self):
        """x: a pod with two GPUs takes two of four pods with one each, on one node"""
        self.start_mirrored(gpu_node("n1", 3), gpu_node("n2", 1))
        low = self.fill(*shares("low", ["1"] * 3, **on_node("n1")),
                        *shares("other", ["1"], **on_node("n2")))
        freed = self.by_gpu(low)
        dead = self.preempt(share("high", "2", "high"))
        self.assertEqual(dead, set().union(*(freed[place] for place in self.gpus_of("high"))))
        self.assertEqual(len(dead), 2)

    def test_x_several_gpus_against_halves(self):
        """x: for two whole GPUs of three, the four halves of these two go"""
        self.start_mirrored(gpu_node("n1", 3))
        by_gpu = self.fill_with_halves(3)
        dead = self.preempt(share("high", "2", "high"))
        self.assertEqual(dead, set().union(*(by_gpu[place] for place in self.gpus_of("high"))))
        self.assertEqual(len(dead), 4)

    def test_x_gpu_count_against_halves(self):
        """x: half of each of two GPUs takes one half of each, never both of one"""
        self.start_mirrored(gpu_node("n1", 2))
        low = self.fill(*shares("low", ["0.5"] * 4))
        by_gpu = self.by_gpu(low)
        self.assertEqual([len(names) for names in by_gpu.values()], [2, 2])
        dead = self.preempt(bare("high", {"gpu-fraction": "0.5", "gpu-count": "2"}, "high"))
        self.assertEqual(self.gpus_of("high"), set(by_gpu))
        self.assertEqual([len(names & dead) for names in by_gpu.values()], [1, 1])

    def test_x_containers_of_the_preemptor(self):
        """x: two containers whose shares need two GPUs take one pod of each GPU"""
        self.start_mirrored(gpu_node("n1", 2))
        by_gpu = self.by_gpu(self.fill(*shares("low", ["0.7", "0.3", "0.7", "0.3"])))
        self.assertEqual([len(names) for names in by_gpu.values()], [2, 2])
        dead = self.preempt(bare("high", {"gpu-fraction.a": "0.6", "gpu-fraction.b": "0.7"}, "high",
                                 containers=("a", "b")))
        self.assertEqual(dead, {"low-0", "low-2"})
        self.assertEqual(self.gpus_of("high"), set(by_gpu))

    def test_x_containers_of_the_victims(self):
        """x: a pod whose two containers hold two GPUs goes with the other pod of one of them"""
        self.start_mirrored(gpu_node("n1", 2))
        low = self.fill(bare("two", {"gpu-fraction.a": "0.6", "gpu-fraction.b": "0.7"}, "low",
                             containers=("a", "b")), *shares("low", ["0.4", "0.3"]))
        by_gpu = self.by_gpu(low)
        self.assertEqual(sorted(map(sorted, by_gpu.values())), [["low-0", "two"], ["low-1", "two"]])
        dead = self.preempt(share("high", "1", "high"))
        [place] = self.gpus_of("high")
        self.assertEqual(dead, by_gpu[place])

    def test_x_a_cheaper_victim_than_the_pod_with_two_gpus(self):
        """x: a pod with two GPUs is spared where another pod holds enough of one"""
        self.start_mirrored(gpu_node("n1", 3))
        self.fill(bare("two", {"gpu-fraction": "0.8", "gpu-count": "2"}, "middle"),
                  share("low", "0.8"))
        place = self.gpus_of("low")
        self.assertEqual(self.preempt(bare(
            "high", {"gpu-fraction.a": "0.5", "gpu-memory.b": "10Gi"}, "high",
            containers=("a", "b"))), {"low"})
        self.assertEqual(self.gpus_of("high"), place)

    def test_x_fragments(self):
        """x: where the sum is free, but on no single GPU, the pod waits and nobody dies"""
        self.start_mirrored(gpu_node("n1", 2))
        low = self.fill(*shares("low", ["0.6", "0.6"]))
        self.assertEqual(len(self.by_gpu(low)), 2)
        self.assert_waits(share("high", "0.7", "high"), "NoRoom")

    def test_x_memory_here_and_compute_there(self):
        """x: where one GPU has the memory and the other the compute, the pod waits and nobody dies"""
        self.start_mirrored(gpu_node("n1", 2))
        low = self.fill(bare("memory", {"gpu-memory": "30Gi", "gpu-compute": "10"}, "low"),
                        bare("compute", {"gpu-memory": "20Gi", "gpu-compute": "80"}, "low"))
        self.assertEqual(len(self.by_gpu(low)), 2)
        self.assert_waits(bare("high", {"gpu-memory": "20Gi", "gpu-compute": "50"}, "high"), "NoRoom")

    def test_x_a_gpu_of_another_model(self):
        """x: where a GPU is free, but not of the model that the pod wants, it waits and nobody dies"""
        value = inventory("n1", 2, A100_MIB, A100)
        value["gpus"][1]["model"] = PCIE
        self.start_mirrored(with_inventory(bare_node("n1"), value))
        self.fill(bare("low", {"gpu-fraction": "0.5", "gpu-model": A100}, "low"))
        self.assert_waits(bare("high", {"gpu-fraction": "1", "gpu-model": A100}, "high"), "NoRoom")

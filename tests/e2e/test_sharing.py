"""Scenarios a, b, h: who may share a GPU with whom, and how much of it each one gets."""

import random

from harness.objects import gpu_node, kubelet_pod, labelled_node, on_node, pod, share
from harness.scenario import Scenario


class SharingTest(Scenario):
    def test_a_quarter_and_three_quarters_share_one_gpu(self):
        """a: 0.25 and 0.75 share one GPU, a further 0.5 goes elsewhere"""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.place(share("quarter", "0.25"))
        self.place(share("rest", "0.75"))
        self.place(share("half", "0.5"))
        self.assertEqual(self.gpu_of("quarter"), self.gpu_of("rest"))
        self.assertNotEqual(self.gpu_of("quarter"), self.gpu_of("half"))
        self.assertEqual(self.device("quarter")["memoryMiB"], 10240)
        self.assertEqual(self.device("rest")["computeMilli"], 750)
        self.check_cluster()

    def test_b_memory_request_on_small_and_large_cards(self):
        """b: gpu-memory 4G on a card of 16 GB and on one of 80 GB"""
        self.start()
        self.post_nodes(gpu_node("small", 1, memory_mib=16384, model="Tesla-V100-SXM2-16GB"),
                        gpu_node("large", 1, memory_mib=81920, model="NVIDIA-H100-80GB-HBM3"))
        for node, milli in (("small", 232), ("large", 46)):
            self.place(pod(f"on-{node}", {"gpu-memory": "4G"}, **on_node(node)))
            device = self.device(f"on-{node}")
            self.assertEqual((device["node"], device["memoryMiB"], device["computeMilli"]),
                             (node, 3815, milli))
        self.check_cluster()

    def test_b_memory_fills_a_card_and_not_more(self):
        """b: four times gpu-memory 4G fill a card of 16 GB, the fifth has no room"""
        self.start()
        self.post_nodes(gpu_node("small", 1, memory_mib=16384))
        for number in range(4):
            self.place(pod(f"pod-{number}", {"gpu-memory": "4G"}))
        self.post_pods(pod("fifth", {"gpu-memory": "4G"}))
        self.wait_refused("fifth", "NoRoom")
        self.check_cluster()

    def test_h_a_gpu_changes_its_mode_only_when_empty(self):
        """h: a share under MPS and one in turns never meet, and the GPU changes hands when empty"""
        self.start()
        self.post_nodes(gpu_node("n1", 1, modes=["whole", "time-slicing", "mps"]))
        self.place(pod("first", {"gpu-fraction": "0.25", "gpu-isolation": "mps"}))
        self.post_pods(pod("turns", {"gpu-fraction": "0.25", "gpu-isolation": "time-slicing"}))
        self.wait_refused("turns", "WrongMode: ")
        self.place(share("any", "0.25"))
        self.assertEqual(self.device("any")["mode"], "mps")
        self.delete_pod("first")
        self.delete_pod("any")
        self.wait_bound("turns")
        self.assertEqual(self.device("turns")["mode"], "time-slicing")
        self.place(share("other", "0.25"))
        self.assertEqual(self.device("other")["mode"], "time-slicing")
        self.check_cluster()

    def test_h_an_empty_gpu_takes_the_first_mode_of_its_operator(self):
        """h: for a pod without gpu-isolation an empty GPU takes the first sharing mode allowed"""
        self.start()
        self.post_nodes(gpu_node("n1", 1, modes=["mps", "whole", "time-slicing"]),
                        gpu_node("n2", 1, modes=["whole"]))
        self.place(share("any", "0.25"))
        self.assertEqual((self.device("any")["node"], self.device("any")["mode"]), ("n1", "mps"))
        self.post_pods(pod("turns", {"gpu-fraction": "0.25", "gpu-isolation": "time-slicing"}))
        self.wait_refused("turns", "2 WrongMode: ")
        self.check_cluster()

    def test_h_wholes_and_shares_never_meet(self):
        """h: whole GPUs by annotation, shares and kubelet-assigned pods never meet on a GPU"""
        self.start()
        self.post_nodes(*(gpu_node(f"n{number}", 4, kubelet=True) for number in range(6)))
        seed = 20260
        kinds = [("share", 32), ("whole", 6), ("two", 2), ("kubelet", 4)]
        pods = [self._pod_of(kind, number) for kind, count in kinds for number in range(count)]
        random.Random(seed).shuffle(pods)
        self.post_pods(*pods)
        self._wait_all_answered(len(pods))
        seen = self.check_cluster()
        self.assertEqual(seen.mixed_nodes(), set(), f"seed {seed}")
        for node, counts in seen.counts.items():
            self.assertLessEqual(sum(count.count for count in counts), 4, node)

    def test_h_a_whole_gpu_leaves_no_room_for_a_share(self):
        """h: a share waits while a whole GPU is taken, and the other way round"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(pod("whole", {"gpu-fraction": "1"}))
        self.assertEqual(self.device("whole")["mode"], "whole")
        self.post_pods(share("waits", "0.1"))
        self.wait_refused("waits", "NoRoom")
        self.delete_pod("whole")
        self.wait_bound("waits")
        self.post_pods(pod("second", {"gpu-fraction": "1"}))
        self.wait_refused("second", "NoRoom")
        self.check_cluster()

    def test_h_kubelet_assigned_pods_close_their_node_to_shares(self):
        """h: nvidia.com/gpu limits and shares take different nodes"""
        self.start()
        self.post_nodes(labelled_node("n1"), labelled_node("n2"))
        self.place(kubelet_pod("plain", 2))
        self.place(share("part", "0.5"))
        self.assertNotEqual(self.pod("plain")["spec"]["nodeName"], self.gpu_of("part")[0])
        taken = self.pod("plain")["spec"]["nodeName"]
        self.post_pods(share("here", "0.5", **on_node(taken)))
        self.wait_refused("here", "OtherKind")
        self.post_pods(kubelet_pod("there", 1, **on_node(self.gpu_of("part")[0])))
        self.wait_refused("there", "OtherKind")
        self.check_cluster()

    @staticmethod
    def _pod_of(kind, number):
        name = f"{kind}-{number}"
        if kind == "kubelet":
            return kubelet_pod(name, 2)
        return pod(name, {"gpu-fraction": {"share": "0.25", "whole": "1", "two": "2"}[kind]})

    def _wait_all_answered(self, count):
        """Every pod is bound or refused; which ones depends on the order."""
        from harness import truth
        from harness.processes import wait_until
        from harness.scenario import refusal

        def answered():
            pods = self.pods()
            return len(pods) == count and all(
                truth.is_bound(pod) or refusal(pod)[0] == "Unschedulable" for pod in pods)
        wait_until("every pod is bound or refused", answered, 60, every=0.3)

"""Scenarios k, l: both forms of the wire, both kinds of inventory, both kinds of credentials."""

from harness import truth
from harness.objects import bare_node, gpu_node, labelled_node, pod, share
from harness.scenario import Scenario


class WireTest(Scenario):
    def test_k_both_forms_of_the_wire(self):
        """k: nodeCacheCapable true and false give the same placements"""
        placements = []
        for capable in (True, False):
            with self.subTest(nodeCacheCapable=capable):
                placements.append(self._placements(capable))
        self.assertEqual(*placements)

    def test_k_refusals_in_full_node_form(self):
        """k: with nodeCacheCapable false a pod without room says NoRoom, others pass through"""
        self.start(node_cache_capable=False)
        self.post_nodes(gpu_node("n1", 1), bare_node("plain"))
        self.place(share("holds", "0.9"))
        self.post_pods(share("waits", "0.5"))
        self.wait_refused("waits", "NoRoom")
        self.assertIn("NoGpu", self._why("waits"))
        self.place(pod("plain-pod"))
        self.check_cluster()

    def test_k_token_of_the_service_account(self):
        """k: a kubeconfig with the service account's token serves as well as a certificate"""
        self.start(kubeconfig=self.plane.extender_token_kubeconfig())
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("pod-1", "0.5"))
        self.check_cluster()

    def test_l_nodes_known_by_labels_alone(self):
        """l: nodes with GPU Feature Discovery labels take shares and wholes, by index"""
        self.start()
        self.post_nodes(labelled_node("n1", 2), bare_node("plain"))
        self.place(share("part", "0.25"))
        self.place(pod("memory", {"gpu-memory": "4G"}))
        whole = self.place(pod("whole", {"gpu-fraction": "1"}))
        device = self.device("whole")
        self.assertEqual(device.get("uuid", ""), "")
        self.assertEqual(self.gpu_of("part"), self.gpu_of("memory"))
        self.assertEqual(truth.annotations(whole)["snug.dev/visible-devices"],
                         str(device["index"]))
        self.check_cluster()

    def test_l_flat_annotations_for_the_downward_api(self):
        """l: what the container needs stands in flat annotations beside the reservation"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        bound = self.place(share("part", "0.333"))
        flat = truth.annotations(bound)
        for suffix in ("", ".main"):
            self.assertEqual(flat["snug.dev/visible-devices" + suffix],
                             self.device("part")["uuid"])
            self.assertEqual(flat["snug.dev/memory-limit" + suffix], "0=13639M")
            self.assertEqual(flat["snug.dev/compute-percent" + suffix], "33")
        self.check_cluster()

    def _placements(self, capable):
        self.doCleanups()
        self.setUp()
        self.start(node_cache_capable=capable)
        self.post_nodes(gpu_node("n1", 2), gpu_node("n2", 2))
        names = []
        for number, fraction in enumerate(("0.25", "0.75", "0.5", "1", "0.4")):
            names.append(f"pod-{number}")
            self.place(share(names[-1], fraction))
        self.check_cluster()
        return [self.gpu_of(name) for name in names]

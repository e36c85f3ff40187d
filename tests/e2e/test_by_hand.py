"""Scenario i: pods that somebody else bound are counted, never ignored."""

from harness.objects import gpu_node, kubelet_pod, pod, share
from harness.processes import wait_until
from harness.scenario import Scenario


class ByHandTest(Scenario):
    def test_i_kubelet_assigned_pod_closes_the_node_to_shares(self):
        """i: a kubelet-assigned pod bound by hand is counted, and closes its node to shares"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, kubelet=True))
        self.post_pods(kubelet_pod("by-hand", 1, scheduler="nobody"))
        self.bind_by_hand("by-hand", "n1")
        wait_until("the pod is counted", lambda: self.ledger_node("n1")["kubeletAssigned"])
        self.check_cluster()
        self.post_pods(share("part", "0.25"))
        self.wait_refused("part", "OtherKind")
        self.place(kubelet_pod("second", 1))
        self.post_pods(kubelet_pod("third", 1))
        self.wait_refused("third", "Insufficient nvidia.com/gpu")  # by the scheduler itself
        self.check_cluster()
        for name in ("by-hand", "second", "third"):
            self.delete_pod(name)
        self.wait_bound("part")
        self.check_cluster()

    def test_i_shares_close_the_node_to_kubelet_assigned_pods(self):
        """i: a node that holds shares takes no kubelet-assigned pod, until they are gone"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, kubelet=True))
        self.place(share("part", "0.25"))
        self.post_pods(kubelet_pod("plain", 1))
        self.wait_refused("plain", "OtherKind")
        self.delete_pod("part")
        self.wait_bound("plain")
        self.check_cluster()

    def _close_a_node(self, by_hand):
        """Binds the pod, named by-hand, to the only node, where `part` then waits; the Warning about it."""
        self.start()
        self.post_nodes(gpu_node("n1", 2))
        self.post_pods(by_hand)
        self.bind_by_hand("by-hand", "n1")
        wait_until("the node is closed", lambda: self.ledger_node("n1")["closed"])
        self.post_pods(share("part", "0.25"))
        self.wait_refused("part", "NodeClosed")
        self.check_cluster()
        uid = self.pod("by-hand")["metadata"]["uid"]
        return wait_until("a Warning event", lambda: self.warning(uid))

    def test_i_annotated_pod_without_reservation_closes_the_shares(self):
        """i: an annotated pod bound by hand closes the node's shares, and a Warning says why"""
        event = self._close_a_node(share("by-hand", "0.25", scheduler="nobody"))
        self.assertIn("reservation", event["note"])
        self.delete_pod("by-hand")
        self.wait_bound("part")
        self.check_cluster()

    def test_i_keys_of_containers_close_the_node_too(self):
        """i: the same for a pod whose annotations name their containers"""
        self._close_a_node(pod("by-hand", {"gpu-fraction.warm": "0.1", "gpu-memory.b": "4G"},
                               containers=("a", "b"), init=("warm",), scheduler="nobody"))
        self.delete_pod("by-hand")
        self.wait_bound("part")
        self.check_cluster()

    def test_i_over_commitment_by_hand_is_counted(self):
        """i: kubelet-assigned pods bound by hand beside shares leave both counted"""
        self.start()
        self.post_nodes(gpu_node("n1", 1, kubelet=True))
        self.place(share("part", "0.5"))
        self.post_pods(kubelet_pod("by-hand", 1, scheduler="nobody"))
        self.bind_by_hand("by-hand", "n1")
        wait_until("the pod is counted", lambda: self.ledger_node("n1")["kubeletAssigned"])
        self.check_cluster()
        self.post_pods(share("second", "0.25"), pod("plain"))
        self.wait_bound("plain")
        self.wait_refused("second", "OtherKind")
        self.check_cluster()

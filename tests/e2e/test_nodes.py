"""Scenarios v, w: what nodes do under living pods, and device plug-ins that offer a GPU many times."""

from harness.objects import gpu_node, inventory, kubelet_pod, labelled_node, pod, share
from harness.objects import A100, A100_MIB
from harness.processes import wait_until
from harness.scenario import NODES, Scenario

T4 = {"memory_mib": 15360, "model": "Tesla-T4"}


class NodesTest(Scenario):
    def test_v_an_unhealthy_gpu_takes_nothing_new(self):
        """v: a GPU that turns unhealthy keeps its pods, takes no new ones, and comes back"""
        self._start_with_one_share()
        self._set_health(False)
        self.assertEqual(self.ledger_gpu("n1", 0)["closed"], "unhealthy")
        self.place(share("elsewhere", "0.9"))
        self.assertEqual(self.gpu_of("elsewhere"), ("n1", 1))
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "1 NoRoom: ")  # of the healthy one, which says more
        self.check_cluster()
        self._set_health(True)
        self.wait_bound("waits")
        self.assertEqual(self.gpu_of("waits"), ("n1", 0))
        self.check_cluster()

    def test_v_all_gpus_unhealthy(self):
        """v: where every GPU is unhealthy the reason is Unhealthy, and health wakes the pod"""
        self.start()
        value = inventory("n1", 1, A100_MIB, A100)
        value["gpus"][0]["healthy"] = False
        self.post_nodes(gpu_node("n1", 1))
        self.set_inventory("n1", value)
        self._wait_gpu(0, lambda gpu: gpu["closed"])
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "Unhealthy: ")
        self._set_health(True, gpus=1)
        self.wait_bound("waits")
        self.check_cluster()

    def test_v_a_vanished_gpu_keeps_its_pods(self):
        """v: a GPU that is gone from the inventory holds its pods until they end, and comes back"""
        self._start_with_one_share()
        uid = self.pod("first")["metadata"]["uid"]
        without = inventory("n1", 2, A100_MIB, A100)
        del without["gpus"][0]
        self.set_inventory("n1", without)
        gone = [("n1", 0)]
        self._wait_gpu(0, lambda gpu: gpu["closed"])
        self.assertIn("no longer in the node's inventory", self.ledger_gpu("n1", 0)["closed"])
        self.check_cluster(gone)
        wait_until("a Warning event", lambda: self.warning(uid))
        self.assertGreater(self.extender.metric("snug_gpus_closed", reason="vanished"), 0)
        self.place(share("second", "0.75"))
        self.assertEqual(self.gpu_of("second"), ("n1", 1))
        self.post_pods(share("third", "0.5"))
        self.wait_refused("third", "NoRoom")
        self.check_cluster(gone)
        self.set_inventory("n1", inventory("n1", 2, A100_MIB, A100))
        self.wait_bound("third")
        self.assertEqual(self.gpu_of("third"), ("n1", 0))
        self.check_cluster()

    def test_v_a_vanished_gpu_goes_with_its_last_pod(self):
        """v: a GPU that is gone is forgotten when the pods that it held are"""
        self._start_with_one_share()
        without = inventory("n1", 2, A100_MIB, A100)
        del without["gpus"][0]
        self.set_inventory("n1", without)
        self._wait_gpu(0, lambda gpu: gpu["closed"])
        self.delete_pod("first")
        wait_until("one GPU is left", lambda: [
            gpu["index"] for gpu in self.ledger_node("n1")["gpus"]] == [1])
        self.check_cluster()

    def test_v_a_changed_card_opens_when_the_old_ones_pods_are_gone(self):
        """v: a GPU with another uuid takes nothing until the pods of the old one have ended"""
        self._start_with_one_share(gpus=1)
        value = inventory("n1", 1, A100_MIB, A100)
        value["gpus"][0]["uuid"] = "GPU-of-another-card"
        self.set_inventory("n1", value)
        self._wait_gpu(0, lambda gpu: gpu["closed"])
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "Unhealthy: ")
        self.delete_pod("first")
        self.wait_bound("waits")
        self.assertEqual(self.device("waits")["uuid"], "GPU-of-another-card")
        self.check_cluster()

    def test_v_an_inventory_that_shrinks_below_what_is_held(self):
        """v: shares by fraction follow their GPU; one that memory no longer fits closes, and all count"""
        self._start_with_one_share(gpus=1)
        half = A100_MIB // 2
        self.place(pod("second", {"gpu-memory": f"{half}Mi"}))
        smaller = A100_MIB - 1024
        self.set_inventory("n1", inventory("n1", 1, smaller, A100))
        self._wait_gpu(0, lambda gpu: gpu["closed"])
        gpu = self.ledger_gpu("n1", 0)
        self.assertEqual(gpu["usedMemoryMiB"], smaller // 2 + half)
        self.assertEqual({each["pod"] for each in gpu["holders"]}, {"first", "second"})
        wait_until("it is counted", lambda: self.extender.metric(
            "snug_reservation_problems_total", kind="over_commitment") > 0)
        self.delete_pod("second")
        self._wait_gpu(0, lambda gpu: not gpu["closed"])

    def test_v_a_node_that_is_made_anew(self):
        """v: a node deleted and made again under living pods has all their reservations"""
        self._start_with_one_share()
        self.place(pod("whole", {"gpu-fraction": "1"}))
        before = self.check_cluster().as_ledger()
        self.admin.delete(f"{NODES}/n1")
        wait_until("the node is gone", lambda: all(
            node["closed"] for node in self.extender.nodes() if node["name"] == "n1"))
        self.post_pods(share("waits", "0.75"))
        self.post_nodes(gpu_node("n1", 2))
        self.assertEqual(self.check_cluster().as_ledger(), before)
        self.wait_refused("waits", "NoRoom")
        self.place(share("fits", "0.5"))
        self.assertEqual(self.gpu_of("fits"), self.gpu_of("first"))
        self.delete_pod("whole")
        self.wait_bound("waits")
        self.check_cluster()

    def test_v_a_malformed_inventory_closes_the_node(self):
        """v: an inventory that cannot be read closes its node, and its pods stay counted"""
        self._start_with_one_share()
        self.set_inventory("n1", {"version": 1, "gpus": "many"})
        wait_until("the node is closed", lambda: self.ledger_node("n1")["closed"])
        self.post_pods(share("waits", "0.25"))
        self.wait_refused("waits", "BadInventory: ")
        self.set_inventory("n1", inventory("n1", 2, A100_MIB, A100))
        self.wait_bound("waits")
        self.check_cluster()

    def test_w_ten_replicas_of_a_t4(self):
        """w: a T4 that is offered ten times takes ten such pods, not one more, and no share"""
        self._walk_through(labelled_node("t4", 1, replicas=10, **T4), "nvidia.com/gpu")

    def test_w_ten_replicas_under_another_name(self):
        """w: the same where the device plug-in renames its replicas to nvidia.com/gpu.shared"""
        self._walk_through(labelled_node("t4", 1, replicas=10, resource="nvidia.com/gpu.shared",
                                         **T4), "nvidia.com/gpu.shared")

    def test_w_replicas_of_a_node_that_is_taken_from_the_kubelet(self):
        """w: where the pool is shares, a T4 with replicas takes shares and no nvidia.com/gpu"""
        self.start()
        node = labelled_node("t4", 1, replicas=10, **T4)
        node["metadata"]["labels"]["snug.dev/pool"] = "shares"
        self.post_nodes(node)
        self.post_pods(kubelet_pod("plain"))
        self.wait_refused("plain", "WrongPool: ")
        self.place(share("part", "0.5"))
        self.check_cluster()

    def test_w_replicas_bound_by_hand(self):
        """w: an eleventh pod bound by hand is counted, and the node takes nothing more"""
        self.start()
        self.post_nodes(labelled_node("t4", 1, replicas=10, **T4))
        for number in range(10):
            self.place(kubelet_pod(f"pod-{number}"))
        self.post_pods(kubelet_pod("eleventh", scheduler="nobody"))
        self.bind_by_hand("eleventh", "t4")
        wait_until("eleven are counted",
                   lambda: len(self.ledger_node("t4")["kubeletAssigned"]) == 11)
        wait_until("the conflict is shown",
                   lambda: self.extender.metric("snug_nodes_in_conflict") == 1)
        self.delete_pod("eleventh")
        wait_until("the conflict is over",
                   lambda: self.extender.metric("snug_nodes_in_conflict") == 0)
        self.check_cluster()

    def _walk_through(self, node, resource):
        self.start()
        self.post_nodes(node)
        self.post_pods(share("part", "0.05"))
        self.wait_refused("part", "WrongMode: ")  # though nobody is there yet
        self.post_pods(*(pod(f"pod-{number}", limits={resource: "1"}) for number in range(11)))
        self.wait_settled(10, 1, f"Insufficient {resource}")  # by the scheduler itself
        self.assertEqual(len(self.ledger_node("t4")["kubeletAssigned"]), 10)
        self.check_cluster()
        [waiting] = [each["metadata"]["name"] for each in self.pods()
                     if not each["spec"].get("nodeName") and each["metadata"]["name"] != "part"]
        ended = "pod-0" if waiting != "pod-0" else "pod-1"
        self.delete_pod(ended)
        self.wait_bound(waiting)
        self.wait_refused("part", "WrongMode: ")
        self.check_cluster()

    def _start_with_one_share(self, gpus=2):
        """`first` has half of GPU 0."""
        self.start()
        self.post_nodes(gpu_node("n1", gpus))
        self.place(share("first", "0.5"))
        self.assertEqual(self.gpu_of("first"), ("n1", 0))

    def _set_health(self, healthy, gpus=2):
        """Of GPU 0."""
        value = inventory("n1", gpus, A100_MIB, A100)
        value["gpus"][0]["healthy"] = healthy
        self.set_inventory("n1", value)
        self._wait_gpu(0, lambda gpu: gpu["healthy"] == healthy)

    def _wait_gpu(self, index, condition):
        wait_until(f"GPU {index} is as wanted", lambda: condition(self.ledger_gpu("n1", index)))

"""Scenarios t, u: pods of higher priority take what they need, and keep what was freed for them.

On 1.36 kube-scheduler looks for victims only where CPU, memory or extended resources are short, so
in each scenario the low pods fill the node's CPU too.
"""

from harness.objects import gpu_node, on_node, pod, share
from harness.priorities import HOUR, post_priorities
from harness.processes import wait_until
from harness.scenario import Scenario

CPU = {"cpu": "8"}


class PreemptionTest(Scenario):
    def setUp(self):
        super().setUp()
        post_priorities(self.admin)

    def test_t_exactly_enough_victims(self):
        """t: half a GPU takes two quarters, though the CPU of one would do, and no third"""
        self._start_full(4, "0.25")
        self.place(share("high", "0.5", cpu="2", priority="high"))
        self.assertEqual(len(self._left("low")), 2)
        self.check_cluster()

    def test_t_victims_on_one_gpu(self):
        """t: a whole GPU takes the two pods of one GPU, though the CPU of one would do"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, capacity=CPU))
        for number in range(4):
            self.place(share(f"low-{number}", "0.5", cpu="2", priority="low"))
        by_gpu = {}
        for number in range(4):
            by_gpu.setdefault(self.gpu_of(f"low-{number}"), set()).add(f"low-{number}")
        self.assertEqual([len(names) for names in by_gpu.values()], [2, 2])
        self.place(pod("high", {"gpu-fraction": "1"}, cpu="2", priority="high"))
        dead = {f"low-{number}" for number in range(4)} - self._left("low")
        self.assertEqual(dead, by_gpu[self.gpu_of("high")])
        self.check_cluster()

    def test_t_the_schedulers_own_victim_holds_no_gpu(self):
        """t: where the least important pod has no GPU, the one that holds it is taken instead"""
        self.start()
        self.post_nodes(gpu_node("n1", 1, capacity=CPU))
        self.place(share("middle-gpu", "0.9", cpu="4", priority="middle"))
        self.place(pod("low-plain", cpu="4", priority="low"))
        self.place(share("high", "0.5", cpu="4", priority="high"))
        self.assertEqual(self._left("middle") | self._left("low"), {"low-plain"})
        self.check_cluster()

    def test_t_cpu_and_gpu_of_different_pods(self):
        """t: where one pod has the CPU and another the GPU, both are taken"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, capacity=CPU))
        self.place(share("low-gpu", "0.9", cpu="1", priority="low"))
        self.place(pod("high-whole", {"gpu-fraction": "1"}, cpu="1", priority="high"))
        self.place(pod("low-plain", cpu="6", priority="low"))
        self.place(share("high-new", "0.5", cpu="6", priority="high"))
        self.assertEqual(self._left("low"), set())
        self.assertEqual(self._left("high"), {"high-whole", "high-new"})
        self.check_cluster()

    def test_t_a_node_whose_gpus_stay_taken_is_no_candidate(self):
        """t: no pod dies on a node whose GPU a pod of the same priority holds"""
        self.start()
        self.post_nodes(gpu_node("n1", 1, capacity=CPU), gpu_node("n2", 1, capacity=CPU))
        for node in ("n1", "n2"):
            holder = "high" if node == "n1" else "low"
            self.place(share(f"{holder}-gpu", "0.9", cpu="4", priority=holder,
                             **on_node(node)))
            self.place(pod(f"low-plain-{node}", cpu="4", priority="low",
                           **on_node(node)))
        bound = self.place(share("high-new", "0.5", cpu="4", priority="high"))
        self.assertEqual(bound["spec"]["nodeName"], "n2")
        self.assertEqual(self._left("low"), {"low-plain-n1", "low-plain-n2"})
        self.check_cluster()

    def test_t_nobody_dies_where_it_would_not_help(self):
        """t: a pod that no eviction can place harms nobody"""
        self._start_full(4, "0.25", priority="high")
        self.place(pod("low-plain", cpu="0", priority="low"))
        self.post_pods(share("high-new", "0.5", cpu="2", priority="high"))
        self.wait_refused("high-new", "Insufficient cpu")
        self.assertEqual(len(self._left("high-")), 5)  # the four and the new one
        self.assertEqual(self._left("low"), {"low-plain"})
        self.check_cluster()

    def test_u_freed_room_waits_for_the_nominated_pod(self):
        """u: while the CPU is still short, a newcomer does not get the GPU that was freed"""
        self._start_full(4, "0.25", grace=HOUR)
        victims = self._nominate(share("high", "0.5", cpu="4", priority="high"))
        self._rob(victims)

    def test_u_freed_room_waits_though_the_cpu_is_there(self):
        """u: the same where the CPU of the first victim is enough and only the GPU is short"""
        self._start_full(4, "0.25", grace=HOUR)
        victims = self._nominate(share("high", "0.5", cpu="2", priority="high"))
        self._rob(victims)

    def test_u_a_higher_pod_may_take_the_freed_room(self):
        """u: the room is kept against lower priorities, not against higher ones"""
        self._start_full(4, "0.25", grace=HOUR)
        victims = self._nominate(share("middle", "0.5", cpu="4", priority="middle"))
        self._end(victims.pop())
        self.place(share("high", "0.25", cpu="0", priority="high"))
        self._end(victims.pop())
        self.check_cluster()

    def test_u_a_nomination_that_ends_frees_its_room(self):
        """u: when the nominated pod is deleted, the newcomer gets the room"""
        self._start_full(4, "0.25", grace=HOUR)
        victims = self._nominate(share("high", "0.5", cpu="4", priority="high"))
        self._end(victims[0])
        self.post_pods(share("newcomer", "0.25", cpu="0", priority="low"))
        self.wait_refused("newcomer", "Nominated: ")
        self.delete_pod("high")
        self.wait_bound("newcomer")
        self._end(victims[1])
        self.check_cluster()

    def _start_full(self, count, fraction, priority="low", grace=0):
        """One node with one GPU; so many pods fill its GPU and its CPU."""
        self.start()
        self.post_nodes(gpu_node("n1", 1, capacity=CPU))
        for number in range(count):
            self.place(share(f"{priority}-{number}", fraction, cpu=str(8 // count),
                             priority=priority, grace=grace))

    def _nominate(self, preemptor):
        """Posts the pod and returns the names of its two victims, which are about to end."""
        self.post_pods(preemptor)
        name = preemptor["metadata"]["name"]
        wait_until(f"{name} is nominated", lambda: self.pod(name)["status"].get(
            "nominatedNodeName") == "n1" and len(self._terminating()) == 2)
        return self._terminating()

    def _rob(self, victims):
        """A newcomer that fits beside what is left gets nothing until the nominated pod is bound."""
        self._end(victims[0])
        # Without CPU of its own, so that nothing but the GPU keeps it off the node.
        self.post_pods(share("newcomer", "0.25", cpu="0", priority="low"))
        self.wait_refused("newcomer", "Nominated: ")
        self.assertEqual(self.pod("high")["status"].get("nominatedNodeName"), "n1")
        self.assertEqual(len(self._left("low")), 2 + 1)
        self._end(victims[1])
        self.wait_bound("high")
        self.wait_refused("newcomer", "NoRoom: ")
        self.assertEqual(len(self._left("low")), 2)
        self.check_cluster()

    def _end(self, name):
        """As the kubelet does when the containers of a terminating pod have ended."""
        self.delete_pod(name)
        wait_until(f"the ledger has seen the end of {name}",
                   lambda: self.ledger_pod(name) is None)

    def _terminating(self):
        return sorted(each["metadata"]["name"] for each in self.pods()
                      if each["metadata"].get("deletionTimestamp"))

    def _left(self, prefix):
        """The pods with such names that are still there, if only to end."""
        return {each["metadata"]["name"] for each in self.pods()
                if each["metadata"]["name"].startswith(prefix)}

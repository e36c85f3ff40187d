"""Scenario z: a cold start without Snug, two schedulers with one Snug, and the modes of `answer`."""

from harness import truth
from harness.objects import gpu_node, pod, prefers_node, share
from harness.processes import free_port, wait_until
from harness.scenario import Scenario, refusal

DEFAULT = "default-scheduler"
EACH = 150
NODE_COUNT = 12
GPUS = 4
# Three of 0.3 fill a GPU, whatever the order.
ROOM = NODE_COUNT * GPUS * 3


class ShapesTest(Scenario):
    def test_z_cold_start_without_snug(self):
        """z: while Snug is away all but GPU pods run; when it comes, these are bound too"""
        port = free_port()
        self.start_scheduler(name=DEFAULT)
        self.start_scheduler(extender_port=port)
        self.post_nodes(gpu_node("n1", 2))
        self.session.post_own_pod("snug-0")
        self.post_pods(*(share(f"gpu-{number}", "0.5") for number in range(4)),
                       *(pod(f"plain-{number}", scheduler=DEFAULT) for number in range(8)))
        for number in range(8):
            self.wait_bound(f"plain-{number}")
        for number in range(4):
            self.wait_failed(f"gpu-{number}")
        self.wait_bound("snug-0", namespace="snug")  # so Snug itself can start
        self.start_extender(flags={"listen": f"127.0.0.1:{port}"})
        for number in range(4):
            self.wait_bound(f"gpu-{number}")
        self.check_cluster()
        self.extender.kill()
        self.place(pod("plain-late", scheduler=DEFAULT))
        self.post_pods(share("gpu-late", "0.5"))
        self.wait_failed("gpu-late")

    def test_z_two_schedulers_at_once(self):
        """z: two schedulers that ask one Snug never give away more than there is"""
        self.start()
        self.start_scheduler(extender_port=self.extender.port, name="snug-b")
        self.post_nodes(*(gpu_node(f"n{number:02}", GPUS) for number in range(NODE_COUNT)))
        self.post_pods(*(share(f"{name}-{number:03}", "0.3", scheduler=name)
                         for number in range(EACH) for name in ("snug", "snug-b")))
        self.wait_settled(ROOM, 2 * EACH - ROOM)
        seen = self.check_cluster()
        self.assertEqual(len(seen.used_gpus()), NODE_COUNT * GPUS)
        by_scheduler = [each["spec"]["schedulerName"] for each in self.pods()
                        if truth.is_bound(each)]
        self.assertEqual(set(by_scheduler), {"snug", "snug-b"})

    def test_z_a_scheduler_that_is_not_served(self):
        """z: with schedulerNames, pods of other schedulers are refused, and none is bound"""
        config = self.policy_file("version: 1\nschedulerNames: [snug]\n")
        self.start(flags={"config": config})
        self.start_scheduler(extender_port=self.extender.port, name="snug-b")
        self.post_nodes(gpu_node("n1", 1))
        self.post_pods(share("other", "0.5", scheduler="snug-b"))
        self.wait_refused("other", "NotServed: ")
        self.place(share("ours", "0.5"))
        self.check_cluster()

    def test_z_what_each_answer_does_to_wishes(self):
        """z: a pod's preferred node counts under advise and auto, not under winner and all"""
        for answer, granted in (("winner", False), ("all", False), ("advise", True), ("auto", True)):
            with self.subTest(answer=answer):
                self.doCleanups()
                self.setUp()
                self.start(answer=answer)
                self.post_nodes(*(gpu_node(f"n{number}", 2) for number in range(4)))
                self.place(share("first", "0.25"))
                first = self.gpu_of("first")[0]
                self.place(share("second", "0.25"))  # without wishes: beside the first
                self.assertEqual(self.gpu_of("second")[0], first)
                wish = "n2" if first != "n2" else "n3"
                self.place(share("picky", "0.25", **prefers_node(wish)))
                self.assertEqual(self.gpu_of("picky")[0], wish if granted else first)
                self.check_cluster()

    def wait_failed(self, name):
        """The scheduler has tried, and its extender did not answer."""
        wait_until(f"{name} has been tried in vain",
                   lambda: refusal(self.pod(name))[0] == "SchedulerError")
        self.assertFalse(truth.is_bound(self.pod(name)))

"""Scenario c: a small cluster that stays full while pods finish and others take their places."""

import time

from harness import truth
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.scenario import Scenario

GPUS = 4
PODS_IN_ALL = 200
PODS_AT_ONCE = 24  # a third of them runs, and the others wait
RUN_SECONDS = (0.2, 0.3, 0.4, 0.5, 0.6)  # in turn, so that they do not finish together
WITHIN_SECONDS = 300


class LostRacesTest(Scenario):
    def test_c_full_cluster(self):
        """c: 200 halves pass through 4 GPUs, 24 at a time; at most 2 % of the binds lose a race"""
        self._pass_through("auto")

    def test_c_full_cluster_where_filter_names_all_nodes(self):
        """c: the same on 4 nodes of one GPU, where prioritize names the winner"""
        self._pass_through("all", nodes=GPUS)

    def _pass_through(self, answer, nodes=1):
        self.start(answer=answer)
        self.post_nodes(*(gpu_node(f"n{number}", GPUS // nodes) for number in range(nodes)))
        self.posted = 0
        self.order = {}  # of binding, by name: how many were bound before it was seen bound
        self.ends = {}  # when a bound pod finishes
        self._post(PODS_AT_ONCE)
        wait_until("all pods have been bound", self._step, WITHIN_SECONDS, every=0.02)
        binds = self.extender.metric("snug_bind_total")
        lost = self.extender.metric("snug_bind_total", end="lost_race")
        passes = self._passes()
        print(f"{lost:g} of {binds:g} binds lost a race; a pod was overtaken by "
              f"{sum(passes) / len(passes):.1f} younger ones on average, {max(passes)} at most",
              flush=True)
        self.assertLessEqual(lost, 0.02 * binds)
        self.check_cluster()

    def _post(self, count):
        for _ in range(min(count, PODS_IN_ALL - self.posted)):
            self.post_pods(share(f"pod-{self.posted:03}", "0.5"))
            self.posted += 1

    def _step(self):
        """Ends what has run long enough, and posts as many anew. True: the last one was bound."""
        bound_before = len(self.order)
        now = time.monotonic()
        finished = 0
        for pod in self.pods():
            name = pod["metadata"]["name"]
            if not truth.is_bound(pod):
                continue
            if name not in self.order:
                self.order[name] = bound_before
                self.ends[name] = now + RUN_SECONDS[int(name[-1]) % len(RUN_SECONDS)]
            elif self.ends.get(name, now + 1) <= now:
                del self.ends[name]
                self.delete_pod(name)
                finished += 1
        self._post(finished)
        return len(self.order) == PODS_IN_ALL

    def _passes(self):
        """For each pod, how many that were posted after it were seen bound before it."""
        return [sum(later > name and self.order[later] < order for later in self.order)
                for name, order in self.order.items()]

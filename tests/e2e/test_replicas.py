"""Scenario x: several Snugs in one cluster. One decides, on a fresh view, whichever part fails."""

import itertools
import json
import threading
import time

from harness import truth
from harness.objects import gpu_node, share
from harness.processes import bound, wait_until
from harness.replicas import POLICY, Replica, allow_leases
from harness.scenario import PODS, Scenario

LEASE = "/apis/coordination.k8s.io/v1/namespaces/snug/leases/snug-extender"
SCHEDULER = "/apis/coordination.k8s.io/v1/namespaces/snug/leases/snug-scheduler"
LEASE_SECONDS = 15
# After the Lease has expired and the scheduler has moved: apiTimeout, clock_skew_ms, and one list.
AFTER_LEASE_SECONDS = 3
MANY = 5_000


class Stream:
    """Pods that come and go all the time, and the times at which they were bound."""

    def __init__(self, scenario, every):
        self._scenario = scenario
        self._every = every
        self._ended = threading.Event()
        self._version = scenario.admin.get(PODS + "?limit=1")["metadata"]["resourceVersion"]
        self.bound_at = []
        self._threads = [threading.Thread(target=each, daemon=True)
                         for each in (self._post, self._watch)]
        for thread in self._threads:
            thread.start()

    def end(self):
        """No more come. Returns the longest time in which none was bound."""
        self._ended.set()
        self._threads[0].join(10)
        times = [*self.bound_at, time.monotonic()]
        return max(after - before for before, after in itertools.pairwise(times))

    def _post(self):
        for number in itertools.count():
            if self._ended.wait(self._every):
                return
            self._scenario.post_pods(share(f"stream-{number}", "0.1"))

    def _watch(self):
        watch = self._scenario.admin.watch(PODS, fieldSelector="spec.nodeName!=",
                                           resourceVersion=self._version)
        self._scenario.addCleanup(watch.close)
        for line in watch.lines():
            event = json.loads(line)
            if event["type"] == "ADDED" and not self._ended.is_set():
                self.bound_at.append(time.monotonic())
                self._scenario.delete_pod(event["object"]["metadata"]["name"])


class ReplicasTest(Scenario):
    def setUp(self):
        super().setUp()
        allow_leases(self.admin)
        self.admin.delete(SCHEDULER, missing_ok=True)

    def test_x_a_rolling_update_pauses_nobody_for_long(self):
        """x: while both replicas are replaced one after the other, binds pause for 5 s at most"""
        old = self._start("one"), self._start("two")
        self.post_nodes(gpu_node("n1", 8))
        first = self._leader(old)
        stream = Stream(self, 0.1)
        wait_until("pods are bound", lambda: len(stream.bound_at) > 20, 60)
        running = list(old)
        for name, leaves in (("three", first), ("four", old[1 - old.index(first)])):
            fresh = self._start(name)
            wait_until(f"{name} is warm", fresh.is_warm, 30)
            leaves.stop()
            running = [each for each in running if each is not leaves] + [fresh]
            self._leader(running)
        wait_until("pods are bound", lambda: len(stream.bound_at) > 40, 60)
        self.assertLessEqual(stream.end(), bound(5.0))
        self._settle(running)

    def test_x_an_upgrade_beside_a_scheduler_that_stays(self):
        """x: Snug alone is replaced, as in the shared shape: binds pause for 5 s at most"""
        replica = self._start("one")
        self.post_nodes(gpu_node("n1", 8))
        self._leader([replica])
        stream = Stream(self, 0.1)
        wait_until("pods are bound", lambda: len(stream.bound_at) > 20, 60)
        replica.extender.replace()
        wait_until("pods are bound", lambda: len(stream.bound_at) > 40, 60)
        self.assertLessEqual(stream.end(), bound(5.0))
        self._settle([replica])

    def test_x_the_leader_is_killed_among_5000_pods(self):
        """x: kill -9 of both: the other Snug decides within 3 s once its Lease and scheduler allow it"""
        leader, standby = self._pair()
        self._place_many()
        renewed = self._renewed()
        wait_until("the Lease is renewed", lambda: self._renewed() != renewed, every=0.01)
        lease_expires = time.monotonic() + LEASE_SECONDS
        leader.kill()
        turn = self._wait_for_scheduler(standby)
        wait_until("the other decides", standby.decides, 60, every=0.02)
        self.assertLessEqual(time.monotonic() - max(lease_expires, turn), bound(AFTER_LEASE_SECONDS))
        self.place(share("after", "0.25"), 60)
        self._settle([standby])

    def test_x_a_leader_that_ends_is_followed_at_once(self):
        """x: SIGTERM of Snug's leader and its scheduler: the Snugs need at most 2 s, 5,000 pods or not"""
        leader, standby = self._pair()
        self._place_many()
        holder = self._holder()
        ended = time.monotonic()
        leader.terminate()
        wait_until("the Lease is released", lambda: self._holder() != holder, every=0.02)
        release = time.monotonic() - ended
        turn = self._wait_for_scheduler(standby)
        wait_until("the other decides", standby.decides, 60, every=0.02)
        takeover = time.monotonic() - turn
        self.assertLessEqual(release + takeover, bound(2.0), (release, takeover))
        leader.stop()
        self._settle([standby])

    def test_x_a_stale_standby_lists_before_it_decides(self):
        """x: the watches of a standby are half-open when it becomes the leader: no GPU twice"""
        leader, standby = self._pair()
        self.post_nodes(gpu_node("n1", 2))
        self.place(share("before", "0.9"))
        wait_until("the standby knows", lambda: self._knows(standby, "before"))
        standby.relay.freeze()
        self.place(share("unseen", "0.9"))
        self.assertFalse(self._knows(standby, "unseen"), "its watch is not half-open")
        leader.stop()
        wait_until("the other decides", standby.decides, 60)
        self.post_pods(share("third", "0.9"))
        self.wait_refused("third", "NoRoom", 60)
        self._settle([standby])

    def test_x_a_paused_leader_binds_nothing_when_it_wakes(self):
        """x: SIGSTOP of the leader and its scheduler in a burst, until another leads: no GPU twice"""
        leader, standby = self._pair()
        self.post_nodes(*(gpu_node(f"n{number}", 8) for number in range(12)))
        self.post_pods(*(share(f"pod-{number:03}", "0.3") for number in range(280)))
        wait_until("some pods are bound", lambda: self._bound() > 30, 60, every=0.01)
        for program in (leader.extender.process, leader.scheduler):
            program.pause()
        wait_until("the other decides", standby.decides, 60)
        for program in (leader.extender.process, leader.scheduler):
            program.resume()
        self.wait_settled(280, seconds=120)
        self._settle([standby])

    def test_x_two_installations(self):
        """x: a second installation finds the Lease held, refuses, and names the other"""
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("first", "0.9"))
        self.session.make_own_pod("other-0")
        other = self.make_extender(policy=POLICY, own_pod="other-0", host="other")
        other.start(wait_ready=False)
        self.start_scheduler(extender_port=other.port, name="other")
        self.post_pods(share("second", "0.9", scheduler="other"))
        uid = self.admin.get("/api/v1/namespaces/snug/pods/other-0")["metadata"]["uid"]
        event = wait_until("the event is written", lambda: self._conflict(uid, other), 90, every=0.5)
        holder = self._holder()
        self.assertIn(f"Snug {holder} holds the Lease snug/snug-extender", event["note"])
        self.assertEqual(other.metric("snug_lease_conflict", holder=holder), 1)
        status, text = other.readiness()
        self.assertEqual(status, 503)
        self.assertIn(holder, text)
        self.assertFalse(truth.is_bound(self.pod("second")))
        self.check_cluster()

    def _start(self, name):
        replica = Replica(self, name)
        replica.start()
        return replica

    def _pair(self):
        """Two replicas: the one that decides, and its standby."""
        replicas = self._start("one"), self._start("two")
        leader = self._leader(replicas)
        return leader, replicas[1 - replicas.index(leader)]

    def _place_many(self):
        self.post_nodes(*(gpu_node(f"n{number:03}", 8) for number in range(160)))
        self.post_pods(*(share(f"pod-{number:04}", "0.25") for number in range(MANY)))
        self.wait_settled(MANY, seconds=240)

    def _leader(self, replicas):
        """The one that decides, once the one beside the active scheduler does; the others are warm."""
        found = wait_until("one decides", lambda: [
            each for each in replicas if each.decides() and self._scheduler_is_on(each)], 60)
        self.assertEqual(len(found), 1, "two decide")
        for each in replicas:
            wait_until(f"{each.name} is warm", each.is_warm, 30)
        self.extender = found[0].extender
        return found[0]

    def _settle(self, replicas):
        self.extender = self._leader(replicas).extender
        self.check_cluster()

    def _scheduler_is_on(self, replica):
        lease = self.admin.find(SCHEDULER) or {"spec": {}}
        return (lease["spec"].get("holderIdentity") or "").startswith(replica.name + "_")

    def _wait_for_scheduler(self, replica):
        """Waits until the replica's scheduler is the active one, and returns the time. A standby
        kube-scheduler polls the Lease every 1 to 2.2 retryPeriods, and counts leaseDuration from the
        poll that saw the last renewal, so it takes over from a killed one within leaseDuration +
        4.4 * retryPeriod."""
        wait_until("it is its scheduler's turn", lambda: self._scheduler_is_on(replica), 60, every=0.02)
        return time.monotonic()

    def _holder(self):
        return self.admin.get(LEASE)["spec"].get("holderIdentity")

    def _renewed(self):
        return self.admin.get(LEASE)["spec"]["renewTime"]

    def _knows(self, replica, name):
        return any(row["pod"] == name and row["state"] == "bound" for row in replica.extender.pods())

    def _bound(self):
        return sum(map(truth.is_bound, self.pods()))

    def _conflict(self, uid, other):
        other.process.must_run()
        event = self.warning(uid)
        return event if event and event["reason"] == "AnotherSnugDecides" else None

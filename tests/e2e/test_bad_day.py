"""Scenario y: everything around Snug fails while it binds."""

import concurrent.futures
import http.client
import threading
import time

from harness import manifests, truth
from harness.api import ApiError
from harness.bound_counter import BoundCounter
from harness.controlplane import EXTENDER_USER
from harness.objects import gpu_node, share
from harness.processes import wait_until
from harness.relay import Relay
from harness.replicas import Replica, allow_leases
from harness.scenario import PODS, Scenario

MANY = 5_000
RESYNC_SECONDS = 60
KILLS = 20
WATCHED = ("nodes", "pods")
WATCH_VERBS = ["get", "list"]
# So that a watch that shows nothing is given up soon.
SHORT_WATCHES = ["watchTimeoutS=5", "watchSilenceS=11"]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/snug/leases/snug-extender"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/snug-extender"


class BadDayTest(Scenario):
    def test_y_5000_binds_and_20_kills(self):
        """y: 5,000 binds, and SIGKILL of Snug 20 times among them: nothing is lost or doubled"""
        self.start()
        self.post_nodes(*(gpu_node(f"n{number:03}", 8) for number in range(160)))
        with self._load(MANY) as bound:
            for kill in range(1, KILLS + 1):
                self._wait_count(bound, kill * MANY // (KILLS + 5))
                self.extender.kill()
                self.extender.start()
        self.wait_settled(MANY, seconds=240)
        self.check_cluster()

    def test_y_a_bad_day(self):
        """y: under load: half-open watches, etcd compacted, API server, scheduler, leader killed"""
        allow_leases(self.admin)
        replicas = [Replica(self, name, {"limits": SHORT_WATCHES}) for name in ("one", "two")]
        for replica in replicas:
            replica.start()
        wait_until("one decides", lambda: any(each.decides() for each in replicas), 60)
        # A tenth of the pods does not fit.
        nodes = 32
        self.post_nodes(*(gpu_node(f"n{number:02}", 8) for number in range(nodes)))
        faults = (self._half_open, self._compacted_while_half_open, self._restart_scheduler,
                  self._restart_leader, self._fail_over_half_open)
        with self._load(nodes * 8 * 4 + 100, pause=0.6) as bound:
            for fault in faults:
                self._wait_count(bound, bound.count + 20)
                fault(replicas)
                self._start_ended_schedulers(replicas)
            self.assertLess(bound.count, nodes * 8 * 4, "the load has ended before the faults")
            self._wait_count(bound, bound.count + 20)
        self.wait_settled(nodes * 8 * 4, 100, seconds=240)
        self.extender = self._leader(replicas).extender
        self.check_cluster(restarted=True)

    def test_y_a_deletion_behind_a_half_open_watch(self):
        """y: what a deleted pod held is free within 60 s though the watch is dead without a word"""
        relay = Relay(self.plane.port)
        self.addCleanup(relay.close)
        self.start(kubeconfig=self.plane.extender_kubeconfig(relay.port))
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("ends", "0.9"))
        relay.freeze()
        self.delete_pod("ends")
        deleted = time.monotonic()
        wait_until("its GPU is free", lambda: not self.ledger_gpu("n1", 0)["holders"], 90, every=0.2)
        self.assertLessEqual(time.monotonic() - deleted, RESYNC_SECONDS)
        self.place(share("next", "0.9"))
        self.check_cluster()

    def test_y_a_token_is_rotated(self):
        """y: the token is replaced under load, and the old one is refused from then on"""
        self.start(kubeconfig=self.plane.extender_token_kubeconfig())
        self.post_nodes(gpu_node("n1", 8))
        with self._load(60, pause=0.2) as bound:
            self._wait_count(bound, 10)
            old = self.plane.rotate_extender_token()
            wait_until("the old token is refused", lambda: old.send("GET", "/api")[0] == 401, 60)
        self.wait_settled(32, 28, seconds=60)
        # Whichever pods were bound before, one more is bound now.
        self.delete_pod(next(each["metadata"]["name"] for each in self.pods() if truth.is_bound(each)))
        self.wait_settled(32, 27, seconds=60)
        self.check_cluster()

    def test_y_watches_are_forbidden(self):
        """y: a Snug that may not watch is not ready, says why, and raises the alert"""
        self.start(flags={"limits": "watchTimeoutS=1"})
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("first", "0.5"))
        role = self.admin.get(ROLE)
        self.addCleanup(self._put_back, role)
        rules = [{**rule, "verbs": WATCH_VERBS} if "watch" in rule["verbs"] else rule
                 for rule in role["rules"]]
        self.admin.call("PUT", ROLE, {**role, "rules": rules})
        status, text = wait_until("it is not ready", self._why_not_ready, 60, every=0.5)
        self.assertEqual(status, 503)
        self.assertRegex(text, "the watch of (nodes|pods) is not established, and has shown nothing for ")
        self.assertEqual(self.extender.metric("snug_ready"), 0)
        metric, threshold = manifests.threshold_of("SnugWatchStale")
        wait_until("the condition of SnugWatchStale holds", lambda: self.extender.metric(
            metric, resource="pods") > threshold, 90, every=0.5)
        self._put_back(role)
        wait_until("it is ready again", self.extender.ready, 60)
        self.place(share("second", "0.5"))

    def _load(self, pods, pause=0.0):
        return Load(self, pods, pause)

    def _wait_count(self, bound, enough):
        wait_until(f"{enough} pods are bound", lambda: bound.count >= enough, 120, 0.01)

    def _leader(self, replicas):
        [found] = wait_until("one decides", lambda: [each for each in replicas
                                                     if each.decides()], 60)
        return found

    def _half_open(self, replicas):
        """Of all connections of the leader's only half is left: its watches are given up."""
        leader = self._leader(replicas)
        before = self._restarts([leader], "silent")
        leader.relay.freeze()
        self._wait_restarts([leader], "silent", before)

    def _compacted_while_half_open(self, replicas):
        """etcd and the API server forget what no watch has shown: a watch that goes on where it was
        has expired. The API server's own cache has it all until it starts again. Whoever leads then
        lists anyway; the other one's watches have to find it out."""
        before = self._restarts(replicas, "expired")
        for replica in replicas:
            replica.relay.swallow("replies")
        posted = len(self.pods())
        wait_until("there is more to show", lambda: len(self.pods()) > posted)
        self.plane.compact()
        self.plane.restart_api_server()
        # Until it has read its roles it refuses everybody, and who is refused lists afresh.
        wait_until("Snug may watch", lambda: all(map(self._may_watch, WATCHED)))
        for replica in replicas:
            replica.relay.heal()
        self._wait_restarts(replicas, "expired", before)

    def _restart_scheduler(self, replicas):
        leader = self._leader(replicas)
        leader.scheduler.kill()
        leader.start_scheduler()

    def _restart_leader(self, replicas):
        leader = self._leader(replicas)
        leader.extender.kill()
        leader.extender.start(wait_ready=False)

    def _fail_over_half_open(self, replicas):
        """The leader and its scheduler are gone at once while both replicas' watches are half open:
        the other one leads."""
        leader = self._leader(replicas)
        [other] = [each for each in replicas if each is not leader]
        holder = self._holder()
        self._start_ended_schedulers(replicas)
        for replica in replicas:
            replica.relay.freeze()
        leader.kill()
        wait_until("the other replica decides", other.decides, 120)
        self.assertNotEqual(self._holder(), holder)
        leader.start()

    def _start_ended_schedulers(self, replicas):
        """As the kubelet does: kube-scheduler ends when it could not renew its Lease."""
        for replica in replicas:
            if not replica.scheduler.running():
                replica.start_scheduler()

    def _restarts(self, replicas, why):
        """(replica, resource) -> how many of its watches have ended like this."""
        return {(each.name, resource): each.extender.metric(
            "snug_watch_restarts_total", resource=resource, why=why)
            for each in replicas for resource in WATCHED}

    def _wait_restarts(self, replicas, why, before):
        """All watches of one of the replicas have ended like this since `before`."""
        def ended():
            now = self._restarts(replicas, why)
            return any(all(now[each.name, resource] > before[each.name, resource]
                           for resource in WATCHED) for each in replicas)
        wait_until(f"the watches are {why}", ended, 60, every=0.2)

    def _may_watch(self, resource):
        return self.admin.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": EXTENDER_USER, "groups": ["system:serviceaccounts:snug"],
                     "resourceAttributes": {"verb": "watch", "resource": resource}}})["status"][
                         "allowed"]

    def _holder(self):
        return self.admin.get(LEASE)["spec"]["holderIdentity"]

    def _why_not_ready(self):
        status, text = self.extender.readiness()
        return (status, text) if status == 503 else None

    def _put_back(self, role):
        present = self.admin.get(ROLE)
        self.admin.call("PUT", ROLE, {**present, "rules": role["rules"]})


class Load:
    """Posts pods of a quarter in the background, whatever the API server says to it: one after each
    pause, and at its end the rest without."""

    def __init__(self, scenario, pods, pause):
        self._scenario = scenario
        self._pods = [share(f"pod-{number:04}", "0.25") for number in range(pods)]
        self._pause = pause
        self._ends = threading.Event()
        self._bound = BoundCounter(scenario.admin, PODS, pods)
        self._pool = concurrent.futures.ThreadPoolExecutor(1)
        self._posted = None

    def __enter__(self):
        self._posted = self._pool.submit(self._post)
        return self._bound

    def __exit__(self, *_):
        self._ends.set()
        self._posted.result()
        self._pool.shutdown()
        self._bound.close()

    def _post(self):
        if self._pause == 0:
            self._scenario.post_pods(*self._pods)
            return
        for each in self._pods:
            wait_until("the pod is posted", lambda each=each: self._try(each), 60, 0.2)
            self._ends.wait(self._pause)

    def _try(self, each):
        try:
            self._scenario.post_pods(each)
            return True
        except (OSError, http.client.HTTPException, ApiError) as error:
            # It may have been carried out, or has been by an earlier try.
            return isinstance(error, ApiError) and error.status == 409

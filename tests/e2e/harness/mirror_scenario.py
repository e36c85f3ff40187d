"""The base of the scenarios in which kube-scheduler preempts by the resources that mirror shares.

The pods say what their authors would: the annotations and a PriorityClass. The policies of
deploy/admission-gpu-pods.yaml add the rest, the resources too; on Kubernetes before 1.36 the webhook.
"""

import collections

from . import manifests, truth, webhook
from .admission import completed_by_webhook, scheduler_of
from .controlplane import SCHEDULER_USER
from .mirror import MEMORY, MILLI, PARAMETERS, serve_parameters, units
from .objects import A100_MIB, pod
from .priorities import post_priorities
from .processes import wait_until
from .scenario import NODES, PODS, Scenario

POLICIES = "admission-gpu-pods.yaml"
RANGE = {"smallest-gpu-mib": str(A100_MIB), "largest-gpu-mib": str(A100_MIB)}


def bare(name, annotations, priority, **options):
    """Without a scheduler's name and without resources. The grace period is 0 unless it is given,
    since no kubelet ends the pod."""
    return pod(name, annotations, priority=priority, scheduler=None, cpu="0", **options)


class MirrorScenario(Scenario):
    def setUp(self):
        super().setUp()
        post_priorities(self.admin)
        serve_parameters(self.admin)
        self.admin.delete(PARAMETERS, missing_ok=True)
        self._by_webhook = completed_by_webhook(self.plane)
        if self._by_webhook:
            webhook.permit(self)
            self.addCleanup(webhook.remove, self.admin)
        else:
            manifests.apply(self.admin, POLICIES)
            self.addCleanup(self._remove_policies)

    def start_mirrored(self, *nodes, **options):
        """Starts the programs; the nodes show the resources, and new pods get them."""
        flags = {**RANGE, **webhook.flags()} if self._by_webhook else RANGE
        self.start(**{"policy": "tight", "flags": flags, **options})
        if self._by_webhook:
            webhook.register(self.admin, self.extender.webhook_port)
        self.post_nodes(*nodes)
        for node in nodes:
            wait_until("the node shows its GPUs",
                       lambda name=node["metadata"]["name"]: self._shows(name))
        if self._by_webhook:
            wait_until("the webhook is trusted", lambda: scheduler_of(self.admin))
        wait_until("pods get the resources", lambda: MILLI in self._tried().get("limits", {}))

    def fill(self, *pods):
        """Places the pods one after the other; returns their names."""
        for each in pods:
            made = self.place(each)
            limits = [container["resources"].get("limits", {})
                      for container in made["spec"]["containers"]]
            self.assertTrue(any(MILLI in each for each in limits), "bound without the resources")
        return {each["metadata"]["name"] for each in pods}

    def fill_with_halves(self, gpus, **options):
        """Two pods of low priority on each of so many GPUs; returns (node, index) -> their names. The
        two of one GPU do not follow each other, so that kube-scheduler, which goes by the order of
        the pods, does not choose both by chance."""
        self.fill(*(bare(f"low-{number}", {"gpu-fraction": "0.5"}, "low", **options)
                    for number in range(2 * gpus)))
        early = {min(names) for names in self.by_gpu(self.uids()).values()}
        for name in set(self.uids()) - early:
            self.delete_pod(name)
        self.fill(*(bare(f"low-late-{number}", {"gpu-fraction": "0.5"}, "low", **options)
                    for number in range(gpus)))
        by_gpu = self.by_gpu(self.uids())
        self.assertEqual(sorted(len(names & early) for names in by_gpu.values()), [1] * gpus)
        return by_gpu

    def uids(self):
        """Name -> uid of all pods, those that are terminating too."""
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in self.pods()}

    def gpus_of(self, name):
        """All (node, index) of which a bound pod has something."""
        node = self.pod(name)["spec"]["nodeName"]
        return {(node, device["index"])
                for devices in self.given(name).values() for device in devices}

    def by_gpu(self, names):
        """(node, index) -> names of the pods there."""
        found = collections.defaultdict(set)
        for name in names:
            for place in self.gpus_of(name):
                found[place].add(name)
        return dict(found)

    def preempt(self, preemptor):
        """Posts the pod, which gets bound; returns the names of the pods that died for it. Nothing
        is over-committed, and the scheduler deleted these pods only, each once."""
        before, earlier = self.uids(), self.evicted()
        self.place(preemptor)
        after = self.uids()
        dead = {name for name, uid in before.items() if after.get(name) != uid}
        self.assertEqual(set(after) - set(before), {preemptor["metadata"]["name"]})
        self.assertEqual(self.evicted() - earlier, dead)
        self.check_cluster()
        return dead

    def evicted(self):
        """The names of the pods that kube-scheduler has deleted in this scenario."""
        return set(self.plane.audit.deleted_since(self.mark, SCHEDULER_USER, "pods"))

    def nominate(self, preemptor, count):
        """Posts the pod; returns the names of its `count` victims, which are terminating."""
        earlier = self.terminating()
        self.post_pods(preemptor)
        name = preemptor["metadata"]["name"]
        wait_until(f"{name} is nominated and has its victims", lambda: self.pod(name)["status"].get(
            "nominatedNodeName") and len(self.terminating() - earlier) == count)
        return self.terminating() - earlier

    def terminating(self):
        return {each["metadata"]["name"] for each in self.pods()
                if each["metadata"].get("deletionTimestamp")}

    def end(self, name):
        """As the kubelet does when the containers of a terminating pod have ended."""
        self.delete_pod(name)
        wait_until(f"the ledger has seen the end of {name}",
                   lambda: self.ledger_pod(name) is None)

    def assert_waits(self, preemptor, reason):
        """The pod waits with Snug's reason, kube-scheduler finds no victims, and nobody dies."""
        before = self.uids()
        self.post_pods(preemptor)
        name = preemptor["metadata"]["name"]
        self.wait_refused(name, f"{reason}: ")
        self.assertIn("preemption: ", self._why(name))
        self.assertIn("Preemption is not helpful", self._why(name))
        self.assertIsNone(self.pod(name)["status"].get("nominatedNodeName"))
        self.assertEqual(self.uids(), {**before, name: self.uids()[name]})
        self.assertEqual(self.evicted(), set())
        self.assertEqual(self.terminating(), set())
        self.check_cluster()

    def bound_names(self):
        return {each["metadata"]["name"] for each in self.pods() if truth.is_bound(each)}

    def _shows(self, name):
        return units(self.admin.get(f"{NODES}/{name}")["status"]["allocatable"].get(MEMORY))

    def wait_until_pods_are_younger(self, name):
        """Waits for the next second: creation times are whole seconds, so a pod that is posted then is
        younger than the pod of this name."""
        created = self.pod(name)["metadata"]["creationTimestamp"]
        wait_until("pods are created in a later second",
                   lambda: self._tried_pod()["metadata"]["creationTimestamp"] > created)

    def _tried_pod(self):
        """A pod that asks for a share, by dry run."""
        return self.admin.create(f"{PODS}?dryRun=All", bare("tried", {"gpu-fraction": "0.5"}, "low"))

    def _tried(self):
        """The resources of the container of _tried_pod()."""
        return self._tried_pod()["spec"]["containers"][0]["resources"]

    def _remove_policies(self):
        manifests.remove(self.admin, POLICIES)
        self.admin.delete(PARAMETERS, missing_ok=True)
        wait_until("the policies are gone", lambda: MILLI not in self._tried().get("limits", {}))

"""Events: each likely mistake is understood from `kubectl describe` alone, and none becomes a flood."""

import collections

from harness.controlplane import EXTENDER_USER
from harness.objects import A100, A100_MIB, gpu_node, inventory, kubelet_pod, pod, share
from harness.processes import wait_until
from harness.scenario import CAPACITY, PODS, Scenario

MANY = 2000
EVENTS = "/apis/events.k8s.io/v1"

# A pod, and what `kubectl describe pod` must say about it.
MISTAKES = [
    (pod("percent", {"gpu-fraction": "25%"}),
     ["FailedScheduling", 'Malformed: gpu-fraction is "25\uff05"; expected', "GpuRefused",
      'Malformed: gpu-fraction is "25%"; expected a number above 0']),
    (pod("typo", {"gpu-fracton": "0.5"}),
     ["GpuRequestIgnored", "Snug does not read the annotation gpu-fracton; if the pod needs a GPU, use gpu-fraction"]),
    (pod("typo-elsewhere", {"gpu-memroy": "4Gi"}, scheduler=None),
     ["GpuRequestIgnored", "if the pod needs a GPU, use gpu-memory"]),
    (pod("label", labels={"gpu-fraction": "0.5"}),
     ["GpuRequestIgnored", "gpu-fraction (\"0.5\") is a label of this pod", "metadata.annotations"]),
    (pod("hami", limits={"nvidia.com/gpumem": "3000"}),
     ["GpuRequestIgnored", "nvidia.com/gpumem", "belongs to HAMi", "use the annotation gpu-memory"]),
    (pod("gpushare", limits={"aliyun.com/gpu-mem": "3"}),
     ["GpuRequestIgnored", "aliyun.com/gpu-mem", "gpushare", "use the annotation gpu-memory"]),
    (pod("volcano", limits={"volcano.sh/vgpu-memory": "3000"}),
     ["GpuRequestIgnored", "volcano.sh/vgpu-memory", "Volcano"]),
    (pod("model", {"gpu-fraction": "0.5", "gpu-model": "A1000*"}),
     ["GpuRefused", 'no GPU in the cluster matches gpu-model "A1000*"; the models are NVIDIA-A100-SXM4-40GB']),
    (pod("large", {"gpu-fraction": "0.5"}),
     ["GpuRefused", "NoRoom: no GPU has room for the request (1 of 1 node). Nearest: GPU 0",
      "What would help: "]),
]


class EventsTest(Scenario):
    def described(self, what, name, *texts):
        """Waits until `kubectl describe` shows all the texts."""
        last = {}

        def shows_all():
            # The table of events is one line for each event; the cells are separated by blanks.
            last["text"] = " ".join(self.kubectl.must("describe", what, name).split())
            return all(text in last["text"] for text in texts)
        try:
            wait_until("", shows_all, 30, every=0.5)
        except TimeoutError:
            missing = [text for text in texts if text not in last["text"]]
            self.fail(f"{what} {name} does not say {missing}: {last['text']}")

    def own_events(self, uids):
        """(uid, reason, code of a refusal) -> number of the events that Snug wrote."""
        return collections.Counter(
            (event["regarding"].get("uid"), event["reason"],
             event["note"].partition(":")[0] if event["reason"] == "GpuRefused" else "")
            for event in self.admin.list(f"{EVENTS}/events")
            if event["reportingController"] == "snug.dev/extender"
            and event["regarding"].get("uid") in uids)

    def _filters(self):
        return self.extender.metric("snug_verb_total", verb="filter", result="ok")

    def test_mistakes(self):
        """kubectl describe says what is wrong with a pod and with a node"""
        self.start(flags={"scheduler-names": "snug"})
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("first", "0.6"))
        self.post_pods(*(each for each, _ in MISTAKES))
        for each, texts in MISTAKES:
            self.described("pod", each["metadata"]["name"], *texts)
        self.described("pod", "first", "GpuAssigned",
                       "GPU 0 (NVIDIA-A100-SXM4-40GB) of node n1: 24576 MiB, 60 %, no other pod")
        self.place(share("second", "0.4"))
        self.described("pod", "second", "16384 MiB, 40 %, shared with 1 pod")
        self.set_inventory("n1", {"version": 1, "gpus": [{"index": -1}]})
        self.described("node", "n1", "GpuInventoryUnusable",
                       "the node takes no GPU pods from Snug: ")
        self.set_inventory("n1", inventory("n1", 1, A100_MIB, A100))
        self.described("node", "n1", "GpuInventoryUsable")
        counts = self.own_events({each["metadata"]["uid"] for each in self.pods()} | {"n1"})
        # Before 1.32 kube-scheduler also retries refused pods when the node changes, so a pod may have one event for
        # each of two reasons.
        self.assertEqual(set(counts.values()), {1}, counts)

    def test_kubelet_assigned(self):
        """A pod whose devices the kubelet picks says so"""
        self.start()
        self.post_nodes(gpu_node("n1", 2, kubelet=True))
        self.place(kubelet_pod("whole", 2))
        self.described("pod", "whole", "GpuAssigned", "on node n1: 2 nvidia.com/gpu, whose devices")

    def test_many_pending(self):
        """Many pods that wait for one reason: one event each, and no retry loop"""
        # Else each later scenario that looks for an event would read all of these.
        self.addCleanup(self.admin.delete, f"{EVENTS}/namespaces/default/events")
        self.start()
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("holder", "1"))
        self.post_pods(*(share(f"wait-{number:04}", "0.5") for number in range(MANY)))
        self.wait_settled(bound=1, refused=MANY)
        uids = {each["metadata"]["uid"] for each in self.pods()}

        def refusal_events():
            """uid -> number of its events GpuRefused"""
            counts = collections.Counter()
            for (uid, reason, _), count in self.own_events(uids).items():
                if reason == "GpuRefused":
                    counts[uid] += count
            return counts
        # Snug writes 50 in a second, and tries again if the API server does not answer.
        wait_until("each pod has its event", lambda: len(refusal_events()) == MANY, 120, every=3)
        # A few calls may be made twice, because the API server did not answer the first time.
        at_most = MANY + MANY // 20
        patches = self.scheduler_calls()["patch pods/status"]
        self.assertTrue(MANY <= patches <= at_most, f"{patches} patches of {MANY} pods' status")
        own_calls = self.extender_calls()
        self.assertLessEqual(own_calls.pop("create events"), at_most)
        self.assertLess(sum(own_calls.values()), MANY // 5, own_calls)
        before = self.scheduler_calls()
        mark = self.plane.audit.mark()
        # Each of these makes kube-scheduler try the waiting pods again.
        touched = CAPACITY if self.plane.minor < 32 else f"{PODS}/holder"
        for number in range(2):
            before_touch = self._filters()
            self.admin.patch(touched, {"metadata": {"labels": {"touched": str(number)}}})
            wait_until("the pods are tried again",
                       lambda low=before_touch: self._filters() >= low + MANY, 120)
        own_calls = self.plane.audit.calls_since(mark, EXTENDER_USER)
        self.assertEqual(own_calls["create events"], 0)
        self.assertLess(sum(own_calls.values()), MANY // 10, own_calls)
        self.assertEqual(self.scheduler_calls() - before, collections.Counter(),
                         "an unchanged message is not written again")
        self.assertEqual(collections.Counter(refusal_events().values()), {1: MANY},
                         "number of events of a pod: number of such pods")
        self.assertEqual(self.extender.metric("snug_events_dropped_total"), 0)

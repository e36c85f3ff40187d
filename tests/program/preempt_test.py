"""filter and preempt by HTTP as kube-scheduler 1.38 calls them: for nodes that only an extender refused it names no
victims, and the extender chooses them."""

import json
import tempfile
import unittest
from pathlib import Path

from gpu_cluster import gpu, holder, node, pod
from programs import ask_filter, post, start_on

CARDS = {"full": "A100", "guarded": "A100", "small": "T4"}
# Name, node, GPU, milli-GPU, priority.
HOLDERS = (("a", "full", 0, 700, 1), ("b", "full", 1, 400, 1), ("c", "full", 1, 500, 2), ("d", "guarded", 0, 700, 9))


def with_priority(priority, value):
    value["spec"]["priority"] = priority
    return value


class EmptyCandidatesTest(unittest.TestCase):
    pod = with_priority(5, pod("high", annotations={"gpu-memory": "40Gi"}))

    def start(self, minor):
        gpus = {name: [gpu(name, index, card) for index in range(2 if name == "full" else 1)]
                for name, card in CARDS.items()}
        items = [node(name, cards) for name, cards in gpus.items()]
        items += [with_priority(priority, holder(name, on, [(gpus[on][index], milli)], ("gpu-fraction", str(milli / 1000))))
                  for name, on, index, milli, priority in HOLDERS]
        folder = tempfile.TemporaryDirectory(prefix="snug-preempt-")
        self.addCleanup(folder.cleanup)
        cluster = Path(folder.name) / "cluster.json"
        cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        _, self.verbs, _ = start_on(self, cluster, f"--kubernetes-minor={minor}")

    def refusals(self):
        """The codes of the nodes on which eviction can help, and of the others."""
        reply = ask_filter(self.verbs, self.pod, list(CARDS))
        self.assertEqual((reply["NodeNames"], reply["Error"]), ([], ""))
        return [{name: text.partition(":")[0] for name, text in (reply[key] or {}).items()}
                for key in ("FailedNodes", "FailedAndUnresolvableNodes")]

    def preempt(self, victims):
        candidates = {name: {"Pods": victims, "NumPDBViolations": 0} for name in CARDS}
        reply = post(f"{self.verbs}/preempt", {"Pod": self.pod, "NodeNameToVictims": None,
                                               "NodeNameToMetaVictims": candidates})
        return {name: [each["UID"] for each in chosen["Pods"]]
                for name, chosen in reply["NodeNameToMetaVictims"].items()}

    def test_from_1_38_on_snug_chooses_the_victims(self):
        """One pod dies, not two; and none where the holder has a higher priority or the GPU is too small."""
        self.start(38)
        self.assertEqual(self.refusals(), [{"full": "NoRoom", "guarded": "NoRoom"}, {"small": "TooLarge"}])
        for nobody in ([], None):
            self.assertEqual(self.preempt(nobody), {"full": ["uid-team-a"]})

    def test_up_to_1_37_no_eviction_is_offered(self):
        self.start(37)
        self.assertEqual(self.refusals(), [{}, {"full": "NoRoom", "guarded": "NoRoom", "small": "TooLarge"}])


if __name__ == "__main__":
    unittest.main()

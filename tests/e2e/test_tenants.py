"""Scenarios r, s: the policy's rules for a namespace, and the profiles that its pods may choose."""

from harness.objects import gpu_node, pod, share
from harness.scenario import Scenario

PROFILES = """
version: 1
default: stack
profiles:
  stack: {terms: [{term: best-fit, weight: 1}]}
  apart: {terms: [{term: spread, weight: 1}]}
"""
SPREAD_FOR_A = PROFILES + """
rules:
- {namespaces: [team-a], profile: apart}
"""
CHOICE_FOR_A = PROFILES + """
podChoice:
- {namespaces: [team-a], profiles: [apart]}
"""
CAP_FOR_A = PROFILES + """
sharing:
- {namespaces: [team-a], capMilli: 1000}
"""
APART = PROFILES + """
sharing:
- {namespaces: [team-a], neighbours: namespace}
- {namespaces: [team-b], requireEnforcement: true}
"""
A, B = {"namespace": "team-a"}, {"namespace": "team-b"}


class TenantsTest(Scenario):
    def test_r_a_rule_for_a_namespace(self):
        """r: a rule gives one namespace another profile than the others"""
        self._start(SPREAD_FOR_A)
        self.assertEqual(len(self._used_by_four("team-b")), 1)
        self.assertEqual(len(self._used_by_four("team-a")), 4)
        self.check_cluster()

    def test_r_a_pod_chooses_what_is_open_to_it(self):
        """r: gpu-policy is taken where it is open, and ForbiddenPolicy where it is not"""
        self._start(CHOICE_FOR_A)
        chosen = {"gpu-policy": "apart"}
        self.assertEqual(len(self._used_by_four("team-a", chosen)), 4)
        self.post_pods(pod("picky", {"gpu-fraction": "0.25", **chosen}, **B))
        self.wait_refused("picky", "ForbiddenPolicy: ", namespace="team-b")
        self.post_pods(pod("nobody", {"gpu-fraction": "0.25", "gpu-policy": "no-such"}, **A))
        self.wait_refused("nobody", "ForbiddenPolicy: ", namespace="team-a")
        self.check_cluster()

    def test_r_a_forbidden_policy_is_an_event(self):
        """r: the event FailedScheduling of a pod names the policy that it may not choose"""
        self._start(CHOICE_FOR_A)
        self.post_pods(pod("picky", {"gpu-fraction": "0.25", "gpu-policy": "apart"}, **B))
        self.wait_refused("picky", "ForbiddenPolicy: ", namespace="team-b")
        uid = self.pod("picky", "team-b")["metadata"]["uid"]
        notes = [event["note"] for event in self.admin.list(
            "/apis/events.k8s.io/v1/namespaces/team-b/events")
            if event["regarding"].get("uid") == uid and event["reason"] == "FailedScheduling"]
        self.assertTrue(any("ForbiddenPolicy: " in note for note in notes), notes)

    def test_s_a_cap_holds_until_a_pod_ends(self):
        """s: a namespace at its cap waits with CapReached until one of its pods ends"""
        self._start(CAP_FOR_A)
        for number in range(2):
            self.place(share(f"pod-{number}", "0.5", **A))
        self.post_pods(share("third", "0.25", **A))
        self.wait_refused("third", "CapReached: ", namespace="team-a")
        self.place(share("other", "0.5", **B))
        self.delete_pod("pod-0", "team-a")
        self.wait_bound("third", namespace="team-a")
        self.post_pods(pod("whole", {"gpu-fraction": "1"}, **A))
        self.wait_refused("whole", "CapReached: ", namespace="team-a")
        self.check_cluster()

    def test_s_a_burst_ends_at_the_cap(self):
        """s: of forty pods at once exactly so many are bound as the cap allows"""
        self._start(CAP_FOR_A)
        self.post_pods(*(share(f"pod-{number}", "0.1", **A) for number in range(40)))
        self.post_pods(*(share(f"pod-{number}", "0.1", **B) for number in range(20)))
        self.wait_settled(10, 30, "CapReached", namespace="team-a")
        self.wait_settled(20, namespace="team-b")
        self.check_cluster()

    def test_s_neighbours_and_enforcement(self):
        """s: a namespace that shares with nobody else, and one that wants its shares enforced"""
        self.start(policy=self.policy_file(APART))
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("first", "0.25", **A))
        self.place(share("second", "0.25", **A))
        self.post_pods(share("guest", "0.25"))
        self.wait_refused("guest", "OtherNamespace: ")
        self.post_nodes(gpu_node("n2", 1))
        self.wait_bound("guest")
        self.post_pods(share("careful", "0.25", **B))
        self.wait_refused("careful", "NotEnforced: ", namespace="team-b")
        self.post_nodes(gpu_node("n3", 1, labels={"snug.dev/enforced": "true"}))
        bound = self.wait_bound("careful", namespace="team-b")
        self.assertEqual(bound["spec"]["nodeName"], "n3")
        self.check_cluster()

    def _start(self, policy):
        self.start(policy=self.policy_file(policy))
        self.post_nodes(*(gpu_node(f"n{number}", 2) for number in range(4)))

    def _used_by_four(self, namespace, annotations=None):
        """The GPUs that four quarters of that namespace are on, placed one after another."""
        used = set()
        for number in range(4):
            name = f"pod-{number}"
            bound = self.place(pod(name, {"gpu-fraction": "0.25", **(annotations or {})},
                                   namespace=namespace))
            [device] = self.given(name, namespace)["main"]
            used.add((bound["spec"]["nodeName"], device["index"]))
        return used

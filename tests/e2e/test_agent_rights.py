"""Scenario m: what the agent of a node may write, by deploy/agent-rbac.yaml and deploy/agent-policy.yaml on the real
API server, and how Snug counts its heartbeat."""

import datetime
import json

from harness import manifests
from harness.api import Api, ApiError
from harness.objects import A100, A100_MIB, gpu_node, inventory, share
from harness.processes import wait_until
from harness.scenario import NODES, OWN_PODS, Scenario, pods_of

FILES = ("agent-rbac.yaml", "agent-policy.yaml")
AGENT_PODS = pods_of("snug-node")
TOKEN = "/api/v1/namespaces/snug-node/serviceaccounts/snug-agent/token"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
REQUIRED = "required-plugins.noderesource.dev/container.main"
WANTS = "version: 1\ndefault: best\nprofiles:\n  best: {terms: [{term: best-fit, weight: 1}]}\n" \
        "sharing: [{namespaces: ['*'], requireEnforcement: true}]\n"
ANOTHER_NODE = "changes only the node on which it runs"
ANOTHER_LEASE = "writes only the Lease agent.NODE"


def lease(name, holder, namespace="snug"):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace, "labels": {"snug.dev/agent": "true"}},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": now}}


def marks(annotations=None, labels=None):
    return {"metadata": {"annotations": annotations or {}, "labels": labels or {}}}


class AgentTest(Scenario):
    def setUp(self):
        super().setUp()
        for name in FILES:
            self.addCleanup(manifests.remove, self.admin, name)
            for value in manifests.read(name):
                manifests.apply_object(self.admin, value)
        self.admin.create_all(NODES, [gpu_node("n1", 1), gpu_node("n2", 1)])
        self.agent = self._agent_on("n1")
        wait_until("the agent's rights are in force", lambda: self._status("GET", f"{NODES}/n1") == 200)
        wait_until("the policy is in force", lambda: self._status("PATCH", f"{NODES}/n2", marks({"a": "b"})) == 422)

    def _agent_on(self, node):
        """With a token as the kubelet mounts it into the pod of that node."""
        name = f"agent-{node}"
        made = self.admin.create(AGENT_PODS, {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "snug-node", "annotations": {REQUIRED.replace("main", "probe"): '["snug-probe"]'}},
            "spec": {"serviceAccountName": "snug-agent", "nodeName": node, "terminationGracePeriodSeconds": 0,
                     "securityContext": {"runAsNonRoot": True, "runAsUser": 1, "seccompProfile": {"type": "RuntimeDefault"}},
                     "containers": [{"name": "probe", "image": "none", "securityContext": {
                         "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}})
        self.addCleanup(self.admin.delete, f"{AGENT_PODS}/{name}", missing_ok=True)
        return self._client({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": name,
                                                "uid": made["metadata"]["uid"]}})

    def _client(self, spec):
        answer = self.admin.create(TOKEN, {"spec": {"expirationSeconds": 3600, **spec}})
        return Api(self.plane.port, self.plane.pki.ca, token=answer["status"]["token"])

    def _status(self, method, path, value=None):
        try:
            self.agent.patch(path, value) if method == "PATCH" else self.agent.call(method, path, value)
        except ApiError as error:
            return error.status
        return 200

    def _refused(self, method, path, value, why, agent=None):
        agent = agent or self.agent
        with self.assertRaises(ApiError, msg=f"{method} {path} {value}") as raised:
            agent.patch(path, value) if method == "PATCH" else agent.call(method, path, value)
        self.assertIn(raised.exception.status, (403, 422), str(raised.exception))
        self.assertIn(why, raised.exception.message)

    def test_m_an_agent_changes_two_keys_of_its_node(self):
        """m: an agent writes its node's inventory and label, and nothing else of any node"""
        own = f"{NODES}/n1"
        self.agent.patch(own, marks({"snug.dev/inventory": "{}"}, {"snug.dev/enforced": "true"}))
        self.agent.patch(own, marks({"snug.dev/inventory": None}, {"snug.dev/enforced": None}))
        self.admin.patch(own, marks({"theirs": "1"}, {"theirs": "1"}))
        for value, why in (
                (marks({"snug.dev/room": "1"}), "no annotation of its node but"), (marks({"theirs": None}), "no annotation of its node but"),
                (marks({"theirs": "2"}), "no annotation of its node but"), (marks(None, {"snug.dev/pool": "shares"}), "no label of its node but"),
                (marks(None, {"theirs": None}), "no label of its node but"), (marks(None, {"theirs": "2"}), "no label of its node but"),
                ({"spec": {"unschedulable": True}}, "nothing else of its node"),
                ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "nothing else of its node"),
                ({"metadata": {"finalizers": ["a.example/b"]}}, "nothing else of its node")):
            self._refused("PATCH", own, value, why)
        self._refused("PATCH", f"{NODES}/n2", marks({"snug.dev/inventory": "{}"}), ANOTHER_NODE)
        self._refused("PATCH", f"{NODES}/n2", marks(None, {"snug.dev/enforced": "true"}), ANOTHER_NODE)
        for method, path, value in (
                ("PATCH", f"{own}/status", {"status": {"capacity": {"a.example/b": "1"}}}), ("PUT", own, self.admin.get(own)),
                ("DELETE", own, None), ("POST", NODES, gpu_node("n9", 1))):
            self._refused(method, path, value, "cannot")

    def test_m_an_agent_has_one_lease(self):
        """m: an agent makes and renews its own heartbeat, and no other Lease"""
        leases = LEASES.format("snug")
        self.addCleanup(self.admin.delete, f"{leases}/agent.n1", missing_ok=True)
        self._refused("POST", leases, lease("agent.n1", "n2"), ANOTHER_LEASE)
        self.agent.create(leases, lease("agent.n1", "n1"))
        self.agent.patch(f"{leases}/agent.n1", lease("agent.n1", "n1"))
        self.agent.call("PUT", f"{leases}/agent.n1", self.agent.get(f"{leases}/agent.n1"))
        self._refused("PATCH", f"{leases}/agent.n1", {"spec": {"holderIdentity": "n2"}}, ANOTHER_LEASE)
        self._refused("POST", leases, lease("agent.n2", "n2"), ANOTHER_LEASE)
        self._refused("POST", leases, lease("snug-extender", "n1"), ANOTHER_LEASE)
        self._refused("DELETE", f"{leases}/agent.n1", None, "cannot")
        self._refused("POST", LEASES.format("default"), lease("agent.n1", "n1", "default"), "cannot")

    def test_m_a_token_without_a_node_writes_nothing(self):
        """m: a token of the agent's account that no pod has may write nothing"""
        stray = self._client({})
        self.assertEqual(stray.get(f"{NODES}/n1")["metadata"]["name"], "n1")
        self._refused("PATCH", f"{NODES}/n1", marks({"snug.dev/inventory": "{}"}), "names no node", stray)
        self._refused("POST", LEASES.format("snug"), lease("agent.n1", "n1"), "names no node", stray)

    def test_m_a_heartbeat_makes_the_label_count(self):
        """m: shares that require enforcement go to a node with an agent only while its heartbeat is seen"""
        self.start(policy=self.policy_file(WANTS))
        leases = LEASES.format("snug")
        self.addCleanup(self.admin.delete, f"{leases}/agent.n1", missing_ok=True)
        value = {**inventory("n1", 1, A100_MIB, A100), "enforcement": "fail-closed", "limits": "driver"}
        self.agent.patch(f"{NODES}/n1", marks({"snug.dev/inventory": json.dumps(value)}, {"snug.dev/enforced": "true"}))
        self.post_pods(share("first", "0.25"))
        self.wait_refused("first", "NotEnforced: ")
        self.agent.create(leases, lease("agent.n1", "n1"))
        bound = self.wait_bound("first")
        self.assertEqual(bound["spec"]["nodeName"], "n1")
        self.assertEqual(bound["metadata"]["annotations"][REQUIRED], '["snug"]')
        self.admin.delete(f"{leases}/agent.n1")
        wait_until("Snug sees that it is gone", lambda: "the agents of these nodes are silent: n1" in self.extender.log())
        self.post_pods(share("second", "0.25"))
        self.wait_refused("second", "NotEnforced: ")
        self.check_cluster()

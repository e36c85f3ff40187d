"""Scenario m: what the agent of a node may write, by deploy/agent-rbac.yaml and deploy/agent-policy.yaml on the real
API server, and how Snug counts its heartbeat."""

import datetime
import json

from harness import manifests
from harness.api import Api, ApiError
from harness.objects import A100, A100_MIB, gpu_node, inventory, pod, share
from harness.processes import wait_until
from harness.scenario import NODES, OWN_PODS, PODS, Scenario, pods_of

FILES = ("agent-rbac.yaml", "agent-policy.yaml")
AGENT_PODS = pods_of("snug-node")
TOKEN = "/api/v1/namespaces/snug-node/serviceaccounts/snug-agent/token"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
REQUIRED = "required-plugins.noderesource.dev/container.main"
WANTS = "version: 1\ndefault: best\nprofiles:\n  best: {terms: [{term: best-fit, weight: 1}]}\n" \
        "sharing: [{namespaces: ['*'], requireEnforcement: true}]\n"
ANOTHER_NODE = "changes only the node on which it runs"
RETRY = "snug.dev/retry"
ANOTHER_LEASE = "writes only the Lease agent.NODE"


def lease(name, holder, namespace="snug"):
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace, "labels": {"snug.dev/agent": "true"}},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": now}}


def with_owners(value, owners):
    return {**value, "metadata": {**value["metadata"], "ownerReferences": owners}}


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

    def test_m_an_agent_changes_three_keys_of_its_node(self):
        """m: an agent writes its node's inventory, usage and label, and nothing else of any node"""
        own = f"{NODES}/n1"
        for value in ("{}", None):
            self.agent.patch(own, marks({"snug.dev/inventory": value, "snug.dev/usage": value},
                                        {"snug.dev/enforced": value and "true"}))
        self.admin.patch(own, marks({"theirs": "1"}, {"theirs": "1"}))
        for value, why in (
                (marks({"snug.dev/room": "1"}), "no annotation of its node but"), (marks({"theirs": None}), "no annotation of its node but"),
                (marks({"theirs": "2"}), "no annotation of its node but"), (marks(None, {"snug.dev/pool": "shares"}), "no label of its node but"),
                (marks(None, {"theirs": None}), "no label of its node but"), (marks(None, {"theirs": "2"}), "no label of its node but"),
                ({"spec": {"unschedulable": True}}, "nothing else of its node"),
                ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "nothing else of its node"),
                ({"metadata": {"finalizers": ["a.example/b"]}}, "nothing else of its node")):
            self._refused("PATCH", own, value, why)
        for key in ("snug.dev/inventory", "snug.dev/usage"):
            self._refused("PATCH", f"{NODES}/n2", marks({key: "{}"}), ANOTHER_NODE)
        self._refused("PATCH", f"{NODES}/n2", marks(None, {"snug.dev/enforced": "true"}), ANOTHER_NODE)
        for method, path, value in (
                ("PATCH", f"{own}/status", {"status": {"capacity": {"a.example/b": "1"}}}), ("PUT", own, self.admin.get(own)),
                ("DELETE", own, None), ("POST", NODES, gpu_node("n9", 1))):
            self._refused(method, path, value, "cannot")

    def _pod_on(self, node):
        value = pod(f"on-{node}", {"theirs": "1"}, labels={"theirs": "1"})
        value["spec"]["nodeName"] = node
        return self.admin.create(PODS, value)

    def test_m_an_agent_has_the_pods_of_its_node_retried(self):
        """m: of the pods of its node an agent writes snug.dev/retry, and nothing else of any pod"""
        uid = self._pod_on("n1")["metadata"]["uid"]
        self._pod_on("n2")
        own, status = f"{PODS}/on-n1", f"{PODS}/on-n1/status"
        for value in ("1", "2"):
            self.agent.patch(status, {"metadata": {"uid": uid, "annotations": {RETRY: value}}})
            self.assertEqual(self.admin.get(own)["metadata"]["annotations"], {"theirs": "1", RETRY: value})
        retry = marks({RETRY: "3"})
        self._refused("PATCH", status, {"metadata": {"uid": "another", "annotations": {RETRY: "3"}}}, "metadata.uid: ")
        for value, why in (
                (marks({RETRY: None}), "no annotation of a pod but"), (marks({"theirs": "2"}), "no annotation of a pod but"),
                (marks({"theirs": None}), "no annotation of a pod but"), (marks({"snug.dev/reservation": "{}"}), "annotation"),
                (marks({REQUIRED: "[]"}), "annotation"), (marks(None, {"theirs": "2"}), "nothing else of a pod"),
                (marks(None, {"new": "1"}), "nothing else of a pod"), ({"status": {"phase": "Failed"}}, "nothing else of a pod"),
                ({"metadata": {"finalizers": ["a.example/b"]}}, "nothing else of a pod")):
            self._refused("PATCH", status, value, why)
        self._refused("PATCH", f"{PODS}/on-n2/status", retry, "only pods of the node on which it runs")
        for method, path, value in (
                ("PATCH", own, retry), ("PUT", status, self.admin.get(own)), ("DELETE", own, None),
                ("POST", PODS, pod("new")), ("PATCH", f"{own}/ephemeralcontainers", retry)):
            self._refused(method, path, value, "cannot")
        for path in (own, status):
            with self.assertRaises(ApiError, msg=path) as raised:
                self.admin.patch(path, retry)
            self.assertIn("by Snug alone", raised.exception.message)

    def _owner(self, node):
        return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": self.admin.get(f"{NODES}/{node}")["metadata"]["uid"]}

    def test_m_an_agent_has_one_lease(self):
        """m: an agent makes and renews its own heartbeat, and no other Lease"""
        leases = LEASES.format("snug")
        self.addCleanup(self.admin.delete, f"{leases}/agent.n1", missing_ok=True)
        self._refused("POST", leases, lease("agent.n1", "n2"), ANOTHER_LEASE)
        self.agent.create(leases, lease("agent.n1", "n1"))
        made = self.agent.get(f"{leases}/agent.n1")
        made = self.agent.call("PUT", f"{leases}/agent.n1", made)
        self._refused("PUT", f"{leases}/agent.n1", {**made, "spec": {**made["spec"], "holderIdentity": "n2"}}, ANOTHER_LEASE)
        self._refused("PATCH", f"{leases}/agent.n1", lease("agent.n1", "n1"), "cannot")
        self._refused("POST", leases, lease("agent.n2", "n2"), ANOTHER_LEASE)
        self._refused("POST", leases, lease("snug-extender", "n1"), ANOTHER_LEASE)
        own = self._owner("n1")
        owned = self.agent.call("PUT", f"{leases}/agent.n1", with_owners(made, [own]))
        for owners in ([self._owner("n2")], [own, self._owner("n2")], [{**own, "kind": "Pod"}],
                       [{**own, "apiVersion": "a.example/v1"}], [{**own, "blockOwnerDeletion": True}]):
            self._refused("PUT", f"{leases}/agent.n1", with_owners(owned, owners), "only its own node owns")
        self._refused("DELETE", f"{leases}/agent.n1", None, "cannot")
        self._refused("POST", LEASES.format("default"), lease("agent.n1", "n1", "default"), "cannot")

    def test_m_the_lease_of_an_agent_goes_with_its_node(self):
        """m: Kubernetes' garbage collector deletes the heartbeat of an agent whose node was deleted"""
        leases = LEASES.format("snug")
        for node in ("n1", "n2"):
            self.addCleanup(self.admin.delete, f"{leases}/agent.{node}", missing_ok=True)
            value = lease(f"agent.{node}", node)
            value["metadata"]["ownerReferences"] = [self._owner(node)]
            (self.agent if node == "n1" else self._agent_on(node)).create(leases, value)
        collector = self.session.controllers.start(("garbage-collector",))
        self.addCleanup(collector.stop)
        self.admin.delete(f"{NODES}/n1")
        wait_until("the Lease of n1 is gone", lambda: [
            value["metadata"]["name"] for value in self.admin.list(leases) if value["metadata"]["name"].startswith("agent.")]
            == ["agent.n2"])

    def test_m_a_token_without_a_node_writes_nothing(self):
        """m: a token of the agent's account that no pod has may write nothing"""
        stray = self._client({})
        self.assertEqual(stray.get(f"{NODES}/n1")["metadata"]["name"], "n1")
        self._refused("PATCH", f"{NODES}/n1", marks({"snug.dev/inventory": "{}"}), "names no node", stray)
        self._refused("POST", LEASES.format("snug"), lease("agent.n1", "n1"), "names no node", stray)
        self._pod_on("n1")
        self._refused("PATCH", f"{PODS}/on-n1/status", marks({RETRY: "1"}), "names no node", stray)

    def test_m_a_heartbeat_makes_the_label_count(self):
        """m: a node that fails closed takes shares only while its agent's heartbeat is seen, and its label counts only then"""
        self.start(policy=self.policy_file(WANTS))
        leases = LEASES.format("snug")
        self.addCleanup(self.admin.delete, f"{leases}/agent.n1", missing_ok=True)
        value = {**inventory("n1", 1, A100_MIB, A100), "enforcement": "fail-closed", "limits": "driver"}
        self.agent.patch(f"{NODES}/n1", marks({"snug.dev/inventory": json.dumps(value)}, {}))
        self.post_pods(share("first", "0.25"))
        self.wait_refused("first", "AgentAway: ")
        self.agent.create(leases, lease("agent.n1", "n1"))
        self.wait_refused("first", "2 NotEnforced: ")
        self.admin.patch(f"{leases}/agent.n1", lease("agent.n1", "n1"))  # it counts for 40 s
        self.agent.patch(f"{NODES}/n1", marks({}, {"snug.dev/enforced": "true"}))
        bound = self.wait_bound("first")
        self.assertEqual(bound["spec"]["nodeName"], "n1")
        self.assertEqual(bound["metadata"]["annotations"][REQUIRED], '["snug"]')
        self.admin.delete(f"{leases}/agent.n1")
        wait_until("Snug sees that it is gone", lambda: "the agents of these nodes are silent: n1" in self.extender.log())
        self.post_pods(share("second", "0.25"))
        self.wait_refused("second", "AgentAway: ")
        self.agent.create(leases, lease("agent.n1", "n1"))
        self.wait_bound("second")
        self.check_cluster()

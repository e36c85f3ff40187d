"""Who may read the admin port, as the real API server decides, and what removes mirrored shares."""

import json

from harness import manifests
from harness.mirror import MEMORY, MILLI, PARAMETERS, serve_parameters
from harness.objects import A100_MIB, gpu_node, share
from harness.processes import wait_until
from harness.scenario import NODES, Scenario

RBAC = "rbac.authorization.k8s.io"
RULES = {
    "snug-access-reviews": [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
                            {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]}],
    "snug-operator": [{"nonResourceURLs": ["/metrics", "/v1/*"], "verbs": ["get"]}],
    "snug-pods": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
}
NOW = ("/v1/nodes", "/v1/pods", "/v1/cluster", "/v1/history", "/v1/policy", "/metrics", "/v1/explain?namespace=team-a&pod=waits")
TENANT = ("/v1/pods?namespace=team-a", "/v1/explain?namespace=team-a&pod=waits")


class AccessTest(Scenario):
    def setUp(self):
        super().setUp()
        for name, rules in RULES.items():
            self._apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})

    def _apply(self, value):
        manifests.apply_object(self.admin, value)
        self.addCleanup(self.admin.delete, manifests.path_of(value), missing_ok=True)

    def _bind(self, role, account, namespace=None, subject_namespace="default"):
        kind = "RoleBinding" if namespace else "ClusterRoleBinding"
        self._apply({"apiVersion": f"{RBAC}/v1", "kind": kind,
                     "metadata": {"name": f"test-{account}", **({"namespace": namespace} if namespace else {})},
                     "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
                     "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": subject_namespace}]})

    def _token_of(self, account):
        self._apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": "default"}})
        answer = self.admin.create(f"/api/v1/namespaces/default/serviceaccounts/{account}/token", {"spec": {}})
        return answer["status"]["token"]

    def _operator(self):
        token = self._token_of("operator")
        self._bind("snug-operator", "operator")
        return token

    def _start(self, **flags):
        self._bind("snug-access-reviews", "snug-extender", subject_namespace="snug")
        self.start(flags={"admin-auth": "kubernetes", **flags})
        self.extender.admin_token = self._operator()
        wait_until("the role is in force", lambda: self._status("/v1/nodes", self.extender.admin_token) == 200)
        self.post_nodes(gpu_node("n1", 1))
        self.place(share("held", "1", namespace="team-b"))
        self.post_nodes(gpu_node("n2", 1))  # with room for less than the pod asks for
        self.place(share("half", "0.5", namespace="team-b"))
        self.post_pods(share("waits", "1", namespace="team-a"))
        wait_until("the pod is pending", lambda: len(self.extender.pods()) == 3)

    def _status(self, path, token=None):
        return self.extender.ask_admin(path, token)[0]

    def test_the_api_server_decides_who_reads(self):
        """access: operators read all, others nothing; probes need no token"""
        stranger = self._token_of("stranger")
        self._start()
        operator = self.extender.admin_token
        for path in NOW:
            with self.subTest(path):
                self.assertEqual((self._status(path, operator), self._status(path, stranger),
                                  self._status(path, "forged"), self._status(path)), (200, 403, 401, 401))
        for path in ("/livez", "/readyz", "/"):
            self.assertEqual(self._status(path), 200)
        for path in TENANT:
            self.assertEqual(self._status(path, stranger), 403)

    def test_a_tenant_reads_about_its_own_pods_alone(self):
        """access: with adminTenants, whoever may list a namespace's pods reads what Snug says of them, and of no other"""
        tenant = self._token_of("tenant")
        self._bind("snug-pods", "tenant", namespace="team-a")
        self._start(**{"admin-tenants": "true"})
        wait_until("the role is in force", lambda: self._status(TENANT[0], tenant) == 200)
        pods = json.loads(self.extender.ask_admin(TENANT[0], tenant)[1])["pods"]
        self.assertEqual([(pod["namespace"], pod["pod"]) for pod in pods], [("team-a", "waits")])
        status, body = self.extender.ask_admin(TENANT[1], tenant)
        self.assertEqual(status, 200)
        self.assertIn(b"gpu-fraction=0.5 would fit now", body)
        for name in (b"held", b"half", b"n1", b"n2"):
            self.assertNotIn(name, body)
        self.assertEqual(json.loads(body)["pod"], "waits")
        manifest = json.dumps({"metadata": {"name": "x", "namespace": "team-a"}, "spec": {"containers": [{"name": "c"}]}})
        for path in ("/v1/nodes", "/v1/pods", "/v1/pods?namespace=team-b", "/v1/cluster", "/metrics", "/v1/pods?namespace=",
                     "/v1/explain?namespace=team-b&pod=held", "/v1/explain?pod=waits", f"/v1/explain?namespace=team-a&manifest={manifest}".replace(" ", "")):
            with self.subTest(path):
                self.assertEqual(self._status(path, tenant), 403)

    def test_without_the_right_to_ask_nobody_reads(self):
        """access: a Snug that may not ask the API server refuses everybody, says why, and schedules on"""
        operator = self._operator()
        self.start(flags={"admin-auth": "kubernetes"})
        self.admin.create_all(NODES, [gpu_node("n1", 1)])
        status, body = self.extender.ask_admin("/v1/nodes", operator)
        self.assertEqual(status, 503)
        self.assertIn("see its log", body.decode())
        self.assertIn("tokenreviews.authentication.k8s.io is forbidden", self.extender.log())
        self.place(share("pod", "0.5"))


class RemovalTest(Scenario):
    def test_mirrored_shares_are_removed(self):
        """access: --remove-mirrors waits for the other Snug, removes the capacity of every node and the parameters, and ends"""
        serve_parameters(self.admin)
        self.addCleanup(self.admin.delete, PARAMETERS, missing_ok=True)
        size = str(A100_MIB)
        self.start(flags={"smallest-gpu-mib": size, "largest-gpu-mib": size})
        self.post_nodes(gpu_node("n1", 2), gpu_node("n2", 1))
        wait_until("the parameters are written", lambda: self.admin.find(PARAMETERS))
        wait_until("n1 shows its shares", lambda: MILLI in self._capacity("n1"))
        remover = self.make_extender(policy=manifests.ROOT / "policies/best-fit.yaml", own_pod="",
                                     flags={"remove-mirrors": "true"})
        remover.launch()
        wait_until("it waits for the Lease", lambda: "leader" in remover.log())
        self.assertIn(MILLI, self._capacity("n1"))
        self.extender.stop()
        self.assertEqual(remover.process.wait(60), 0, remover.log())
        for node in ("n1", "n2"):
            self.assertNotIn(MILLI, self._capacity(node))
            self.assertNotIn(MEMORY, self._capacity(node))
        self.assertIsNone(self.admin.find(PARAMETERS))

    def _capacity(self, node):
        status = self.admin.get(f"{NODES}/{node}")["status"]
        return {**status["capacity"], **status["allocatable"]}

"""Scenario m: deploy/chart, with the real helm, on the real API server."""

import base64
import itertools
import json
import random
import re
import threading

import yaml

from harness import manifests, truth
from harness.admission import minimal
from harness.api import Api, ApiError
from harness.controllers import ControllerManagers
from harness.controlplane import EXTENDER_USER
from harness.extender import Extender
from harness.helm import CHART, Helm
from harness.installed import SNUG, InstalledScenario, kubeconfig_of, start_scheduler
from harness.mirror import MILLI
from harness.objects import gpu_node
from harness.processes import wait_until
from harness.scenario import NODES, PODS, Scenario, bind_by_hand

DEPLOYMENT = "/apis/apps/v1/namespaces/snug/deployments/snug"
TOKEN = f"{SNUG}/secrets/snug-extender"
WEBHOOK = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug"
AGENTS = "/apis/apps/v1/namespaces/snug-node/daemonsets"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SCHEDULER_USER = "system:serviceaccount:snug:snug-scheduler"
CONTROLLERS = ("deployment", "garbage-collector", "job", "namespace", "replicaset", "resourcequota",
               "serviceaccount-token")
# Of these controllers; they are made when the controllers start.
ACCOUNTS = {f"{name}-controller" for name in CONTROLLERS if name not in ("garbage-collector", "serviceaccount-token")}
BOTH = ("admission.policies=false", "admission.webhook=true")
MIRROR = ("mirror.smallestGpuMib=16384", "mirror.largestGpuMib=81920")
SHARED = ("shape=shared", "nodes={one,two}")
TOKEN_AND_TLS = ("adminAuth=token", "adminTokenSecret=snug-token", "adminTls.secret=snug-admin")
AGENT = ("agent.enabled=true", "mps.enabled=true", "agent.groups[0].name=mps", "agent.groups[0].modes={whole,mps}",
         "agent.groups[0].limits=mps")
TOLERATE_KEY = "starts-without.example.com"
# Each with what may be chosen in its place. All of them together work.
OPTIONS = (
    ((), SHARED, (*SHARED, *MIRROR, "admission.managedResourcesOnly=true"),
     ("replicas=1", "priorityClassName=", "networkPolicy.monitoringNamespaces={no,1e3}")),
    ((), BOTH, ("admission.webhook=true",)),
    ((), MIRROR),
    ((), ("adminAuth=kubernetes", "adminTenants=true"), ("adminTls.secret=snug-admin",), TOKEN_AND_TLS),
    ((), ("kubernetesMinor=31", "image.tag=1e3")),
    ((), ("flowSchema=false", "answer=all", "extraArgs={--log-format=json}")),
    ((), ("agent.enabled=true", "agent.dynamicMig=true", "agent.publishUsage=true"), (*AGENT, "monitoring.agents=true")),
    ((), ("openshift=true", "imagePullSecrets={no}", "monitoring.prometheusRule=true", "monitoring.dashboard=true")))
COMBINATIONS = (
    ("monitoring.serviceMonitor=true", "monitoring.labels.release=kube-prometheus", "scheduler.resources.requests.cpu=1"),
    ("monitoring.serviceMonitor=true", "adminAuth=kubernetes"),
    ("monitoring.podMonitor=true", "adminAuth=kubernetes", "monitoring.tokenSecret=prometheus"),
    ("monitoring.podMonitor=true", *TOKEN_AND_TLS, "monitoring.labels.app\\.kubernetes\\.io/name=mine"),
    ("admission.runtimeClassName=nvidia", "scheduler.name=gpu", "admission.tolerations={a,b,c,d}",
     "admission.deviceNames={Deny}", "admission.deviceNamesExcept={gpu-operator}"),
    # Names that YAML reads as other types where they are not quoted.
    ("networkPolicy.enabled=false", "admission.runtimeClassName=off", "scheduler.name=1e3",
     "admission.deviceNamesExcept={yes,0x1f}", f"admission.tolerateMissingPlugins={TOLERATE_KEY}"))
# Kinds that operators bring. Of the monitors the fields are known that the operator documents and the chart may use. The
# schemas of the others accept everything, so names and forms are checked alone.
KEY = {"name": "string", "key": "string"}
ENDPOINT = {"port": "string", "honorLabels": "boolean", "scheme": "string", "authorization": {"credentials": KEY},
            "tlsConfig": {"serverName": "string", "insecureSkipVerify": "boolean", "ca": {"secret": KEY}}}
FOREIGN = (
    ("monitoring.coreos.com", "servicemonitors", "ServiceMonitor", "Namespaced",
     {"spec": {"selector": {}, "endpoints": [{**ENDPOINT, "bearerTokenFile": "string"}]}}),
    ("monitoring.coreos.com", "podmonitors", "PodMonitor", "Namespaced",
     {"spec": {"jobLabel": "string", "selector": {}, "podMetricsEndpoints": [ENDPOINT]}}),
    ("monitoring.coreos.com", "prometheusrules", "PrometheusRule", "Namespaced", {}),
    ("security.openshift.io", "securitycontextconstraints", "SecurityContextConstraints", "Cluster", {}))

# (namespace, group, resource, subresource, name, verbs)
EXTENDER_MAY = (
    ("", "", "nodes", "", "", "list watch"), ("", "", "pods", "", "", "get list watch"),
    ("team-a", "", "pods", "binding", "", "create"), ("", "", "nodes", "status", "", "patch"),
    ("team-a", "events.k8s.io", "events", "", "", "create"), ("snug", "", "pods", "status", "", "patch"),
    ("", "snug.dev", "mirrorparameters", "", "", "create"),
    ("", "snug.dev", "mirrorparameters", "", "snug", "patch delete"),
    ("snug", "coordination.k8s.io", "leases", "", "", "create"),
    ("snug", "coordination.k8s.io", "leases", "", "snug-extender", "get watch update"),
    ("snug", "coordination.k8s.io", "leases", "", "snug-scheduler", "get watch"))
EXTENDER_MAY_NOT = (
    ("snug", "", "pods", "", "", "create update patch delete"),
    ("team-a", "", "pods", "", "", "create update patch delete"),
    ("team-a", "", "pods", "eviction", "", "create"), ("team-a", "", "pods", "status", "", "patch update"),
    ("team-a", "", "pods", "exec", "", "create"), ("", "", "nodes", "", "", "create update patch delete"),
    ("snug", "", "secrets", "", "", "get list watch create"),
    ("snug", "", "secrets", "", "snug-extender", "get"),
    ("kube-system", "", "secrets", "", "", "get list"), ("snug", "", "configmaps", "", "", "get list update"),
    ("snug", "", "serviceaccounts", "token", "snug-scheduler", "create"),
    ("snug", "coordination.k8s.io", "leases", "", "snug-scheduler", "update patch delete"),
    ("kube-system", "coordination.k8s.io", "leases", "", "kube-scheduler", "update"),
    ("", "rbac.authorization.k8s.io", "clusterroles", "", "", "create update bind escalate"))
CONFIGURATIONS = "mutatingwebhookconfigurations"
WEBHOOK_MAY = (("snug", "", "secrets", "", "snug-webhook", "get patch"),
               ("", "admissionregistration.k8s.io", CONFIGURATIONS, "", "snug", "get patch"))
WEBHOOK_MAY_NOT = (
    *EXTENDER_MAY_NOT,
    ("", "admissionregistration.k8s.io", CONFIGURATIONS, "", "", "create update patch delete"))
SCHEDULER_MAY = (
    ("", "", "nodes", "", "", "list watch"), ("team-a", "", "pods", "", "", "list watch delete"),
    ("team-a", "", "pods", "status", "", "patch"), ("", "storage.k8s.io", "csinodes", "", "", "list watch"),
    ("team-a", "", "persistentvolumeclaims", "", "", "list watch update"),
    ("snug", "coordination.k8s.io", "leases", "", "snug-scheduler", "get update"),
    ("kube-system", "", "configmaps", "", "extension-apiserver-authentication", "get"))
SCHEDULER_MAY_NOT = (
    ("snug", "", "pods", "", "", "patch"), ("", "", "nodes", "status", "", "patch"),
    ("", "snug.dev", "mirrorparameters", "", "snug", "patch delete"),
    ("snug", "", "secrets", "", "", "get list"),
    ("snug", "coordination.k8s.io", "leases", "", "snug-extender", "update patch delete"))


def pairwise(options):
    """Few combinations, in which each choice is at least once together with each choice of another option."""
    chance = random.Random(1)
    missing = {frozenset(((i, a), (j, b))) for (i, first), (j, second) in itertools.combinations(enumerate(options), 2)
               for a in range(len(first)) for b in range(len(second))}
    while missing:
        tried = [tuple(chance.randrange(len(each)) for each in options) for _ in range(100)]
        covered = [{frozenset(pair) for pair in itertools.combinations(enumerate(each), 2)} & missing for each in tried]
        best = max(range(len(tried)), key=lambda index: len(covered[index]))
        if covered[best]:
            missing -= covered[best]
            yield tuple(value for option, choice in zip(options, tried[best]) for value in option[choice])


def structural(fields):
    """The schema of an object that has these fields and no others, or any."""
    if isinstance(fields, str):
        return {"type": fields}
    if isinstance(fields, list):
        return {"type": "array", "items": structural(fields[0])}
    if not fields:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {name: structural(each) for name, each in fields.items()}}


def foreign_kind(group, plural, kind, scope, fields):
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": structural(fields)}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": scope, "names": names, "versions": [version]}}


class ChartTest(Scenario):
    def test_m_values_are_accepted(self):
        """m: the API server accepts what the chart makes of many combinations of values"""
        helm = Helm(self.plane)
        self.addCleanup(manifests.remove, self.admin, "agent-rbac.yaml")
        manifests.apply(self.admin, "agent-rbac.yaml")  # the namespace of agents
        for kind in FOREIGN:
            value = foreign_kind(*kind)
            manifests.apply_object(self.admin, value)
            self.addCleanup(self.admin.delete, manifests.path_of(value))
        wait_until("the kinds are served", lambda: all(
            self.admin.send("GET", f"/apis/{group}/v1/{plural}")[0] == 200 for group, plural, *_ in FOREIGN))
        seen = set()
        combinations = (*pairwise(OPTIONS), *COMBINATIONS)
        for values in combinations:
            for value in helm.objects(*values):
                with self.subTest(values=values, kind=value["kind"], name=value["metadata"]["name"]):
                    if json.dumps(value) not in seen:
                        answer = manifests.apply_object(self.admin, value, dry_run=True)
                        self.assertEqual(answer["kind"], value["kind"])
                        self._pod_is_restricted(value)
                    seen.add(json.dumps(value))
        self.assertGreater(len(seen), 60)

    def _pod_is_restricted(self, owner):
        """Its pods are accepted by the namespace's Pod Security level and by the admission policies."""
        if owner["kind"] in ("Deployment", "Job"):
            template = owner["spec"]["template"]
            self.admin.create(f"{SNUG}/pods?dryRun=All&fieldValidation=Strict", {
                "spec": template["spec"], "metadata": {**template["metadata"], "name": "snug-tried"}})

    def test_m_kustomize_gives_the_same(self):
        """m: `kubectl kustomize deploy` and helm give the same objects"""
        def by_name(objects):
            return {(value["kind"], value["metadata"]["name"]): value for value in objects}
        text = self.kubectl.must("kustomize", manifests.DEPLOY)
        [name] = set(re.findall(r"name: (snug-scheduler-config-\w+)$", text, re.M))
        made = by_name(yaml.safe_load_all(text.replace(name, "snug-scheduler-config")))
        helms = by_name(Helm(self.plane).objects(version="1.36.3"))
        del made["Namespace", "snug"]  # which helm must find
        for objects in (made, helms):  # kustomize adds a comment
            data = objects["ConfigMap", "snug-scheduler-config"]["data"]
            data["scheduler-config.yaml"] = yaml.safe_load(data["scheduler-config.yaml"])
        self.assertEqual(made, helms)


class LifeTest(InstalledScenario):
    def setUp(self):
        super().setUp()
        self.admin.create("/api/v1/namespaces", {"metadata": {"name": "snug", "labels": {
            "pod-security.kubernetes.io/enforce": "restricted"}}})
        ControllerManagers(self.plane).start(CONTROLLERS)
        wait_until("the controllers have their accounts", lambda: ACCOUNTS <= {
            each["metadata"]["name"] for each in self.admin.list("/api/v1/namespaces/kube-system/serviceaccounts")})

    def test_m_the_life_of_a_release(self):
        """m: helm installs, upgrades, rolls back and uninstalls Snug, which runs with two accounts"""
        before = self._inventory()
        self._without_hooks(before)
        self._install()
        self._check_rights(EXTENDER_USER, EXTENDER_MAY, EXTENDER_MAY_NOT)
        self._check_rights(SCHEDULER_USER, SCHEDULER_MAY, SCHEDULER_MAY_NOT)
        self._place_a_pod(self._token())
        first = self.admin.get(DEPLOYMENT)["spec"]
        self.helm.deploy("upgrade", *MIRROR, *BOTH, *AGENT, "image.tag=0.1.1", "replicas=1")
        self.assertEqual({each["metadata"]["name"] for each in self.admin.list(AGENTS)}, {
            "snug-agent", "snug-agent-mps", "snug-mps"})
        self._webhook_is_kept()
        second = self.admin.get(DEPLOYMENT)["spec"]
        self.assertEqual((second["replicas"], second["template"]["spec"]["containers"][0]["image"]),
                         (1, "snug-extender:0.1.1"))
        self.helm.must("rollback", "snug", "1")
        self.assertEqual(self.admin.get(DEPLOYMENT)["spec"], first)
        self.assertIsNone(self.admin.find(WEBHOOK))
        self._uninstall(before)

    def _without_hooks(self, before):
        """No kubelet would run the Job of the hooks here."""
        self.helm.deploy("install", *MIRROR, *SHARED, *AGENT)
        self.assertIn("kind: Job", self.helm.must("get", "hooks", "snug"))
        self.helm.must("uninstall", "snug", "--no-hooks", "--wait")
        self.assertEqual(self._inventory(), before)

    def _inventory(self):
        """(kind, namespace, name) -> labels and annotations of all objects but Events."""
        kinds = self.kubectl.must("api-resources", "--verbs=list", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if not kind.startswith("events"))
        text = self.kubectl.must("get", wanted, "--all-namespaces", "--output=json")
        found = json.loads(text[text.index("{"):])  # before it are warnings of old kinds
        return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]):
                (each["metadata"].get("labels"), each["metadata"].get("annotations")) for each in found["items"]}

    def _install(self):
        """Where the manifests fit the version, in place of them. No API server reaches a webhook's Service here."""
        if self.by_webhook:
            self.helm.deploy("install", *MIRROR, "admission.webhook=false")
            return
        self.kubectl.must("apply", "-k", manifests.DEPLOY)
        self.helm.must("install", "snug", CHART, "--take-ownership", *(f"--set={value}" for value in MIRROR))
        [generated] = re.findall(r"configmap/snug-scheduler-config-\w+", self.kubectl.must(
            "--namespace=snug", "get", "configmaps", "--output=name"))
        self.kubectl.must("--namespace=snug", "delete", generated)

    def _check_rights(self, user, may, may_not):
        for allowed, rights in ((True, may), (False, may_not)):
            for namespace, group, resource, subresource, name, verbs in rights:
                for verb in verbs.split():
                    attributes = {"namespace": namespace, "group": group, "resource": resource,
                                  "subresource": subresource, "name": name, "verb": verb}
                    answer = self.admin.create(REVIEWS, {"spec": {
                        "user": user, "groups": ["system:serviceaccounts", "system:serviceaccounts:snug"],
                        "resourceAttributes": attributes}})
                    self.assertEqual(answer["status"]["allowed"], allowed, (user, attributes))

    def _token(self):
        """Snug's token, once Kubernetes has written it."""
        data = wait_until("the Secret has a token", lambda: self.admin.get(TOKEN).get("data"))
        self.assertEqual(set(data), {"token", "ca.crt", "namespace"})
        token = base64.b64decode(data["token"]).decode()
        self._has_its_priority(token)
        return token

    def _has_its_priority(self, token):
        """The API server says by which FlowSchema it has served a call."""
        schema = self.admin.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/snug")["metadata"]["uid"]

        def served_by():
            connection = Api(self.plane.port, self.plane.pki.ca).connect()
            connection.request("GET", NODES, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            self.assertEqual(answer.status, 200)
            return answer.getheader("X-Kubernetes-PF-FlowSchema-UID")
        wait_until("the FlowSchema is in force", lambda: served_by() == schema)

    def _place_a_pod(self, token):
        """Runs the two programs of a replica, each with the token of its own container."""
        pods = wait_until("pods are made", lambda: self.admin.list(f"{SNUG}/pods"))
        own = pods[0]["metadata"]
        self.admin.create(NODES, gpu_node("n1", 1))
        bind_by_hand(self.admin, own["name"], "n1", "snug")
        self.token = token
        file = self.plane.folder / "snug.token"
        file.write_text(token)
        kubeconfig = self.plane.pki.kubeconfig("snug", self.plane.server, {"tokenFile": str(file)})
        smallest, largest = (value.partition("=")[2] for value in MIRROR)
        extender = Extender(
            self.plane, kubeconfig,
            {"scheduler-lease": "snug/snug-scheduler", "kubernetes-minor": self.plane.minor,
             "smallest-gpu-mib": smallest, "largest-gpu-mib": largest},
            {"POD_NAME": own["name"], "POD_NAMESPACE": "snug", "POD_UID": own["uid"]}, own["name"])
        self.plane.release_lease()
        extender.start(wait_ready=False)
        start_scheduler(self.plane, extender.port, own["name"])
        pod = minimal({"gpu-fraction": "0.5"})
        if self.by_webhook:
            pod["spec"]["schedulerName"] = "snug"
        self.admin.create(PODS, pod)
        wait_until("the pod is placed",
                   lambda: self.admin.get(f"{PODS}/probe")["spec"].get("nodeName"), 60)
        self.assertTrue(truth.reservation(self.admin.get(f"{PODS}/probe")))
        wait_until("the node shows its shares",
                   lambda: MILLI in self.admin.get(f"{NODES}/n1")["status"]["capacity"])
        self.assertNotIn(" 403 ", extender.log())

    def _webhook_is_kept(self):
        """What Snug writes into objects of the chart stays when helm changes them; its token can be revoked."""
        configuration = self.admin.get(WEBHOOK)
        authority = base64.b64encode(self.plane.pki.ca.read_bytes()).decode()
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = authority
        self.admin.call("PUT", WEBHOOK, configuration)
        self._check_rights(EXTENDER_USER, WEBHOOK_MAY, WEBHOOK_MAY_NOT)
        self.admin.patch(f"{SNUG}/secrets/snug-webhook", {"data": {"tls.crt": "YQ=="}})
        # A Secret of the same name for the same account would have the same token again.
        self.admin.delete(f"{SNUG}/serviceaccounts/snug-extender")
        wait_until("the account's token is deleted", lambda: not self.admin.find(TOKEN))
        self.helm.deploy("upgrade", *MIRROR, *BOTH, "image.tag=0.1.1", "replicas=1",
                         "admission.tolerations={a}", f"admission.tolerateMissingPlugins={TOLERATE_KEY}")
        self.assertEqual({each["clientConfig"]["caBundle"] for each in self.admin.get(WEBHOOK)["webhooks"]},
                         {authority})
        self.assertEqual(self.admin.get(f"{SNUG}/secrets/snug-webhook")["data"], {"tls.crt": "YQ=="})
        self.assertNotEqual(self._token(), self.token)
        self._the_token_is_void()
        starts_anyway = minimal({f"{TOLERATE_KEY}/container.main": "true"}, name="starts-anyway")
        wait_until("the operator's key is Snug's", lambda: self.refused(
            "POST", f"{PODS}?dryRun=All", starts_anyway, "leave them as they are"))

    def _uninstall(self, before):
        for process in self.plane.processes:
            if process.name.endswith(("snug-extender", "kube-scheduler")):
                process.stop()
        self._uninstall_with_hooks()
        for path in (f"{PODS}/probe", f"{NODES}/n1"):
            self.admin.delete(path, gracePeriodSeconds=0)

        def left():
            # A kubelet would end the pod that has a node.
            self.admin.delete(f"{SNUG}/pods", gracePeriodSeconds=0)
            return set(self._inventory()) - set(before)
        leases = {("Lease", "snug", name) for name in ("snug-extender", "snug-scheduler")}
        wait_until("all but the Leases is gone", lambda: left() == leases, every=1)
        self.kubectl.must("delete", "namespace", "snug", "--timeout=150s")
        self.assertEqual(self._inventory(), {
            key: value for key, value in before.items() if "snug" not in key})

    def _uninstall_with_hooks(self):
        """Runs the Job's program, as its node would, while helm waits for it."""
        said = []
        uninstalls = threading.Thread(target=lambda: said.append(self.helm.call("uninstall", "snug")))
        uninstalls.start()
        self.addCleanup(uninstalls.join)
        job = f"{SNUG}/pods?labelSelector=app.kubernetes.io/name=snug-remove-mirrors"
        [pod] = wait_until("the Job has a pod", lambda: self.admin.get(job)["items"])
        [argument] = pod["spec"]["containers"][0]["args"]
        name, value = argument.removeprefix("--").split("=")
        remover = Extender(self.plane, kubeconfig_of(self.plane, pod["spec"]["serviceAccountName"]), {name: value},
                           {"POD_NAME": pod["metadata"]["name"], "POD_NAMESPACE": "snug"})
        remover.launch()
        self.assertEqual(remover.process.wait(60), 0, remover.log())
        self.assertNotIn("forbidden", remover.log())
        self.admin.patch(f"{SNUG}/pods/{pod['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
        uninstalls.join()
        self.assertEqual([code for code, _ in said], [0], said)
        self.assertFalse([name for name in self.admin.get(f"{NODES}/n1")["status"]["capacity"] if "snug" in name])

    def _the_token_is_void(self):
        def refused():
            try:
                Api(self.plane.port, self.plane.pki.ca, token=self.token).get("/api")
            except ApiError as error:
                return error.status == 401
            return False
        wait_until("the token is refused", refused)

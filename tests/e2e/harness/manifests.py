"""Reads the manifests of deploy/ and applies them through the API server."""

import pathlib
import re

import yaml

from . import api as api_module

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"

# kind -> (API prefix, resource, lives in a namespace)
_KINDS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Secret": ("/api/v1", "secrets", True),
    "Service": ("/api/v1", "services", True),
    "ResourceQuota": ("/api/v1", "resourcequotas", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "Job": ("/apis/batch/v1", "jobs", True),
    "DaemonSet": ("/apis/apps/v1", "daemonsets", True),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies", True),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "FlowSchema": ("/apis/flowcontrol.apiserver.k8s.io/v1", "flowschemas", False),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "CustomResourceDefinition": (
        "/apis/apiextensions.k8s.io/v1", "customresourcedefinitions", False),
    "MirrorParameters": ("/apis/snug.dev/v1", "mirrorparameters", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "PodMonitor": ("/apis/monitoring.coreos.com/v1", "podmonitors", True),
    "ServiceMonitor": ("/apis/monitoring.coreos.com/v1", "servicemonitors", True),
    "PrometheusRule": ("/apis/monitoring.coreos.com/v1", "prometheusrules", True),
    "SecurityContextConstraints": (
        "/apis/security.openshift.io/v1", "securitycontextconstraints", False),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", False),
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", False),
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False),
    "MutatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicies", False),
    "MutatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings", False),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False),
}
# Read by kubectl, by kube-scheduler, and by an operator whose kinds no bare API server has.
_FOR_OTHERS = {"Plugin", "Kustomization", "KubeSchedulerConfiguration", "PrometheusRule"}


def read(name):
    """All documents of a file in deploy/."""
    return [value for value in yaml.safe_load_all((DEPLOY / name).read_text()) if value]


def threshold_of(alert):
    """(metric, number) of the alert whose expression is `metric > number`."""
    [rules] = read("alerts/rules.yaml")
    [expression] = [rule["expr"] for group in rules["groups"] for rule in group["rules"]
                    if rule["alert"] == alert]
    metric, number = re.fullmatch(r"(\w+) > (\d+)", expression).groups()
    return metric, int(number)


def path_of(value):
    prefix, resource, namespaced = _KINDS[value["kind"]]
    metadata = value["metadata"]
    middle = f"/namespaces/{metadata.get('namespace', 'default')}" if namespaced else ""
    return f"{prefix}{middle}/{resource}/{metadata['name']}"


def objects():
    """(file, object) of all that is in deploy/ for the API server: the items of lists, and the
    ConfigMaps that the kustomization generates, too. The chart: tests/e2e/test_chart.py."""
    for path in sorted(DEPLOY.rglob("*.yaml")):
        name = path.relative_to(DEPLOY).as_posix()
        if name.startswith("chart/"):
            continue
        for value in read(name):
            if value.get("kind") == "Kustomization":
                yield from ((name, config_map) for config_map in _generated(value))
            for item in value["items"] if value.get("kind") == "List" else [value]:
                if item.get("kind") and item["kind"] not in _FOR_OTHERS:
                    yield name, item


def _generated(kustomization):
    for each in kustomization["configMapGenerator"]:
        yield {"apiVersion": "v1", "kind": "ConfigMap",
               "metadata": {"name": each["name"], "namespace": each["namespace"]},
               "data": {name: (DEPLOY / name).read_text() for name in each["files"]}}


def apply(api, name):
    """Applies every document of a file."""
    for value in read(name):
        apply_object(api, value)


def apply_object(api, value, dry_run=False):
    """Server-side apply, with unknown fields refused."""
    query = "?fieldManager=e2e&force=true&fieldValidation=Strict"
    return api.call("PATCH", path_of(value) + query + ("&dryRun=All" if dry_run else ""), value,
                    api_module.APPLY_PATCH)


def remove(api, name):
    """Deletes what the file has, but no namespace: no controller here would end its deletion."""
    for value in reversed(read(name)):
        if value["kind"] != "Namespace" and api.find(path_of(value)):
            api.delete(path_of(value))

"""Reads the manifests of deploy/ and applies them through the API server."""

import pathlib

import yaml

from . import api as api_module

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"

# kind -> (API prefix, resource, lives in a namespace)
_KINDS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "ServiceAccount": ("/api/v1", "serviceaccounts", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Service": ("/api/v1", "services", True),
    "Deployment": ("/apis/apps/v1", "deployments", True),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles", True),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings", True),
    "ClusterRole": ("/apis/rbac.authorization.k8s.io/v1", "clusterroles", False),
    "ClusterRoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings", False),
    "ValidatingAdmissionPolicy": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicies", False),
    "ValidatingAdmissionPolicyBinding": (
        "/apis/admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", False),
}


def read(name):
    """All documents of a file in deploy/."""
    return [value for value in yaml.safe_load_all((DEPLOY / name).read_text()) if value]


def path_of(value):
    prefix, resource, namespaced = _KINDS[value["kind"]]
    metadata = value["metadata"]
    middle = f"/namespaces/{metadata['namespace']}" if namespaced else ""
    return f"{prefix}{middle}/{resource}/{metadata['name']}"


def apply(api, name, dry_run=False):
    """Server-side apply of every document, with unknown fields refused."""
    for value in read(name):
        query = "?fieldManager=e2e&force=true&fieldValidation=Strict"
        api.call("PATCH", path_of(value) + query + ("&dryRun=All" if dry_run else ""), value,
                 api_module.APPLY_PATCH)


def remove(api, name):
    for value in reversed(read(name)):
        if api.find(path_of(value)):
            api.delete(path_of(value))

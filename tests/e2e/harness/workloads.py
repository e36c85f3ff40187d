"""Deployments, StatefulSets, DaemonSets and Jobs, and what a kubelet would report of their pods."""

from .admission import minimal

STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def template(name, annotations, containers=("main",)):
    """With annotations, containers and a label alone."""
    value = minimal(annotations, containers)
    return {"metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": value["spec"]}


def workload(kind, name, pod_template, **spec):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod_template, **spec}}


def job(name, pod_template, **spec):
    pod_template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"template": pod_template, **spec}}


def report(admin, pod, phase):
    """As a kubelet does it when all containers are ready, or have ended well."""
    metadata = pod["metadata"]
    ready = "True" if phase == "Running" else "False"
    admin.call("PATCH", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status", {
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}},
               STRATEGIC_PATCH)

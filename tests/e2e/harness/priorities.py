"""The priority classes of the scenarios of preemption."""

from . import manifests

PRIORITIES = {"low": 1, "middle": 100, "high": 1000}
HOUR = 3600  # no kubelet runs: a deleted pod stays until it is deleted with no grace at all


def post_priorities(admin):
    for name, value in PRIORITIES.items():
        manifests.apply_object(admin, {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value})

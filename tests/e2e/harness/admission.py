"""The policies of deploy/admission-gpu-pods.yaml, and what they give a pod that asks for GPUs."""

import re

from . import manifests, truth
from .api import ApiError
from .asks import all_containers, annotations
from .mirror import MILLI, PARAMETERS, serve_parameters
from .objects import pod
from .processes import wait_until

POLICIES = "admission-gpu-pods.yaml"
DRY = "/api/v1/namespaces/default/pods?dryRun=All"
VARIABLES = {"NVIDIA_VISIBLE_DEVICES": "visible-devices",
             "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "memory-limit",
             "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "compute-percent"}

FIRST_MINOR_WITH_POLICIES = 36
FIELD = re.compile(r"metadata\.annotations\['(.+)'\]")


def minimal(annotations, containers=("main",), init=(), *, name="probe", namespace="default"):
    """As an author writes it who knows nothing but the annotation."""
    value = pod(name, annotations, containers=containers, init=init, namespace=namespace)
    del value["spec"]["schedulerName"]
    return value


def need_policies(scenario):
    """Skips the scenario where the API server does not serve policies that change pods."""
    scenario.need_kubernetes(FIRST_MINOR_WITH_POLICIES, "MutatingAdmissionPolicy")


def completed_by_webhook(plane):
    """Whether GPU pods get their defaults by the webhook, for want of policies that change pods."""
    return plane.minor < FIRST_MINOR_WITH_POLICIES


def apply_policies(admin):
    """They take effect some time after the API server has taken them, in this order or at once. The
    one that scheduler_of() shows is the last."""
    for value in sorted(manifests.read(POLICIES),
                        key=lambda each: each["metadata"]["name"] == "snug-gpu-pods"):
        manifests.apply_object(admin, value)


def enforce(scenario):
    """Puts the policies in force until the scenario ends."""
    need_policies(scenario)
    serve_parameters(scenario.admin)
    apply_policies(scenario.admin)
    scenario.addCleanup(_remove, scenario.admin)
    wait_until("the policies are in force", lambda: scheduler_of(scenario.admin) == "snug")


def _remove(admin):
    manifests.remove(admin, POLICIES)
    admin.delete(PARAMETERS, missing_ok=True)
    wait_until("the policies are gone", lambda: scheduler_of(admin) == "default-scheduler")


def scheduler_of(admin):
    """The scheduler that the minimal pod gets; None while the API server does not know the
    parameters' kind yet, trusts no certificate of the webhook, or already refuses pods that it does not complete yet."""
    try:
        return admin.create(DRY, minimal({"gpu-fraction": "0.5"}))["spec"]["schedulerName"]
    except ApiError as error:
        if not re.search("not yet synced|failed calling webhook|set spec.schedulerName", error.message):
            raise
        return None


def limits_of(admin, fraction="0.5"):
    """Those that the minimal pod gets."""
    made = admin.create(DRY, minimal({"gpu-fraction": fraction}))
    return made["spec"]["containers"][0]["resources"].get("limits", {})


def wait_mirrored(admin):
    """Until pods get the resources that mirror their shares."""
    wait_until("the resources are injected", lambda: MILLI in limits_of(admin))


def containers_of(value):
    return {each["name"]: each for each in all_containers(value)}


def variables_of(value):
    """Container name -> its environment, as the kubelet resolves it from the pod: a variable made
    of an annotation that is not there is empty."""
    written = annotations(value)

    def value_of(variable):
        if "value" in variable:
            return variable["value"]
        return written.get(FIELD.fullmatch(variable["valueFrom"]["fieldRef"]["fieldPath"])[1], "")
    return {container["name"]: {each["name"]: value_of(each) for each in container.get("env", [])}
            for container in all_containers(value)}


def check_variables(scenario, bound):
    """Admission's variables of each container are its reserved devices and amounts; a container
    without devices has none of them."""
    given = {each["name"]: each["devices"] for each in truth.reservation(bound)["containers"]}
    for name, variables in variables_of(bound).items():
        values = [variables[each] for each in VARIABLES if each in variables]
        scenario.assertEqual(values, _expected(given[name]) if name in given else [], name)


def _expected(devices):
    [percent] = {str(device["computeMilli"] // 10) for device in devices}
    return [",".join(device.get("mig", device)["uuid"] for device in devices),
            ",".join(f"{index}={device['memoryMiB']}M" for index, device in enumerate(devices)),
            percent]

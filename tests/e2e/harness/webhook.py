"""The webhook of deploy/admission-webhook.yaml. The API server runs outside of the cluster's network, so it
calls Snug's port by its address."""

from . import manifests
from .admission import scheduler_of
from .api import ApiError
from .controlplane import EXTENDER_USER
from .mirror import PARAMETERS, serve_parameters
from .processes import wait_until

WEBHOOK = "admission-webhook.yaml"
SECRET = "/api/v1/namespaces/snug/secrets/snug-webhook"
CONFIGURATIONS = [f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/snug"
                  for kind in ("mutating", "validating")]


def flags(linger_ms=0):
    """Those of a Snug with a webhook."""
    return {"webhook-listen": "127.0.0.1:0", "scheduler-names": ["snug", "another"],
            "limits": ["webhookOverlapMs=1000", f"webhookLingerMs={linger_ms}"]}


def permit(scenario):
    """Snug has the rights of its webhook, and its Secret, when this returns."""
    for value in manifests.read(WEBHOOK):
        if "webhooks" not in value:
            manifests.apply_object(scenario.admin, value)
    snug = scenario.plane.client("snug", EXTENDER_USER)

    def has_rights():
        for path in (SECRET, *CONFIGURATIONS):
            try:
                snug.find(path)
            except ApiError as error:
                scenario.assertEqual(error.status, 403, str(error))
                return False
        return True
    wait_until("the rights are in force", has_rights)
    scenario.mark = scenario.plane.audit.mark()


def register(admin, port):
    """The API server calls the webhook from now on."""
    for value in manifests.read(WEBHOOK):
        for webhook in value.get("webhooks", []):
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
            webhook["timeoutSeconds"] = 30  # this machine may be busy
        if "webhooks" in value:
            manifests.apply_object(admin, value)


def unregister(admin):
    for path in CONFIGURATIONS:
        admin.delete(path, missing_ok=True)


def start_with_webhook(scenario, more_flags=None):
    """Starts Snug and the scheduler, with the webhook in force until the scenario ends."""
    serve_parameters(scenario.admin)
    permit(scenario)
    scenario.start(flags={**flags(), **(more_flags or {})})
    scenario.addCleanup(remove, scenario.admin)
    register(scenario.admin, scenario.extender.webhook_port)
    wait_until("the webhook is in force", lambda: scheduler_of(scenario.admin) == "snug")


def remove(admin):
    unregister(admin)
    manifests.remove(admin, WEBHOOK)
    admin.delete(PARAMETERS, missing_ok=True)
    wait_until("the webhook is gone", lambda: scheduler_of(admin) == "default-scheduler")

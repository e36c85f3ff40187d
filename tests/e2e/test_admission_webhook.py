"""Scenario m: the webhook of deploy/admission-webhook.yaml gives pods the same defaults as the policies,
refuses malformed ones, and keeps its certificate."""

import base64
import contextlib
import pathlib
import socket
import tempfile

from harness import manifests, webhook
from harness.admission import DRY, POLICIES, minimal, need_policies
from harness.api import ApiError
from harness.mirror import MILLI
from harness.pki import Pki
from harness.processes import wait_until
from harness.scenario import PODS, Scenario
from test_admission_defaults import (MALFORMED, TOLERATIONS, Defaults, downward,
                                     expected_variables, own_tolerations)

NAMES = ["DNS:snug-webhook.snug.svc", "IP:127.0.0.1"]


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


class AdmissionWebhookTest(Defaults, Scenario):
    def setUp(self):
        self.own_webhook = None  # the Extender that the API server calls
        super().setUp()

    def install(self):
        if self.own_webhook is None:
            webhook.permit(self)
            self.start_extender(flags=webhook.flags())
            self.own_webhook = self.extender
        webhook.register(self.admin, self.own_webhook.webhook_port)

    def uninstall(self):
        webhook.unregister(self.admin)

    def _remove(self):
        super()._remove()
        self.own_webhook.stop()
        manifests.remove(self.admin, webhook.WEBHOOK)

    def start(self):
        """The extender of the webhook is the one that decides, too."""
        self.scheduler = self.start_scheduler(extender_port=self.extender.port, answer="auto")

    # What it refuses.

    def test_m_malformed_pods_are_refused(self):
        """m: a malformed pod is refused at its creation, with the sentence of filter"""
        accepted = [annotations for annotations in MALFORMED
                    if "denied the request: Malformed: " not in self._refusal(minimal(annotations))]
        self.assertEqual(accepted, [{"gpu-memory": "8Ei"}], "only filter finds it too large")
        self.assertIn('Malformed: gpu-fraction is "1.5"; expected a number above 0',
                      self._refusal(minimal({"gpu-fraction": "1.5"})))

    def test_m_amounts_that_kubernetes_refuses(self):
        """m: a pod that Kubernetes itself refuses gets the sentence of Kubernetes"""
        value = minimal({"gpu-fraction": "0.5"})
        value["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "-1"}}
        self.assertIn("must be greater than or equal to 0", self._refusal(value))

    def test_m_an_update_is_refused_if_it_changes_the_request(self):
        """m: an update may not make the request of a pod malformed; other updates pass"""
        self.post_pods({**minimal({"gpu-fraction": "0.5"}), "metadata": {
            "name": "kept", "namespace": "default", "annotations": {"gpu-fraction": "0.5"}}})
        path = f"{PODS}/kept"
        with self.assertRaisesRegex(ApiError, 'Malformed: gpu-fraction is "x"'):
            self.admin.patch(path, {"metadata": {"annotations": {"gpu-fraction": "x"}}})
        self.admin.patch(path, {"metadata": {"annotations": {"gpu-fraction": "0.25"}}})
        self.uninstall()
        wait_until("nothing is refused", lambda: self._refusal(minimal({"gpu-fraction": "x"})) == "")
        self.admin.patch(path, {"metadata": {"annotations": {"gpu-fraction": "x"}}})
        self.install()
        wait_until("the webhook is in force",
                   lambda: "Malformed" in self._refusal(minimal({"gpu-fraction": "x"})))
        self.admin.patch(path, {"metadata": {"annotations": {"note": "gpu-fraction"}}})
        self.admin.patch(path, {"metadata": {"annotations": {"gpu-fraction": "0.5"}}})

    def test_m_another_scheduler_is_refused(self):
        """m: a pod that asks for GPUs from a scheduler that does not ask Snug is refused"""
        value = minimal({"gpu-fraction": "0.5"})
        value["spec"]["schedulerName"] = "stranger"
        self.assertIn('its scheduler "stranger" does not ask Snug for them; expected '
                      "spec.schedulerName snug or another", self._refusal(value))
        value["metadata"]["annotations"] = {}
        self.assertEqual(self._refusal(value), "")

    def test_m_an_update_keeps_the_tolerations(self):
        """m: an update with the tolerations of the original manifest keeps those that were added"""
        value = minimal({"gpu-fraction": "0.5"})
        value["metadata"]["name"] = "kept"
        value["spec"]["tolerations"] = [{"key": "mine", "operator": "Exists"}]
        created = self.admin.create(PODS, value)
        self.admin.patch(f"{PODS}/kept", {"metadata": {"labels": {"new": "1"}},
                                          "spec": {"tolerations": value["spec"]["tolerations"]}})
        updated = self.admin.get(f"{PODS}/kept")
        self.assertEqual(updated["metadata"]["labels"], {"new": "1"})
        self.assertEqual(own_tolerations(updated), own_tolerations(created))

    # When it is away, and who answers.

    def test_m_without_snug_only_gpu_pods_wait(self):
        """m: without any Snug, pods with GPU annotations are refused and all others are created"""
        self.own_webhook.stop()
        self.assertIn("failed calling webhook", self._refusal(minimal({"gpu-fraction": "0.5"})))
        for annotations in ({}, {"mine": "1"}):
            self.assertEqual(self._refusal(minimal(annotations)), "")
        self.own_webhook.start()
        wait_until("the webhook answers again", lambda: self._scheduler() == "snug")

    def test_m_a_snug_that_stops_answers_for_some_time(self):
        """m: after SIGTERM the webhook answers while a Service may still call it"""
        self.own_webhook.stop()
        self.start_extender(flags=webhook.flags(linger_ms=60_000))
        self.own_webhook = self.extender
        self.install()
        wait_until("the webhook answers", lambda: self._scheduler() == "snug")
        self.own_webhook.process.terminate()
        wait_until("the extender port is closed", lambda: not self._is_open(self.own_webhook.port))
        for _ in range(10):
            self.assertEqual(self._scheduler(), "snug")

    @staticmethod
    def _is_open(port):
        with contextlib.closing(socket.socket()) as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    def test_m_a_standby_answers_too(self):
        """m: a replica that does not lead answers with the same certificate"""
        standby = self.make_extender(policy=manifests.ROOT / "policies/best-fit.yaml",
                                     own_pod="snug-1", flags=webhook.flags())
        standby.start(wait_ready=False)
        wait_until("it is a standby", lambda: "standby" in standby.readiness()[1])
        trusted = self._ca_bundles()
        self.uninstall()
        wait_until("the defaults are gone", lambda: self._scheduler() == "default-scheduler")
        self.own_webhook = standby
        self.install()
        wait_until("the standby answers", lambda: self._scheduler() == "snug")
        self.assertIn("standby", standby.readiness()[1])
        self.assertEqual(self._ca_bundles(), trusted)

    def test_m_a_generated_name_and_both_ways_at_once(self):
        """m: a pod whose name is generated gets the same; so does one that the policies also see"""
        need_policies(self)
        value = minimal({"gpu-fraction": "0.5"})
        value["metadata"] = {"generateName": "probe-", "annotations": {"gpu-fraction": "0.5"}}
        alone = self._created(value)["spec"]
        self.assertEqual(alone["schedulerName"], "snug")
        manifests.apply(self.admin, POLICIES)
        self.addCleanup(manifests.remove, self.admin, POLICIES)
        self._write_parameters()
        both = self._created(value)["spec"]
        self.assertEqual(own_tolerations({"spec": both}), own_tolerations({"spec": alone}))
        self.assertEqual(both["containers"][0]["env"], alone["containers"][0]["env"])
        self.assertEqual(both["containers"][0]["resources"]["limits"][MILLI], "500")

    def test_m_the_change_to_the_policies_has_no_gap(self):
        """m: from the webhook to the policies every pod gets its defaults meanwhile; while changing back,
        no GPU pod is created without its defaults"""
        need_policies(self)
        manifests.apply(self.admin, POLICIES)
        self.addCleanup(manifests.remove, self.admin, POLICIES)
        wait_until("the policies leave nothing to the webhook", self._webhook_adds_nothing)
        self.uninstall()
        wait_until("the webhook is not called", lambda: not self._webhook_is_called())
        self.install()
        wait_until("the webhook is called", lambda: self._is_trusted() and
                   self._webhook_is_called())
        manifests.remove(self.admin, POLICIES)
        wait_until("the policies are gone", lambda: not self._webhook_adds_nothing())

    def _is_trusted(self):
        """Until Snug has written its authority into the configuration, GPU pods are refused."""
        refusal = self._refusal(minimal({"gpu-fraction": "0.5"}))
        self.assertRegex(refusal, "^$|certificate signed by unknown authority")
        return refusal == ""

    def _webhook_is_called(self):
        return self._reviews_of_a_complete_pod() != {}

    def _webhook_adds_nothing(self):
        return "unchanged" in self._reviews_of_a_complete_pod()

    def _reviews_of_a_complete_pod(self):
        """Creates the minimal pod, which must get its defaults. Returns how the webhook answered."""
        ends = ("patched", "unchanged")
        before = [self.own_webhook.metric("snug_webhook_reviews_total", end=end) for end in ends]
        made = self._created(minimal({"gpu-fraction": "0.5"}))
        self.assertEqual((made["spec"]["schedulerName"], own_tolerations(made),
                          downward(made["spec"]["containers"][0])),
                         ("snug", TOLERATIONS, expected_variables("main")))
        after = [self.own_webhook.metric("snug_webhook_reviews_total", end=end) for end in ends]
        return {end: new - old for end, old, new in zip(ends, before, after) if new != old}

    # Its certificate.

    def test_m_trust_is_put_back(self):
        """m: a caBundle that somebody overwrites is put back, and nothing else is changed"""
        for path in webhook.CONFIGURATIONS:
            before = self.admin.get(path)
            other = encoded(self.plane.pki.ca)
            self.admin.call("PATCH", path, [
                {"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": other},
                {"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 2}],
                "application/json-patch+json")
            bundle = before["webhooks"][0]["clientConfig"]["caBundle"]
            wait_until("the caBundle is put back", lambda: self._ca_bundle(path) == bundle)
            self.assertEqual(self.admin.get(path)["webhooks"][0]["timeoutSeconds"], 2)

    def test_m_the_certificate_is_replaced_without_a_gap(self):
        """m: a certificate that ends soon is replaced in steps, and no pod is refused meanwhile"""
        with tempfile.TemporaryDirectory(prefix="snug-webhook-") as folder:
            pki = Pki(pathlib.Path(folder))
            certificate, key = pki.issue("server", "snug-webhook", hosts=NAMES)
            soon = {"ca.crt": encoded(pki.ca), "tls.crt": encoded(certificate),
                    "tls.key": encoded(key)}
        self.own_webhook.stop()
        self.admin.patch(webhook.SECRET, {"data": soon})
        self.own_webhook.start()
        wait_until("the webhook answers", lambda: self._scheduler() == "snug")
        steps = []

        def replaced():
            self.assertEqual(self._scheduler(), "snug")
            data = self.admin.get(webhook.SECRET)["data"]
            step = (data["tls.crt"] == soon["tls.crt"], "next-tls.crt" in data,
                    "old-ca.crt" in data)
            if step not in steps:
                steps.append(step)
            return step == (False, False, False)
        wait_until("the certificate is replaced", replaced, 60)
        self.assertIn(steps, [[(True, True, False), (False, False, True), (False, False, False)],
                              [(True, False, False), (True, True, False), (False, False, True),
                               (False, False, False)]])
        authority = self.admin.get(webhook.SECRET)["data"]["ca.crt"]
        wait_until("only the new authority is trusted",
                   lambda: self._ca_bundles() == [authority] * 2)
        self.assertEqual(self._scheduler(), "snug")

    def _refusal(self, value):
        """The message; empty if it is created."""
        try:
            self.admin.create(DRY, value)
        except ApiError as error:
            return error.message
        return ""

    def _ca_bundle(self, path):
        return self.admin.get(path)["webhooks"][0]["clientConfig"].get("caBundle")

    def _ca_bundles(self):
        return [self._ca_bundle(path) for path in webhook.CONFIGURATIONS]

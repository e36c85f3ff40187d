"""No value of deploy/chart is without effect silently: where it changes nothing it is refused, and the message names it."""

import re
import unittest

import yaml

from chart import CHART, MIRROR, SHARED, ChartTest
from chart_agent_test import ON, WITH_MPS

MONITOR = ("monitoring.serviceMonitor=true",)
CERTIFICATE = ("adminTls.secret=a", *MONITOR)
TOKENS = ("adminAuth=kubernetes", *MONITOR)
MANAGED = (*SHARED, *MIRROR, "admission.managedResourcesOnly=true")
HAMI = (*ON, "agent.limits=hami-core", "agent.hamiCore=/a")
# Each value of values.yaml, another one, and beside which values it has an effect.
OTHERS = (
    ("shape", "shared", ("nodes={one}",)), ("replicas", "1", ()), ("nodes", "{one}", SHARED), ("nodeSelector", '{"a":"b"}', ()),
    ("tolerations", '[{"key":"a"}]', ()), ("image.repository", "a", ()), ("image.tag", "a", ()), ("image.pullPolicy", "Always", ()),
    ("imagePullSecrets", "{a}", ()), ("kubernetesMinor", "35", ()), ("scheduler.name", "a", ()), ("scheduler.weight", "3", ()),
    ("scheduler.image.repository", "a", ()), ("scheduler.image.tag", "v1.36.0", ()), ("scheduler.resources", '{"limits":{"cpu":1}}', ()),
    ("policy", '{"version":1,"default":"a","profiles":{"a":{"terms":[{"term":"spread","weight":1}]}}}', ()), ("answer", "all", ()),
    ("adminAuth", "kubernetes", ()), ("adminTokenSecret", "b", ("adminAuth=token", "adminTokenSecret=a")),
    ("adminTenants", "true", TOKENS), ("adminTls.secret", "a", ()), ("adminTls.ca", "a", CERTIFICATE),
    ("adminTls.serverName", "a", CERTIFICATE), ("extraArgs", "{--log-format=json}", ()), ("resources", '{"limits":{"cpu":1}}', ()),
    ("admission.policies", "false", ()), ("admission.webhook", "true", ()), ("admission.tolerations", "{a}", ()),
    ("admission.runtimeClassName", "a", ()), ("admission.deviceNames", "{Deny}", ()), ("admission.deviceNamesExcept", "{a}", ()),
    ("admission.tolerateMissingPlugins", "example.com/a", ()), ("admission.managedResourcesOnly", "true", (*SHARED, *MIRROR)),
    ("admission.managedResources", "{a}", MANAGED), ("mirror.smallestGpuMib", "1", MIRROR), ("mirror.largestGpuMib", "90000", MIRROR),
    ("agent.enabled", "true", ()), ("agent.image.repository", "a", ON), ("agent.image.tag", "a", ON),
    ("agent.image.pullPolicy", "Always", ON), ("agent.nodeSelector", '{"a":"b"}', ON), ("agent.tolerations", "[]", ON),
    ("agent.driverRoot", "/a", ON), ("agent.modes", "{whole}", ON), ("agent.limits", "driver", ON), ("agent.hamiCore", "/b", HAMI),
    ("agent.dynamicMig", "true", ON), ("agent.migIdleMinutes", "5", (*ON, "agent.dynamicMig=true")), ("agent.publishUsage", "true", ON),
    ("agent.stopViolators", "true", ON), ("agent.exempt", "{a/b}", ON), ("agent.extraArgs", "{--log-format=json}", ON),
    ("agent.resources", '{"limits":{"cpu":1}}', ON), ("agent.groups", '[{"name":"a"}]', ON),
    ("mps.enabled", "true", (*ON, 'agent.groups=[{"name":"a","modes":["mps"]}]', "mps.enabled=true")),
    ("mps.nodeSelector", '{"a":"b"}', WITH_MPS), ("mps.tolerations", "[]", WITH_MPS), ("mps.driverRoot", "/a", WITH_MPS),
    ("mps.sharedMemoryMib", "0", WITH_MPS), ("mps.extraArgs", "{--log-format=json}", WITH_MPS),
    ("mps.resources", '{"limits":{"cpu":1}}', WITH_MPS), ("priorityClassName", "", ()), ("flowSchema", "false", ()),
    ("networkPolicy.enabled", "false", ()), ("networkPolicy.monitoringNamespaces", "{a}", ()), ("monitoring.serviceMonitor", "true", ()),
    ("monitoring.podMonitor", "true", ()), ("monitoring.prometheusRule", "true", ()), ("monitoring.agents", "true", ON),
    ("monitoring.labels", '{"a":"b"}', MONITOR), ("monitoring.tokenSecret", "a", TOKENS), ("monitoring.dashboard", "true", ()),
    ("namespace", "true", ()), ("openshift", "true", ()))
# Other values, and of which sections those are that are tried beside them.
ALONE = ("shape", "replicas", "nodes", "nodeSelector", "tolerations", "priorityClassName", "namespace", "scheduler", "admission")
CONTEXTS = ((SHARED, (*ALONE, "adminTls", "adminTenants", "mirror", "networkPolicy", "monitoring")),
            ((*SHARED, *WITH_MPS), ("agent", "mps", "monitoring")), (HAMI, ("agent", "mps")),
            (("networkPolicy.enabled=false", "adminTls.secret=a"), ("networkPolicy", "adminTls")),
            (("admission.policies=false", "admission.webhook=false", "monitoring.prometheusRule=true"), ("admission", "monitoring")))


def leaves(values, path=""):
    for name, value in values.items():
        if isinstance(value, dict) and value and name != "resources":
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name


def is_switched_off(name, values):
    section, _, rest = name.partition(".")
    return section in ("agent", "mps") and rest != "enabled" and f"{section}.enabled=true" not in values


class EffectsTest(ChartTest):
    def test_each_value_has_an_effect(self):
        self.assertEqual([name for name, _, _ in OTHERS], list(leaves(yaml.safe_load((CHART / "values.yaml").read_text()))))
        made = {}
        for name, other, beside in OTHERS:
            with self.subTest(name):
                without = tuple(value for value in beside if value != f"{name}={other}")
                if without not in made:
                    made[without] = self.template(*without)[1]
                code, text = self.template(*beside, f"{name}={other}")
                self.assertEqual(code, 0, text)
                self.assertNotEqual(text, made[without])

    def test_where_it_has_none_it_is_refused(self):
        alone = tuple(name.partition(".")[0] for name, _, beside in OTHERS if beside)
        for context, sections in (((), alone), *CONTEXTS):
            code, made = self.template(*context)
            self.assertEqual(code, 0, made)
            for name, other, _ in OTHERS:
                if name.partition(".")[0] not in sections or f"{name}={other}" in context:
                    continue
                with self.subTest(name, beside=context):
                    code, text = self.template(*context, f"{name}={other}")
                    if code != 0:
                        message = text.rpartition("Error: ")[2].rpartition(".yaml:")[2]
                        self.assertRegex(message, rf"\b{name.rpartition('.')[2]}\b")
                        self.assertNotIn("nil pointer", text)
                        self.assertFalse(is_switched_off(name, context), text)
                    elif not is_switched_off(name, context):
                        self.assertNotEqual(text, made)


if __name__ == "__main__":
    unittest.main()

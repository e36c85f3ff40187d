#!/usr/bin/env python3
"""Writes what deploy/ has for use without Helm, and the parts of deploy/chart that have their source elsewhere.

  python3 deploy/scripts/manifests.py [--snugctl PROGRAM] [--to FOLDER]

The chart is the source of the manifests. The source of its admission-gpu-pods.yaml is what `snugctl admission` prints,
and values.schema.json contains api/policy.schema.json. --to writes into another folder than the checkout.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/chart"
HELM = ROOT / "tests/helm/build.sh"  # prints the folder of helm
KUBERNETES = "1.36.3"  # of which version the manifests have the scheduler
SHARED = ["shape=shared", "nodes={control-plane-1}"]
AGENT = ["agent.enabled=true", "agent.image.repository=registry.example/snug/snug-agent"]
MANAGED = ["admission.managedResourcesOnly=true", "mirror.smallestGpuMib=1", "mirror.largestGpuMib=1"]
# file -> the chart's templates, and values
MANIFESTS = {
    "rbac.yaml": (["namespace", "rbac"], ["namespace=true"]),
    "mirror-parameters.yaml": (["mirror-parameters"], []),
    "admission-policy.yaml": (["admission-policy"], []),
    "admission-pods.yaml": (["admission-pods"], []),
    "admission-devices.yaml": (["admission-devices"], []),
    "admission-dedicated.yaml": (["admission-dedicated"], []),
    "admission-shared.yaml": (["admission-shared"], [*SHARED, *MANAGED]),
    "admission-webhook.yaml": (["admission-webhook"], ["admission.webhook=true"]),
    "node-capacity.yaml": (["node-capacity"], []),
    "wake-1.31.yaml": (["wake-1.31"], ["kubernetesMinor=31"]),
    "dedicated.yaml": (["policy", "deployment", "scheduler-rbac", "service", "network-policy", "availability",
                        "flow-schema"], []),
    "shared-extender.yaml": (["namespace", "policy", "daemonsets", "shared-rbac", "flow-schema"],
                             [*SHARED, "namespace=true"]),
    "agent-rbac.yaml": (["agent-rbac"], AGENT),
    "agent-policy.yaml": (["agent-policy"], AGENT),
    "agent.yaml": (["agent"], AGENT),
    "mps.yaml": (["mps"], [*AGENT, "agent.modes={whole,mps}", "mps.enabled=true"]),
    "alerts/prometheusrule.yaml": (["prometheusrule"], ["monitoring.prometheusRule=true"]),
}
MADE_FROM = "# Made from deploy/chart by deploy/scripts/manifests.py.\n"
# Names in what snugctl prints, in whose place the chart has its values.
SCHEDULER, RUNTIME_CLASS, TOLERATION = "the-scheduler", "the-runtime-class", "the-toleration"
# What snugctl prints only if there is such a value.
OPTIONAL = (
    ("$scheduler", r"object\.spec\.\?schedulerName\.orValue\('default-scheduler'\) == 'default-scheduler'\n      \|\| "),
    ("$scheduler", rf"\n        \(object\.spec\.\?schedulerName[^\n]*\n[^\n]*'{SCHEDULER}'}}\]\) \+"),
    ("$runtimeClass", r"!has\(object\.spec\.runtimeClassName\)\n      \|\| "),
    ("$runtimeClass", rf"\n        \(has\(object\.spec\.runtimeClassName\)[^\n]*\n[^\n]*'{RUNTIME_CLASS}'}}\]\) \+"),
)
HEAD = """\
{{- if include "snug.policies" . }}
{{- $scheduler := ternary .Values.scheduler.name "" (eq .Values.shape "dedicated") }}
{{- $runtimeClass := .Values.admission.runtimeClassName }}
"""


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def helm():
    return Path(output_of("bash", HELM).strip()) / "helm"


def rendered(program, chart, templates, values=()):
    """The documents of these templates, in the order in which Helm applies them."""
    chosen = [word for name in templates for word in ("--show-only", f"templates/{name}.yaml")]
    settings = [word for value in values for word in ("--set", value)]
    text = output_of(program, "template", "snug", chart, "--namespace", "snug", "--kube-version", KUBERNETES, *chosen,
                     *settings)
    parts = re.split(r"^---\n(?:# Source: .*\n)?", text, flags=re.M)
    return "---\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def gpu_pods_template(snugctl):
    text = output_of(snugctl, "admission", "--scheduler-name", SCHEDULER, "--runtime-class-name", RUNTIME_CLASS,
                     "--tolerations", TOLERATION)
    for value, pattern in OPTIONAL:
        text, found = re.subn(pattern, lambda match, value=value: f"{{{{ if {value} }}}}{match[0]}{{{{ end }}}}", text)
        if found != 1:
            raise SystemExit(f"snugctl admission prints {found} times what {value} adds: {pattern}")
    text = text.replace(f"['{TOLERATION}']", '{{ include "snug.tolerations" . }}')
    text = text.replace(SCHEDULER, "{{ $scheduler }}").replace(RUNTIME_CLASS, "{{ $runtimeClass }}")
    return HEAD + text + "{{- end }}\n"


def compact(value, indent=""):
    """JSON in which what fits on a line is on one."""
    line = json.dumps(value)
    if len(indent) + len(line) <= 100 or not isinstance(value, (dict, list)):
        return line
    deeper = indent + " "
    if isinstance(value, dict):
        inner = [f"{json.dumps(key)}: {compact(each, deeper)}" for key, each in value.items()]
    else:
        inner = [compact(each, deeper) for each in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + "\n" + ",\n".join(deeper + each for each in inner) + "\n" + indent + last


def values_schema():
    schema = json.loads((CHART / "values.schema.json").read_text())
    schema["$defs"]["policy"] = json.loads((ROOT / "api/policy.schema.json").read_text())
    return compact(schema) + "\n"


def manifests(program):
    """(file in deploy/, its text)"""
    for name, (templates, values) in MANIFESTS.items():
        yield name, MADE_FROM + rendered(program, CHART, templates, values)
    config = yaml.safe_load(rendered(program, CHART, ["scheduler-config"]))
    yield "scheduler-config.yaml", MADE_FROM + config["data"]["scheduler-config.yaml"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--snugctl", type=Path, help="also write the parts of the chart, with this program")
    parser.add_argument("--to", type=Path, default=ROOT)
    options = parser.parse_args()

    def write(name, text):
        path = options.to / "deploy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    if options.snugctl:
        write("chart/templates/admission-gpu-pods.yaml", gpu_pods_template(options.snugctl))
    write("chart/values.schema.json", values_schema())
    for name, text in manifests(helm()):
        write(name, text)


if __name__ == "__main__":
    main()

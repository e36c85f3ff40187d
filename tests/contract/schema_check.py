#!/usr/bin/env python3
"""Checks api/ against itself and against the tree: schemas are schemas and tell good from bad, the
shipped policies, manifests and golden samples match them, and openapi.yaml has every endpoint that
the code serves.

    python3 tests/contract/schema_check.py

Prints each problem, and ends with exit code 1 when there is one.
"""

import json
import re
import sys
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
API = ROOT / "api"
EXAMPLES = API / "examples"
ROUTES = ["src/app/routes.cpp", "src/adapters/http/admin_server.cpp"]
VERBS = "src/adapters/http/extender_server.cpp"
TERMS = "src/score/terms.cpp"

# Schema, a value, and whether it is valid: what keeps the schemas from accepting everything.
ROWS = [
    ("annotations", {}, True),
    ("annotations", {"other": "x"}, True),
    ("annotations", {"gpu-fraction": "0.25"}, True),
    ("annotations", {"gpu-fraction": "2"}, True),
    ("annotations", {"gpu-fraction": "0.333", "gpu-container": "main"}, True),
    ("annotations", {"gpu-memory": "4G"}, True),
    ("annotations", {"gpu-memory": "4096"}, True),
    ("annotations", {"gpu-memory": "+0.5Gi"}, True),
    ("annotations", {"gpu-memory": "1e9"}, False),
    ("annotations", {"gpu-fraction": "0.25x"}, False),
    ("annotations", {"gpu-fraction": "0.000"}, False),
    ("annotations", {"gpu-fraction": "0.1234"}, False),
    ("annotations", {"gpu-fraction": "1.5"}, False),
    ("annotations", {"gpu-fraction": "-1"}, False),
    ("annotations", {"gpu-fraction": "0"}, False),
    ("annotations", {"gpu-fraction": 0.25}, False),
    ("annotations", {"gpu-memory": "4000m"}, False),
    ("annotations", {"gpu-memory": "+4"}, False),
    ("annotations", {"gpu-memory": "4096.0"}, False),
    ("annotations", {"gpu-memory": "0Gi"}, False),
    ("annotations", {"gpu-memory": "4 G"}, False),
    ("annotations", {"gpu-fraction": "0.5", "gpu-memory": "4G"}, False),
    ("annotations", {"gpu-container": "main"}, False),
    ("annotations", {"gpu-container": "main", "gpu-fraction.main": "0.5"}, True),
    ("annotations", {"gpu-fraction-container-name": "main", "gpu-memory": "4G"}, True),
    ("annotations", {"gpu-fraction-container-name": "main"}, False),
    ("annotations", {"gpu-container": "a", "gpu-fraction-container-name": "a", "gpu-memory": "4G"}, False),
    ("annotations", {"gpu-fraction.side": "0.5", "gpu-memory.main": "4G"}, True),
    ("annotations", {"gpu-fraction.side": "0.5x"}, False),
    ("annotations", {"gpu-memory.side": "4000m"}, False),
    ("annotations", {"gpu-policy.side": "spread"}, False),
    ("annotations", {"gpu-container.side": "side", "gpu-fraction": "0.5"}, False),
    ("annotations", {"gpu-fraction-container-name.side": "side", "gpu-fraction": "0.5"}, False),
    ("annotations", {"gpu-policyx": "not ours"}, True),
    ("annotations", {"gpu-policy": "spread"}, True),
    ("annotations", {"gpu-policy": ""}, False),
    ("annotations", {"gpu-policy": "p" * 64}, False),
    *(
        ("annotations", {"gpu-mig-profile" + suffix: value}, valid)
        for suffix in ("", ".side")
        for value, valid in [
            ("1g.5gb", True),
            ("1g.5gb+me", True),
            ("2g.48gb+me.all", True),
            ("4g.96gb+gfx", True),
            ("1g.24gb-me", True),
            ("3c.3g.20gb", True),
            ("11c.11g.20gb", True),
            ("1c.3g.20gb", False),
            ("1c.11g.20gb", False),
            ("1g.5gb+x", False),
            ("1g.5gb.me", False),
            ("0g.5gb", False),
            ("1g.05gb", False),
            ("mig-1g.5gb", False),
            ("", False),
        ]
    ),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-fraction": "0.5"}, False),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-memory": "4G"}, False),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-compute": "50"}, False),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-isolation": "mps"}, False),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-isolation": "mig", "gpu-count": "2", "gpu-model": "A100"}, True),
    ("annotations", {"gpu-mig-profile": "1g.5gb", "gpu-container": "main"}, True),
    ("annotations", {"gpu-count": "2"}, False),
    ("annotations", {"gpu-model.side": "A100"}, False),
    ("annotations", {"gpu-fraction": "2", "gpu-count": "2"}, False),
    ("annotations", {"gpu-fraction": "2", "gpu-fraction-num-devices": "2"}, False),
    ("annotations", {"gpu-fraction": "2", "gpu-compute": "50"}, False),
    ("annotations", {"gpu-fraction": "2", "gpu-isolation": "mps"}, False),
    ("annotations", {"gpu-fraction": "2", "gpu-isolation": "any", "gpu-model": "A100"}, True),
    ("annotations", {"gpu-fraction": "0.5", "gpu-count": "2", "gpu-fraction-num-devices": "2"}, False),
    *(
        ("annotations", {"gpu-fraction": "0.5", key + suffix: value}, valid)
        for suffix in ("", ".main")
        for key, value, valid in [
            ("gpu-count", "2", True),
            ("gpu-count", "999", True),
            ("gpu-count", "0", False),
            ("gpu-count", "1000", False),
            ("gpu-count", "+1", False),
            ("gpu-count", "01", False),
            ("gpu-fraction-num-devices", "2", True),
            ("gpu-fraction-num-devices", "x", False),
            ("gpu-compute", "1", True),
            ("gpu-compute", "100", True),
            ("gpu-compute", "0", False),
            ("gpu-compute", "101", False),
            ("gpu-compute", "50%", False),
            ("gpu-isolation", "time-slicing", True),
            ("gpu-isolation", "mig", True),
            ("gpu-isolation", "none", False),
            ("gpu-model", "A100*, ! *40GB ,H?00", True),
            ("gpu-model", "!T4", True),
            ("gpu-model", "A!B", True),
            ("gpu-model", "Tesla V100", True),
            ("gpu-model", "x" * 253, True),
            ("gpu-model", "x" * 254, False),
            ("gpu-model", "", False),
            ("gpu-model", " ", False),
            ("gpu-model", "A,,B", False),
            ("gpu-model", "A, ,B", False),
            ("gpu-model", "A,", False),
            ("gpu-model", ",A", False),
            ("gpu-model", "!", False),
            ("gpu-model", "!!A", False),
            ("gpu-model", "! !A", False),
            ("gpu-model", "A;B", False),
            ("gpu-model", "A=B", False),
            ("gpu-model", "A\tB", False),
        ]
    ),
    ("inventory", {"version": 1, "gpus": []}, True),
    ("inventory", {"version": 1, "gpus": [{"index": 0, "model": "A", "memoryMiB": 1}]}, True),
    ("inventory", {"version": 1, "gpus": [], "unknown": 1}, True),
    ("inventory", {"version": 2, "gpus": []}, False),
    ("inventory", {"version": 1}, False),
    ("inventory", {"version": 1, "gpus": [{"index": -1, "model": "A", "memoryMiB": 1}]}, False),
    ("inventory", {"version": 1, "gpus": [{"index": 0, "model": "", "memoryMiB": 1}]}, False),
    ("inventory", {"version": 1, "gpus": [{"index": 0, "uuid": "GPU-a", "model": "A", "memoryMiB": 1}]}, True),
    ("inventory", {"version": 1, "gpus": [{"index": 0, "uuid": "a,b", "model": "A", "memoryMiB": 1}]}, False),
    ("inventory", {"version": 1, "gpus": [{"index": 0, "model": "A", "memoryMiB": 1, "modes": ["mig"]}]}, False),
    ("policy", {"version": 1, "default": "a", "profiles": {"a": {"terms": [{"term": "spread", "weight": -5}]}}}, True),
    ("policy", {"version": 1, "default": "a", "profiles": {}}, False),
    *(
        ("policy", {"version": 1, "default": name, "profiles": {name: {"terms": [{"term": "spread", "weight": 1}]}}}, valid)
        for name, valid in [("p" * 63, True), ("p" * 64, False), ("", False)]
    ),
    ("policy", {"version": 1, "default": "a", "profiles": {"a": {"terms": []}}}, False),
    ("policy", {"version": 1, "default": "a", "profiles": {"a": {"terms": [{"term": "x", "weight": 1}]}}}, False),
    ("policy", {"version": 1, "default": "a", "profiles": {"a": {"terms": [{"term": "spread", "weight": 1.5}]}}}, False),
]


def device(**more):
    return {"index": 0, "mode": "time-slicing", "memoryMiB": 1, "computeMilli": 1, **more}


def reservation(*containers):
    return {"version": 1, "uid": "u", "node": "n", "containers": list(containers)}


def placed(*devices):
    return {"name": "c", "request": "gpu-fraction=0.1", "devices": list(devices)}


def policy(**more):
    return {"version": 1, "default": "a", "profiles": {"a": {"terms": [{"term": "spread", "weight": 1}]}}, **more}


def profile(term, **more):
    return policy(profiles={"a": {"terms": [{"term": "spread", **term}], **more}})


def inventory(profiles=None, **more):
    gpu = {"index": 0, "model": "A", "memoryMiB": 1, "mig": True}
    return {"version": 1, "gpus": [gpu if profiles is None else {**gpu, "migProfiles": profiles}], **more}


def published(**more):
    return {"profile": "1g.24gb+me", "size": 3, "memoryMiB": 24192, "starts": [0, 3, 6, 9], **more}


FAILURE = {"gpu": "GPU-a", "profile": "1g.5gb", "start": 0}
ROWS += [
    ("inventory", inventory([published()]), True),
    ("inventory", inventory([published(), published(profile="2g.48gb", starts=[])]), True),
    ("inventory", inventory([published(starts=[63], size=1), published(profile="7g.40gb", starts=[0], size=64)]), True),
    *(
        ("inventory", inventory([published(**{key: value})]), False)
        for key, value in [
            ("profile", "small"), ("profile", "1c.3g.20gb"), ("size", 0), ("size", 65), ("memoryMiB", 0),
            ("starts", [64]), ("starts", [-1]), ("starts", [0, 0]), ("starts", []), ("starts", 0),
        ]
    ),
    ("inventory", inventory([]), False),
    ("inventory", inventory([published(profile=f"1g.{i + 1}gb") for i in range(64)]), True),
    ("inventory", inventory([published(profile=f"1g.{i + 1}gb") for i in range(65)]), False),
    ("inventory", inventory(migFailures=[FAILURE, {**FAILURE, "pod": "uid"}]), True),
    ("inventory", inventory(migFailures=[{**FAILURE, "start": 64}]), False),
    ("inventory", inventory(migFailures=[{**FAILURE, "pod": ""}]), False),
    ("inventory", inventory(migFailures=[{"gpu": "GPU-a", "profile": "1g.5gb"}]), False),
    *(("inventory", inventory(enforcement=value), True) for value in ("fail-closed", "open")),
    *(("inventory", inventory(enforcement=value), False) for value in ("closed", "", True, None)),
    *(("inventory", inventory(limits=value), True) for value in ("none", "driver", "mps", "hami-core")),
    *(("inventory", inventory(limits=value), False) for value in ("MPS", "", 1, None)),
]

WEIGHT = {"weight": 1}
ROWS += [
    *(
        ("policy", profile(WEIGHT, **{key: value}), valid)
        for key in ("quantum", "churnQuantum")
        for value, valid in [(1, True), (10**12, True), (0, False), (-1, False), (10**12 + 1, False), (1.5, False), ("1", False), (None, False)]
    ),
    ("policy", profile(WEIGHT, quantum=2, churnQuantum=1), True),
    ("policy", profile(WEIGHT, quanta=2), False),
    ("policy", profile({"weight": 1, "churnWeight": -1000000}), True),
    ("policy", profile({"churnWeight": 1}), False),
    ("policy", profile({"weight": 1, "churnWeight": 2, "saturatedWeight": 1000000}), True),
    ("policy", profile({"weight": 1, "saturatedWeight": 1000001}), False),
    *(
        ("policy", profile({"weight": 1, "churnWeight": value}), False)
        for value in (1000001, -1000001, 0.5, "1", None)
    ),
    ("policy", profile({"weight": 1, "churnQuantum": 1}), False),
    ("policy", profile(WEIGHT, churnWeight=1), False),
]

ROWS += [
    ("policy", policy(rules=[{"profile": "a"}]), True),
    ("policy", policy(rules=[{"namespaces": ["ml-*"], "podLabels": {"tier": ""}, "gpuModels": ["A*"], "profile": "a"}]), True),
    ("policy", policy(rules=[]), False),
    ("policy", policy(rules=[{"namespaces": ["ml-*"]}]), False),
    ("policy", policy(rules=[{"namespaces": [], "profile": "a"}]), False),
    ("policy", policy(rules=[{"namespaces": ["Team"], "profile": "a"}]), False),
    ("policy", policy(rules=[{"namespaces": ["x", "x"], "profile": "a"}]), False),
    ("policy", policy(rules=[{"gpuModels": ["!A*"], "profile": "a"}]), False),
    ("policy", policy(rules=[{"podLabels": {"tier": 1}, "profile": "a"}]), False),
    ("policy", policy(podChoice=[{"namespaces": ["*"], "profiles": ["a"]}]), True),
    ("policy", policy(podChoice=[{"profiles": ["a"]}]), False),
    ("policy", policy(podChoice=[{"namespaces": ["*"], "profiles": []}]), False),
    ("policy", policy(sharing=[{"namespaces": ["x"], "neighbours": "namespace", "capMilli": 0, "requireEnforcement": True}]), True),
    ("policy", policy(sharing=[{"namespaces": ["x"]}]), False),
    ("policy", policy(sharing=[{"neighbours": "any", "capMilli": 1}]), False),
    ("policy", policy(sharing=[{"namespaces": ["x"], "neighbours": "none"}]), False),
    ("policy", policy(sharing=[{"namespaces": ["x"], "capMilli": -1}]), False),
    ("policy", policy(sharing=[{"namespaces": ["x"], "capMilli": 1.5}]), False),
    ("policy", policy(sharing=[{"namespaces": ["x"], "requireEnforcement": "true"}]), False),
]

LOAD = {"uuid": "GPU-1", "memoryPercent": 40, "computePercent": 0}
ROWS += [
    ("usage", {"version": 1, "gpus": [LOAD]}, True),
    ("usage", {"version": 1, "gpus": [], "later": 1}, True),
    ("usage", {"version": 2, "gpus": [LOAD]}, False),
    ("usage", {"version": 1}, False),
    *(("usage", {"version": 1, "gpus": [{**LOAD, key: value}]}, False)
      for key in ("memoryPercent", "computePercent") for value in (-10, 45, 110, 1.5, "40", None)),
    *(("usage", {"version": 1, "gpus": [{name: LOAD[name] for name in LOAD if name != key}]}, False) for key in LOAD),
]

SLICE = {"profile": "1g.5gb", "start": 0, "size": 1}
UNITS = {"name": "c", "request": "", "assignedBy": "kubelet", "resource": "nvidia.com/gpu", "count": 1}
ROWS += [
    ("reservation", reservation(placed(device())), True),
    ("reservation", reservation(placed(device(uuid="GPU-1")), UNITS), True),
    ("reservation", reservation(placed(device(mode="mig", mig=SLICE))), True),
    ("reservation", reservation(), False),
    ("reservation", reservation(placed()), False),
    ("reservation", reservation(placed(device(mode="mig"))), False),
    ("reservation", reservation(placed(device(mig=SLICE))), False),
    ("reservation", reservation(placed(device(computeMilli=1001))), False),
    ("reservation", reservation({**UNITS, "devices": [device()]}), False),
    ("reservation", {**reservation(UNITS), "version": 2}, False),
]


class Problems:
    def __init__(self):
        self.count = 0

    def add(self, where, what):
        self.count += 1
        print(f"{where}: {what}")

    def check(self, where, schema, value):
        for error in Draft202012Validator(schema).iter_errors(value):
            place = "/".join(str(part) for part in error.absolute_path)
            self.add(where, f"{place or 'the whole'}: {error.message[:300]}")


def load_schemas():
    return {path.name.split(".")[0]: json.loads(path.read_text()) for path in sorted(API.glob("*.schema.json"))}


def check_schemas(problems, schemas):
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        if not any(row[0] == name for row in ROWS):
            problems.add(f"{name}.schema.json", "no row of this program tries it")
    for name, value, valid in ROWS:
        if Draft202012Validator(schemas[name]).is_valid(value) != valid:
            problems.add(f"{name}.schema.json", f"should {'accept' if valid else 'refuse'} {json.dumps(value)}")


def check_policies(problems, schemas):
    policies = sorted((ROOT / "policies").glob("*.yaml"))
    if not policies:
        problems.add("policies", "there is none")
    for path in policies:
        problems.check(path.relative_to(ROOT), schemas["policy"], yaml.safe_load(path.read_text()))
    named = schemas["policy"]["$defs"]["term"]["properties"]["term"]["enum"]
    coded = re.findall(r'^    \{"([a-z-]+)", \w+,', (ROOT / TERMS).read_text(), re.M)
    if sorted(named) != sorted(coded):
        problems.add("policy.schema.json", f"names the terms {named}, and {TERMS} has {coded}")


def openapi_schema(document, name):
    """A component schema that can be used by itself."""
    text = json.dumps({"$ref": f"#/components/schemas/{name}", "components": document["components"]})
    return json.loads(text)


def references(value):
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "$ref":
                yield item
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def check_references(problems, document):
    for reference in references(document):
        file, _, path = reference.partition("#")
        target = document if not file else json.loads((API / file).read_text())
        try:
            for part in path.strip("/").split("/") if path else []:
                target = target[part]
        except KeyError:
            problems.add("openapi.yaml", f"{reference} leads nowhere")


def served_endpoints():
    """(method, path) of every endpoint, read from the code."""
    endpoints = set()
    for file in ROUTES:
        rows = re.findall(r'\{(?:\.method = )?"(GET|DELETE)",\s*(?:\.pattern = )?"(/[^"]*)"', (ROOT / file).read_text())
        endpoints |= {(method.lower(), path) for method, path in rows}
    verbs = re.findall(r'constexpr const char\* k\w+ = "(/\w+)";', (ROOT / VERBS).read_text())
    return endpoints | {("post", path) for path in verbs}


def check_openapi(problems, document):
    if not str(document.get("openapi", "")).startswith("3.1."):
        problems.add("openapi.yaml", "must be OpenAPI 3.1")
    for name, schema in document["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
    check_references(problems, document)
    methods = {"get", "post", "put", "delete", "patch"}
    described = set()
    for path, item in document["paths"].items():
        for method in methods & set(item):
            described.add((method, path))
            operation = item[method]
            variables = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
            if variables != set(re.findall(r"\{(\w+)\}", path)):
                problems.add("openapi.yaml", f"{path}: its path parameters are not those of {method}")
            for key in ("operationId", "summary", "responses"):
                if not operation.get(key):
                    problems.add("openapi.yaml", f"{method} {path} has no {key}")
    served = served_endpoints()
    if len(served) < 4:
        problems.add("the code", "no endpoints can be read from it")
    for method, path in sorted(served - described):
        problems.add("openapi.yaml", f"{method} {path} is served and not described")
    for method, path in sorted(described - served):
        problems.add("openapi.yaml", f"{method} {path} is described and not served")


def check_cluster(problems, schemas, path):
    for item in json.loads(path.read_text())["items"]:
        where = f"{path.name} {item['metadata']['name']}"
        annotations = item["metadata"].get("annotations", {})
        if item["kind"] == "Pod":
            problems.check(where, schemas["annotations"], annotations)
        for key, name in (("snug.dev/inventory", "inventory"), ("snug.dev/reservation", "reservation")):
            if key in annotations:
                problems.check(f"{where} {key}", schemas[name], json.loads(annotations[key]))


def check_sample(problems, document, path, sample):
    verb, status = sample["verb"], sample["status"]
    unknown = set(sample) - {"verb", "cluster", "options", "request", "status", "reply"}
    if unknown:
        problems.add(path.name, f"unknown keys {sorted(unknown)}")
    if not (EXAMPLES / sample["cluster"]).exists():
        problems.add(path.name, f"there is no {sample['cluster']}")
    request = {"bind": "BindingArgs", "preempt": "PreemptionArgs"}.get(verb, "ScheduleArgs")
    reply = {"filter": "FilterResult", "prioritize": "HostPriorityList", "preempt": "PreemptionResult", "bind": "Error"}[verb]
    if status != 200 and verb != "filter":
        reply = "Error"
    problems.check(f"{path.name} reply", openapi_schema(document, reply), sample["reply"])
    if status == 200 and path.name != "filter-lower-case-keys.json":
        problems.check(f"{path.name} request", openapi_schema(document, request), sample["request"])
    if (status == 200) == ("-bad-" in path.name):
        problems.add(path.name, f"its name and its status {status} say different things")
    if status != 200 and not sample["reply"].get("Error"):
        problems.add(path.name, "a refusal must say why in Error")


def check_samples(problems, schemas, document):
    verbs = set()
    for path in sorted(EXAMPLES.glob("*.json")):
        sample = json.loads(path.read_text())
        if "verb" in sample:
            verbs.add(sample["verb"])
            check_sample(problems, document, path, sample)
        else:
            check_cluster(problems, schemas, path)
    if verbs != {"filter", "prioritize", "preempt", "bind"}:
        problems.add("api/examples", f"there are samples of {sorted(verbs)} only")


def main():
    problems = Problems()
    schemas = load_schemas()
    document = yaml.safe_load((API / "openapi.yaml").read_text())
    check_schemas(problems, schemas)
    check_policies(problems, schemas)
    check_openapi(problems, document)
    check_samples(problems, schemas, document)
    print(f"{len(ROWS)} rows, {len(list(EXAMPLES.glob('*.json')))} samples, {problems.count} problems")
    return 1 if problems.count else 0


if __name__ == "__main__":
    sys.exit(main())

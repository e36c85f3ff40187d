"""Made-up replies of the admin port, for the dashboard's tests and pictures."""

import math

def history(gpus, until=1_795_741_200, points=360, end=0.6):
    """Six hours that end with this allocation."""
    rows = []
    for i in range(points):
        left = points - 1 - i
        used = end + 0.11 * math.sin(left / 37) + 0.05 * math.sin(left / 11) - 0.0006 * left
        rows.append({"time": until - 60 * left, "gpus": gpus, "computeMilli": 1000 * gpus, "usedComputeMilli": round(1000 * gpus * used),
                     "memoryMiB": 81920 * gpus, "usedMemoryMiB": round(81920 * gpus * (used - 0.04 - 0.02 * math.sin(left / 23))),
                     "fragmentedMilli": round(1000 * gpus * (0.07 + 0.025 * math.sin(left / 29))), "pendingPods": max(0, round(4 * math.sin(left / 19)))})
    return {"intervalSeconds": 60, "points": rows}


HISTORY = history(16)
HOSTILE = "\"'><img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


def hostile_replies():
    """Every text of every reply is an attempt to run a script."""
    text = HOSTILE
    owner = {"namespace": text, "pod": text, "uid": text, "container": text}
    gpu = {"index": 0, "uuid": text, "model": text, "memoryMiB": 1000, "healthy": False, "closed": text, "freeWhole": False, "mode": text, "usedMemoryMiB": 500,
           "usedComputeMilli": 500, "holders": [{**owner, "memoryMiB": 500, "computeMilli": 500}],
           "slices": {"axis": 8, "instances": [{"profile": text, "start": 0, "size": 4, "uuid": text, "holder": owner}, {"profile": text, "start": 4, "size": 1}]}}
    node = {"name": text, "pool": text, "closed": text, "agent": {"enforcement": text, "limits": text, "alive": False}, "gpus": [gpu, {**gpu, "uuid": "other"}], "kubeletAssigned": [{**owner, "resource": text, "count": 1}],
            "kubeletComputeMilli": 0}
    explain = {"generation": 1, "namespace": text, "pod": text, "uid": text, "node": text, "state": text, "refusal": {"code": text, "sentence": text},
               "nodes": 1, "feasible": 0, "notes": [text], "perNode": [{"node": text, "code": text, "sentence": text}],
               "request": [{"container": text, "count": 1, "text": text, "asks": text}], "reasons": [{"code": text, "sentence": text, "nodes": 1}],
               "nearest": {"node": text, "code": text, "sentence": text}, "advice": [{"kind": text, "sentence": text, "command": text}],
               "blockers": [{**owner, "node": text}, {**owner, "node": text, "gpu": 0, "memoryMiB": 1, "computeMilli": 1}],
               "placement": {"node": text, "profile": text, "decided": text, "total": 1, "scoreClass": 1, "quantum": 1, "terms": [{"term": text, "weight": 1, "value": 1, "score": 1}],
                             "runnerUp": {"node": text, "total": 1, "scoreClass": 1, "quantum": 1, "terms": []}}}
    cluster = {"generation": 1, "nodes": 1, "gpus": 2, "gpusClosed": 2, "memoryMiB": 2000, "usedMemoryMiB": 1000, "computeMilli": 2000, "usedComputeMilli": 1000,
               "freeWholeGpus": 0, "largestFreeShare": {"computeMilli": 1, "memoryMiB": 1, "node": text, "gpu": 0}, "fragmentedMilli": 0, "freeMilli": 1000,
               "models": [{"model": text, "gpus": 2, "memoryMiB": 2000, "usedMemoryMiB": 1000, "usedComputeMilli": 1000, "freeWholeGpus": 0}],
               "namespaces": [{"namespace": text, "pods": 1, "memoryMiB": 500, "computeMilli": 500, "capMilli": 1000}],
               "pending": [{"code": text, "sentence": text, "pods": 1}], "policy": {"generation": 1, "default": text}}
    return {"/v1/nodes": (200, {"generation": 1, "version": "x-1", "complete": True, "total": 1, "nodes": [node]}), "/v1/cluster": (200, cluster),
            "/v1/pods": (200, {"generation": 1, "pods": [{"namespace": text, "pod": text, "uid": text, "node": text, "state": text, "reason": text, "request": text}]}),
            "/v1/policy": (200, {"generation": 1, "source": text, "yaml": text}), "/v1/explain": (200, explain), "/readyz": (200, f"ok: {text}")}

#!/usr/bin/env python3
"""Starts snug-extender on the sample cluster and sends it the sample pods as kube-scheduler would:
filter, where several nodes come back prioritize, then bind; every call by curl. If a call
fails, or the result for a pod is not that of expected.yaml, it prints an error and ends with exit code 1."""

import argparse
import json
import re
import signal
import string
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

from map import write_map
from picture import draw, summary

HERE = Path(__file__).resolve().parent
FIRST_LINE = re.compile(r"listening extender=(\S+) admin=(\S+)")


class DemoError(Exception):
    """An error message for the user of the demo."""


def curl(url, body=None, method=None):
    """The reply's body; anything but a 2xx is a DemoError that shows it."""
    command = ["curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "10", url]
    if method:
        command += ["--request", method]
    if body is not None:
        command += ["--json", "@-"]
    text = json.dumps(body) if body is not None else None
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{url} answered: {(done.stdout + done.stderr).strip()}")
    return done.stdout


class Extender:
    """snug-extender on free ports of the loopback interface."""

    def __init__(self, program, cluster):
        try:
            self.process = subprocess.Popen(
                [program, "--cluster", str(cluster), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
                stdout=subprocess.PIPE, text=True, start_new_session=True)
        except OSError as error:
            raise DemoError(f"{program} cannot be started: {error.strerror}.") from error
        line = self.process.stdout.readline().strip()
        match = FIRST_LINE.fullmatch(line)
        if not match:
            self.stop()
            raise DemoError(f"snug-extender did not start; its first line is {line!r}.")
        self.verbs, self.admin = (f"http://{address}" for address in match.groups())
        self._wait_ready()

    def _wait_ready(self):
        command = ["curl", "--silent", "--fail", "--retry", "50", "--retry-delay", "1",
                   "--retry-max-time", "20", "--retry-all-errors", "--output", "/dev/null", self.admin + "/readyz"]
        if subprocess.run(command, check=False).returncode != 0:
            self.stop()
            raise DemoError("snug-extender started and did not become ready within 20 seconds.")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def state(self, what):
        return json.loads(curl(f"{self.admin}/v1/{what}"))


def asks(pod):
    """The pod's request, as in its annotations or limits."""
    words = [f"{key}={value}" for key, value in (pod["metadata"].get("annotations") or {}).items()]
    for container in pod["spec"]["containers"]:
        limits = container.get("resources", {}).get("limits", {})
        words += [f"{key}: {value}" for key, value in limits.items() if key.startswith("nvidia.com/")]
    return ", ".join(words) or "no GPU"


def filter_body(pod, names):
    return {"Pod": pod, "Nodes": None, "NodeNames": names}


def choose(extender, pod, names):
    """(node, refusals): as kube-scheduler would go on after filter."""
    reply = json.loads(curl(extender.verbs + "/filter", filter_body(pod, names)))
    if reply.get("Error"):
        raise DemoError(f"filter: {reply['Error']}")
    kept = reply.get("NodeNames") or []
    failed = {**(reply.get("FailedNodes") or {}), **(reply.get("FailedAndUnresolvableNodes") or {})}
    if len(kept) <= 1:
        return (kept or [None])[0], failed
    scores = json.loads(curl(extender.verbs + "/prioritize", filter_body(pod, kept)))
    best = max([score["Score"] for score in scores], default=0)
    names_by_score = [score["Host"] for score in scores if score["Score"] == best] or kept
    return min(names_by_score), failed


def bind(extender, pod, node):
    meta = pod["metadata"]
    reply = json.loads(curl(extender.verbs + "/bind", {
        "PodName": meta["name"], "PodNamespace": meta["namespace"], "PodUID": meta["uid"], "Node": node}))
    if reply.get("Error"):
        raise DemoError(f"bind: {reply['Error']}")


def slices(gpu, uid):
    """The slices of the GPU that the pod holds, as text."""
    return "".join(f"{each['profile']} at {each['start']}, " for each in gpu.get("slices", {}).get("instances", [])
                   if each.get("holder", {}).get("uid") == uid)


def devices(extender, pod, node):
    """What the pod holds according to the ledger, as text."""
    state = json.loads(curl(f"{extender.admin}/v1/nodes?name={node}"))["nodes"][0]
    uid = pod["metadata"]["uid"]
    words = [f"GPU {gpu['index']}: {slices(gpu, uid)}{holder['memoryMiB']} MiB, {holder['computeMilli']} milli"
             for gpu in state["gpus"] for holder in gpu["holders"] if holder["uid"] == uid]
    words += [f"{unit['count']} × {unit['resource']}, devices by the kubelet"
              for unit in state["kubeletAssigned"] if unit["uid"] == uid]
    return "; ".join(words) or "bound without a reservation"


def refusals(failed):
    """Each sentence once, with the nodes that it is about."""
    by_sentence = {}
    for node, sentence in sorted(failed.items()):
        by_sentence.setdefault(sentence, []).append(node)
    for sentence, nodes in by_sentence.items():
        yield sentence if len(by_sentence) == 1 else f"{', '.join(nodes)}: {sentence}"


def codes(failed):
    """Why the nodes refused, as reason codes without their sentences."""
    return sorted({sentence.partition(":")[0] for sentence in failed.values()})


def place_all(extender, pods, names):
    """Sends every pod on its way and prints how it went. Returns {uid: letter} of what is bound, and
    how each pod ended, in the form of expected.yaml."""
    letters, ends = {}, {}
    width = max(len(asks(pod)) for pod in pods)
    print(f"\n  {'pod':<12} {'asks':<{width}} {'node':<20} what it got")
    for pod, letter in zip(pods, string.ascii_lowercase):
        name = pod["metadata"]["name"]
        node, failed = choose(extender, pod, names)
        if node:
            bind(extender, pod, node)
            letters[pod["metadata"]["uid"]] = letter
            ends[name] = {"node": node, "got": devices(extender, pod, node)}
            print(f"{letter} {name:<12} {asks(pod):<{width}} {node:<20} {ends[name]['got']}")
            continue
        ends[name] = {"refused": codes(failed)}
        print(f"- {name:<12} {asks(pod):<{width}} {'none':<20} refused:")
        for sentence in refusals(failed):
            print(f"      {sentence}")
    return letters, ends


def compare(ends, path):
    """Raises a DemoError for the first pod that did not end as the file says."""
    expected = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name in {**expected, **ends}:
        if ends.get(name) != expected.get(name):
            raise DemoError(f"{name} ended with {ends.get(name)}; {path.name} expects {expected.get(name)}.")


def read_items(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))["items"]


def with_uids(pods):
    for number, pod in enumerate(pods, 1):
        pod["metadata"].update(namespace="default", uid=f"00000000-0000-4000-8000-{number:012d}")
        pod["status"] = {"phase": "Pending"}
    return pods


def serve(extender, names, folder, snugctl):
    """Prints lines to try and waits for Ctrl-C."""
    pod = with_uids([{"apiVersion": "v1", "kind": "Pod",
                      "metadata": {"name": "try-me", "annotations": {"gpu-fraction": "0.3"}},
                      "spec": {"schedulerName": "snug", "containers": [{"name": "main", "image": "x"}]}}])[0]
    pod["metadata"]["uid"] = "00000000-0000-4000-8000-00000000cafe"
    body = Path(folder) / "filter.json"
    body.write_text(json.dumps(filter_body(pod, names), indent=1), encoding="utf-8")
    lay_out = "python3 -m json.tool"
    with_snugctl = f"""
  {snugctl} top --server {extender.admin}
  {snugctl} explain default/train-four --server {extender.admin}
""" if snugctl.is_file() else ""
    print(f"""
snug-extender keeps running. Its dashboard, for a browser on this machine:

  {extender.admin}/

In another terminal, try:
{with_snugctl}
  curl -s --json @{body} {extender.verbs}/filter | {lay_out}
  curl -s --json @{body} {extender.verbs}/prioritize | {lay_out}
  curl -s --json '{{"PodName":"try-me","PodNamespace":"default","PodUID":"{pod["metadata"]["uid"]}","Node":"l40s"}}' {extender.verbs}/bind | {lay_out}
  curl -s {extender.admin}/v1/nodes | {lay_out}
  curl -s {extender.admin}/v1/pods | {lay_out}
  curl -s -X DELETE {extender.admin}/v1/pods/default/notebook-2 | {lay_out}
  curl -s {extender.admin}/metrics
  curl -s {extender.admin}/ | {lay_out}

Ctrl-C ends it.""", flush=True)
    code = extender.process.wait()
    if code < 0:
        raise DemoError(f"snug-extender was ended by {signal.Signals(-code).name}.")
    if code > 0:
        raise DemoError(f"snug-extender ended with exit code {code}.")
    print("snug-extender ended with exit code 0.")


def run(options):
    cluster = HERE / "cluster.yaml"
    names = [node["metadata"]["name"] for node in read_items(cluster)]
    extender = Extender(options.extender, cluster)
    try:
        print(f"snug-extender answers kube-scheduler's verbs at {extender.verbs} and people at {extender.admin}.")
        letters, ends = place_all(extender, with_uids(read_items(HERE / "pods.yaml")), names)
        print("\nHow full every GPU is (a letter is a pod, as above):\n")
        state = extender.state("nodes")
        draw(state, letters)
        print("\n" + summary(state, len(letters), len(ends) - len(letters)))
        compare(ends, options.expected)
        if options.svg:
            options.svg.write_text(write_map(state), encoding="utf-8")
        if options.serve:
            with tempfile.TemporaryDirectory(prefix="snug-demo-") as folder:
                serve(extender, names, folder, Path(options.extender).with_name("snugctl"))
    finally:
        extender.stop()


def main():
    parser = argparse.ArgumentParser(description="Snug's demo on a sample cluster; see deploy/demo.sh.")
    parser.add_argument("--extender", required=True, help="the program snug-extender")
    parser.add_argument("--expected", type=Path, default=HERE / "expected.yaml", help="how each pod must end")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also write the picture of the GPUs as SVG")
    parser.add_argument("--serve", action="store_true", help="keep it running and print lines to try")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        run(options)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nEnded.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

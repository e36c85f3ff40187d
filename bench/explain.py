#!/usr/bin/env python3
"""What an explanation takes on a cluster of 5,000 nodes with 8 GPUs each, and whether filter is slower
meanwhile: GET /v1/explain for pods of several kinds, each with and without the reasons of all nodes; then
filter calls in blocks, every second of them while explanations are asked for without a pause.

Exit code 1 if the median of an explanation is over 50 ms, or filter takes more than 5 % longer beside
them: by the median of the ratios of blocks that follow each other.
Run: python3 bench/explain.py [--program build/release/snug-extender] [--nodes 5000] [--record]
"""

import datetime
import http.client
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/program"))

import gpu_cluster  # noqa: E402
from dashboard import Extender, finish, processor, read_options  # noqa: E402

RESULT = ROOT / "bench/results/explain.md"
ROUNDS = 15
BLOCKS = 40  # of each kind
CALLS = 20  # of filter in each block
MOST_EXPLAIN_MS = 50
MOST_RATIO = 1.05
PODS = {
    "a quarter of a GPU, which fits": {"gpu-fraction": "0.25"},
    "eight whole GPUs": {"gpu-fraction": "8"},
    "six tenths of each of eight GPUs": {"gpu-fraction": "0.6", "gpu-count": "8"},
    "a slice 3g.20gb on each of eight cards": {"gpu-mig-profile": "3g.20gb", "gpu-count": "8"},
    "a tenth of a GPU beside seven tenths": {"gpu-fraction.main": "0.1", "gpu-fraction.beside": "0.7"},
    "more memory than any GPU has": {"gpu-memory": "200Gi"},
    "a model that no node has": {"gpu-fraction": "0.5", "gpu-model": "MI300X"},
}


class Caller:
    """One keep-alive connection."""

    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def timed(self, method, path, body=None):
        start = time.perf_counter()
        self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        reply = self.connection.getresponse()
        text = reply.read()
        passed = time.perf_counter() - start
        if reply.status != 200:
            raise RuntimeError(f"{path[:100]}: {reply.status} {text[:200]}")
        return passed


def explain_path(annotations, wide=False):
    pod = gpu_cluster.pod("explained", "batch", annotations)
    containers = {key.partition(".")[2] for key in annotations} - {"", "main"}
    pod["spec"]["containers"] += [{"name": name} for name in containers]
    return f"/v1/explain?manifest={urllib.parse.quote(json.dumps(pod))}" + ("&nodes=true" if wide else "")


def explanations(extender):
    """{the pod: ([milliseconds], [milliseconds with all nodes])}"""
    rows = {}
    for about, annotations in PODS.items():
        times = [[1000 * Caller(extender.admin).timed("GET", explain_path(annotations, wide)) for _ in range(ROUNDS)]
                 for wide in (False, True)]
        rows[about] = tuple(times)
    return rows


def ask_until(ended, asking, count, address):
    """Asks for explanations without a pause while `asking` is set, and counts them."""
    path = explain_path(PODS["eight whole GPUs"])
    while not ended.is_set():
        if asking.wait(0.01):
            Caller(address).timed("GET", path)
            count.value += 1


def filter_beside_explanations(extender):
    """([microseconds of filter alone], [the same while explanations are computed], the ratio of their medians
    in each pair of blocks, explanations meanwhile). Another process asks for them, so that the two do not
    share Python's lock."""
    body = json.dumps({"Pod": gpu_cluster.pod("asked", "batch", PODS["eight whole GPUs"]), "Nodes": None,
                       "NodeNames": extender.names})
    ended, asking, count = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Value("i", 0)
    asker = multiprocessing.Process(target=ask_until, args=(ended, asking, count, extender.admin))
    asker.start()
    verbs = Caller(extender.verbs)
    blocks = ([], [])
    try:
        for block in range(2 * BLOCKS):
            (asking.set if block % 2 else asking.clear)()
            time.sleep(0.1)  # until the last explanation has ended
            blocks[block % 2].append([1e6 * verbs.timed("POST", "/filter", body) for _ in range(CALLS)])
    finally:
        ended.set()
        asker.join()
    if asker.exitcode != 0 or count.value < BLOCKS:
        raise RuntimeError(f"only {count.value} explanations beside filter; exit code {asker.exitcode}")
    ratios = [statistics.median(beside) / statistics.median(alone) for alone, beside in zip(*blocks)]
    return *([time for block in kind for time in block] for kind in blocks), ratios, count.value


def main():
    options = read_options(__doc__, 5000, RESULT)
    items = gpu_cluster.large(options.nodes)
    with tempfile.TemporaryDirectory(prefix="snug-bench-") as folder:
        extender = Extender(options.program, items, folder)
        try:
            rows = explanations(extender)
            alone, beside, ratios, count = filter_beside_explanations(extender)
        finally:
            extender.process.terminate()
            extender.process.wait()
    slowest = max(statistics.median(times) for pair in rows.values() for times in pair)
    ratio = statistics.median(ratios)
    lines = [
        "# Explanations", "", "    python3 bench/explain.py --record", "",
        f"{datetime.date.today()}, {processor()}. {options.nodes} nodes with 8 GPUs each, {len(items) - options.nodes} pods. The client is "
        "Python, so its own time is part of each figure.", "",
        "| a pod that asks for | median, ms | highest | with the reasons of all nodes, median, ms | highest |", "|---|---|---|---|---|"]
    lines += [f"| {about} | {statistics.median(plain):.1f} | {max(plain):.1f} | {statistics.median(wide):.1f} | {max(wide):.1f} |"
              for about, (plain, wide) in rows.items()]
    lines += ["", f"filter: median {statistics.median(alone):.0f} µs; while {count} explanations were computed one after the other, "
                  f"{statistics.median(beside):.0f} µs. In the median of {len(ratios)} pairs of blocks it took {ratio:.2f} times as long.", ""]
    verdict = slowest <= MOST_EXPLAIN_MS and ratio <= MOST_RATIO
    lines.append(f"{'PASS' if verdict else 'FAIL'}: an explanation takes at most {slowest:.1f} ms (at most {MOST_EXPLAIN_MS}), and filter "
                 f"{ratio:.2f} times as long beside it (at most {MOST_RATIO}).")
    return finish(lines, verdict, options, RESULT)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The memory that request bodies need: starts snug-extender in embedded mode, sends bodies of the
worst shapes one by one and many at once, and prints its peak memory and what it keeps afterwards.

Exit code 1 if a peak is over the memory limit in deploy/dedicated.yaml.
Run: python3 bench/memory.py [--program build/release/snug-extender] [--nodes 5000]
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
LARGEST = 64 * MIB  # limit maxBodyBytes
GPUS = 8


def manifest(nodes):
    gpus = [{"index": i, "uuid": f"GPU-{i}", "model": "NVIDIA-A100-SXM4-40GB", "memoryMiB": 40960}
            for i in range(GPUS)]
    inventory = json.dumps({"version": 1, "gpus": gpus})
    return {"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": f"node-{n}", "annotations": {"snug.dev/inventory": inventory}}}
        for n in range(nodes)]}


POD = ('{"metadata":{"name":"p","namespace":"d","uid":"u","annotations":{"gpu-fraction":"0.5"}},'
       '"spec":{"containers":[{"name":"main"}]}}')


def fill(frame, unit, size):
    """The frame with as many units in the place of @ as make a body of at most this size."""
    room = size - len(frame)
    return frame.replace("@", unit * (room // len(unit) - 1)).encode()


def bodies(nodes):
    """{shape: function from a size to a body}"""
    around = '{"Pod":' + POD + ',"NodeNames":["node-0"],"x":[@0]}'
    names = ",".join(f'"node-{n}"' for n in range(nodes))

    def objects(size):
        each = size // nodes - 40
        items = ",".join(json.dumps({"metadata": {"name": f"node-{n}"}, "x": "y" * max(0, each - 40)})
                         for n in range(nodes))
        return ('{"Pod":' + POD + ',"Nodes":{"items":[' + items + "]}}").encode()

    def labels(size):
        frame = ('{"Pod":{"metadata":{"name":"p","namespace":"d","uid":"u","annotations":{"gpu-fraction":"0.5"},'
                 '"labels":{@}},"spec":{"containers":[{"name":"main"}]}},"NodeNames":["node-0"]}')
        return frame.replace("@", ",".join(f'"{n:07}":""' for n in range((size - len(frame)) // 13))).encode()

    return {
        "labels": labels,
        "NodeNames": lambda size: ('{"Pod":' + POD + ',"NodeNames":[' + names + "]}").encode(),
        "Nodes": objects,
        "numbers": lambda size: fill(around, "1,", size),
        "lists": lambda size: fill(around, "[],", size),
        "texts": lambda size: fill(around, '"",', size),
    }


class Extender:
    def __init__(self, program, cluster):
        self.process = subprocess.Popen(
            [program, "--cluster", cluster, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(re.search(r"extender=127\.0\.0\.1:(\d+)", self.process.stdout.readline())[1])

    def post(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/filter", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            reply.read()
            return str(reply.status)
        except OSError:
            return "closed"
        finally:
            connection.close()

    def mebibytes(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) // 1024

    def forget_peak(self):
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")


def send(extender, body, calls, at_once):
    """{status: count}"""
    statuses = {}
    lock = threading.Lock()

    def work(count):
        for _ in range(count):
            status = extender.post(body)
            with lock:
                statuses[status] = statuses.get(status, 0) + 1

    threads = [threading.Thread(target=work, args=(calls // at_once,)) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def allowed_mebibytes():
    text = (ROOT / "deploy/dedicated.yaml").read_text(encoding="utf-8")
    extender = text[text.index("- name: extender"):]
    return int(re.search(r"limits:\s+memory: (\d+)Mi", extender)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build/release/snug-extender"))
    parser.add_argument("--nodes", type=int, default=5000)
    arguments = parser.parse_args()
    most = allowed_mebibytes()
    shapes = bodies(arguments.nodes)
    rows = [("NodeNames", 0, 200, 1), ("NodeNames", 0, 800, 100)]
    rows += [(shape, LARGEST, 5, 1) for shape in ("Nodes", "numbers", "lists", "texts", "labels")]
    rows += [("numbers", LARGEST, 16, 16), ("Nodes", LARGEST, 16, 16), ("numbers", MIB, 768, 384)]
    over = False
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster.json"
        cluster.write_text(json.dumps(manifest(arguments.nodes)), encoding="utf-8")
        print(f"{'bodies of':<12}{'MiB':>6}{'calls':>7}{'at once':>9}{'peak MiB':>10}{'kept MiB':>10}  replies")
        for shape, size, calls, at_once in rows:
            extender = Extender(arguments.program, str(cluster))
            try:
                extender.forget_peak()
                body = shapes[shape](size)
                statuses = send(extender, body, calls, at_once)
                peak, kept = extender.mebibytes("VmHWM"), extender.mebibytes("VmRSS")
            finally:
                extender.process.terminate()
                extender.process.wait()
            over = over or peak > most
            replies = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
            print(f"{shape:<12}{len(body) / MIB:>6.1f}{calls:>7}{at_once:>9}{peak:>10}{kept:>10}  {replies}", flush=True)
    if over:
        print(f"a peak is over the {most} MiB that deploy/dedicated.yaml allows", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

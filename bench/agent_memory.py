#!/usr/bin/env python3
"""The memory of snug-agent with 200 pods on its node, and the time in which it answers CreateContainer: starts it with an API
server by TLS, a container runtime and a GPU driver that this program plays. Pods of some 12 KB come one by one, each
with a container and several changes; then the watch ends and all pods are listed again, 20 times.

Prints the resident memory after each phase, and at the end by mapping, and how many answers came in time. Exit code 1 if
the memory is over 20 MB after a phase, or fewer than 99 % of the answers came within 5 ms.
Run: python3 bench/agent_memory.py [--build build/dev] [--pods 200] [--record]
"""

import argparse
import collections
import http.server
import json
import os
import platform
import queue
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/standin"))
import nvml_state  # noqa: E402

MOST_BYTES = 20_000_000
IN_TIME_S, LEAST_IN_TIME_PERCENT = "0.005", 99
NODE, TOKEN = "gpu-node-1", "t" * 1200
RELISTS, CHANGES, PATIENCE_S, TRIM_S = 20, 5, 60, 1  # TRIM_S: limit heap_trim_s
BOUNDS = ("0.0025", IN_TIME_S, "+Inf")


def pod(number, card, version):
    """A pod of a training job, as an API server shows it: with sidecar, volumes, probes and managed fields."""
    name, uid = f"train-{number:04}-7c9d8b6f5-x2x9z", f"00000000-0000-4000-8000-{number:012}"
    reservation = {"version": 1, "uid": uid, "node": NODE, "containers": [
        {"name": "main", "request": "gpu-fraction=0.01",
         "devices": [{"index": card["minor"], "uuid": card["uuid"], "mode": "time-slicing", "memoryMiB": 409,
                      "computeMilli": 10}]}]}
    env = [{"name": f"TRAINING_SETTING_{each:02}", "value": f"s3://bucket-{each}/datasets/imagenet/shard-{each:05}"}
           for each in range(24)]
    mounts = [{"name": f"volume-{each}", "mountPath": f"/mnt/volume-{each}", "readOnly": True} for each in range(6)]
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1,
             "successThreshold": 1, "failureThreshold": 3}
    container = {"image": "registry.example/team/trainer@sha256:" + "ab" * 32, "env": env, "volumeMounts": mounts,
                 "args": ["--learning-rate=0.01", "--epochs=100", "--checkpoint=/mnt/volume-1/checkpoints"],
                 "livenessProbe": probe, "readinessProbe": probe, "terminationMessagePath": "/dev/termination-log",
                 "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
                 "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}}}
    fields = {"f:metadata": {"f:labels": {f"f:label-{each}": {} for each in range(12)}},
              "f:spec": {"f:containers": {'k:{"name":"main"}': {"f:env": {
                  f'k:{{"name":"TRAINING_SETTING_{each:02}"}}': {".": {}, "f:name": {}, "f:value": {}}
                  for each in range(24)}}}}}
    kinds = ("Initialized", "Ready", "ContainersReady", "PodScheduled", "PodReadyToStartContainers")
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": "team-research", "uid": uid, "resourceVersion": str(version),
            "creationTimestamp": "2026-11-28T10:00:00Z", "generateName": name[:-5],
            "labels": {f"team.example/label-{each}": f"value-{each}" for each in range(12)},
            "annotations": {"snug.dev/reservation": json.dumps(reservation), "gpu-fraction": "0.01",
                            "snug.dev/gpu-index": str(card["minor"]), "prometheus.io/scrape": "true"},
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name[:-6], "uid": uid, "controller": True}],
            "managedFields": [{"manager": each, "operation": "Update", "apiVersion": "v1", "time": "2026-11-28T10:00:00Z",
                               "fieldsType": "FieldsV1", "fieldsV1": fields} for each in ("kubelet",)]},
        "spec": {"nodeName": NODE, "serviceAccountName": "trainer", "schedulerName": "default-scheduler",
                 "containers": [{"name": "main", **container}, {"name": "sidecar", **container}],
                 "volumes": [{"name": f"volume-{each}", "persistentVolumeClaim": {"claimName": f"claim-{each}"}}
                             for each in range(6)],
                 "tolerations": [{"key": f"node.kubernetes.io/{each}", "operator": "Exists", "effect": "NoExecute"}
                                 for each in ("not-ready", "unreachable")]},
        "status": {"phase": "Running", "hostIP": "10.0.0.1", "podIP": f"10.1.0.{number % 250}",
                   "conditions": [{"type": kind, "status": "True", "lastProbeTime": None,
                                   "lastTransitionTime": "2026-11-28T10:00:00Z"} for kind in kinds],
                   "containerStatuses": [{"name": each, "ready": True, "restartCount": version % 7, "image": "trainer",
                                          "state": {"running": {"startedAt": "2026-11-28T10:00:00Z"}}}
                                         for each in ("main", "sidecar")]}}


class Api:
    """An API server that has one node and its pods."""

    def __init__(self, folder):
        self.lock = threading.Lock()
        self.pods, self.version, self.watchers, self.leases = {}, 100, [], {}
        self.node = {"name": NODE, "uid": "node-uid", "resourceVersion": "1", "labels": {}, "annotations": {}}
        self.lists = self.marks = 0
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", folder / "key.pem", "-out", folder / "ca.pem"], check=True, capture_output=True)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "ca.pem", folder / "key.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        (folder / "kubeconfig").write_text(json.dumps({
            "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": TOKEN}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.server.server_port}",
                                                   "certificate-authority": str(folder / "ca.pem")}}]}))

    def change(self, number, card, kind="MODIFIED"):
        with self.lock:
            self.version += 1
            self.pods[number] = pod(number, card, self.version)
            self._send({"type": kind, "object": self.pods[number]})

    def expire(self):
        """Ends the watches so that the pods are listed again."""
        with self.lock:
            self._send({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version"}})
            for each in self.watchers:
                each.put(b"")
            self.watchers.clear()

    def _send(self, event):
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        for each in self.watchers:
            each.put(line)

    def _list(self):
        with self.lock:
            self.lists += 1
            items = [{key: part for key, part in each.items() if key not in ("kind", "apiVersion")}
                     for each in self.pods.values()]
            return {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(self.version)}, "items": items}

    def _reply(self, method, path, body):
        """(status, object)"""
        if path.startswith("/api/v1/pods"):
            return 200, self._list()
        if path.startswith("/api/v1/nodes/"):
            if method == "PATCH":
                self.marks += 1
                for key, part in body["metadata"].items():
                    if isinstance(part, dict):
                        self.node[key] = {**self.node.get(key, {}), **part}
            return 200, {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": self.node}
        if "/leases" in path:
            if method == "GET" and path not in self.leases:
                return 404, {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "none",
                             "details": {"name": path.rsplit("/", 1)[1], "kind": "leases", "group": "coordination.k8s.io"}}
            if method != "GET":
                self.version += 1
                body["metadata"]["resourceVersion"] = str(self.version)
                self.leases[path if method == "PUT" else f"{path}/{body['metadata']['name']}"] = body
            return 200, self.leases[path] if method != "POST" else body
        return 200, body or {}

    def _handler(api):  # pylint: disable=no-self-argument
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size)) if size else None
                if "watch=1" in self.path:
                    return self.watch()
                status, value = api._reply(self.command, self.path, body)
                text = json.dumps(value, separators=(",", ":")).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def watch(self):
                events = queue.SimpleQueue()
                with api.lock:
                    api.watchers.append(events)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.close_connection = True
                try:
                    while line := events.get():
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                except OSError:
                    pass  # the agent has ended

            do_GET = do_POST = do_PUT = do_PATCH = answer

            def log_message(self, *_):
                pass
        return Handler


def number_bytes(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(key, value):
    """A field of a protobuf message: a text, a message or a number."""
    if isinstance(value, int):
        return number_bytes(key << 3) + number_bytes(value)
    value = value.encode() if isinstance(value, str) else value
    return number_bytes(key << 3 | 2) + number_bytes(len(value)) + value


def entry(key, value):
    return field(1, key) + field(2, value)


def sandbox(value):
    """The sandbox of a pod, as the runtime describes it."""
    metadata = value["metadata"]
    return (field(1, "sandbox" + metadata["uid"]) + field(2, metadata["name"]) + field(3, metadata["uid"])
            + field(4, metadata["namespace"])
            + b"".join(field(5, entry(*each)) for each in metadata["labels"].items())
            + b"".join(field(6, entry(*each)) for each in metadata["annotations"].items()))


def container(value):
    """The container main of a pod."""
    uid, spec = value["metadata"]["uid"], value["spec"]["containers"][0]
    return (field(1, "container" + uid) + field(2, "sandbox" + uid) + field(3, "main")
            + b"".join(field(8, f"{each['name']}={each['value']}") for each in spec["env"])
            + b"".join(field(9, field(1, each["mountPath"]) + field(2, "bind") + field(3, f"/var/lib/{each['name']}")
                             + field(4, "rbind") + field(4, "ro")) for each in spec["volumeMounts"])
            + field(11, field(5, "/kubepods/" + uid)))


class Runtime:
    """containerd's end of NRI's socket."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.stream = 1

    def accept(self, pods=()):
        """Serves an agent that starts; the containers of the pods run already."""
        self.listener.settimeout(PATIENCE_S)
        self.connection = self.listener.accept()[0]
        self.connection.settimeout(PATIENCE_S)
        stream, _ = self._receive()
        self._send(2, stream, 2, b"")
        self.call("Configure", field(2, "containerd") + field(3, "v2.4.2"))
        self.call("Synchronize", b"".join(field(1, sandbox(each)) for each in pods)
                  + b"".join(field(2, container(each) + field(4, 3)) for each in pods))

    def _send(self, connection, stream, kind, payload):
        message = struct.pack(">IIBB", len(payload), stream, kind, 0) + payload
        self.connection.sendall(struct.pack(">II", connection, len(message)) + message)

    def _read(self, size):
        data = b""
        while len(data) < size:
            data += self.connection.recv(size - len(data)) or sys.exit("the agent closed the runtime's connection")
        return data

    def _receive(self):
        """(stream, payload)"""
        message = b""
        while len(message) < 10 or len(message) < 10 + struct.unpack(">I", message[:4])[0]:
            _, size = struct.unpack(">II", self._read(8))
            message += self._read(size)
        return struct.unpack(">I", message[4:8])[0], message[10:]

    def call(self, method, payload):
        """The payload of the response."""
        self.stream += 2
        self._send(1, self.stream, 1, field(1, "nri.pkg.api.v1alpha1.Plugin") + field(2, method) + field(3, payload))
        stream, response = self._receive()
        assert stream == self.stream
        return response

    def run(self, value):
        """Creates and starts the container of a pod; whether the agent gave it a device."""
        request = field(1, sandbox(value)) + field(2, container(value))
        created = self.call("CreateContainer", request)
        self.call("PostCreateContainer", request)
        self.call("StartContainer", request)
        return b"snug.dev/gpu=" in created


def build_folder(text):
    """The build folder of that name, for argparse."""
    folder = Path(text).resolve()
    for each in (folder / "snug-agent", folder / "tests/standin/libnvidia-ml.so.1"):
        if not each.is_file():
            raise argparse.ArgumentTypeError(f"{each} is missing: build Snug there first (CONTRIBUTING.md)")
    return folder


def add_build_argument(parser):
    parser.add_argument("--build", type=build_folder, default=str(ROOT / "build/dev"), help="where snug-agent and tests/standin are built")


def make_driver(folder, library):
    """The files of a driver; /dev/null stands for its device nodes."""
    state = nvml_state.NvmlState(folder / "nvml.json", [nvml_state.card(number) for number in range(8)])
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    for name in ("cuda", "nvidia-ml"):
        (libraries / f"lib{name}.so.{nvml_state.DRIVER}").write_bytes(library.read_bytes())
        (libraries / f"lib{name}.so.1").symlink_to(f"lib{name}.so.{nvml_state.DRIVER}")
    (folder / "dev").mkdir()
    for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{number}" for number in range(8))):
        os.mknod(folder / "dev" / name, 0o666 | 0o020000, os.makedev(195, 0))
    return state.read()["cards"]


class Agent:
    def __init__(self, build, folder):
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            [build / "snug-agent", f"--node-name={NODE}", f"--kubeconfig={folder}/kubeconfig", "--listen=127.0.0.1:0",
             f"--nri-socket={folder}/nri.sock", f"--cdi-folder={folder}/cdi", f"--driver-root={folder}",
             f"--dev-root={folder}", f"--mps-root={folder}/mps"],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "SNUG_STANDIN_NVML": str(folder / "nvml.json")})
        self.admin = re.search(r"admin=(\S+)", self.process.stdout.readline())[1]

    def end(self):
        self.process.terminate()
        self.process.wait()

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.admin}{path}", timeout=5) as answer:
            return answer.read().decode()

    def resident(self):
        """Bytes: (now, at most so far)"""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return tuple(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 for name in ("VmRSS", "VmHWM"))

    def mappings(self):
        """name of the mapped file -> [resident KiB, of these private and written]"""
        found = collections.defaultdict(lambda: [0, 0])
        name = ""
        for line in Path(f"/proc/{self.process.pid}/smaps").read_text().splitlines():
            words = line.split()
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                name = Path(words[5]).name if len(words) > 5 else "anonymous"
            elif words[0] == "Rss:":
                found[name][0] += int(words[1])
            elif words[0] in ("Private_Dirty:", "Shared_Dirty:"):
                found[name][1] += int(words[1])
        return {each: tuple(sizes) for each, sizes in found.items() if sizes[0]}

    def answer_times(self):
        text = self.get("/metrics")
        return {bound: int(float(re.search(
            rf'creation_duration_seconds_bucket{{le="{re.escape(bound)}"}} (\S+)', text)[1])) for bound in BOUNDS}

    def thread_times(self):
        """Of the thread that answers the runtime: seconds on a processor, seconds of waiting for one, and how often it was
        taken off one."""
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "snug-nri":
                ran, waited, _ = (task / "schedstat").read_text().split()
                taken_off = re.search(r"nonvoluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text())[1]
                return int(ran) / 1e9, int(waited) / 1e9, int(taken_off)
        sys.exit("the agent has no thread snug-nri")


def wait_until(what, condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not after {PATIENCE_S} s")
        time.sleep(0.05)


def is_ready(agent):
    try:
        agent.get("/readyz")
        return True
    except OSError:
        return False


def churn(agent, api, runtime, cards, pods, rows):
    """The pods come, are listed again and again, and change; how many containers got their device."""
    given = 0
    for number in range(pods):
        card = cards[number % len(cards)]
        api.change(number, card, "ADDED")
        for _ in range(5):
            api.change(number, card)
        given += runtime.run(api.pods[number])
        agent.get("/metrics")
    rows.append((f"{pods} pods came", agent.resident()))
    for _ in range(RELISTS):
        lists = api.lists
        api.expire()
        wait_until("the pods are listed again", lambda: api.lists > lists and api.watchers)  # noqa: B023
    rows.append((f"they were listed {RELISTS} times", agent.resident()))
    return given + change_all(api, runtime, cards, pods)


def change_all(api, runtime, cards, pods):
    given = 0
    for turn in range(CHANGES * pods):
        api.change(turn % pods, cards[turn % len(cards)])
        given += runtime.run(api.pods[turn % pods])
    time.sleep(1)
    return given


def measure(build, pods):
    """([(phase, resident bytes)], mappings, answer times, times of the thread)"""
    rows = []
    # The CDI specifications are in a file system in memory, as /var/run is.
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir="/dev/shm") as specs:
        folder = Path(name)
        (folder / "cdi").symlink_to(specs)
        cards = make_driver(folder, build / "tests/standin/libnvidia-ml.so.1")
        api, runtime = Api(folder), Runtime(folder / "nri.sock")
        agent = Agent(build, folder)
        try:
            runtime.accept()
            wait_until("the agent is ready", lambda: is_ready(agent))
            rows.append(("ready, no pods", agent.resident()))
            given = churn(agent, api, runtime, cards, pods, rows)
            rows.append((f"{CHANGES * pods} changes", agent.resident()))
            agent.end()
            api.expire()
            agent = Agent(build, folder)
            runtime.accept(api.pods.values())
            wait_until("the agent is ready", lambda: is_ready(agent))
            rows.append((f"a start with {pods} pods", agent.resident()))
            given += change_all(api, runtime, cards, pods)
            rows.append((f"{CHANGES * pods} changes", agent.resident()))
            time.sleep(TRIM_S + 1)
            rows.append((f"{TRIM_S + 1} s", agent.resident()))
            if given != (2 * CHANGES + 1) * pods:
                sys.exit(f"{given} containers got their device: {(folder / 'log').read_text()[-2000:]}")
            return rows, agent.mappings(), agent.answer_times(), agent.thread_times()
        finally:
            agent.end()


def report(rows, mappings, times, thread):
    lines = ["| after | resident, MB | at most until then |", "|---|---|---|"]
    lines += [f"| {phase} | {now / 1e6:.1f} | {most / 1e6:.1f} |" for phase, (now, most) in rows]
    lines += ["", "At the end:", "", "| mapping | resident KiB | of these written |", "|---|---|---|"]
    largest = sorted(mappings.items(), key=lambda each: -each[1][0])
    lines += [f"| {name} | {resident} | {dirty} |" for name, (resident, dirty) in largest[:12]]
    rest = [sizes for _, sizes in largest[12:]]
    lines += [f"| {len(rest)} others | {sum(each[0] for each in rest)} | {sum(each[1] for each in rest)} |"]
    count = times["+Inf"]
    lines += ["", f"CreateContainer, {count} times: {100 * times['0.0025'] / count:.1f} % answered within 2.5 ms, "
              f"{100 * times[IN_TIME_S] / count:.1f} % within 5 ms. With each came PostCreateContainer and StartContainer. For "
              f"all, the agent's thread used {1e3 * thread[0] / count:.2f} ms of a processor per container, waited "
              f"{1e3 * thread[1] / count:.2f} ms for one while it could have run, and was taken off one {thread[2]} times."]
    return "\n".join(lines) + "\n"


def too_much(rows, _mappings, times, _thread):
    """What is over its limit, as sentences."""
    failures = []
    largest = max(now for _, (now, _) in rows)
    if largest > MOST_BYTES:
        failures.append(f"{largest / 1e6:.1f} MB are over {MOST_BYTES / 1e6:.0f} MB")
    in_time, count = times[IN_TIME_S], times["+Inf"]
    if 100 * in_time < LEAST_IN_TIME_PERCENT * count:
        failures.append(f"{in_time} of {count} answers came within {1e3 * float(IN_TIME_S):.0f} ms, which is under "
                        f"{LEAST_IN_TIME_PERCENT} %")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_build_argument(parser)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--record", action="store_true", help="write bench/results/agent.md")
    arguments = parser.parse_args()
    measured = measure(arguments.build, arguments.pods)
    text = report(*measured)
    print(text, end="")
    if arguments.record:
        (ROOT / "bench/results/agent.md").write_text(
            f"# snug-agent with {arguments.pods} pods\n\n`python3 bench/agent_memory.py --record`, {date.today()}, "
            f"{os.cpu_count()} cores, {platform.machine()}.\n\n{text}", encoding="utf-8")
    failures = too_much(*measured)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

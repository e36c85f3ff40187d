"""The paths of the built programs, and functions that run them."""

import json
import os
import re
import subprocess
import threading
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SNUG_PROGRAMS", ROOT / "build/dev")).resolve()
EXTENDER = BUILD / "snug-extender"
SNUGCTL = BUILD / "snugctl"
AGENT = BUILD / "snug-agent"
MPS = BUILD / "snug-mps"
GATE = BUILD / "snug-gate"
CLUSTER = ROOT / "deploy/demo/cluster.yaml"
SECONDS = 300
FIRST_LINE = re.compile(r"listening extender=(\S+) admin=(\S+)\n")


def run(*command, **variables):
    """The finished program, with its output as text; `variables` are added to the environment."""
    return subprocess.run([str(word) for word in command], cwd=ROOT, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          timeout=SECONDS, env={**os.environ, **variables})


def start(case: unittest.TestCase, *command, **variables):
    """A program that ends with the test, and after SECONDS, so that no read of its output hangs."""
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env={**os.environ, **variables})

    last = threading.Timer(SECONDS, process.kill)
    last.start()

    def end():  # first by asking, since the demo then ends the extender that it has started
        last.cancel()
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    case.addCleanup(end)
    return process


def start_on(case, cluster, *flags):
    """(process, URL of the verbs, URL of the admin port) of the extender on this cluster."""
    process = start(case, EXTENDER, "--cluster", cluster, "--listen", "127.0.0.1:0",
                    "--admin-listen", "127.0.0.1:0", *flags)
    line = process.stdout.readline()
    match = FIRST_LINE.fullmatch(line)
    case.assertTrue(match, line)
    return process, f"http://{match[1]}", f"http://{match[2]}"


def start_extender(case, *flags):
    """(process, URL of the admin port) of the extender on the demo's cluster."""
    process, _, admin = start_on(case, CLUSTER, *flags)
    return process, admin


KUBECONFIG = """{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
users: [{name: u, user: {token: t}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]}
"""


def agent_command(folder, listen):
    """That of an agent that reaches neither an API server nor a container runtime."""
    config = Path(folder) / "kubeconfig"
    config.write_text(KUBECONFIG)
    return (AGENT, "--node-name=a", f"--kubeconfig={config}", f"--listen={listen}", f"--nri-socket={folder}/nri.sock",
            f"--cdi-folder={folder}", f"--nvml-library={folder}/none")


def admin_url(case, process):
    """As the program says when it listens."""
    line = process.stdout.readline()
    match = re.fullmatch(r"listening admin=(\S+)\n", line)
    case.assertTrue(match, line)
    return f"http://{match[1]}"


def start_agent(case, folder):
    """The URL of its port."""
    return admin_url(case, start(case, *agent_command(folder, "127.0.0.1:0")))


def start_mps(case, folder):
    """The URL of the port of a snug-mps that nobody asks for daemons."""
    return admin_url(case, start(case, MPS, f"--root={folder}/mps", f"--driver-root={folder}", "--listen=127.0.0.1:0"))


def post(url, value):
    request = urllib.request.Request(url, json.dumps(value).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def fetch(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.status, json.loads(answer.read())


def ask_filter(verbs, pod, names):
    """The reply of filter."""
    return post(f"{verbs}/filter", {"Pod": pod, "Nodes": None, "NodeNames": names})


def place(case, verbs, pod, names):
    """Binds the pod to the node that filter names, and returns the node."""
    [node] = ask_filter(verbs, pod, names)["NodeNames"]
    about = pod["metadata"]
    done = post(f"{verbs}/bind", {"PodName": about["name"], "PodNamespace": about["namespace"],
                                  "PodUID": about["uid"], "Node": node})
    case.assertEqual(done, {"Error": ""})
    return node

"""snug-extender under test: started, asked over its two ports, killed and started again."""

import http.client
import json
import os
import pathlib
import re
import ssl
import uuid

from .manifests import ROOT
from .processes import wait_until

_FIRST_LINE = re.compile(r"listening extender=127\.0\.0\.1:(\d+) admin=127\.0\.0\.1:(\d+)"
                         r"(?: webhook=127\.0\.0\.1:(\d+))?")
_METRIC = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")


def program():
    return pathlib.Path(os.environ.get("SNUG_EXTENDER", ROOT / "build/dev/snug-extender"))


class Extender:
    """`flags` are names and values of the command line, without the dashes; a list is a flag that
    is given several times."""

    def __init__(self, plane, kubeconfig, flags, env=None, host=None):
        self._plane = plane
        self._host = host
        self._flags = {"kubeconfig": kubeconfig, "listen": "127.0.0.1:0",
                       "admin-listen": "127.0.0.1:0", **flags}
        # A container that is restarted keeps its pod's uid.
        self._env = {"POD_UID": str(uuid.uuid4()), **(env or {})}
        self.process = None
        self.admin_token = None  # for the state that the tests read
        self.port = self.admin_port = self.webhook_port = None

    def launch(self):
        """Starts the process, and waits for nothing."""
        command = [program()]
        for name, value in self._flags.items():
            for each in value if isinstance(value, list) else [value]:
                command += [f"--{name}", each]
        self.process = self._plane.run("snug-extender", command, self._env, self._host)

    def start(self, wait_ready=True):
        """The first start picks the ports, later ones use them again."""
        self.launch()
        line = self.process.first_line()
        match = _FIRST_LINE.fullmatch(line)
        if not match:
            raise RuntimeError(f"the first line of snug-extender is {line!r}")
        self.port, self.admin_port, self.webhook_port = (
            port and int(port) for port in match.groups())
        self._flags["listen"] = f"127.0.0.1:{self.port}"
        self._flags["admin-listen"] = f"127.0.0.1:{self.admin_port}"
        if self.webhook_port:
            self._flags["webhook-listen"] = f"127.0.0.1:{self.webhook_port}"
        if wait_ready:
            wait_until("snug-extender is ready", self.ready, 30)

    def replace(self):
        """SIGTERM, and another pod in its place, as an upgrade of a DaemonSet does."""
        self.stop()
        self._env["POD_UID"] = str(uuid.uuid4())
        self.start(wait_ready=False)

    def kill(self):
        self.process.kill()

    def stop(self):
        return self.process.stop() if self.process else None

    def hang_up(self):
        self.process.hang_up()

    def log(self):
        return self.process.stderr.read_text(errors="replace")

    def ready(self):
        """Whether it decides; a standby does not."""
        return self.readiness() == (200, "ok")

    def readiness(self):
        """Status and text of /readyz."""
        self.process.must_run()
        status, body = self.ask_admin("/readyz")
        return status, body.decode().strip()

    def ask_admin(self, path, token=None):
        """Status and body of a GET of the admin port; with adminAuth over TLS, whose certificate Snug signed itself."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._request(self.admin_port, "GET", path, headers=headers,
                             tls="admin-auth" in self._flags)

    def nodes(self):
        return self._state("/v1/nodes")["nodes"]

    def pods(self):
        return self._state("/v1/pods")["pods"]

    def cluster(self):
        """The totals that the dashboard shows."""
        return self._state("/v1/cluster")

    def verb(self, name, value):
        """What kube-scheduler would send; returns (status, decoded reply)."""
        status, body = self._request(self.port, "POST", f"/{name}", json.dumps(value).encode())
        return status, json.loads(body)

    def metric(self, name, **labels):
        """The sum over all series of that name with these labels; 0 where there is none."""
        status, body = self.ask_admin("/metrics", self.admin_token)
        if status != 200:
            raise RuntimeError(f"GET /metrics: {status}")
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        total = 0.0
        for line in body.decode().splitlines():
            match = _METRIC.fullmatch(line)
            if match and match[1] == name and wanted <= set((match[2] or "").split(",")):
                total += float(match[3])
        return total

    def _state(self, path):
        status, body = self.ask_admin(path, self.admin_token)
        if status != 200:
            raise RuntimeError(f"GET {path}: {status} {body[:200]!r}")
        return json.loads(body)

    @staticmethod
    def _request(port, method, path, body=None, headers=None, tls=False):
        connection = (http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=ssl._create_unverified_context())
                      if tls else http.client.HTTPConnection("127.0.0.1", port, timeout=60))
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

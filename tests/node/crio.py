"""CRI-O as the node's container runtime: its settings, and the registry that it pulls images from."""

import http.server
import json
import os
import pathlib
import re
import socket
import subprocess
import tarfile
import threading

from harness.processes import wait_until
from image import PAUSE

# In front of runc: takes out of a container's settings what root may not do on every machine, and what containerd
# leaves out: a negative oom_score_adj, limits of huge pages, and capabilities beyond our own.
RUNC = """#!/usr/bin/python3
import json, os, sys
words = sys.argv[1:]
if "create" in words:
    path = words[words.index("--bundle") + 1] + "/config.json"
    with open(path) as file:
        settings = json.load(file)
    process = settings["process"]
    process["oomScoreAdj"] = max(0, process.get("oomScoreAdj", 0))
    settings["linux"]["resources"].pop("hugepageLimits", None)
    for kind, names in process.get("capabilities", {}).items():
        process["capabilities"][kind] = [name for name in names if name in ALLOWED]
    with open(path, "w") as file:
        json.dump(settings, file)
os.execv(PROGRAM, [PROGRAM, *words])
"""
# CRI-O asks for it, and never calls it for pods on the node's network.
CNI = """#!/bin/sh
echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}'
"""


class Crio:
    """On one node, whose folder is `folder`."""
    monitor = "conmon"  # a process of its own for each container

    def __init__(self, folder, programs, nri):
        self._socket = folder / "c.sock"
        self._registry = Registry()
        # CRI-O mounts / only where it is shared, as systemd makes it. So node and containers have their mounts apart
        # from the machine's, as long as this process lives.
        self._mounts = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "shared",
                                         "sleep", "infinity"], start_new_session=True)
        wait_until("a mount namespace", self._has_mounts)
        self.enter = ["nsenter", f"--mount=/proc/{self._mounts.pid}/ns/mnt"]
        (folder / "no-registries").mkdir()
        (folder / "crio.conf").write_text(_configuration(folder, programs, nri))
        (folder / "registries.conf").write_text(_registries(self._registry.port))
        (folder / "policy.json").write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        plugin = folder / "cni-plugins/none"  # "none" beside the network would be more of its settings
        plugin.parent.mkdir()
        plugin.write_text(CNI)
        plugin.chmod(0o755)
        (folder / "runc").write_text(RUNC.replace("ALLOWED", repr(_capabilities())).replace(
            "PROGRAM", repr(str(programs / "runc"))))
        (folder / "runc").chmod(0o755)
        self.command = [programs / "crio", f"--config={folder / 'crio.conf'}", "--config-dir=",
                        f"--registries-conf={folder / 'registries.conf'}", f"--registries-conf-dir={folder / 'no-registries'}"]

    def _has_mounts(self):
        """Apart from ours, and shared."""
        process = pathlib.Path(f"/proc/{self._mounts.pid}")
        return not os.path.samefile(process / "ns/mnt", "/proc/self/ns/mnt") and "shared:" in (process / "mountinfo").read_text()

    def answers(self):
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self._socket)) == 0

    def add_image(self, archive):
        """The kubelet has it pulled when a pod needs it."""
        self._registry.add(archive)

    def remove(self):
        self._registry.stop()
        self._mounts.kill()
        self._mounts.wait()


def _capabilities():
    """Those that a process of ours can have."""
    text = subprocess.run(["setpriv", "--dump"], check=True, capture_output=True, text=True).stdout
    [line] = [line for line in text.splitlines() if line.startswith("Capability bounding set:")]
    return [f"CAP_{name.upper()}" for name in line.partition(":")[2].strip().split(",")]


def _configuration(folder, programs, nri):
    return f"""
[crio]
root = "{folder}/root"
runroot = "{folder}/state/storage"
storage_driver = "vfs"
log_dir = "{folder}/logs"
version_file = "{folder}/state/version"
version_file_persist = ""
clean_shutdown_file = "{folder}/clean.shutdown"
[crio.api]
listen = "{folder}/c.sock"
stream_port = "0"
[crio.runtime]
default_runtime = "runc"
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
apparmor_profile = "unconfined"
seccomp_profile = ""
pinns_path = "{programs}/pinns"
namespaces_dir = "{folder}/state/ns"
container_exits_dir = "{folder}/state/exits"
container_attach_socket_dir = "{folder}/state/at"
hooks_dir = []
disable_hostport_mapping = true
irqbalance_config_restore_file = "disable"
cdi_spec_dirs = ["{folder}/cdi-specs"]
[crio.runtime.runtimes.runc]
runtime_path = "{folder}/runc"
runtime_root = "{folder}/state/runc"
runtime_type = "oci"
monitor_path = "{programs}/conmon"
monitor_cgroup = "pod"
[crio.image]
pause_image = "{PAUSE}"
pause_command = ""
signature_policy = "{folder}/policy.json"
signature_policy_dir = "{folder}/policies"
[crio.network]
network_dir = "{folder}/cni"
plugin_dirs = ["{folder}/cni-plugins"]
[crio.nri]
enable_nri = {str(nri is not None).lower()}
nri_listen = "{folder}/nri/nri.sock"
nri_plugin_dir = "{folder}/nri/plugins"
nri_plugin_config_dir = "{folder}/nri/conf.d"
"""


def _registries(port):
    return f"""
[[registry]]
prefix = "localhost"
location = "127.0.0.1:{port}"
insecure = true
"""


class Registry:
    """Serves the images of archives that image.write() has made, by HTTP on the loopback interface."""

    def __init__(self):
        self._blobs = {}  # digest -> (media type, bytes)
        self._tags = {}  # (repository, tag) -> digest
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                found = registry.find(self.path)
                self.send_response(200 if found else 404)
                media_type, content = found or ("text/plain", b"")
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(content)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def add(self, archive):
        with tarfile.open(archive) as tar:
            index = json.loads(tar.extractfile("index.json").read())
            [manifest] = index["manifests"]
            for member in tar.getmembers():
                if member.name.startswith("blobs/"):
                    digest = "sha256:" + member.name.rpartition("/")[2]
                    self._blobs[digest] = ("application/octet-stream", tar.extractfile(member).read())
        digest = manifest["digest"]
        self._blobs[digest] = (manifest["mediaType"], self._blobs[digest][1])
        repository, _, tag = manifest["annotations"]["io.containerd.image.name"].partition("/")[2].partition(":")
        self._tags[(repository, tag)] = digest

    def find(self, path):
        """(media type, content) or None."""
        if path == "/v2/":
            return "application/json", b"{}"
        match = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/(.+)", path)
        if not match:
            return None
        repository, _, name = match.groups()
        return self._blobs.get(self._tags.get((repository, name), name))

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

"""etcd and kube-apiserver with RBAC, an audit log and certificates of one authority."""

import json
import pathlib
import shutil
import tempfile
import urllib.request

from . import manifests
from .api import Api, ApiError
from .audit import AuditLog
from .pki import Pki
from .processes import Process, free_port, output_of, wait_until

EXTENDER_USER = "system:serviceaccount:snug:snug-extender"
SCHEDULER_USER = "system:kube-scheduler"
BUILD = pathlib.Path(__file__).resolve().parents[1] / "controlplane/build.sh"
NO_GO = 3  # build.sh: no Go >= 1.26
TOKEN_SECONDS = 86_400  # longer than any run
SECRETS = "/api/v1/namespaces/snug/secrets"
DEPLOYED = ("rbac.yaml", "admission-policy.yaml", "admission-pods.yaml", "admission-devices.yaml",
            "node-capacity.yaml")

RELEASED_LEASE = {
    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
    "metadata": {"name": "snug-extender", "namespace": "snug"},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0,
             "acquireTime": "2026-01-01T00:00:00.000000Z",
             "renewTime": "2026-01-01T00:00:00.000000Z"},
}

# Every call of the extender, and what the scheduler writes to pods and deletes of them.
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "users": [EXTENDER_USER]},
        {"level": "Metadata", "users": [SCHEDULER_USER],
         "verbs": ["create", "patch", "update", "delete"],
         "resources": [{"group": "", "resources": ["pods", "pods/binding", "pods/status"]}]},
        {"level": "None"},
    ],
}


def build_programs(build=BUILD, version=None):
    """The folder of the built programs; None where there is no Go to build them with. `version`: what to build
    instead of the default, such as Kubernetes 1.30."""
    code, folder = output_of([build, version] if version else [build])
    if code == NO_GO:
        return None
    if code != 0:
        raise SystemExit(f"{build} failed")
    return folder.strip()


class ControlPlane:
    """Start it, use `admin`, and stop() it in any case. Logs lie in `folder` until then.

    `deployed`: files of deploy/. `audited`: the calls that `audit_policy` names are written down, which costs the API server time.
    `flags`: more of the API server's.
    """

    def __init__(self, programs, deployed=DEPLOYED, audited=True, flags=(), audit_policy=AUDIT_POLICY):
        self.programs = pathlib.Path(programs)
        self._deployed = deployed
        self._audited = audited
        self._audit_policy = audit_policy
        self._flags = flags
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="snug-e2e-"))
        self.processes = []
        self.pki = Pki(self.folder / "pki")
        self.port = free_port()
        self.server = f"https://127.0.0.1:{self.port}"
        self.audit = AuditLog(self.folder / "audit.log")
        self.admin = None
        self.minor = None  # of Kubernetes: 36 for 1.36.3
        self.etcd = None  # its URL
        self._token_file = self.folder / "pki" / "extender.token"
        self._token_secret = None
        self._api_server = None

    def start(self):
        self.etcd = self._start_etcd()
        self._api_server = self._start_api_server(self.etcd)
        self.admin = self.client("admin", "e2e-admin", ["system:masters"])
        wait_until("the API server is ready", self._ready, 60)
        self.minor = int(self.admin.get("/version")["gitVersion"].split(".")[1])
        wake = ["wake-1.31.yaml"] if self.minor < 32 else []
        if self._deployed:
            for name in [*self._deployed, *wake]:
                manifests.apply(self.admin, name)
            self.release_lease()

    def release_lease(self):
        """Writes Snug's Lease as released, as a Snug does when it ends, so that the next Snug need not
        wait for the former holder."""
        manifests.apply_object(self.admin, RELEASED_LEASE)

    def restart_api_server(self):
        """SIGKILL, and ready again when this returns."""
        self._api_server.kill()
        self.processes.remove(self._api_server)
        self._api_server = self._start_api_server(self.etcd)
        wait_until("the API server is ready again", self._answers, 60)

    def compact(self):
        """Has etcd forget every revision but the last."""
        revision = self._etcd("/v3/maintenance/status", {})["header"]["revision"]
        self._etcd("/v3/kv/compaction", {"revision": revision, "physical": True})

    def _etcd(self, path, value):
        request = urllib.request.Request(self.etcd + path, json.dumps(value).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self, keep_logs=False):
        for process in reversed(self.processes):
            process.stop()
        shutil.rmtree(self.folder / "etcd" if keep_logs else self.folder, ignore_errors=True)

    def run(self, name, command, env=None, host=None):
        """Starts a program that stop() ends and whose log is kept. `host`: the name that the
        program takes its machine to have."""
        if host is not None:
            command = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host, *command]
        process = Process(f"{len(self.processes):03}-{name}", command, self.folder, env)
        self.processes.append(process)
        return process

    def cpu_clocks(self):
        """By name: what tells the processor time that a program has used."""
        return {process.name.partition("-")[2]: process.cpu_seconds for process in self.processes
                if process.running()}

    def client(self, name, user, groups=()):
        """A client with a certificate for that user."""
        certificate, key = self.pki.issue(name, user, groups)
        return Api(self.port, self.pki.ca, certificate, key)

    def kubeconfig(self, name, user, groups=(), port=None):
        """`port`: not the API server's own but one in front of it."""
        certificate, key = self.pki.issue(name, user, groups)
        return self.pki.kubeconfig(name, f"https://127.0.0.1:{port or self.port}", {
            "client-certificate": str(certificate), "client-key": str(key)})

    def extender_kubeconfig(self, port=None):
        groups = ["system:serviceaccounts", "system:serviceaccounts:snug"]
        name = f"extender-{port}" if port else "extender"
        return self.kubeconfig(name, EXTENDER_USER, groups, port)

    def extender_token_kubeconfig(self):
        """The extender's service account by a token in a file, as a pod would have it."""
        self._write_extender_token()
        return self.pki.kubeconfig("extender-token", self.server, {"tokenFile": str(self._token_file)})

    def rotate_extender_token(self):
        """Puts a new token into the file, as the kubelet does it, and revokes the one before; returns
        a client with the old token. The API server refuses it once its cache has forgotten it."""
        old, secret = self._token_file.read_text(), self._token_secret
        self._write_extender_token()
        self.admin.delete(f"{SECRETS}/{secret}")
        return Api(self.port, self.pki.ca, token=old)

    def _write_extender_token(self):
        """The token is valid while a Secret of its own exists."""
        secret = self.admin.create(SECRETS, {"apiVersion": "v1", "kind": "Secret",
                                             "metadata": {"generateName": "extender-token-"}})
        self._token_secret = secret["metadata"]["name"]
        bound_to = {"apiVersion": "v1", "kind": "Secret", "name": self._token_secret,
                    "uid": secret["metadata"]["uid"]}
        answer = self.admin.create(
            "/api/v1/namespaces/snug/serviceaccounts/snug-extender/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound_to}})
        fresh = self._token_file.with_suffix(".new")
        fresh.write_text(answer["status"]["token"])
        fresh.replace(self._token_file)

    def _start_etcd(self):
        client = f"http://127.0.0.1:{free_port()}"
        peer = f"http://127.0.0.1:{free_port()}"
        self.run("etcd", [
            self.programs / "etcd", "--name=e2e", f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=e2e={peer}", "--unsafe-no-fsync", "--log-level=warn"])
        return client

    def _start_api_server(self, etcd):
        certificate, key = self.pki.issue("api-server", "kube-apiserver",
                                          hosts=["IP:127.0.0.1", "DNS:localhost"])
        kubelet_certificate, kubelet_key = self.pki.issue(
            "kubelet-client", "kube-apiserver-kubelet-client")
        audit = []
        if self._audited:
            policy = self.folder / "audit-policy.json"
            policy.write_text(json.dumps(self._audit_policy))
            audit = [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit.path}",
                     "--audit-log-maxsize=100000"]  # MiB; marks are positions in one file
        return self.run("kube-apiserver", [
            self.programs / "kube-apiserver", f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            f"--cert-dir={self.folder / 'pki'}", f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}", f"--client-ca-file={self.pki.ca}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self.pki.service_account_key}",
            f"--service-account-signing-key-file={self.pki.service_account_key}",
            "--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=RBAC",
            "--endpoint-reconciler-type=none", "--allow-privileged=true",
            f"--kubelet-client-certificate={kubelet_certificate}",
            f"--kubelet-client-key={kubelet_key}",
            # No controller makes service accounts here, and none would clear the taint.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            "--delete-collection-workers=8",
            *audit, *self._flags])

    def _ready(self):
        for process in self.processes:
            process.must_run()
        return self._answers()

    def _answers(self):
        try:
            status, _ = self.admin.send("GET", "/readyz")
            return status == 200 and self.admin.find("/api/v1/namespaces/default")
        except (OSError, ApiError):
            return False

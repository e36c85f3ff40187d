"""kube-scheduler, with the configuration that deploy/ ships."""

import json

from . import manifests
from .controlplane import SCHEDULER_USER

# deploy/ sets weight 15 for `all` and 1 for the others.
WEIGHTS = {"all": 15}


def configuration(kubeconfig, *, extender_port=None, answer="auto", node_cache_capable=True,
                  in_tree_scores=True, percentage=None, qps=None, shared_tls=None, name=None,
                  elect=False):
    """deploy/scheduler-config.yaml with what depends on this machine and scenario changed; with
    `shared_tls`, the files of its tlsConfig, the shared shape's configuration instead. `name`: of
    the scheduler, which pods say as schedulerName. `elect`: it takes part in leader election."""
    [config] = manifests.read(
        "shared-scheduler-config.yaml" if shared_tls else "scheduler-config.yaml")
    config["clientConnection"]["kubeconfig"] = str(kubeconfig)
    config["leaderElection"]["leaderElect"] = elect
    if qps is not None:
        config["clientConnection"].update(qps=qps, burst=qps)
    if percentage is not None:
        config["percentageOfNodesToScore"] = percentage
    if not in_tree_scores:
        for profile in config["profiles"]:
            profile.setdefault("plugins", {})["score"] = {"disabled": [{"name": "*"}]}
    if name is not None:
        [profile] = config["profiles"]
        profile["schedulerName"] = name
    if extender_port is None:
        del config["extenders"]
        return config
    [extender] = config["extenders"]
    if shared_tls:
        extender["tlsConfig"].update(shared_tls)
    extender["urlPrefix"] = f"{'https' if shared_tls else 'http'}://127.0.0.1:{extender_port}"
    extender["nodeCacheCapable"] = node_cache_capable
    extender["weight"] = WEIGHTS.get(answer, 1)
    return config


class Schedulers:
    """Starts one kube-scheduler after another."""

    def __init__(self, plane):
        self._plane = plane
        self._kubeconfig = plane.kubeconfig("scheduler", SCHEDULER_USER)
        self._starts = 0

    def start(self, host=None, port=0, **options):
        """`port`: where it answers probes; 0: nowhere. `options` are configuration()'s."""
        self._starts += 1
        path = self._plane.folder / f"scheduler-{self._starts}.json"
        path.write_text(json.dumps(configuration(self._kubeconfig, **options), indent=1))
        return self._plane.run("kube-scheduler", [
            self._plane.programs / "kube-scheduler", f"--config={path}", f"--secure-port={port}",
            *(self._serving() if port else ())], host=host)

    def _serving(self):
        certificate, key = self._plane.pki.issue("scheduler-server", "kube-scheduler",
                                                 hosts=["IP:127.0.0.1"])
        return ["--bind-address=127.0.0.1", f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}"]

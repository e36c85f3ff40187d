"""The real helm with the chart of deploy/."""

import yaml

from . import manifests
from .processes import all_output_of, output_of

CHART = manifests.DEPLOY / "chart"
BUILD = manifests.ROOT / "tests/helm/build.sh"


class Helm:
    def __init__(self, plane):
        code, folder = output_of([BUILD])
        if code != 0:
            raise RuntimeError(f"{BUILD} failed")
        self._plane = plane
        self.program = f"{folder.strip()}/helm"
        home = plane.folder / "helm"
        self._env = {"KUBECONFIG": str(plane.kubeconfig("helm", "kubernetes-admin", ["system:masters"])),
                     **{f"HELM_{name}_HOME": str(home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}}

    def call(self, *words):
        """(exit code, what it printed)."""
        return all_output_of([self.program, *words, "--namespace", "snug"], self._env, None)

    def must(self, *words):
        """As call(), but it must succeed: what it printed."""
        code, text = self.call(*words)
        if code != 0:
            raise RuntimeError(f"helm {' '.join(map(str, words))} ended with {code}: {text}")
        return text

    def deploy(self, verb, *values):
        """install or upgrade; only `values` differ from the chart's."""
        return self.must(verb, "snug", CHART, "--reset-values" if verb == "upgrade" else "--description=e2e",
                         *(f"--set={value}" for value in values))

    def objects(self, *values, version=None):
        """What these values give for this version of Kubernetes; default: the control plane's."""
        text = self.must("template", "snug", CHART, f"--kube-version={version or f'1.{self._plane.minor}.0'}",
                         *(f"--set={value}" for value in values))
        return [value for value in yaml.safe_load_all(text[text.index("---\n"):]) if value]

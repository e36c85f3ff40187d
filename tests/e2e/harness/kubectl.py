"""The real kubectl, as a cluster administrator runs it, with the plug-in of the snugctl beside the
extender under test."""

import json
import os

from .extender import program
from .processes import all_output_of


def snugctl(*words):
    """(exit code, what snugctl printed)."""
    return all_output_of([program().resolve().with_name("snugctl"), *words], {}, None)


class Kubectl:
    def __init__(self, plane):
        self._folder = plane.folder / "kubectl"
        path = self._folder / "bin"
        path.mkdir(parents=True, exist_ok=True)
        for name, target in (("kubectl", plane.programs / "kubectl"),
                             ("kubectl-snug", program().resolve().with_name("snugctl")),
                             ("kubectl_complete-snug", program().resolve().with_name("snugctl"))):
            if not (path / name).is_symlink():
                (path / name).symlink_to(target)
        self._program = path / "kubectl"
        # TMPDIR: kubectl edit leaves there what was refused.
        self._env = {"KUBECONFIG": str(plane.kubeconfig("kubectl", "kubernetes-admin",
                                                        ["system:masters"])),
                     "TMPDIR": str(self._folder), "PATH": f"{path}:{os.environ['PATH']}"}

    def snug(self, *words, seconds=60):
        """(exit code, what the plug-in printed)."""
        return all_output_of([self._program, "snug", *words], self._env, None, seconds)

    def shell(self, commands, env, seconds=60):
        """(exit code, what bash printed), with kubectl and its plug-in in the path."""
        return all_output_of(["bash", "-ec", commands], {**self._env, **env}, None, seconds)

    def completions(self, *words):
        """The lines with which kubectl completes the last of the words."""
        _, text = all_output_of([self._program, "__complete", *words], self._env, None)
        return text.splitlines()

    def must(self, *words, **options):
        """As call(), but it must succeed: what it printed."""
        code, text = self.call(*words, **options)
        if code != 0:
            raise RuntimeError(f"kubectl {' '.join(words)} ended with {code}: {text}")
        return text

    def call(self, *words, manifest=None, editor=None):
        """(exit code, what it printed). `manifest`: an object on standard input. `editor`: of
        kubectl edit, a command to which the name of the file is appended."""
        env = {**self._env, **({"KUBE_EDITOR": editor} if editor else {})}
        text = json.dumps(manifest) if manifest else None
        return all_output_of([self._program, f"--cache-dir={self._folder}", *words], env, text)

"""The real kubectl, as a cluster administrator runs it."""

import json

from .processes import all_output_of


class Kubectl:
    def __init__(self, plane):
        self._program = plane.programs / "kubectl"
        self._folder = plane.folder / "kubectl"
        self._folder.mkdir(exist_ok=True)
        # TMPDIR: kubectl edit leaves there what was refused.
        self._env = {"KUBECONFIG": str(plane.kubeconfig("kubectl", "kubernetes-admin",
                                                        ["system:masters"])),
                     "TMPDIR": str(self._folder)}

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

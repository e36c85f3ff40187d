"""containerd as the node's container runtime: its settings, of each version, and its command-line client."""

import subprocess

from harness.processes import PATIENCE
from image import PAUSE

# How the runtime serves plug-ins, besides not at all (None).
VALIDATES, PERMITS = "validates", "permits"  # with the default validator, where there is one; without it


class Containerd:
    """On one node, whose folder is `folder`. `configuration`: one of the functions below."""
    monitor = "containerd-shim-runc-v2"  # a process of its own for each pod
    enter = []  # what goes before the commands of runtime and kubelet: they see the machine's mounts

    def __init__(self, configuration, folder, programs, nri):
        self._socket = folder / "c.sock"
        self._programs = programs
        settings = folder / "containerd.toml"
        settings.write_text(f"root = '{folder}/root'\nstate = '{folder}/state'\n"
                            + configuration(folder, programs / "runc", nri))
        self.command = [programs / "containerd", "-c", settings]

    def answers(self):
        return self._socket.exists() and self._ctr("version", check=False).returncode == 0

    def add_image(self, archive):
        self._ctr("images", "import", archive)

    def kill(self, container):
        self._ctr("tasks", "kill", "--signal=SIGKILL", container)

    def remove(self):
        """Beside its process and its folder, nothing."""

    def _ctr(self, *arguments, check=True):
        return subprocess.run(
            [self._programs / "ctr", "-a", self._socket, "-n", "k8s.io", *arguments],
            capture_output=True, text=True, check=check, timeout=60 * PATIENCE)


def containerd_2_4(folder, runc, nri):
    return f"""
version = 4
[plugins.'io.containerd.server.v1.grpc']
  address = '{folder}/c.sock'
[plugins.'io.containerd.server.v1.ttrpc']
  address = '{folder}/c.sock.ttrpc'
{_containerd_2(folder, runc, nri)}
[plugins.'io.containerd.nri.v1.nri'.default_validator]
  enable = {str(nri == VALIDATES).lower()}
"""


def containerd_2_1(folder, runc, nri):
    return f"""
version = 3
[grpc]
  address = '{folder}/c.sock'
[ttrpc]
  address = '{folder}/c.sock.ttrpc'
{_containerd_2(folder, runc, nri)}
"""


def _containerd_2(folder, runc, nri):
    cni = "plugins.'io.containerd.cri.v1.runtime'.cni"
    options = "plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc"
    return f"""
[plugins.'io.containerd.internal.v1.opt']
  path = '{folder}/opt'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '{PAUSE}'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
  cdi_spec_dirs = ['{folder}/cdi-specs']
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
[{cni}]
  bin_dirs = ['{folder}/cni']
  conf_dir = '{folder}/cni'
[{options}]
  runtime_type = 'io.containerd.runc.v2'
[{options}.options]
  BinaryName = '{runc}'
  SystemdCgroup = false
{_nri(folder, nri)}
"""


def containerd_1_7(folder, runc, nri):
    """NRI and CDI are off by default there."""
    cri = "plugins.'io.containerd.grpc.v1.cri'"
    return f"""
version = 2
[grpc]
  address = '{folder}/c.sock'
[ttrpc]
  address = '{folder}/c.sock.ttrpc'
[plugins.'io.containerd.internal.v1.opt']
  path = '{folder}/opt'
[{cri}]
  sandbox_image = '{PAUSE}'
  restrict_oom_score_adj = true
  disable_apparmor = true
  enable_cdi = true
  cdi_spec_dirs = ['{folder}/cdi-specs']
  disable_hugetlb_controller = true
  tolerate_missing_hugetlb_controller = true
[{cri}.cni]
  bin_dir = '{folder}/cni'
  conf_dir = '{folder}/cni'
[{cri}.containerd.runtimes.runc]
  runtime_type = 'io.containerd.runc.v2'
[{cri}.containerd.runtimes.runc.options]
  BinaryName = '{runc}'
  SystemdCgroup = false
{_nri(folder, nri)}
"""


def _nri(folder, nri):
    return f"""
[plugins.'io.containerd.nri.v1.nri']
  disable = {str(nri is None).lower()}
  socket_path = '{folder}/nri/nri.sock'
  plugin_path = '{folder}/nri/plugins'
  plugin_config_path = '{folder}/nri/conf.d'
"""

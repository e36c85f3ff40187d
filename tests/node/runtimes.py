"""The container runtimes that the node can have, and what each can do."""

import dataclasses
import functools
from collections.abc import Callable

from containerd import Containerd, containerd_1_7, containerd_2_1, containerd_2_4
from crio import Crio

DEFAULT = "containerd"


@dataclasses.dataclass(frozen=True)
class Runtime:
    name: str  # as build.sh takes it
    make: Callable  # (the node's folder, that of the programs, VALIDATES, PERMITS or None) -> Containerd or Crio
    validates: bool  # whether it has NRI's default validator, so that it can refuse containers while the agent is away
    injects: bool = True  # whether it gives containers the CDI devices that a plug-in asks for


RUNTIMES = {each.name: each for each in (
    Runtime(DEFAULT, functools.partial(Containerd, containerd_2_4), validates=True),
    Runtime("containerd-2.1", functools.partial(Containerd, containerd_2_1), validates=False),
    Runtime("containerd-1.7", functools.partial(Containerd, containerd_1_7), validates=False),
    # The one version that is a Go module is older than the validator, and drops the devices without an error.
    Runtime("cri-o-1.34", Crio, validates=False, injects=False),
)}

"""Writes and changes the state file of the stand-in for NVIDIA's management library (tests/standin/nvml).

A program uses the stand-in if SNUG_STANDIN_NVML names the file and LD_LIBRARY_PATH begins with the folder of
the library. The file is JSON, guarded by flock. Keys of the state:

driver    its version; null: not loaded        epoch       changes when the driver is loaded anew
cards     the GPUs, in the order of their bus  events      [{"number", "uuid", "xid"}], oldest first
missing   functions that this driver lacks     init_error  what initialising returns, if it is not 0

Keys of a card: uuid, model, memory_mib, minor, pci, table (one of profiles.cpp, or none), mig, instances,
links {"index of another card": count}, switch_links, lost, recovery (a number, if the driver has it), fail_create,
fail {"function that makes or destroys an instance, or lists processes": what it returns}, create_ms (the time that each
creation takes), used_mib, utilization, memory_utilization, limits {"cgroup": {"soft_mib", "hard_mib"}}, which the driver
sets, and processes [{"pid", "used_mib", "gpu_instance", "compute_instance", "kind" (compute, graphics or mps)}].
"""

import contextlib
import fcntl
import json
from pathlib import Path

MODELS = {  # model: (memory in MiB, table of MIG profiles)
    "NVIDIA A100-SXM4-40GB": (40960, "A100-40GB"),
    "NVIDIA H100 80GB HBM3": (81559, "H100-80GB"),
    "NVIDIA B200": (183359, "B200"),
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": (97887, "RTX-PRO-6000"),
    "NVIDIA A30": (24576, "A30"),
    "Tesla T4": (15360, None),
}
DRIVER = "615.71.00"


def card(number, model="NVIDIA A100-SXM4-40GB", **more):
    """A GPU without errors; `more` are further keys."""
    memory, table = MODELS[model]
    return {"uuid": f"GPU-0000000{number:x}-1111-2222-3333-444444444444", "model": model, "memory_mib": memory,
            "minor": number, "pci": f"00000000:{0x3b + number:02X}:00.0", "table": table, "mig": False, "instances": [],
            **more}


class NvmlState:
    """The state in the file `path`, which is made with these cards unless it exists."""

    def __init__(self, path, cards=None):
        self.path = Path(path)
        if cards is not None:
            self.path.write_text(json.dumps({"driver": DRIVER, "epoch": 0, "cards": cards, "events": [], "next_event": 0}))

    @contextlib.contextmanager
    def change(self):
        """The state as an object; what the block changes in it is written. No other process sees a part of it."""
        with self.path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            state = json.load(file)
            yield state
            file.seek(0)
            file.truncate()
            json.dump(state, file, indent=1)

    def read(self):
        with self.path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return json.load(file)

    def set_card(self, number, **keys):
        with self.change() as state:
            state["cards"][number].update(keys)

    def enable_mig(self, number):
        self.set_card(number, mig=True)

    def make_slice(self, number, profile, start, size, compute_profile=0):
        """Makes a GPU instance and a compute instance that fills it, as an administrator does, with one
        compute slice; `profile` and `compute_profile` are the driver's ids. Returns the ids of both."""
        with self.change() as state:
            instances = state["cards"][number]["instances"]
            made = max((each["id"] for each in instances), default=0) + 1
            instances.append({"id": made, "profile": profile, "start": start, "size": size,
                              "compute": [{"id": 0, "profile": compute_profile, "start": 0, "size": 1}]})
        return made, 0

    def lose(self, number):
        """The GPU falls off the bus: XID 79, and no call reaches it."""
        self.set_card(number, lost=True)
        self.append_xid(number, 79)

    def return_card(self, number):
        """The GPU answers again, after a reset."""
        self.set_card(number, lost=False)

    def append_xid(self, number, xid):
        with self.change() as state:
            state["events"].append({"number": state["next_event"], "uuid": state["cards"][number]["uuid"], "xid": xid})
            state["next_event"] += 1

    def unload_driver(self):
        """MIG instances do not survive this; MIG mode does."""
        with self.change() as state:
            state["driver"] = None
            for each in state["cards"]:
                each["instances"] = []

    def load_driver(self, version=DRIVER):
        with self.change() as state:
            state["driver"] = version
            state["epoch"] += 1

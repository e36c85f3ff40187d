#!/usr/bin/env python3
"""Records what the NVIDIA driver answers to snug-agent, and whether limits of MPS and of the driver (615 and later) hold.

The tests, which have no GPU, cannot show this. Writes bench/results/gpu-DATE-DRIVER.md.

Needs the driver's programs in PATH, and build/dev/bench/gpu_reads and build/dev/snug-observe. It starts an MPS daemon of its
own for the first GPU, whose compute mode it leaves as it is, and allocates up to 1.5 GiB there. As root, with driver 615 or
later and version 2 of cgroups, it also makes a cgroup, and removes it again.
Run: python3 bench/gpu/record.py [--programs build/dev] [--out bench/results]
Exit code 0: all agrees; 1: something does not; 2: a program or a folder is missing; 3: there is no GPU.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MISSING, NO_GPU = 2, 3
SECONDS = 120
LIMITS_MIB = (512, 1024)  # of the two MPS clients
BEYOND_MIB = 256
QUERY = "index,uuid,name,memory.total,driver_version,mig.mode.current"


def run(*command, **variables):
    return subprocess.run([str(word) for word in command], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=SECONDS, env={**os.environ, **variables})


def rows_of_nvidia_smi():
    """What nvidia-smi says of each GPU; empty: there is none."""
    try:
        done = run("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits")
    except FileNotFoundError:
        return []
    if done.returncode != 0:
        return []
    return [dict(zip(QUERY.split(","), line.split(", "), strict=True)) for line in done.stdout.splitlines()]


def what_is_missing(programs, out, tries_mps):
    """A sentence; empty: nothing."""
    for name in ("bench/gpu_reads", "snug-observe"):
        if not (programs / name).exists():
            return f"there is no {programs / name}: build its target {Path(name).name}, or name another folder by --programs"
    if tries_mps and not shutil.which("nvidia-cuda-mps-control"):
        return "there is no nvidia-cuda-mps-control in PATH: the driver brings it"
    return "" if out.is_dir() else f"--out: {out} is not a folder"


def differences(rows, gpus):
    """In what the inventory and nvidia-smi differ, as sentences."""
    if len(rows) != len(gpus):
        return [f"nvidia-smi lists {len(rows)} GPUs and the inventory {len(gpus)}"]
    found = []
    for row, gpu in zip(rows, gpus, strict=True):
        expected = (int(row["index"]), row["uuid"], row["name"].replace(" ", "-"), row["mig.mode.current"] == "Enabled")
        seen = (gpu["index"], gpu["uuid"], gpu["model"], gpu.get("mig", False))
        if expected != seen:
            found.append(f"GPU {row['index']}: nvidia-smi says {expected}, the inventory {seen}")
        if int(row["memory.total"]) != gpu["memoryMiB"]:
            found.append(f"GPU {row['index']}: nvidia-smi says {row['memory.total']} MiB, the inventory {gpu['memoryMiB']}")
    return found


def observe(programs, uuid):
    done = run(programs / "snug-observe", f"--allocate-mib={max(LIMITS_MIB) + BEYOND_MIB}", CUDA_VISIBLE_DEVICES=uuid)
    return json.loads(done.stdout)


def client_line(what, limit, seen):
    """What a client with the limit has got, and whether the limit holds."""
    got = seen["allocation"]
    holds = got["outOfMemory"] and 0 < got["gotMiB"] <= limit
    return (f"{what} with the limit {limit} MiB: {got['gotMiB']} MiB of {got['wantedMiB']}"
            f"{', then out of memory' if got['outOfMemory'] else ''}{seen['cuda']['problem']}: {'holds' if holds else 'DOES NOT HOLD'}"), holds


def mps_lines(programs, uuid):
    """What two clients of one daemon get at the same time, and whether their limits hold."""
    with tempfile.TemporaryDirectory(prefix="mps-") as folder:
        daemon = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
        for path in daemon.values():
            Path(path).mkdir()
        started = run("nvidia-cuda-mps-control", "-d", CUDA_VISIBLE_DEVICES=uuid, **daemon)
        if started.returncode != 0:
            return [f"MPS: the daemon does not start: {started.stdout.strip()}"], False
        clients = []
        try:
            for limit in LIMITS_MIB:
                clients.append(subprocess.Popen(
                    [programs / "snug-observe", f"--allocate-mib={limit + BEYOND_MIB}"], text=True, stdout=subprocess.PIPE,
                    env={**os.environ, **daemon, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": f"0={limit}M"}))
            seen = [json.loads(client.communicate(timeout=SECONDS)[0]) for client in clients]
        finally:
            for client in clients:
                client.kill()
                client.wait()
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False, timeout=SECONDS,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **daemon})
    lines, holds = zip(*(client_line("MPS client", limit, each) for limit, each in zip(LIMITS_MIB, seen, strict=True)), strict=True)
    return list(lines), all(holds)


def driver_lines(programs, uuid, can_limit, cgroups):
    """What a process gets whose cgroup the driver limits, and whether the limit holds."""
    if not can_limit:
        return ["the driver does not have the function that limits the memory of a cgroup"], True
    has = "the driver has the function that limits the memory of a cgroup"
    if not (cgroups / "cgroup.controllers").exists():
        return [f"{has}; not tried, since {cgroups} is not version 2 of cgroups"], True
    group, limit = cgroups / f"snug-record-{os.getpid()}", LIMITS_MIB[0]
    try:
        group.mkdir()
    except OSError as error:
        return [f"{has}; not tried: {error}"], True
    limiter = subprocess.Popen([programs / "bench/gpu_reads", f"--limit={limit}:{group}"], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    try:
        refusal = json.loads(limiter.stdout.readline() or '{"notLimited": "it has ended"}')["notLimited"]
        if refusal:
            return [f"{has}, and refuses: {refusal}"], False
        client = run("sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$0" "$@"', programs / "snug-observe",
                     f"--allocate-mib={limit + BEYOND_MIB}", CUDA_VISIBLE_DEVICES=uuid)
        line, holds = client_line("process in a cgroup", limit, json.loads(client.stdout))
        return [has, line], holds
    finally:
        limiter.communicate()
        group.rmdir()


def page(rows, reads, lines):
    seconds = {name: [time / 1000 for time in reads[name]] for name in ("readUs", "usageUs")}
    text = [f"# Driver {rows[0]['driver_version']}, {len(rows)} × {rows[0]['name']}", "",
            f"Recorded on {datetime.date.today()} by `bench/gpu/record.py`.", "",
            "| call of snug-agent | least (ms) | median (ms) | most (ms) |", "|---|---|---|---|",
            f"| the first read, which opens the library | | {reads['openingUs'] / 1000:.1f} | |"]
    for name, what in (("readUs", "read of all GPUs"), ("usageUs", "read of their usage")):
        text.append(f"| {what} | " + " | ".join(f"{each:.1f}" for each in seconds[name]) + " |")
    text += ["", *(f"- {line}" for line in lines), "", "```json", json.dumps(reads["inventory"], indent=1), "```", ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, default=ROOT / "build/dev", help="the folder of the build (default: build/dev)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/results", help="where to write (default: bench/results)")
    parser.add_argument("--cgroups", type=Path, default=Path("/sys/fs/cgroup"), help="where cgroups are mounted (default: /sys/fs/cgroup)")
    flags = parser.parse_args()
    rows = rows_of_nvidia_smi()
    if not rows:
        print("this machine has no GPU that nvidia-smi lists: nothing to record", file=sys.stderr)
        return NO_GPU
    is_mig = rows[0]["mig.mode.current"] == "Enabled"
    missing = what_is_missing(flags.programs, flags.out, not is_mig)
    if missing:
        print(missing, file=sys.stderr)
        return MISSING
    done = run(flags.programs / "bench/gpu_reads")
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        return 1
    reads = json.loads(done.stdout)
    found = differences(rows, reads["inventory"]["gpus"])
    uuid = rows[0]["uuid"]
    cuda = observe(flags.programs, uuid)["cuda"]
    if cuda["problem"] or cuda["uuid"] != uuid.removeprefix("GPU-"):
        found.append(f"CUDA: {cuda}")
    mps, mps_holds = (["limits: not tried, since the first GPU is in MIG mode"], True) if is_mig else mps_lines(flags.programs, uuid)
    driver, driver_holds = ([], True) if is_mig else driver_lines(flags.programs, uuid, reads["limitsMemory"], flags.cgroups)
    lines = [*(found or ["the inventory agrees with nvidia-smi, and the uuid with CUDA"]), *mps, *driver]
    text = page(rows, reads, lines)
    file = flags.out / f"gpu-{datetime.date.today()}-{rows[0]['driver_version']}.md"
    file.write_text(text)
    print(text + f"\nwritten to {file}")
    return 0 if mps_holds and driver_holds and not found else 1


if __name__ == "__main__":
    sys.exit(main())

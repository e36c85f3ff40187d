#!/usr/bin/env python3
"""The time in which snug-agent answers CreateContainer while another pod of its node keeps all processors busy, by the CPU
that the agent's container requests. As agent_memory.py, it plays the API server, the container runtime and the driver. Two
control groups stand for the two pods; the busy one requests all other CPU of the machine.

Prints for each request: how many answers took the agent at most 5 ms, by its own metric, and for each answer the kernel's
figures of the thread that gives it: the time on a processor, and the time for which it could have run but had none.
Run as root, with version 1 of the CPU controller: python3 bench/agent_answers.py [--build build/dev] [--record]
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import agent_memory as setting

GROUPS = Path("/sys/fs/cgroup/cpu/snug-bench")
REQUESTS = (None, 20, 50, 100, 200, 500)  # thousandths of a CPU; None: 20, and no pod is busy
PODS, PAUSE_S = 100, 0.1


def make_group(name, milli):
    """The group of a pod that requests this much CPU, as the kubelet makes it."""
    folder = GROUPS / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.shares").write_text(str(max(2, milli * 1024 // 1000)))
    return folder


def answering_thread(agent):
    for task in Path(f"/proc/{agent.process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "snug-nri":
            return task
    sys.exit("the agent has no thread snug-nri")


def thread_times(task):
    """Milliseconds on a processor, and of waiting for one."""
    return [int(each) / 1e6 for each in (task / "schedstat").read_text().split()[:2]]


def answer_all(agent, runtime, pods):
    """For each pod: the thread's milliseconds on a processor, and of waiting for one."""
    task, answers = answering_thread(agent), []
    for each in pods:
        time.sleep(PAUSE_S)
        before = thread_times(task)
        runtime.call("CreateContainer", setting.field(1, setting.sandbox(each)) + setting.field(2, setting.container(each)))
        answers.append([after - first for first, after in zip(before, thread_times(task))])
    return answers


def measure(build, milli, processors):
    """(what answer_all returns, percent of the answers within 5 ms)"""
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir="/dev/shm") as specs:
        folder = Path(name)
        (folder / "cdi").symlink_to(specs)
        cards = setting.make_driver(folder, build / "tests/standin/libnvidia-ml.so.1")
        api, runtime = setting.Api(folder), setting.Runtime(folder / "nri.sock")
        for number in range(PODS):
            api.change(number, cards[number % len(cards)], "ADDED")
        agent, busy = setting.Agent(build, folder), []
        try:
            (make_group("agent", milli or 20) / "cgroup.procs").write_text(str(agent.process.pid))
            # The pods together have nearly the whole machine, so that its other programs do not matter.
            (GROUPS / "cpu.shares").write_text(str(1 << 18))
            runtime.accept(api.pods.values())
            setting.wait_until("the agent is ready", lambda: setting.is_ready(agent))
            if milli:
                job = make_group("job", 1000 * processors - milli)
                busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * processors)]
                for each in busy:
                    (job / "cgroup.procs").write_text(str(each.pid))
            answers = answer_all(agent, runtime, api.pods.values())
            times = agent.answer_times()
            return answers, 100 * times["0.005"] / times["+Inf"]
        finally:
            for each in (*busy, agent.process):
                each.kill()
                each.wait()


def row(milli, answers, within):
    ran, waited = (sorted(column) for column in zip(*answers))
    middle, late = len(answers) // 2, int(0.99 * len(answers)) - 1
    return (f"| {f'{milli}m' if milli else '20m, no busy pod'} | {within:.0f} % | {ran[middle]:.2f} | {ran[late]:.2f} | "
            f"{waited[middle]:.1f} | {waited[late]:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    setting.add_build_argument(parser)
    parser.add_argument("--record", action="store_true", help="write bench/results/agent-answers.md")
    arguments = parser.parse_args()
    processors = os.cpu_count()
    lines = ["| the agent requests | answered within 5 ms | on a processor, ms: median | p99 | waited for one, ms: median | p99 |",
             "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for milli in REQUESTS:
        lines.append(row(milli, *measure(arguments.build, milli, processors)))
        print(lines[-1], flush=True)
    for each in ("agent", "job", "."):
        (GROUPS / each).rmdir()
    if arguments.record:
        (setting.ROOT / "bench/results/agent-answers.md").write_text(
            f"# snug-agent beside a busy pod\n\n`python3 bench/agent_answers.py --record`, {date.today()}, {processors} cores, "
            f"{platform.machine()}; CreateContainer, {PODS} times each.\n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The page of comparison.py."""

import collections
import statistics

import report
from peers import SYSTEMS

RUNS = ("burst", "kill", "mix")
BASELINE = "time-slicing"
DECIDERS = ("kube-scheduler", "snug-extender", "gpushare-extender", "kube-controller-manager")
SERVERS = ("kube-apiserver", "etcd")
EVENTS = " events"


def page(command, shape, runs, load, sentence):
    """bench/results/comparison.md"""
    sizes = f"{shape['nodes']} nodes with {shape['gpus']} GPUs, {shape['rounds']} round{'s' if shape['rounds'] > 1 else ''}"
    loads = [each["load"] for each in runs]
    parts = [
        f"{report.heading('Snug beside other systems', command)} {sizes}. Load average {load:.1f} before the runs, "
        f"{min(loads):.1f} to {max(loads):.1f} after each. Kubernetes {runs[0]['kubernetes']}. "
        "What is measured, and how: the command's `--help` and `bench/e2e/peers/`. Medians, in brackets each round; "
        "of the calls by program, means.",
        burst_table(of(runs, "burst")), calls_table(of(runs, "burst")), kill_table(of(runs, "kill")),
        mix_table(of(runs, "mix")), told(of(runs, "burst"))]
    return "\n\n".join(part for part in [*parts, sentence] if part) + "\n"


def of(runs, what):
    """System -> its runs of that kind, in the order of SYSTEMS."""
    mine = [run for run in runs if run["what"] == what]
    return {name: rows for name in SYSTEMS if (rows := [run for run in mine if run["system"] == name])}


def middle(values, digits):
    values = list(values)
    each = f" ({' '.join(f'{value:.{digits}f}' for value in values)})" if len(values) > 1 else ""
    return f"{statistics.median(values):.{digits}f}{each}"


def speed(run):
    return run["bound"] / run["seconds"]


def over(rows):
    """What was over-committed in the worst run."""
    most = max(row["over"] for row in rows)
    place = rows[0]["place"]
    return f"{most} {place if most == 1 else place + 's'}"


def table(heading, rows):
    if not rows:
        return ""
    lines = [heading, "---".join("|" * (heading.count("|"))), *("| " + " | ".join(row) + " |" for row in rows)]
    return "\n".join(lines)


def burst_table(systems):
    bases = {run["round"]: speed(run) for run in systems.get(BASELINE, [])}
    rows = []
    for name, runs in systems.items():
        ratios = [speed(run) / bases[run["round"]] for run in runs if run["round"] in bases]
        used = [statistics.median(sum(run["cpu_ms"].get(program, 0) for program in programs) for run in runs)
                for programs in (DECIDERS, SERVERS)]
        calls = [sum(count for (_, call), count in run["calls"].items() if not call.endswith(EVENTS)) for run in runs]
        events = [sum(count for (_, call), count in run["calls"].items() if call.endswith(EVENTS)) for run in runs]
        rows.append([
            SYSTEMS[name].title, middle(map(speed, runs), 0), middle(ratios, 2) if ratios else "-",
            middle((run["seconds"] for run in runs), 1), f"{statistics.median(run['post_seconds'] for run in runs):.1f}",
            f"{statistics.median(calls):.2f}", f"{statistics.median(events):.2f}",
            f"{used[0]:.1f}", f"{used[1]:.1f}", over(runs)])
    return table("| burst | pods/s | to time-slicing in the round | s until all are bound | s to post them "
                 "| API calls per pod | events per pod | CPU ms per pod: scheduler, extender, controllers "
                 "| API server, etcd | over-committed |", rows)


def calls_table(systems):
    rows = []
    for name, runs in systems.items():
        counts = collections.defaultdict(list)
        for run in runs:
            for key, count in run["calls"].items():
                counts[key].append(count)
        for (component, call), each in sorted(counts.items()):
            count = sum(each) / len(runs)
            if count >= 0.005:
                rows.append([SYSTEMS[name].title, component, call, f"{count:.2f}"])
    return table("| API calls | program | call | per pod |", rows)


def gap(runs):
    """Without the runs in which all pods were bound before the kill."""
    gaps = [run["gap"] for run in runs if run["gap"] is not None]
    return middle(gaps, 1) if gaps else "-"


def kill_table(systems):
    rows = [[SYSTEMS[name].title, gap(runs), middle((run["seconds"] for run in runs), 1),
             " ".join(f"{run['bound']}/{run['pods']}" for run in runs), over(runs)] for name, runs in systems.items()]
    return table("| kill | s from the restart until a pod is bound | s until all are bound | bound | over-committed |", rows)


def mix_table(systems):
    rows = [[SYSTEMS[name].title, " ".join(f"{run['bound']}/{run['pods']}" for run in runs),
             middle((100 * run["share"] for run in runs), 1), over(runs)] for name, runs in systems.items()]
    return table("| mix | bound | % of the GPUs' memory asked for by bound pods | over-committed |", rows)


def told(systems):
    """What each system tells the pod that finds no room, in the last round."""
    parts = []
    for name, runs in systems.items():
        if SYSTEMS[name].runs != RUNS:
            continue
        lines = dict.fromkeys(f"- {who}, `{reason}`: {text}" for who, reason, text in runs[-1]["told"])
        parts.append(f"{SYSTEMS[name].title} tells a pod that finds no room:\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def verdict(runs):
    """(whether all went well, one sentence)"""
    for each in runs:
        if each["what"] != "mix" and each["bound"] < each["pods"]:
            return False, f"FAIL: {each['system']} bound only {each['bound']} of {each['pods']} pods of a burst."
        if each["system"].startswith("snug") and each["over"]:
            return False, f"FAIL: Snug over-committed GPUs: {each['over']}."
    return True, "PASS: every burst was bound, and Snug over-committed no GPU."

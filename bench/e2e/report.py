"""The order of the runs, and their evaluation: medians, the verdict, and the page of bench/results."""

import datetime
import os
import pathlib
import statistics

BASELINE = "none"
VARIANTS = (BASELINE, "winner", "all", "advise", "auto")
JUDGED = (100, "auto")  # percentageOfNodesToScore as deploy/ sets it, and the default answer
LEAST_RATIO = 1.0
PROGRAMS = ("snug-extender", "kube-scheduler", "kube-apiserver", "etcd", "load generator")
# If posting the pods takes a larger part of a run, the load generator limits the result. Without an
# extender the run is then useless; with one the ratio is a lower bound.
MOST_POSTING = 0.95


def order(variants, turn):
    """Every variant once, with a baseline run before and after each if the baseline is one of the
    variants. Each round begins with another variant."""
    others = [variant for variant in variants if variant != BASELINE]
    turn %= max(len(others), 1)
    others = others[turn:] + others[:turn]
    if BASELINE not in variants:
        return others
    return [BASELINE] + [name for variant in others for name in (variant, BASELINE)]


def _beside(runs, index):
    """Mean pods per second of the baseline runs directly before and after the run, in the same round
    and with the same percentageOfNodesToScore. None: there are none."""
    run = runs[index]
    speeds = [other["pods_per_second"] for other in runs[max(index - 1, 0):index + 2]
              if other["variant"] == BASELINE and
              (other["round"], other["percentage"]) == (run["round"], run["percentage"])]
    return statistics.mean(speeds) if speeds else None


def _cpu_ms_per_pod(runs):
    """For each program: milliseconds of processor time for each pod, the median over the runs."""
    used = {}
    for run in runs:
        pods = run["seconds"] * run["pods_per_second"]
        for name, seconds in run["cpu_seconds"].items():
            used.setdefault(name, []).append(1000 * seconds / pods)
    return {name: round(statistics.median(each), 2) for name, each in used.items()}


def summarize(runs):
    """A row for each variant and percentage, with medians over its runs. `runs` is in the order in
    which they ran; a ratio compares a run with the baselines directly before and after it."""
    rows = []
    for percentage, variant in dict.fromkeys((run["percentage"], run["variant"]) for run in runs):
        places = [index for index, run in enumerate(runs)
                  if (run["percentage"], run["variant"]) == (percentage, variant)]
        mine = [runs[index] for index in places]
        baselines = [variant != BASELINE and _beside(runs, index) for index in places]
        ratios = [run["pods_per_second"] / baseline
                  for run, baseline in zip(mine, baselines) if baseline]
        rows.append({
            "percentage": percentage, "variant": variant, "runs": len(mine),
            "pods_per_second": statistics.median(run["pods_per_second"] for run in mine),
            "posting": round(statistics.median(
                run["post_seconds"] / run["seconds"] for run in mine), 2),
            "ratio": round(statistics.median(ratios), 3) if ratios else None,
            "ratios": [round(ratio, 3) for ratio in ratios],
            "cpu_ms_per_pod": _cpu_ms_per_pod(mine)})
    return sorted(rows, key=lambda row: (row["percentage"] == 0, VARIANTS.index(row["variant"])))


def judge(rows):
    """(whether the bound is met, one sentence)"""
    percentage, variant = JUDGED
    by_name = {(row["percentage"], row["variant"]): row for row in rows}
    judged, baseline = by_name.get(JUDGED), by_name.get((percentage, BASELINE))
    if judged is None or judged["ratio"] is None:
        return True, (f"No verdict: it needs runs of `{variant}` and `{BASELINE}` at "
                      f"percentageOfNodesToScore {percentage}.")
    if baseline["posting"] > MOST_POSTING:
        return False, (f"FAIL: posting the pods took {baseline['posting']:.0%} of the run without an "
                       "extender, so the load generator was measured and not the scheduler.")
    word = "PASS" if judged["ratio"] >= LEAST_RATIO else "FAIL"
    return word == "PASS", (
        f"{word}: at percentageOfNodesToScore {percentage} the scheduler with `{variant}` binds "
        f"{judged['ratio']:.2f} times as many pods per second as without an extender (from "
        f"{min(judged['ratios']):.2f} to {max(judged['ratios']):.2f}); it must be at least "
        f"{LEAST_RATIO:.2f} times.")


def table(rows):
    programs = [name for name in PROGRAMS if any(name in row["cpu_ms_per_pod"] for row in rows)]
    lines = ["| percentageOfNodesToScore | answer | runs | pods/s | ratio | each run | posting took |"
             + "".join(f" ms of {name} |" for name in programs),
             "|---|---|---|---|---|---|---|" + "---|" * len(programs)]
    for row in rows:
        name = "(no extender)" if row["variant"] == BASELINE else f"`{row['variant']}`"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        each = " ".join(f"{value:.2f}" for value in row["ratios"]) or "-"
        times = [row["cpu_ms_per_pod"].get(program) for program in programs]
        used = "".join(" - |" if time is None else f" {time:.2f} |" for time in times)
        lines.append(f"| {row['percentage'] or '0 (default)'} | {name} | {row['runs']} "
                     f"| {row['pods_per_second']:.0f} | {ratio} | {each} | {row['posting']:.0%} |{used}")
    return "\n".join(lines)


def heading(title, command):
    """The start of a page of bench/results, up to the machine."""
    return (f"# {title}\n\n    {command}\n\n"
            f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores of {cpu_model()}.")


def page(command, shape, rows, verdict):
    """bench/results/e2e.md"""
    asked = ", ".join(f"{key} {value}" for key, value in shape.items())
    return (f"{heading('Pods per second of kube-scheduler', command)} "
            f"{asked}.\nMedians over the runs; a ratio is to the mean of the runs without an extender just "
            f"before and after. Milliseconds are processor time for each pod. Where posting the pods took "
            f"over {MOST_POSTING:.0%} of the time, the load generator was the bottleneck, and the figure "
            f"is a lower bound.\nkube-scheduler has a client certificate, as kubeadm "
            f"gives it, in every run; Snug has its service account's token. An API server verifies a "
            f"certificate at each request, and caches a verified token.\n\n{table(rows)}\n\n{verdict}\n")


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "an unknown CPU"

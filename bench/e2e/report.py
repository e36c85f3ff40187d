"""The order of the runs, and what they say: medians, the verdict, and the page of bench/results."""

import datetime
import os
import pathlib
import statistics

BASELINE = "none"
VARIANTS = (BASELINE, "winner", "all", "advise", "auto")
JUDGED = (100, "auto")  # percentageOfNodesToScore as deploy/ sets it, and the default answer
LEAST_RATIO = 1.0
PROGRAMS = ("snug-extender", "kube-scheduler", "kube-apiserver", "etcd", "load generator")
# Where the load generator took nearly the whole run without an extender, it is what was measured.
# Where it did so beside an extender, the scheduler kept up with it, and the ratio is a lower bound.
MOST_POSTING = 0.95


def order(variants, turn):
    """Every variant once, a baseline before and after each; without one, just the variants. The
    first place goes from round to round."""
    others = [variant for variant in variants if variant != BASELINE]
    turn %= max(len(others), 1)
    others = others[turn:] + others[:turn]
    if BASELINE not in variants:
        return others
    return [BASELINE] + [name for variant in others for name in (variant, BASELINE)]


def _beside(runs, index):
    """Pods per second of the baselines that ran just before and just after that run; its own round
    and percentageOfNodesToScore. None: it has none."""
    run = runs[index]
    speeds = [other["pods_per_second"] for other in runs[max(index - 1, 0):index + 2]
              if other["variant"] == BASELINE and
              (other["round"], other["percentage"]) == (run["round"], run["percentage"])]
    return statistics.mean(speeds) if speeds else None


def _cpu_ms_per_pod(runs):
    """By program: milliseconds of processor time for each pod, the median over the runs."""
    used = {}
    for run in runs:
        pods = run["seconds"] * run["pods_per_second"]
        for name, seconds in run["cpu_seconds"].items():
            used.setdefault(name, []).append(1000 * seconds / pods)
    return {name: round(statistics.median(each), 2) for name, each in used.items()}


def summarize(runs):
    """A row for each variant and percentage: medians over its runs, which are given in the order
    in which they ran; ratios are to the baselines beside each run."""
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
    """(whether all is well, one sentence)"""
    percentage, variant = JUDGED
    by_name = {(row["percentage"], row["variant"]): row for row in rows}
    judged, baseline = by_name.get(JUDGED), by_name.get((percentage, BASELINE))
    if judged is None or judged["ratio"] is None:
        return True, (f"Not judged: that takes `{variant}` and `{BASELINE}` at "
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


def page(command, shape, rows, verdict):
    """bench/results/e2e.md"""
    asked = ", ".join(f"{key} {value}" for key, value in shape.items())
    return (f"# Pods per second of kube-scheduler\n\n    {command}\n\n"
            f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores of {cpu_model()}. "
            f"{asked}.\nMedians over the runs; a ratio is to the mean of the runs without an extender just "
            f"before and after. Milliseconds are processor time for each pod. Where posting the pods took "
            f"over {MOST_POSTING:.0%} of the time, the load generator's end was reached and not the "
            f"scheduler's: a bound from below.\nkube-scheduler has a client certificate, as kubeadm "
            f"gives it, in every run; Snug has its service account's token. An API server verifies a "
            f"certificate at each request, and remembers a token.\n\n{table(rows)}\n\n{verdict}\n")


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "a CPU that does not say its model"

"""What the runs say: medians over the rounds, the verdict, and the page of bench/results."""

import datetime
import os
import pathlib
import statistics

BASELINE = "none"
VARIANTS = (BASELINE, "winner", "all", "advise", "auto")
JUDGED = (100, "auto")  # percentageOfNodesToScore as deploy/ sets it, and the default answer
LEAST_RATIO = 1.0
# Where the load generator took nearly the whole run without an extender, it is what was measured.
# Where it did so beside an extender, the scheduler kept up with it, and the ratio is a lower bound.
MOST_POSTING = 0.95


def summarize(runs):
    """Medians over the rounds; ratios are to the baseline of the same round."""
    rows = []
    for percentage, variant in dict.fromkeys((run["percentage"], run["variant"]) for run in runs):
        mine = [run for run in runs
                if (run["percentage"], run["variant"]) == (percentage, variant)]
        baselines = {run["round"]: run["pods_per_second"] for run in runs
                     if (run["percentage"], run["variant"]) == (percentage, BASELINE)}
        ratios = [run["pods_per_second"] / baselines[run["round"]] for run in mine
                  if run["round"] in baselines]
        rows.append({
            "percentage": percentage, "variant": variant,
            "pods_per_second": statistics.median(run["pods_per_second"] for run in mine),
            "posting": round(statistics.median(
                run["post_seconds"] / run["seconds"] for run in mine), 2),
            "ratio": round(statistics.median(ratios), 3) if ratios else None,
            "ratios": [round(ratio, 3) for ratio in ratios]})
    return sorted(rows, key=lambda row: (row["percentage"] == 0, VARIANTS.index(row["variant"])))


def judge(rows):
    """(whether all is well, one sentence)"""
    percentage, variant = JUDGED
    by_name = {(row["percentage"], row["variant"]): row for row in rows}
    judged, baseline = by_name.get(JUDGED), by_name.get((percentage, BASELINE))
    if judged is None or baseline is None:
        return True, (f"Not judged: that takes `{variant}` and `{BASELINE}` at "
                      f"percentageOfNodesToScore {percentage}.")
    if baseline["posting"] > MOST_POSTING:
        return False, (f"FAIL: posting the pods took {baseline['posting']:.0%} of the run without an "
                       "extender, so the load generator was measured and not the scheduler.")
    word = "PASS" if judged["ratio"] >= LEAST_RATIO else "FAIL"
    return word == "PASS", (
        f"{word}: at percentageOfNodesToScore {percentage} the scheduler with `{variant}` binds "
        f"{judged['ratio']:.2f} times as many pods per second as without an extender; it must be "
        f"at least {LEAST_RATIO:.2f} times.")


def table(rows):
    lines = ["| percentageOfNodesToScore | answer | pods/s | ratio | each round | posting took |",
             "|---|---|---|---|---|---|"]
    for row in rows:
        name = "(no extender)" if row["variant"] == BASELINE else f"`{row['variant']}`"
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        each = " ".join(f"{value:.2f}" for value in row["ratios"])
        lines.append(f"| {row['percentage'] or '0 (default)'} | {name} | {row['pods_per_second']:.0f} "
                     f"| {ratio} | {each} | {row['posting']:.0%} |")
    return "\n".join(lines)


def page(command, shape, rows, verdict):
    """bench/results/e2e.md"""
    asked = ", ".join(f"{key} {value}" for key, value in shape.items())
    return (f"# Pods per second of kube-scheduler\n\n    {command}\n\n"
            f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores of {_cpu_model()}. "
            f"{asked}.\nMedians over the rounds; a ratio is to the run without an extender of the "
            f"same round.\n\n{table(rows)}\n\n{verdict}\n")


def _cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return "a CPU that does not say its model"

"""Draws GET /v1/nodes for a terminal: one bar for each GPU, filled with the letters of its pods."""

import os
import sys

from layout import colours_of, counts_of, rows_of

CELLS = 40
FREE = "·"
UNHELD = "-"  # a slice that exists and that nobody holds
# Backgrounds of the 256-colour palette on which black letters are legible.
COLOURS = [75, 214, 114, 212, 228, 116, 209, 183]


def colours_wanted():
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _painted(text, number):
    if number is None or not colours_wanted():
        return text
    return f"\033[30;48;5;{COLOURS[number]}m{text}\033[0m"


def _bar(row, letters, numbers):
    """Each part takes cells in proportion to its size, and at least one."""
    text, drawn = "", 0
    for part in row.parts:
        start = min(CELLS, max(drawn, round(part.start * CELLS)))
        end = min(CELLS, max(start + 1, round(part.end * CELLS)))
        letter = letters.get(part.uid, "?") if part.uid else UNHELD
        text += FREE * (start - drawn) + _painted(letter * (end - start), numbers.get(part.uid))
        drawn = end
    return "▕" + text + FREE * (CELLS - drawn) + "▏"


def _note(row):
    slices = [f"{part.text}@{slice_['start']}" for part, slice_ in zip(
        row.parts, sorted(row.gpu.get("slices", {}).get("instances", []), key=lambda each: each["start"]))]
    return " ".join([row.note, *slices])


def draw(state, letters):
    """Prints the nodes of GET /v1/nodes; `letters`: {pod uid: letter}."""
    numbers = colours_of(state["nodes"], len(COLOURS))
    for node in state["nodes"]:
        closed = f", closed: {node['closed']}" if node["closed"] else ""
        print(f"{node['name']} (pool {node['pool']}{closed})")
        for row in rows_of(node):
            gpu = row.gpu
            print(f"  {gpu['index']} {gpu['model']:<22} {_bar(row, letters, numbers)} "
                  f"{gpu['usedMemoryMiB']:>6}/{gpu['memoryMiB']} MiB {gpu['usedComputeMilli']:>4}/1000  "
                  f"{_note(row)}".rstrip())


def summary(state, placed, refused):
    """One line: how many pods were placed, and how many GPUs they use."""
    counts = counts_of(state["nodes"])
    gpus = ", ".join(f"{number} {what}" for what, number in counts.items() if number or what in ("in use", "free"))
    return f"{placed} pods placed, {refused} refused; {sum(counts.values())} GPUs: {gpus}."

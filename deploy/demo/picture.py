"""Draws GET /v1/nodes for a terminal: one bar for each GPU, filled with the letters of its pods."""

import os
import sys

CELLS = 40
FREE = "·"
COLOURS = [42, 44, 43, 45, 46, 41]


def colours_wanted():
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _painted(text, letter):
    if not colours_wanted() or letter == FREE:
        return text
    colour = COLOURS[(ord(letter) - ord("a")) % len(COLOURS)]
    return f"\033[30;{colour}m{text}\033[0m"


def _bar(gpu, letters):
    """Each holder takes cells in proportion to its memory, and at least one."""
    parts, used, drawn = [], 0, 0
    for holder in gpu["holders"]:
        used += holder["memoryMiB"]
        end = min(CELLS, max(drawn + 1, round(used * CELLS / gpu["memoryMiB"])))
        letter = letters.get(holder["uid"], "?")
        parts.append(_painted(letter * (end - drawn), letter))
        drawn = end
    return "▕" + "".join(parts) + FREE * (CELLS - drawn) + "▏"


def _note(gpu):
    if not gpu["healthy"]:
        return "unhealthy"
    if gpu["closed"]:
        return f"closed: {gpu['closed']}"
    return "" if gpu["mode"] == "none" else gpu["mode"]


def draw(state, letters):
    """Prints the nodes of GET /v1/nodes; `letters`: {pod uid: letter}."""
    for node in state["nodes"]:
        closed = f", closed: {node['closed']}" if node["closed"] else ""
        print(f"{node['name']} (pool {node['pool']}{closed})")
        for gpu in node["gpus"]:
            memory, milli = gpu["usedMemoryMiB"], gpu["usedComputeMilli"]
            print(f"  {gpu['index']} {gpu['model']:<22} {_bar(gpu, letters)} "
                  f"{memory:>6}/{gpu['memoryMiB']} MiB {milli:>4}/1000  {_note(gpu)}".rstrip())
        for unit in node["kubeletAssigned"]:
            letter = letters.get(unit["uid"], "?")
            print(f"    {letter} {unit['pod']}: {unit['resource']} × {unit['count']}, "
                  "whose device the kubelet picks")

"""Draws GET /v1/nodes as SVG: one card for each node, one bar for each GPU, with the names of its pods."""

from html import escape

from layout import colours_of, counts_of, rows_of

WIDTH = 960
MARGIN = 20
GAP = 16
COLUMNS = 2
CARD_WIDTH = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS
HEAD = 34           # of a card
ROW = 50            # of a GPU
BAR = 22
INSET = 14
TOP = 66
LETTER_WIDTH = 6.2  # of the names in bars
# Fills on a light and on a dark page, for white or black names.
COLOURS = [("#9ecbff", "#1f5fa8"), ("#ffc680", "#9a5b13"), ("#a5e3b5", "#1d6f3f"), ("#f3b8dc", "#8d3a6f"),
           ("#f4e285", "#7d6a14"), ("#a8e4e6", "#17696d"), ("#ffb3a1", "#9a3d2a"), ("#d5c2f7", "#5f4699")]
STYLE = """
text{fill:#24292f}.soft{fill:#59636e;font-size:12px}.title{font-size:18px;font-weight:600}.name{font-weight:600}
.in{font-size:11.5px}.paper{fill:#fff}.card{fill:#f6f8fa;stroke:#d8dee4}.bar{fill:#fff;stroke:#afb8c1}
.part{stroke:#fff;stroke-width:1.5}.unheld{fill:#d8dee4}.bad{fill:#d1242f}
"""
DARK = """text{fill:#e6edf3}.soft{fill:#9198a1}.paper{fill:#0d1117}.card{fill:#151b23;stroke:#30363d}
.bar{fill:#0d1117;stroke:#4d5661}.part{stroke:#0d1117}.unheld{fill:#3d444d}.bad{fill:#ff7b72}
"""


def _style():
    light, dark = ("".join(f".p{number}{{fill:{pair[at]}}}" for number, pair in enumerate(COLOURS)) for at in (0, 1))
    return f"<style>{STYLE}{light}\n@media (prefers-color-scheme:dark){{{DARK}{dark}}}\n</style>\n"


def _text(x, y, style, text, anchor="start"):
    return f'<text class="{style}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>\n'


def _box(box, style, radius=4):
    x, y, width, height = box
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>\n'


def _fitting(texts, width):
    """The first text that fits into the width."""
    return next((text for text in texts if len(text) * LETTER_WIDTH <= width - 6), "")


def _part(part, bar, number):
    """A part of a bar, with as much of its name as fits."""
    x, y, width, height = bar
    left, wide = x + part.start * width, (part.end - part.start) * width
    full = f"{part.pod} {part.text}".strip() if part.uid else f"{part.text} free"
    style = f"part p{number}" if part.uid else "part unheld"
    svg = f"<g><title>{escape(full)}</title>" + _box((round(left, 1), y, round(wide, 1), height), style, 3)
    shown = _fitting([full, part.pod or part.text], wide)
    return svg + (_text(round(left + wide / 2, 1), y + 15.5, "in", shown, "middle") if shown else "") + "</g>\n"


def _use(row):
    """How much of the GPU is used, and how."""
    size = f"{row.gpu['memoryMiB'] / 1024:.1f} GiB"
    if not any(part.uid for part in row.parts):
        return f"{size} free" + (f", {row.note}" if row.note else "")
    if row.parts[0].text.startswith("nvidia.com/"):
        return f"{size}, assigned by the kubelet"
    return f"{row.gpu['usedMemoryMiB'] / 1024:.1f} of {size}, {row.note}"


def _gpu(row, x, y, numbers):
    gpu, width = row.gpu, CARD_WIDTH - 2 * INSET
    bad = not gpu["healthy"] or gpu["closed"]
    svg = _text(x, y + 12, "soft", f"{gpu['index']}  {gpu['model']}")
    svg += _text(x + width, y + 12, "soft bad" if bad else "soft", row.note if bad else _use(row), "end")
    bar = (x, y + 18, width, BAR)
    return svg + _box(bar, "bar") + "".join(_part(part, bar, numbers.get(part.uid)) for part in row.parts)


def _card(node, x, y, numbers):
    rows = list(rows_of(node))
    height = HEAD + ROW * len(rows) + 6
    svg = _box((x, y, CARD_WIDTH, height), "card", 8) + _text(x + INSET, y + 23, "name", node["name"])
    if node["pool"] != "auto":
        svg += _text(x + CARD_WIDTH - INSET, y + 23, "soft", f"pool {node['pool']}", "end")
    for number, row in enumerate(rows):
        svg += _gpu(row, x + INSET, y + HEAD + number * ROW, numbers)
    return svg, height


def write_map(state):
    """The nodes, in the order of their names, each in the column that ends higher up."""
    numbers = colours_of(state["nodes"], len(COLOURS))
    ends, cards = [TOP] * COLUMNS, ""
    for node in state["nodes"]:
        column = ends.index(min(ends))
        card, height = _card(node, MARGIN + column * (CARD_WIDTH + GAP), ends[column], numbers)
        cards += card
        ends[column] += height + GAP
    counts = counts_of(state["nodes"])
    about = f"{len(state['nodes'])} nodes, {sum(counts.values())} GPUs: " + ", ".join(
        f"{number} {what}" for what, number in counts.items() if number)
    height = max(ends) + MARGIN - GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}" '
            'role="img" font-family="system-ui, sans-serif" font-size="13">\n<title>Pods on GPUs</title>\n' + _style() +
            '<rect class="paper" width="100%" height="100%"/>\n' + _text(MARGIN, 34, "title", "Every pod on its part of a GPU") +
            _text(MARGIN, 53, "soft", about) + cards + "</svg>\n")

"""What the site has beside the pages of docs/: under tree/ the files to which they link, and in the navigation the decisions."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[([^][]*)\]\(([^)\s#]+)([^)\s]*)\)")
HOME = "docs/README.md"
FOLDER = ""
ITEM = re.compile(r"(?:[-*]|\d+\.) +")


def path_of(uri):
    """Where a page of the site lies in the tree."""
    return uri.removeprefix("tree/") if uri.startswith("tree/") else "docs/" + uri


def uri_of(path):
    return path.removeprefix("docs/") if path.startswith("docs/") else "tree/" + path


def target_of(path, link):
    """The file to which a link in the file `path` leads, FOLDER for a folder without page, or None if there is none here."""
    if re.match(r"[a-z]+:", link):
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    if target == "README.md":  # the page for the forge
        return HOME
    if (ROOT / target).is_dir():
        target += "/README.md"
        return target if (ROOT / target).is_file() else FOLDER
    return target if (ROOT / target).is_file() else None


def text_parts(markdown):
    """The parts that are text and, at odd indices, blocks of code."""
    return re.split(r"(^ *```.*?^ *```$)", markdown, flags=re.M | re.S)


def targets_of(path):
    for part in text_parts((ROOT / path).read_text(encoding="utf-8"))[::2]:
        for match in LINK.finditer(part):
            if target := target_of(path, match[2]):
                yield target


def indented(markdown):
    """As Python-Markdown wants it: what belongs to an item of a list is indented by four columns, whatever the width of its
    marker, and there is a blank line before code, and before an item that follows a paragraph of the item before."""
    lines, widths, fenced, paragraphs = [], [], False, False  # widths: where the text of each open item begins
    for line in markdown.split("\n"):
        text = line.lstrip(" ")
        column = len(line) - len(text)
        marker = None if fenced else ITEM.match(text)
        if text and not fenced:
            while widths and column < widths[-1]:
                widths.pop()
            if lines and lines[-1] and (marker and paragraphs or text.startswith("```")):
                lines.append("")
        extra = max(column - (widths[-1] if widths else 0), 0)
        lines.append(" " * (4 * len(widths) + extra) + text if text else "")
        paragraphs = not marker and (paragraphs or not text)
        if marker:
            widths.append(column + len(marker[0]))
        fenced ^= text.startswith("```")
    return "\n".join(lines)


def on_config(config):
    [pages] = [section["Explanation"] for section in config.nav if "Explanation" in section]
    decisions = sorted(path.name for path in (ROOT / "docs/decisions").glob("*.md"))
    pages.append({"Decisions": [f"decisions/{name}" for name in decisions]})
    return config


def on_files(files, config):
    waiting = [path_of(file.src_uri) for file in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        for target in set(targets_of(waiting.pop())) - seen:
            seen.add(target)
            if not target.startswith("docs/"):
                files.append(File.generated(config, uri_of(target), abs_src_path=str(ROOT / target)))
            if target.endswith(".md"):
                waiting.append(target)
    return files


def on_page_markdown(markdown, page, config, files):
    path, folder = path_of(page.file.src_uri), posixpath.dirname(page.file.src_uri) or "."

    def relinked(match):
        target = target_of(path, match[2])
        if target is None:
            return match[0]  # of the web, or dead, which mkdocs reports
        return f"[{match[1]}]({posixpath.relpath(uri_of(target), folder)}{match[3]})" if target else match[1]
    parts = text_parts(markdown)
    parts[::2] = [LINK.sub(relinked, part) for part in parts[::2]]
    return indented("".join(parts))

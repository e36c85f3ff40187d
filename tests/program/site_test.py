"""The site of docs/: it is built without a warning, needs no other server, and has every page and picture; the generated
pages are what deploy/site/generate.py writes."""

import re
import shutil
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from programs import ROOT, SNUGCTL, run

BUILD = "deploy/site/build.sh"
# What a browser loads by itself, and by which attribute.
LOADED = {"script": "src", "img": "src", "source": "srcset", "iframe": "src", "link": "href", "video": "src", "object": "data"}


class Paragraphs(HTMLParser):
    """The lines of a page's paragraphs."""

    def __init__(self, page):
        super().__init__()
        self.lines, self._inside = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "p":
            self._inside = True
            self.lines.append("")

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "p"

    def handle_data(self, data):
        if self._inside:
            first, *rest = data.split("\n")
            self.lines[-1] += first
            self.lines += rest


class Loads(HTMLParser):
    """What a page loads from another server, and to which paths it leads."""

    def __init__(self, page):
        super().__init__()
        self.found, self.paths = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        value = dict(attrs).get(LOADED.get(tag)) or ""
        if re.match(r"(?:https?:)?//", value) and dict(attrs).get("rel") != "canonical":
            self.found.append(value)
        for name, value in attrs:
            if name in ("src", "href"):
                self.paths.add(value)
            elif name == "srcset":
                self.paths |= {each.split()[0] for each in value.split(",")}


def dead_paths(page):
    """The relative addresses in this file of the site that lead to no file of it."""
    for path in sorted(Loads(page.read_text()).paths):
        parts = urlsplit(path)
        if parts.scheme or parts.netloc or not parts.path or parts.path.startswith("/"):
            continue
        target = page.parent / unquote(parts.path)
        if not (target / "index.html" if target.is_dir() else target).is_file():
            yield path


def folder_of(case):
    folder = tempfile.TemporaryDirectory(prefix="snug-site-")
    case.addCleanup(folder.cleanup)
    return Path(folder.name)


class SiteTest(unittest.TestCase):
    def test_it_is_built_and_loads_nothing_from_elsewhere(self):
        site = folder_of(self) / "site"
        done = run("bash", BUILD, site)
        self.assertEqual(done.returncode, 0, done.stdout)
        pages = list(site.rglob("*.html"))
        self.assertGreater(len(pages), 60)
        for page in pages:
            self.assertEqual(Loads(page.read_text()).found, [], page)
            self.assertEqual(list(dead_paths(page)), [], page)
            marks = [line for line in Paragraphs(page.read_text()).lines if re.match(r" *(?:\d{1,2}\.|-|```|\|) ", line)]
            self.assertEqual(marks, [], f"{page}: this is no text")
        for style in site.rglob("*.css"):
            self.assertEqual(re.findall(r"url\(['\"]?(?:https?:)?//[^)]*|@import[^;]*//[^;]*", style.read_text()), [], style)
        self.assertTrue((site / "tree/deploy/examples/mps.yaml").is_file(), "a file of the tree that a page names")

    def test_a_dead_link_is_an_error(self):
        tree = folder_of(self)
        shutil.copytree(ROOT, tree, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(".git", "build"))
        page = tree / "docs/operations.md"
        for link, said in (("how-to/debug.md#nothing", "does not contain an anchor '#nothing'"),
                           ("how-to/nothing.md", "'how-to/nothing.md', but the target is not found"),
                           ("../deploy/README.md#nothing", "does not contain an anchor '#nothing'")):
            page.write_text((ROOT / "docs/operations.md").read_text() + f"\n[a link]({link})\n")
            done = run("bash", tree / BUILD, tree / "site")
            self.assertNotEqual(done.returncode, 0, link)
            self.assertIn(said, done.stdout)

    def test_every_page_is_in_the_navigation(self):
        named = set(re.findall(r"[\w./-]+\.md$", (ROOT / "deploy/site/mkdocs.yml").read_text(), re.M))
        pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
        self.assertEqual({page for page in pages if not page.startswith("decisions/")}, named)

    def test_the_generated_pages_are_what_the_code_gives(self):
        folder = folder_of(self)
        done = run("/usr/bin/python3", "deploy/site/generate.py", "--snugctl", SNUGCTL, "--to", folder)
        self.assertEqual(done.returncode, 0, done.stdout)
        pages = sorted(path.name for path in folder.iterdir())
        self.assertGreater(len(pages), 2)
        for name in pages:
            self.assertEqual((folder / name).read_text(), (ROOT / "docs/reference" / name).read_text(),
                             "run deploy/site/generate.py")


if __name__ == "__main__":
    unittest.main()

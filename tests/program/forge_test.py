"""The files for a forge: its workflows are valid, pinned and least privileged, and a release has notes."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from programs import ROOT, run

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
USES = re.compile(r"uses: (\S+?)@(\S+)(.*)$", re.M)


class WorkflowTest(unittest.TestCase):
    def test_actionlint_accepts_them(self):
        done = subprocess.run(["bash", ROOT / "tests/program/actionlint/build.sh"], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 3:
            self.skipTest("there is no Go to build actionlint")
        self.assertEqual(done.returncode, 0)
        linted = run(done.stdout.strip() + "/actionlint", "-no-color", *WORKFLOWS)
        self.assertEqual((linted.returncode, linted.stdout), (0, ""))

    def test_actions_are_pinned_to_one_commit_each(self):
        pins = {}
        for path in WORKFLOWS:
            for action, commit, comment in USES.findall(path.read_text()):
                self.assertRegex(commit, r"^[0-9a-f]{40}$", action)
                self.assertRegex(comment, r"^  # v\d+\.\d+\.\d+$", action)
                pins.setdefault(action, set()).add(commit)
        self.assertGreater(len(pins), 3)
        for action, commits in pins.items():
            self.assertEqual(len(commits), 1, action)

    def test_only_the_job_that_publishes_may_write(self):
        for path in WORKFLOWS:
            workflow = yaml.safe_load(path.read_text())
            rights = {path.name: workflow["permissions"]}
            rights |= {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
            writing = {name for name, right in rights.items() if "write" in right.values()}
            self.assertEqual(writing, {"publish"} if path.name == "release.yml" else set())

    def test_the_scripts_and_presets_that_they_name_exist(self):
        text = "".join(path.read_text() for path in WORKFLOWS)
        for script in set(re.findall(r"\b((?:deploy|tests)/\S+\.(?:sh|py))", text)):
            self.assertTrue((ROOT / script).is_file(), script)
        presets = re.findall(r'"name": "(\S+)"', (ROOT / "CMakePresets.json").read_text())
        for preset in set(re.findall(r"--preset (\S+)", text)):
            self.assertIn(preset, presets)

    def test_owners_own_what_exists(self):
        for line in (GITHUB / "CODEOWNERS").read_text().splitlines():
            if line and not line.startswith(("#", "*")):
                self.assertTrue((ROOT / line.split()[0].strip("/")).exists(), line)

    def test_issue_forms_have_what_the_forge_needs(self):
        for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"):
            form = yaml.safe_load(path.read_text())
            if path.name != "config.yml":
                self.assertLessEqual({"name", "description", "body"}, set(form))
                for part in form["body"]:
                    self.assertIn(part["type"], ("input", "textarea"))
                    self.assertTrue(part["attributes"]["label"])


class ReleaseTest(unittest.TestCase):
    def notes(self, changelog, version):
        with tempfile.TemporaryDirectory(prefix="snug-notes-") as folder:
            script = Path(folder, "deploy/release/notes.sh")
            script.parent.mkdir(parents=True)
            script.write_text((ROOT / "deploy/release/notes.sh").read_text())
            Path(folder, "CHANGELOG.md").write_text(changelog)
            return run("bash", script, version)

    def test_notes_are_the_section_of_the_version(self):
        text = "# Changelog\n\n## [Unreleased]\n\n- c\n\n## [1.10.0] - 2027-01-01\n\n### Added\n\n- b\n\n## [1.1.0] - 2026-12-01\n\n- a\n"
        for version, said in (("1.10.0", "### Added\n\n- b\n"), ("1.1.0", "- a\n"), ("Unreleased", "- c\n")):
            with self.subTest(version):
                done = self.notes(text, version)
                self.assertEqual((done.returncode, done.stdout), (0, said))
        for version in ("1.1", "1.1.1", "2.0.0"):
            with self.subTest(version):
                done = self.notes(text, version)
                self.assertEqual((done.returncode, done.stdout), (1, f"notes: CHANGELOG.md has no section {version}\n"))

    def test_the_changelog_has_sections(self):
        self.assertEqual(run("bash", "deploy/release/notes.sh", "Unreleased").returncode, 0)

    def test_another_version_than_that_of_the_sources_is_not_built(self):
        with tempfile.TemporaryDirectory(prefix="snug-release-") as folder:
            done = run("bash", "deploy/release/build.sh", "99.0.0", "https://host.example", folder)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stdout, r"^release: CMakeLists.txt has version \S+, not 99\.0\.0\n$")

    def test_one_version_everywhere(self):
        version = re.search(r"project\(snug VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
        for name, pattern in (("api/openapi.yaml", r"^  version: (\S+)$"), ("deploy/krew/snug.yaml", r"^  version: v(\S+)$"),
                              ("deploy/chart/Chart.yaml", r"^version: (\S+)$"), ("deploy/chart/Chart.yaml", r"^appVersion: (\S+)$"),
                              ("deploy/kustomization.yaml", r"name: snug-extender\b[\s\S]*?newTag: \"?([\d.]+)")):
            with self.subTest(name):
                found = re.search(pattern, (ROOT / name).read_text(), re.M)
                self.assertTrue(found, name)
                self.assertEqual(found[1], version)
        releases = (ROOT / "docs/reference/releases.md").read_text()
        named = 0
        for path in map(ROOT.__truediv__, run("git", "ls-files", "-co", "--exclude-standard", "README.md", "docs", "deploy").stdout.split()):
            tags = re.findall(r"\b(?:snug-extender|snug-agent|image/image|image/agent-image):(\d[\w.-]*\w)", path.read_text(errors="replace")) if path.is_file() else []
            if tags:
                named += 1
                with self.subTest(path):
                    self.assertEqual(set(tags), {version})
                    self.assertIn(f"`{path.relative_to(ROOT)}`", releases, "a file with the version that the page of releases lacks")
        self.assertGreater(named, 5)


if __name__ == "__main__":
    unittest.main()

"""Without Go there is no control plane: the end-to-end tests are reported as skipped, in CI as failed.
SNUG_GO, the only Go that is tried, simulates a machine without one."""

import re
import tempfile
import unittest
from pathlib import Path

from programs import EXTENDER, ROOT, run

E2E = ROOT / "tests/e2e"
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)


class NoGoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-no-go-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.variables = {"SNUG_GO": str(self.folder / "no-such-go"), "SNUG_CACHE": str(self.folder / "cache")}

    def test_the_control_plane_cannot_be_built(self):
        done = run("bash", E2E / "controlplane/build.sh", **self.variables)
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("is no Go >= 1.26", done.stdout)

    def test_an_old_go_is_none(self):
        old = self.folder / "no-such-go"
        for version, code in (("go1.25.9", 3), ("go0.99", 3), ("devel", 3)):
            with self.subTest(version=version):
                old.write_text(f"#!/bin/sh\necho {version}\n")
                old.chmod(0o755)
                done = run("bash", E2E / "controlplane/build.sh", **self.variables)
                self.assertEqual(done.returncode, code, done.stdout)

    def test_the_whole_run_skips_and_says_so(self):
        done = self._run_e2e_step(CI="")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("Go 1.26 is missing", done.stdout)
        passed, failed, skipped = map(int, SUMMARY.findall(done.stdout)[-1])
        self.assertEqual((passed, failed), (0, 0))
        self.assertGreater(skipped, 20)

    def test_in_ci_it_is_a_failure(self):
        done = self._run_e2e_step(CI="true")
        self.assertEqual(done.returncode, 1, done.stdout)
        passed, failed, skipped = map(int, SUMMARY.findall(done.stdout)[-1])
        self.assertEqual((passed, skipped), (0, 0))
        self.assertGreater(failed, 20)

    def _run_e2e_step(self, **variables):
        (self.folder / "build/check").mkdir(parents=True)
        (self.folder / "build/check/snug-extender").symlink_to(EXTENDER)
        return run("bash", ROOT / "tests/run.sh", "--only", "e2e", SNUG_BUILD=str(self.folder / "build"),
                   **self.variables, **variables)


if __name__ == "__main__":
    unittest.main()

"""deploy/demo.sh: it places the sample pods where it should, and fails where it does not."""

import json
import re
import signal
import tempfile
import unittest
from pathlib import Path

from programs import EXTENDER, ROOT, run, start

DEMO = ROOT / "deploy/demo.sh"
EXPECTED = ROOT / "deploy/demo/expected.yaml"


class DemoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-demo-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_every_pod_ends_as_expected(self):
        done = run("bash", DEMO, SNUG_EXTENDER=str(EXTENDER))
        self.assertEqual(done.returncode, 0, done.stdout)
        for text in ("notebook-1", "Malformed: ", "/81920 MiB"):
            self.assertIn(text, done.stdout)

    def test_another_end_is_an_error(self):
        changed = self.folder / "expected.yaml"
        text = EXPECTED.read_text()
        for old, new in (("website: {node: ", "website: {node: no-such-"),
                         ("refused: [Malformed]", "refused: [NoRoom]"),
                         ("website:", "stranger:")):
            with self.subTest(old=old):
                self.assertIn(old, text)
                changed.write_text(text.replace(old, new))
                done = self._demo_py("--extender", EXTENDER, "--expected", changed)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("expects", done.stdout)

    def test_a_verb_that_fails_is_an_error(self):
        program = self.folder / "few-names"
        program.write_text(f'#!/bin/sh\nexec "{EXTENDER}" "$@" --limits maxNamesPerCall=1\n')
        program.chmod(0o755)
        pods = self._demo_py("--extender", program)
        self.assertEqual(pods.returncode, 1, pods.stdout)
        self.assertIn("/filter answered: ", pods.stdout)

    def test_a_program_that_does_not_start_is_an_error(self):
        done = run("bash", DEMO, SNUG_EXTENDER="/bin/false")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("snug-extender did not start", done.stdout)

    def test_serve_prints_lines_that_work_and_ends_with_ctrl_c(self):
        demo = start(self, "bash", DEMO, "--serve", SNUG_EXTENDER=str(EXTENDER))
        printed = ""
        for line in demo.stdout:
            printed += line
            if line.startswith("Ctrl-C"):
                break
        lines = re.findall(r"^  (curl .*)$", printed, re.M)
        answers = {line.rsplit("/", 1)[-1]: run("bash", "-c", line + " 2>/dev/null") for line in lines}
        for name, answer in answers.items():
            self.assertEqual(answer.returncode, 0, f"{name}: {answer.stdout}")
        self.assertEqual(self._body(answers["filter"])["Error"], "")
        self.assertEqual(self._body(answers["bind"]), {"Error": ""})
        self.assertTrue(self._body(answers["nodes"])["nodes"])
        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(20), 0, demo.stderr.read())

    def _demo_py(self, *options):
        return run("/usr/bin/python3", ROOT / "deploy/demo/demo.py", *options)

    @staticmethod
    def _body(answer):
        return json.loads(answer.stdout)


if __name__ == "__main__":
    unittest.main()

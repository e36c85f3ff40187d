"""deploy/demo.sh places the sample pods as expected, and fails otherwise."""

import json
import os
import re
import shutil
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
        program = self.folder / "small-bodies"
        program.write_text(f'#!/bin/sh\nexec "{EXTENDER}" "$@" --limits maxBodyBytes=1024\n')
        program.chmod(0o755)
        demo = Path(shutil.copytree(ROOT / "deploy/demo", self.folder / "demo"))
        pods = demo / "pods.yaml"
        text = pods.read_text().replace('{gpu-fraction: "0.25"}', '{gpu-fraction: "0.25", note: ' + "x" * 1024 + "}")
        pods.write_text(text)
        done = run("/usr/bin/python3", demo / "demo.py", "--extender", program)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("/filter answered: ", done.stdout)

    def test_a_program_that_does_not_start_is_an_error(self):
        done = run("bash", DEMO, SNUG_EXTENDER="/bin/false")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("snug-extender did not start", done.stdout)

    def test_a_program_that_cannot_be_started_is_one_sentence(self):
        no_program = self.folder / "no-program"
        no_program.write_text("not a program\n")
        for name in ("/nope", str(self.folder), str(no_program)):
            with self.subTest(name):
                done = self._demo_py("--extender", name)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, rf"^demo: {re.escape(name)} cannot be started: [^\n]+\.\n$")

    def test_help_is_no_error_and_a_wrong_option_is(self):
        for options, code in ((["--help"], 0), (["--serv"], 2), (["--serve", "--help"], 2)):
            with self.subTest(options):
                done = run("bash", DEMO, *options)
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertTrue(done.stdout.startswith("usage: bash deploy/demo.sh [--serve | --kubernetes]\n"), done.stdout)

    def test_a_program_that_is_given_needs_no_packages_to_build(self):
        """On a machine that has only what the demo itself needs, and no way to install more."""
        for name, text in (("dpkg-query", "printf 'installed %s\\n' curl python3 python3-yaml"),
                           ("apt-get", "exit 1"), ("sudo", "exit 1")):
            (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.folder / name).chmod(0o755)
        done = run("bash", DEMO, SNUG_EXTENDER=str(EXTENDER), PATH=f"{self.folder}:{os.environ['PATH']}")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertNotIn("Installing", done.stdout)

    def test_serve_prints_lines_that_work_and_ends_with_ctrl_c(self):
        demo, printed = self._serve(EXTENDER)
        lines = re.findall(r"^  (curl .*)$", printed, re.M)
        names = [re.search(r"http://[^ /]+/(?:\S*/)?(\S*)", line)[1] for line in lines]
        self.assertEqual(len(set(names)), len(lines), lines)
        answers = {name: run("bash", "-c", "set -o pipefail; " + line) for name, line in zip(names, lines)}
        for name, answer in answers.items():
            self.assertEqual(answer.returncode, 0, f"{name}: {answer.stdout}")
            if name != "metrics":
                laid_out = json.dumps(self._body(answer), indent=4)
                self.assertEqual(answer.stdout.rstrip("\n"), laid_out, name)
        self.assertEqual(self._body(answers["filter"])["Error"], "")
        self.assertEqual(self._body(answers["bind"]), {"Error": ""})
        self.assertTrue(self._body(answers["nodes"])["nodes"])
        page = run("curl", "-s", "-H", "Accept: text/html", re.search(r"^  (http://\S+/)$", printed, re.M)[1])
        self.assertTrue(page.stdout.startswith("<!doctype html>"), page.stdout[:200])
        for words, line in (("GPUS", "top"), ("train-four is pending", "explain")):
            command = re.search(rf"^  (\S*snugctl {line} .*)$", printed, re.M)[1]
            self.assertIn(words, run("bash", "-c", command).stdout)
        demo.send_signal(signal.SIGINT)
        self.assertEqual(demo.wait(20), 0, demo.stderr.read())

    def test_serve_ends_as_the_extender_does(self):
        program = self.folder / "with-pid"
        program.write_text(f'#!/bin/sh\necho $$ > "{self.folder}/pid"\nexec "{EXTENDER}" "$@"\n')
        program.chmod(0o755)
        for number, code, sentence in ((signal.SIGKILL, 1, "demo: snug-extender was ended by SIGKILL.\n"),
                                       (signal.SIGTERM, 0, "")):
            with self.subTest(number):
                demo, _ = self._serve(program)
                os.kill(int((self.folder / "pid").read_text()), number)
                self.assertEqual(demo.wait(20), code)
                self.assertTrue(demo.stderr.read().endswith(sentence))

    def _serve(self, program):
        """The demo that keeps running, and what it has printed until it waits."""
        demo = start(self, "bash", DEMO, "--serve", SNUG_EXTENDER=str(program))
        printed = ""
        for line in demo.stdout:
            printed += line
            if line.startswith("Ctrl-C"):
                break
        return demo, printed

    def _demo_py(self, *options):
        return run("/usr/bin/python3", ROOT / "deploy/demo/demo.py", *options)

    @staticmethod
    def _body(answer):
        return json.loads(answer.stdout)


if __name__ == "__main__":
    unittest.main()

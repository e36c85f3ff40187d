"""snugctl as people run it, and the policy guide: its files are files that it takes, its commands run."""

import re
import shlex
import signal
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, FIRST_LINE, ROOT, SNUGCTL, run, start

GUIDE = (ROOT / "docs/how-to/write-policies.md").read_text()
POLICY = "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n"


def blocks(language):
    """The guide's blocks in one language, without their fences."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", GUIDE, re.M | re.S)
    return [text for named, text in found if named == language]


class PolicyCheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-ctl-")
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "policy.yaml"

    def check(self, text):
        self.file.write_text(text)
        return run(SNUGCTL, "policy", "check", self.file)

    def test_a_good_file_is_one_line(self):
        done = self.check(POLICY + "rules: [{namespaces: [x], profile: a}]\n")
        self.assertEqual((done.returncode, done.stdout), (
            0, f"{self.file}: ok: default a, 1 profile, 1 rule, 0 rows of podChoice, 0 rows of sharing\n"))

    def test_a_bad_file_is_named_with_its_place(self):
        done = self.check(POLICY + "rules: [{namespaces: [x], profile: b}]\n")
        self.assertEqual((done.returncode, done.stdout), (
            2, f"snugctl: {self.file}:4:36: profile must name one of the profiles: a\n"))

    def check_with(self, config, text=POLICY):
        self.file.write_text(text)
        file = self.file.with_name("snug.yaml")
        file.write_text(config)
        return run(SNUGCTL, "policy", "check", "--config", file, self.file)

    def test_the_limits_are_those_of_the_configuration(self):
        rules = "rules: [{namespaces: [x], profile: a}, {profile: a}]\n"
        self.assertEqual(self.check(POLICY + rules).returncode, 0)
        done = self.check_with("version: 1\nlimits: {maxPolicyRows: 1}\n", POLICY + rules)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"snugctl: {self.file}:4:8: rules must be a list of 1 to 1 rules", done.stdout)

    def test_a_file_has_a_bound(self):
        largest = POLICY + "#" * (262_144 - len(POLICY))
        self.assertEqual(self.check(largest).returncode, 0)
        done = self.check(largest + "#")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"snugctl: {self.file}: is larger than the 262144 bytes", done.stdout)

    def test_limits_above_the_defaults_let_more_pass(self):
        rules = "rules:\n" + "- {namespaces: [x], podLabels: {a: b}, profile: a}\n" * 257
        self.assertEqual(self.check(POLICY + rules).returncode, 2)
        done = self.check_with("version: 1\nlimits: {maxPolicyRows: 257}\n", POLICY + rules)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_an_empty_name_of_the_configuration_is_refused(self):
        done = run(SNUGCTL, "policy", "check", "--config", "", self.file)
        self.assertEqual((done.returncode, done.stdout),
                         (2, "snugctl: --config must not be empty; see --help\n"))

    def test_a_flag_is_no_value_of_another_flag(self):
        done = run(SNUGCTL, "policy", "check", "--config", "--json", self.file)
        self.assertEqual((done.returncode, done.stdout), (2, "snugctl: --config needs a value: FILE; see --help\n"))

    def test_the_rest_of_the_configuration_is_no_matter_but_must_be_good(self):
        done = self.check_with("version: 1\nlisten: 0.0.0.0:8888\npolicy: /etc/snug/policy.yaml\nanswer: all\n")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = self.check_with("version: 1\nlimits: {maxPolicyRows: 0}\n")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r"^snugctl: .*/snug\.yaml:2:25: maxPolicyRows must be ")
        done = run(SNUGCTL, "policy", "check", "--config", self.file.with_name("none"), self.file)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stdout, r"^snugctl: --config: .*/none: cannot be read: No such file")

    def test_what_cannot_be_read_is_an_error(self):
        for path, why in ((self.file, "cannot be read: No such file"), (self.file.parent, "is a folder")):
            done = run(SNUGCTL, "policy", "check", path)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"snugctl: {path}: {why}", done.stdout)

    def test_every_shipped_policy_is_good(self):
        files = sorted((ROOT / "policies").iterdir())
        self.assertGreaterEqual(len(files), 3)
        for file in files:
            done = run(SNUGCTL, "policy", "check", file)
            self.assertEqual(done.returncode, 0, done.stdout)


class FlagsTest(unittest.TestCase):
    def test_help_and_version_are_no_error(self):
        for flags, said in ((["--help"], "policy"), (["policy", "--help"], "check"),
                            (["policy", "check", "--help"], "FILE"), (["--version"], "snugctl 0.")):
            done = run(SNUGCTL, *flags)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn(said, done.stdout)

    def test_bad_flags_are_refused(self):
        for flags in ([], ["policy"], ["policy", "check"], ["no-such"], ["--no-such"],
                      ["policy", "check", "a", "b"], ["policy", "check", "--no-such", "a"]):
            done = run(SNUGCTL, *flags)
            self.assertEqual(done.returncode, 2, flags)
            self.assertRegex(done.stdout, r"^snugctl: .*; see --help\n$")

    def test_an_unknown_command_is_named_with_those_that_exist(self):
        for words, said in ((["polcy", "check", "x"], 'unknown command "polcy"; expected one of admission, completion, defrag, explain, man, mig, policy, simulate, top, verify'),
                            (["policy", "chek", "x"], 'unknown command "chek"; expected check')):
            done = run(SNUGCTL, *words)
            self.assertEqual((done.returncode, done.stdout), (2, f"snugctl: {said}; see --help\n"))


class GuideTest(unittest.TestCase):
    def test_every_file_in_it_is_good(self):
        files = blocks("yaml")
        self.assertGreaterEqual(len(files), 4)
        for text in files:
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(text)
                file.flush()
                done = run(SNUGCTL, "policy", "check", file.name)
                self.assertEqual(done.returncode, 0, done.stdout + text)

    def test_every_command_in_it_runs(self):
        """A server's ports are replaced by free ones, since both may be taken here."""
        commands = [shlex.split(line) for block in blocks("") for line in block.splitlines()]
        self.assertEqual({command[0] for command in commands}, {"snugctl", "snug-extender"})
        for program, *words in commands:
            with self.subTest(command=[program, *words]):
                if program == "snugctl":
                    self.assertEqual(run(BUILD / program, *words).returncode, 0)
                    continue
                process = start(self, BUILD / program, *words, "--listen", "127.0.0.1:0",
                                "--admin-listen", "127.0.0.1:0")
                self.assertRegex(process.stdout.readline(), FIRST_LINE)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()

"""A policy file that changes while snug-extender runs."""

import os
import re
import signal
import tempfile
import unittest
import urllib.request
from pathlib import Path

from programs import start_extender

GOOD = "version: 1\ndefault: {0}\nprofiles: {{{0}: {{terms: [{{term: spread, weight: 1}}]}}}}\n"


def numbers(admin):
    """{series: value} of what is said about the policy."""
    with urllib.request.urlopen(admin + "/metrics", timeout=10) as answer:
        rows = re.findall(r'^snug_policy_(?:reloads_total\{result="(\w+)"\}|(up_to_date)) (\d+)$',
                          answer.read().decode(), re.M)
    return {first or second: int(value) for first, second, value in rows}


class ReloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-reload-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "policy.yaml"

    def start(self, *flags):
        self.process, self.admin = start_extender(self, "--policy", self.file, *flags)
        self.wait_line("ready: ")

    def write(self, text):
        """All at once: half a file would be refused, and rightly."""
        new = self.folder / "new"
        new.write_text(text)
        os.replace(new, self.file)

    def wait_line(self, text):
        for line in self.process.stderr:
            if text in line:
                return line
        return self.fail(f"the log ended without '{text}'")

    def test_sighup_reads_it_at_once(self):
        self.file.write_text(GOOD.format("one"))
        self.start("--limits", "policyRereadMs=3600000")
        self.write(GOOD.format("two"))
        self.process.send_signal(signal.SIGHUP)
        self.assertIn(f"the policy is read again from {self.file}: default two, 1 profile",
                      self.wait_line("policy"))
        self.assertEqual(numbers(self.admin), {"loaded": 1, "refused": 0, "up_to_date": 1})

    def test_a_change_is_seen_and_a_bad_one_keeps_the_last_good(self):
        self.file.write_text(GOOD.format("one"))
        self.start("--limits", "policyRereadMs=10")
        self.write("version: 1\nprofile: {}\n")
        self.assertIn(f"{self.file}:2:1: unknown key \"profile\"", self.wait_line("last good one stays"))
        self.assertEqual(numbers(self.admin)["up_to_date"], 0)
        self.write(GOOD.format("two"))
        self.assertIn("default two", self.wait_line("read again from"))
        self.assertEqual(numbers(self.admin)["up_to_date"], 1)

    def test_a_config_map_that_is_swapped_is_seen(self):
        """As the kubelet does it: ..data leads to a folder with all files, and is renamed over."""
        for name in ("one", "two"):
            (self.folder / f"..{name}").mkdir()
            (self.folder / f"..{name}" / "policy.yaml").write_text(GOOD.format(name))
        (self.folder / "..data").symlink_to("..one")
        self.file.symlink_to("..data/policy.yaml")
        self.start("--limits", "policyRereadMs=10")
        (self.folder / "..data_tmp").symlink_to("..two")
        os.rename(self.folder / "..data_tmp", self.folder / "..data")
        self.assertIn("default two", self.wait_line("read again from"))


if __name__ == "__main__":
    unittest.main()

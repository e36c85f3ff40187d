"""What the bench of packing finds on its traces: figures of others, and the default policy's bounds."""

import re
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, run

BENCH = BUILD / "bench/packing_bench"
NOT_PACKING = "version: 1\ndefault: tight\nprofiles: {tight: {terms: [{term: spread, weight: 1}]}}\n"


class PackingTest(unittest.TestCase):
    def test_the_papers_policies_reproduce_what_is_published_and_tight_reaches_its_bounds(self):
        done = run(BENCH)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\nPASS\n$")
        rows = re.findall(r"^\| ([^|]+) \|(?: [\d.]+ % \|){4} [\d.]+ µs \|$", done.stdout, re.M)
        self.assertEqual(rows, ["random", "dotprod", "clustering", "packing", "best-fit", "fgd", "**best-fit (Snug)**",
                                "**tight**"])

    def test_in_a_drawn_workload_tight_is_not_behind_fgd(self):
        done = run(BENCH, "--regimes", "--seeds", "1", "--only", "fill: shares")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("| regime | fgd | tight |\n", done.stdout)
        self.assertRegex(done.stdout, r"\| fill: shares \| [\d.]+ / [\d.]+ \| [\d.]+ / [\d.]+ \|\n")

    def test_a_policy_that_misses_the_bounds_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            policy = Path(folder) / "policy.yaml"
            policy.write_text(NOT_PACKING)
            done = run(BENCH, "--ours", "--policy", policy)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("tight, GPUs in use at 100 %: ", done.stdout)
        self.assertRegex(done.stdout, r"\nFAIL\n$")

    def test_on_slices_the_simple_rules_reproduce_what_was_measured_and_tight_is_not_behind(self):
        done = run(BENCH, "--mig")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"\nPASS\n$")
        rows = re.findall(r"^\| (\w+: \w+) \|(?: [\d.]+ \|){7}$", done.stdout, re.M)
        self.assertEqual(rows, [f"{mode}: {mix}" for mix in ("uniform", "small", "big", "infer", "bimodal")
                                for mode in ("fill", "churn")])

    def test_on_slices_of_drawn_mixes_tight_is_not_behind(self):
        done = run(BENCH, "--mig", "--seeds", "1", "--first-seed", "7")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("| churn: notebooks | 7 |", done.stdout)

    def test_what_cannot_be_run_is_refused(self):
        for said, code, flags in (("--jobs: Value 0 not in range", 2, ["--jobs", "0"]),
                                  ("--seeds: Value 0 not in range", 2, ["--regimes", "--seeds", "0"]),
                                  ('no regime has "nosuch" in its name', 2, ["--regimes", "--only", "nosuch"]),
                                  ("--seeds belongs to --regimes or --mig", 2, ["--seeds", "1"]),
                                  ("--first-seed requires --seeds, which is missing", 2, ["--mig", "--first-seed", "5"]),
                                  ("--first-seed requires --seeds, which is missing", 2,
                                   ["--regimes", "--first-seed", "5"]),
                                  ("packing_bench: --only requires --regimes, which is missing; see --help\n", 2,
                                   ["--only", "big"]),
                                  ("none/out.svg cannot be written", 1, ["--svg", "none/out.svg"])):
            with self.subTest(said=said):
                done = run(BENCH, *flags)
                self.assertEqual(done.returncode, code)
                self.assertIn(said, done.stdout)
                self.assertNotIn("| policy |", done.stdout)


if __name__ == "__main__":
    unittest.main()

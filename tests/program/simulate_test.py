"""snugctl simulate as people run it: small clusters whose every figure can be worked out by hand."""

import itertools
import json
import os
import pty
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path

from programs import ROOT, SECONDS, SNUGCTL

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,8000,8000,1,A\nb,8000,8000,1,B\n"
PODS = ("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "cpu,1000,1000,0,0,\nhalf,1000,1000,1,500,\nwhole,1000,1000,1,1000,\npair,1000,1000,2,1000,\n"
        "onlyb,1000,1000,1,1000,B\n")
KEYS = ["policy", "seed", "nodes", "gpus", "arrivals", "accepted", "rejected", "allocation", "fragmentation",
        "churn", "mig", "decision_us", "wall_s"]
POLICY = "version: 1\ndefault: {0}\nprofiles: {{{0}: {{terms: [{{term: {1}, weight: 1}}]}}}}\n"


class SimulateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-simulate-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.nodes = self.file("nodes.csv", NODES)
        self.pods = self.file("pods.csv", PODS)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def run_ctl(self, *flags, **how):
        command = [str(word) for word in (SNUGCTL, "simulate", *flags)]
        return subprocess.run(command, cwd=ROOT, text=True, check=False, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, **{"capture_output": True, **how})

    def trace(self, arrivals, *flags):
        """Flags for this cluster and these arrivals."""
        return ("--nodes", self.nodes, "--pods", self.pods, "--arrivals", self.file("arrivals.txt", arrivals), *flags)

    def report(self, *flags):
        done = self.run_ctl(*flags, "--json", "-")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def refused(self, said, *flags, code=2):
        done = self.run_ctl(*flags)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(said, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


class ResultsTest(SimulateTest):
    def test_the_json_has_the_keys_of_the_format(self):
        report = self.report(*self.trace("p 0\np 1\np 2\np 3\np 4\n"))
        self.assertEqual(list(report), KEYS)
        self.assertEqual([report[key] for key in ("seed", "nodes", "gpus", "arrivals", "churn", "mig")],
                         [None, 2, 2, 5, None, None])
        self.assertEqual(list(report["decision_us"]), ["p50", "p99"])

    def test_a_list_of_pods_without_gpu_spec_is_a_list_of_pods_of_any_model(self):
        rows = [line.rpartition(",") for line in PODS.splitlines()]
        self.assertEqual(rows[0][2], "gpu_spec")
        self.pods.write_text("".join(f"{row[0]}\n" for row in rows))
        report = self.report(*self.trace("p 4\np 4\n"))
        self.assertEqual(report["accepted"], 2, "the pod that asks for model B takes either GPU")

    def test_who_was_placed_and_who_was_not(self):
        report = self.report(*self.trace("p 1\np 1\np 2\np 1\np 3\np 2\np 0\n"))
        self.assertEqual((report["accepted"], report["rejected"]), (4, {"cpu": 0, "share": 1, "one": 1, "multi": 1}))
        self.assertEqual(report["allocation"], {"at100": 100, "at130": None, "final": 100})

    def test_cpu_is_feasibility(self):
        self.nodes.write_text(NODES.replace("8000,8000", "1000,8000"))
        report = self.report(*self.trace("p 0\np 0\np 0\n"))
        self.assertEqual((report["accepted"], report["rejected"]["cpu"]), (2, 1))

    def test_ties_go_to_the_lower_rank(self):
        """The pod that needs model B finds it free only where the first went to a."""
        for ranks, accepted in (("", 2), ("n a 0\nn b 1\n", 2), ("n a 1\nn b 0\n", 1)):
            with self.subTest(ranks=ranks):
                self.assertEqual(self.report(*self.trace(f"p 2\np 4\n{ranks}"))["accepted"], accepted)

    def test_pods_that_leave_make_room(self):
        self.nodes.write_text(NODES.replace("8000,1,A", "8000,2,A").replace("8000,1,B", "8000,0,"))
        stay = self.report(*self.trace("p 3 9\np 3 9\np 3 9\np 3 9\n"))
        leave = self.report(*self.trace("p 3 1\np 3 1\np 3 1\np 3 1\n"))
        self.assertEqual((stay["accepted"], leave["accepted"]), (1, 4))
        self.assertEqual(leave["churn"], {"allocation_mean": 100, "gpu_accepted_pct": 100, "rejected_pct": 0,
                                          "multi_rejected_pct": 0})
        self.assertEqual(stay["churn"]["multi_rejected_pct"], 100)

    def test_a_seed_says_who_arrives(self):
        flags = ("--nodes", self.nodes, "--pods", self.pods, "--seed")
        first, again, other = (self.report(*flags, seed, "--inflate", "20") for seed in (42, 42, 43))
        for report in (first, again):
            del report["decision_us"], report["wall_s"]
        self.assertEqual(first, again)
        self.assertEqual((first["seed"], other["seed"]), (42, 43))
        self.assertGreater(first["arrivals"], 5)

    def test_the_table_is_for_people(self):
        done = self.run_ctl(*self.trace("p 1\np 3\n"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("2 nodes, 2 GPUs, 2 arrivals\n"), done.stdout)
        self.assertRegex(done.stdout, r"\nrejected, several GPUs +1\n")
        self.assertRegex(done.stdout, r"\nallocation at the end +25\.00 %\n")
        self.assertNotIn("later half", done.stdout)
        self.assertRegex(self.run_ctl(*self.trace("p 3 1\n" * 4)).stdout,
                         r"\nlater half: pods of several GPUs rejected +100\.00 %\n")
        self.assertTrue(self.run_ctl(*self.trace("p 1\n")).stdout.startswith("2 nodes, 2 GPUs, 1 arrival\n"))

    def test_results_are_written_to_files(self):
        paths = self.folder / "out.json", self.folder / "out.svg"
        paths[0].write_text("old")
        done = self.run_ctl(*self.trace("p 1\n"), "--json", paths[0], "--svg", paths[1])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(list(json.loads(paths[0].read_text())), KEYS)
        self.assertEqual(xml.parse(paths[1]).getroot().tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"nodes.csv", "pods.csv", "arrivals.txt", "out.json", "out.svg"})

    def test_what_is_no_file_is_written_to(self):
        done = self.run_ctl(*self.trace("p 1\n"), "--json", "/dev/null")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse(Path("/dev/null").is_file())
        done = self.run_ctl(*self.trace("p 1\n"), "--json", "-", "--svg", "/dev/stdout")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("</svg>\n", done.stdout)

    def test_a_link_stays_one(self):
        link, file = self.folder / "link.json", self.file("real.json", "old")
        link.symlink_to(file.name)
        self.assertEqual(self.run_ctl(*self.trace("p 1\n"), "--json", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(list(json.loads(file.read_text())), KEYS)


class SlicesTest(SimulateTest):
    """One A100-40GB in MIG mode."""

    def setUp(self):
        super().setUp()
        self.nodes.write_text("sn,cpu_milli,memory_mib,gpu,model,mig\na,8000,8000,1,A100-40GB,1\n")

    def slices(self, arrivals, *flags):
        return ("--nodes", self.nodes, "--arrivals", self.file("arrivals.txt", arrivals), *flags)

    def test_slices_fill_a_card(self):
        """After 4g and 2g there is room for one more of two memory slices, then for none."""
        report = self.report(*self.slices("m 4g.20gb\nm 2g.10gb\nm 3g.20gb\nm 1g.10gb\nm 1g.5gb\n"))
        self.assertEqual((report["accepted"], report["rejected"]), (3, {"cpu": 0, "share": 2, "one": 0, "multi": 0}))
        self.assertEqual(report["mig"], {"memory_slices_pct": 100, "rejected_pct": 40, "rejected_4_slices_or_more_pct": 50})
        self.assertEqual((report["allocation"]["final"], report["churn"]), (100, None))

    def test_a_card_of_which_nothing_is_known_keeps_room_for_large_slices(self):
        for profiles in itertools.permutations(("1g.5gb", "2g.10gb", "4g.20gb")):
            report = self.report(*self.slices("".join(f"m {profile}\n" for profile in profiles)))
            self.assertEqual(report["accepted"], 3, profiles)

    def test_slices_come_free(self):
        report = self.report(*self.slices("m 7g.40gb 1\n" * 8))
        self.assertEqual((report["accepted"], report["mig"]["memory_slices_pct"], report["mig"]["rejected_pct"]), (8, 100, 0))
        report = self.report(*self.slices("m 1g.5gb+me 9\n" * 8))
        self.assertEqual(report["mig"], {"memory_slices_pct": 12.5, "rejected_pct": 100,
                                         "rejected_4_slices_or_more_pct": None})

    def test_shares_of_gpus_in_mig_mode_are_slices(self):
        flags = self.slices("m 3g.20gb\np 1\np 1\np 2\n", "--pods", self.pods)
        report = self.report(*flags)
        self.assertEqual((report["rejected"]["share"], report["rejected"]["one"]), (1, 1))
        self.assertEqual(report["mig"], {"memory_slices_pct": 100, "rejected_pct": 0, "rejected_4_slices_or_more_pct": 0})

    def test_the_table_has_them(self):
        self.assertRegex(self.run_ctl(*self.slices("m 3g.20gb\n" * 3)).stdout,
                         r"\nmemory slices in use +100\.00 %\nMIG pods rejected +33\.33 %\n"
                         r"MIG pods of 4 slices or more rejected +33\.33 %\n")
        self.assertRegex(self.run_ctl(*self.slices("m 1g.5gb 1\n" * 3)).stdout,
                         r"\nlater half: mean memory slices in use +12\.50 %\n"
                         r"later half: MIG pods rejected +0\.00 %\n"
                         r"later half: MIG pods of 4 slices or more rejected +-\n")

    def test_help_and_docs_say_how_they_are_asked_for_and_shown(self):
        said = " ".join(self.run_ctl("--help").stdout.split())
        self.assertIn("optional mig: 1 if the GPUs are in MIG mode", said)
        self.assertIn("m PROFILE [LIFETIME]", said)
        page = " ".join((ROOT / "docs/how-to/simulate.md").read_text(encoding="utf-8").split())
        for key in self.report(*self.slices("m 7g.40gb\n"))["mig"]:
            self.assertIn(f"`{key}`", page)
        for row in ("memory slices in use", "MIG pods rejected", "MIG pods of 4 slices or more rejected"):
            self.assertIn(row, self.run_ctl(*self.slices("m 7g.40gb\n")).stdout)
            self.assertIn(f"({row})", page)

    def test_a_refused_one_counts_as_one_gpu_where_it_takes_the_card(self):
        report = self.report(*self.slices("m 1g.5gb\nm 7g.40gb\nm 4g.20gb\nm 4g.20gb\n"))
        self.assertEqual((report["rejected"]["share"], report["rejected"]["one"]), (1, 1))

    def test_of_two_that_leave_none_is_in_the_later_half(self):
        report = self.report(*self.slices("m 1g.5gb 1\n" * 2))
        self.assertEqual((report["mig"], report["churn"]), (None, None))

    def test_what_no_card_has_is_refused(self):
        self.refused(f'{self.folder}/arrivals.txt:2: PROFILE must be one of 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, '
                     '3g.20gb, 4g.20gb, 7g.40gb, not "1g.6gb"',
                     *self.slices("m 1g.5gb\nm 1g.6gb\n"))
        self.nodes.write_text(self.nodes.read_text().replace("A100-40GB", "T4"))
        self.refused(f'{self.nodes}:2: mig is 1, and no card called "T4" is known to have MIG; the known cards are A30, ', *self.slices("m 1g.5gb\n"))


class PoliciesTest(SimulateTest):
    def test_several_are_shown_side_by_side(self):
        flags = self.trace("p 1\np 1\np 2\n", "--policy", "policies/best-fit.yaml", "--policy", "policies/spread.yaml")
        reports = self.report(*flags)
        self.assertEqual([(report["policy"], report["accepted"]) for report in reports],
                         [("best-fit", 3), ("spread", 2)])
        self.assertRegex(self.run_ctl(*flags).stdout, r"\n +best-fit +spread\naccepted +3 +2\n")

    def test_those_of_one_name_go_by_their_files(self):
        def named(*files):
            flags = [flag for file in files for flag in ("--policy", file)]
            return [report["policy"] for report in self.report(*self.trace("p 1\n"), *flags)]
        (self.folder / "x").mkdir()
        first = self.file("one.yaml", POLICY.format("a", "best-fit"))
        second = self.file("two.yaml", POLICY.format("a", "spread"))
        third = self.file("x/two.yaml", POLICY.format("a", "spread"))
        other = self.file("b.yaml", POLICY.format("b", "spread"))
        self.assertEqual(named(first, other), ["a", "b"])
        self.assertEqual(named(first, second, other), ["one", "two", "b"])
        self.assertEqual(named(first, second, third), ["one", str(second), str(third)])

    def test_a_bad_one_is_refused_with_its_place(self):
        bad = self.file("bad.yaml", "version: 2\n")
        self.refused(f"snugctl: {bad}:1:10: version must be 1", *self.trace("p 1\n", "--policy", bad))


class RefusedTest(SimulateTest):
    def test_flags(self):
        seed = ("--nodes", self.nodes, "--pods", self.pods, "--seed", "1")
        for said, flags in (
                ("--cluster or --nodes is required; see --help", []),
                ("give one of --arrivals, --seed and --timestamps", ["--nodes", "n"]),
                ("--arrivals and --seed were both given", [*seed, "--arrivals", "x"]),
                ("--seed needs --pods", ["--nodes", self.nodes, "--seed", "1"]),
                ("--inflate requires --seed", self.trace("p 1\n", "--inflate", "1")),
                ('--seed must be an integer from 0 to 18446744073709551615, not "-1"', [*seed[:-1], "-1"]),
                ('above 0 and up to 100, not "0"', [*seed, "--inflate", "0"]),
                ('above 0 and up to 100, not "nan"', [*seed, "--inflate", "nan"]),
                ('above 0 and up to 100, not "1.3x"', [*seed, "--inflate", "1.3x"]),
                ("--policy names the same file twice", [*seed, "--policy", "a", "--policy", "a"]),
                ("--policy may be given at most 16 times", [*seed, *(f"--policy={i}" for i in range(17))]),
                ("--json and --svg name the same file", [*seed, "--json", "a", "--svg", "a"]),
                ("--json and --svg name the same file", [*seed, "--json", "a", "--svg", "./none/../a"]),
                ("--svg must name a file", [*seed, "--svg", "-"]),
                ('--svg must not be empty', [*seed, "--svg", ""]),
                ('--json must not be empty', [*seed, "--json", ""]),
                (f"--json would overwrite {self.pods}", [*seed, "--json", f"{self.folder}/./pods.csv"]),
                (f"--svg would overwrite {self.nodes}", [*seed, "--svg", self.nodes]),
                ("--json would overwrite a", [*seed, "--policy", "a", "--json", "a"]),
                ('"b" is an unexpected argument', [*seed, "--policy", "a", "b"])):
            with self.subTest(said=said):
                self.refused(said, *flags)

    def test_files(self):
        self.refused(f"snugctl: {self.folder}/none: cannot be read: No such file",
                     "--nodes", self.folder / "none", "--arrivals", "x")
        flags = self.trace("p 1\np 5\n")
        self.refused(f"{self.folder}/arrivals.txt:2: ROW must be a row of the pods, an integer from 0 to 4, not", *flags)
        self.refused(f"{self.folder}/arrivals.txt:1: this line names a pod, but there is no file of pods",
                     *flags[:2], *flags[4:])
        self.pods.write_text(PODS + "x,1,1,2,500,\n")
        self.refused(f"{self.pods}:7: gpu_milli must be 1000 where num_gpu is more than 1, not 500", *flags)
        self.nodes.write_text("sn\na\n")
        self.refused(f"{self.nodes}:1: the column cpu_milli is missing", *flags)

    def test_what_cannot_be_written(self):
        for flag, path, why in (("--json", self.folder / "none/out", "No such file"), ("--svg", self.folder, "is a folder")):
            with self.subTest(flag=flag):
                self.refused(f"snugctl: {path}: ", *self.trace("p 1\n", flag, path), code=1)
        with open("/dev/full", "w") as full:
            done = self.run_ctl(*self.trace("p 1\n"), capture_output=False, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("snugctl: stdout: cannot be written: No space left", done.stderr)


class ProgressTest(SimulateTest):
    def shown(self, *flags):
        """What a terminal as stderr is given."""
        ours, its = pty.openpty()
        self.addCleanup(os.close, ours)
        done = self.run_ctl(*flags, capture_output=False, stdout=subprocess.PIPE, stderr=its)
        os.close(its)
        self.assertEqual(done.returncode, 0)
        text = b""
        try:
            while block := os.read(ours, 4096):
                text += block
        except OSError:  # nothing is left, and nobody writes any more
            pass
        return text.decode()

    def test_a_terminal_is_shown_it_and_cleaned(self):
        self.pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\nx,1,1,0,0,1,2\n")
        cluster = self.file("cluster.json", '{"kind":"NodeList","items":[{"metadata":{"name":"a"}}]}')
        for flags in (self.trace("p 0\n"), ("--nodes", self.nodes, "--pods", self.pods, "--timestamps"), ("--cluster", cluster)):
            text = self.shown(*flags, "--json", "-")
            self.assertRegex(text, r"^\rtight \[[.#]{24}\] +0 %  0 arrivals/s  ETA -:--\x1b\[K")
            self.assertTrue(text.endswith("\r\x1b[K"), text)

    def test_it_is_drawn_ten_times_a_second_at_most(self):
        start = time.monotonic()
        text = self.shown("--nodes", self.nodes, "--pods", self.pods, "--seed", "1", "--inflate", "100")
        self.assertLessEqual(text.count("ETA"), 1 + 10 * (time.monotonic() - start))


if __name__ == "__main__":
    unittest.main()

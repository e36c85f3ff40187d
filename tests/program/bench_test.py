"""The benches' verdicts, on figures that leave no doubt."""

import contextlib
import importlib.util
import io
import sys
import unittest

from programs import BUILD, EXTENDER, ROOT, run


def _load_report():
    spec = importlib.util.spec_from_file_location("report", ROOT / "bench/e2e/report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = _load_report()
# Behind the other folders: both have a run.py, as this one.
sys.path += [str(ROOT / "bench/e2e"), str(ROOT / "tests/e2e")]
import comparison  # noqa: E402
import comparison_report  # noqa: E402
import versions  # noqa: E402
from peers import SYSTEMS, gpushare, workload  # noqa: E402


def one_run(number, variant, speed, percentage=100, post_seconds=1.0):
    return {"round": number, "variant": variant, "percentage": percentage, "pods_per_second": speed,
            "seconds": 4.0, "post_seconds": post_seconds,
            "cpu_seconds": {"kube-scheduler": 0.8, **({} if variant == "none" else {"snug-extender": 0.4})}}


def three_rounds(baseline, auto, **more):
    return [one_run(number, variant, speed, **more)
            for number in range(3) for variant, speed in (("none", baseline[number]), ("auto", auto[number]))]


class EndToEndVerdictTest(unittest.TestCase):
    ROWS = [
        ("the median round decides", three_rounds((100, 100, 100), (50, 101, 120)), True, "1.01 times"),
        ("equal is enough", three_rounds((100, 100, 100), (100, 100, 100)), True, "PASS"),
        ("slower fails", three_rounds((100, 100, 100), (120, 99, 98)), False, "0.99 times"),
        ("each round has its own baseline", three_rounds((50, 100, 200), (60, 90, 220)), True, "1.10 times"),
        ("and it is what ran before and after",
         [one_run(0, variant, speed) for variant, speed in (("none", 100), ("auto", 150), ("none", 200))],
         True, "1.00 times"),
        ("another round's baseline is none of its neighbours",
         [one_run(0, "none", 100), one_run(0, "auto", 90), one_run(1, "none", 50), one_run(1, "auto", 45)],
         False, "0.90 times"),
        ("nor is another percentage's",
         [one_run(0, "none", 100), one_run(0, "auto", 110), one_run(0, "none", 10, percentage=0),
          one_run(0, "auto", 1, percentage=0)], True, "1.10 times"),
        ("no baseline at all", [one_run(0, "auto", 100)], True, "No verdict"),
        ("the default percentage is only reported",
         three_rounds((100, 100, 100), (110, 110, 110)) +
         three_rounds((100, 100, 100), (10, 10, 10), percentage=0), True, "PASS"),
        ("a load generator at its end measures itself",
         three_rounds((100, 100, 100), (110, 110, 110), post_seconds=3.9), False, "load generator"),
        ("a scheduler that keeps up with it has not failed",
         [one_run(number, variant, 100 if variant == "none" else 110, post_seconds=seconds)
          for number in range(3) for variant, seconds in (("none", 2.0), ("auto", 4.0))], True, "1.10 times"),
        ("nothing to judge", three_rounds((100, 100, 100), (10, 10, 10), percentage=0), True, "No verdict"),
    ]

    def test_verdicts(self):
        for name, runs, good, words in self.ROWS:
            with self.subTest(name):
                rows = report.summarize(runs)
                verdict = report.judge(rows)
                self.assertEqual(verdict[0], good, verdict)
                self.assertIn(words, verdict[1])
                page = report.page("run.py", {"nodes": 1}, rows, verdict[1])
                self.assertTrue(page.endswith(verdict[1] + "\n"))
                self.assertIn("| `auto` |", page)


class EndToEndOrderTest(unittest.TestCase):
    def test_a_baseline_before_and_after_each(self):
        rows = [
            (("none", "a", "b"), 0, ["none", "a", "none", "b", "none"]),
            (("none", "a", "b"), 1, ["none", "b", "none", "a", "none"]),
            (("none", "a", "b"), 2, ["none", "a", "none", "b", "none"]),
            (("a", "b"), 1, ["b", "a"]),
            (("none",), 3, ["none"]),
        ]
        for variants, turn, expected in rows:
            with self.subTest(variants=variants, turn=turn):
                self.assertEqual(report.order(variants, turn), expected)

    def test_processor_time_is_for_each_pod_and_only_of_those_that_ran(self):
        rows = report.summarize(three_rounds((100, 100, 100), (200, 200, 200)))
        # 400 pods in 4 s without an extender, 800 with it.
        self.assertEqual([row["cpu_ms_per_pod"] for row in rows],
                         [{"kube-scheduler": 2.0}, {"kube-scheduler": 1.0, "snug-extender": 0.5}])
        self.assertIn("| - | 2.00 |", report.table(rows))


class VersionsTest(unittest.TestCase):
    """What tests/e2e/versions.py reads of the end-to-end scenarios of a version."""

    LINES = ("PASS test_a.ATest.test_f_one: f: one (of two) works (1.2 s)\n"
             "SKIP test_a.ATest.test_f_two: f: two (a thing: since Kubernetes 1.36)\n"
             "---- a line of a log\nFAIL test_b.BTest.test_g: g: works (3.0 s)\n")

    def test_lines_and_summary(self):
        rows = (("1 passed, 1 failed, 1 skipped\n", ["BTest.test_g"]),
                ("2 passed, 1 failed, 1 skipped\n", ["BTest.test_g", "run.py: 2 passed, 1 failed, 1 skipped"]),
                ("", ["BTest.test_g", "run.py: no summary"]))
        for summary, failures in rows:
            with self.subTest(summary):
                outcome = versions.read_outcome("v1.30.1", self.LINES + summary)
                self.assertEqual(outcome, versions.Outcome(
                    "v1.30.1", ["ATest.test_f_one"], failures, {"a thing: since Kubernetes 1.36": ["ATest.test_f_two"]}))

    def test_a_version_has_one_section(self):
        old = versions.page([versions.Outcome("v1.36.0", ["A.a"], [], {}), versions.Outcome("v1.9.0", ["A.a"], ["A.b"], {})])
        page = versions.page([versions.Outcome("v1.9.0", ["A.a", "A.d"], [], {"why": ["A.c"]})], old)
        self.assertEqual([line for line in page.split("\n") if line.startswith("## ")], ["## v1.9.0", "## v1.36.0"])
        self.assertIn("2 passed, 0 failed, 1 skipped", page)
        self.assertIn("- skipped (why): `A.c`", page)
        self.assertNotIn("A.b", page)
        self.assertEqual(versions.page([], page), page)

    def test_what_fails_is_repeated_by_itself(self):
        first = versions.Outcome("v1.30.1", ["A.a"], ["A.b", "A.c"], {})
        both = versions.with_repeated(first, versions.Outcome("v1.30.1", ["A.c"], ["A.b"], {}))
        self.assertEqual(both, versions.Outcome("v1.30.1", ["A.a", "A.c"], ["A.b"], {}, ("A.c",)))
        self.assertIn("- passed when it was repeated by itself: `A.c`", versions.page([both]))


class ComparisonTest(unittest.TestCase):
    @staticmethod
    def run_of(system, what, **more):
        return {"system": system, "what": what, "round": 1, "kubernetes": "v1.36.3", "load": 1.0, "pods": 10, "bound": 10,
                "over": 0, "place": "GPU", "seconds": 2.0, "post_seconds": 1.0, "gap": 0.5, "share": 0.75,
                "cpu_ms": {"kube-scheduler": 1.0, "etcd": 4.0}, "told": [("condition", "Unschedulable", "no room")],
                "calls": {("kube-scheduler", "create pods/binding"): 1.0, ("kube-scheduler", "create events"): 2.0}, **more}

    def test_a_mix_fits_and_is_the_same_each_time(self):
        for seed in (1, 2, 3):
            sizes = workload.mix(160, seed)
            self.assertEqual(sum(sizes), 160_000)
            self.assertEqual({size % workload.STEP for size in sizes}, {0})
            self.assertLessEqual(max(sizes), 1000)
            self.assertEqual(sizes, workload.mix(160, seed))
        self.assertNotEqual(workload.mix(160, 1), workload.mix(160, 2))

    def test_what_gpushares_annotations_say(self):
        value = {"metadata": {"name": "pod-1", "labels": {"thousandths": "250"}, "annotations": {
            "ALIYUN_COM_GPU_MEM_IDX": "3", "ALIYUN_COM_GPU_MEM_POD": "10"}}, "spec": {"nodeName": "n1"}}
        self.assertEqual(gpushare.held(value), (("n1", 3), 10240))
        for key, other, words in (("IDX", None, "pod-1 is bound without"), ("POD", "9", "pod-1 has 9 GiB, not 10")):
            with self.subTest(words):
                annotations = {**value["metadata"]["annotations"], f"ALIYUN_COM_GPU_MEM_{key}": other}
                with self.assertRaisesRegex(RuntimeError, words):
                    gpushare.held({**value, "metadata": {**value["metadata"], "annotations": annotations}})

    def test_programs_of_others_must_be_given(self):
        rows = [((), ["snug", "snug-without-policies", "time-slicing", "dra", "dra-default-scores"]),
                (("--gpushare", "/p/x"), ["snug", "snug-without-policies", "time-slicing", "dra", "dra-default-scores", "gpushare"]),
                (("--systems", "gpushare"), None),
                (("--systems", "gpushare", "--gpushare-unlimited", "x"), None),
                (("--systems", "gpushare", "--gpushare", "x"), ["gpushare"])]
        for words, systems in rows:
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()) as said:
                if systems:
                    self.assertEqual(comparison.parse_arguments(words).systems, systems)
                else:
                    self.assertRaises(SystemExit, comparison.parse_arguments, words)
                    self.assertIn("gpushare needs --gpushare PROGRAM", said.getvalue())

    def test_a_recorded_command_has_no_places(self):
        words = ["--json", "/p/runs.json", "--gpushare", "/p/x", "--rounds", "1"]
        self.assertEqual(comparison.without_places(words), ["--gpushare", "PROGRAM", "--rounds", "1"])

    def test_verdicts_and_tables(self):
        rows = [({}, True, "PASS"), ({"bound": 9}, False, "only 9 of 10"), ({"over": 1}, False, "over-committed GPUs: 1")]
        for more, good, words in rows:
            with self.subTest(words):
                mine = {"snug": more, "gpushare": {"cpu_ms": {"kube-scheduler": 1.0, gpushare.PROGRAM: 2.0, "etcd": 4.0}}}
                runs = [self.run_of(name, what, **mine.get(name, {}))
                        for name, system in SYSTEMS.items() for what in system.runs]
                verdict = comparison_report.verdict(runs)
                self.assertEqual(verdict[0], good, verdict)
                self.assertIn(words, verdict[1])
                shape = {"nodes": 1, "gpus": 8, "rounds": 1}
                page = comparison_report.page("comparison.py", shape, runs, 1.0, verdict[1])
                self.assertIn("| DRA | 5 | 1.00 | 2.0 | 1.0 | 1.00 | 2.00 | 1.0 | 4.0 | 0 GPUs |", page)
                self.assertIn("| gpushare | 5 | 1.00 | 2.0 | 1.0 | 1.00 | 2.00 | 3.0 | 4.0 | 0 GPUs |", page)
                self.assertIn("| DRA, default scores | 10/10 | 75.0 | 0 GPUs |", page)
                self.assertTrue(page.endswith(verdict[1] + "\n"))


class HttpVerdictTest(unittest.TestCase):
    def test_bounds(self):
        most = 60_000_000
        for bounds, code, word in (((most, most), 0, "PASS: the median of bind"),
                                   ((0, most), 1, "FAIL: the median of filter"),
                                   ((most, 0), 1, "FAIL: the median of bind")):
            with self.subTest(bounds=bounds):
                done = run(BUILD / "bench/http_bench", "--extender", EXTENDER, "--nodes", 20, "--calls", 20,
                           "--filter-us", bounds[0], "--bind-us", bounds[1])
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertIn(word, done.stdout)

    def test_a_program_that_is_not_there(self):
        done = run(BUILD / "bench/http_bench", "--extender", "/nonexistent/snug-extender", "--nodes", 1,
                   "--calls", 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("http_bench: ", done.stdout)


class PortsVerdictTest(unittest.TestCase):
    def test_bounds(self):
        for most_ms, code, word in ((60_000, 0, "PASS"), (0, 1, "FAIL")):
            with self.subTest(most_ms=most_ms):
                done = run(BUILD / "bench/ports_bench", "--extender", EXTENDER, "--seconds", 0, "--connections", 20,
                           "--mixed", "--most-ms", most_ms)
                self.assertEqual(done.returncode, code, done.stdout)
                for call in ("GET /livez", "filter of 5 nodes"):
                    self.assertIn(f"{word}: the worst of {call} is ", done.stdout)


if __name__ == "__main__":
    unittest.main()

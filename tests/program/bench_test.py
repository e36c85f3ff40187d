"""The benches' verdicts, on figures that leave no doubt."""

import importlib.util
import unittest

from programs import BUILD, EXTENDER, ROOT, run


def _load_report():
    spec = importlib.util.spec_from_file_location("report", ROOT / "bench/e2e/report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = _load_report()


def one_run(number, variant, speed, percentage=100, post_seconds=1.0):
    return {"round": number, "variant": variant, "percentage": percentage, "pods_per_second": speed,
            "seconds": 4.0, "post_seconds": post_seconds}


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
        ("the default percentage is only reported",
         three_rounds((100, 100, 100), (110, 110, 110)) +
         three_rounds((100, 100, 100), (10, 10, 10), percentage=0), True, "PASS"),
        ("a load generator at its end measures itself",
         three_rounds((100, 100, 100), (110, 110, 110), post_seconds=3.9), False, "load generator"),
        ("a scheduler that keeps up with it has not failed",
         [one_run(number, variant, 100 if variant == "none" else 110, post_seconds=seconds)
          for number in range(3) for variant, seconds in (("none", 2.0), ("auto", 4.0))], True, "1.10 times"),
        ("nothing to judge", three_rounds((100, 100, 100), (10, 10, 10), percentage=0), True, "Not judged"),
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


class HttpVerdictTest(unittest.TestCase):
    def test_bounds(self):
        most = 60_000_000
        for bounds, code, word in (((most, most), 0, "PASS: the median of bind"),
                                   ((0, most), 1, "FAIL: the median of filter"),
                                   ((most, 0), 1, "FAIL: the median of bind")):
            with self.subTest(bounds=bounds):
                done = run(BUILD / "bench/http_bench", "--extender", EXTENDER, "--nodes", 20, "--calls", 20,
                           "--filterUs", bounds[0], "--bindUs", bounds[1])
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertIn(word, done.stdout)

    def test_a_program_that_is_not_there(self):
        done = run(BUILD / "bench/http_bench", "--extender", "/nonexistent/snug-extender", "--nodes", 1,
                   "--calls", 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("http_bench: ", done.stdout)


if __name__ == "__main__":
    unittest.main()

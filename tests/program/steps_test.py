"""tests/run.sh --only: the messages if a step does not exist, or cannot run with the existing build."""

import tempfile
import unittest

from programs import ROOT, run


class StepsTest(unittest.TestCase):
    def only(self, step):
        """The run of one step where nothing is built."""
        folder = tempfile.TemporaryDirectory(prefix="snug-steps-")
        self.addCleanup(folder.cleanup)
        return run("bash", ROOT / "tests/run.sh", "--only", step, SNUG_BUILD=folder.name)

    def test_a_step_that_does_not_exist_is_answered_with_those_that_do(self):
        done = self.only("nosuch")
        self.assertEqual((done.returncode, done.stdout), (
            2, 'tests/run.sh: there is no step "nosuch"; the steps are format tidy tidy-test schemas build '
               "ctest demo programs tsan asan fuzz clang-tidy e2e node\n"))

    def test_a_step_that_needs_programs_says_what_builds_them(self):
        for step, file in (("demo", "snug-extender"), ("programs", "snug-extender"), ("ctest", "CTestTestfile.cmake")):
            with self.subTest(step):
                done = self.only(step)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(f"/check/{file} is not built: run bash tests/run.sh --only build first.\n",
                              done.stdout)
                self.assertNotIn("Traceback", done.stdout)
                self.assertTrue(done.stdout.endswith("\n0 passed, 1 failed, 0 skipped\n"), done.stdout)


if __name__ == "__main__":
    unittest.main()

"""A build without presets, as a packager makes it: any build type, g++ or Clang, no packages of the tests."""

import json
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from programs import ROOT, run

# Includes a header of nearly every layer; all of its code together would take minutes.
WIDE = "src/app/extender.cpp"
SMALL = "src/request/malformed.cpp"
# g++ 12 warns falsely of this one at -O3 (-Wrestrict), unless the build says otherwise.
WARNED = "src/adapters/kube/kubeconfig.cpp"
# As if they were not installed.
NO_TEST_PACKAGES = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("GTest", "rapidcheck", "benchmark")]


class PackagerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-packager-")
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name) / "build"

    def configure(self, compiler, build_type):
        done = run("cmake", "-S", ROOT, "-B", self.build, f"-DCMAKE_CXX_COMPILER={compiler}",
                   f"-DCMAKE_BUILD_TYPE={build_type}", *NO_TEST_PACKAGES)
        self.assertEqual(done.returncode, 0, done.stdout)

    def compile(self, source, *flags):
        """What the compiler says of one source, compiled as the build would do it."""
        [command] = [entry["command"] for entry in json.loads((self.build / "compile_commands.json").read_text())
                     if entry["file"] == str(ROOT / source)]
        done = subprocess.run([*shlex.split(command), *flags], cwd=self.build, text=True, check=False,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return command, done.stderr

    def test_a_release_by_gcc_has_no_warnings_and_makes_none_errors(self):
        self.configure("g++", "Release")
        command, said = self.compile(WARNED)
        self.assertIn(" -O3 ", command)
        self.assertNotIn("-Werror", command)
        self.assertEqual(said, "")

    @unittest.skipUnless(shutil.which("clang++-19"), "clang++-19 is not installed")
    def test_clang_compiles_it_without_warnings(self):
        self.configure("clang++-19", "Debug")
        for source in (SMALL, WIDE):
            with self.subTest(source):
                self.assertEqual(self.compile(source, "-fsyntax-only")[1], "")


if __name__ == "__main__":
    unittest.main()

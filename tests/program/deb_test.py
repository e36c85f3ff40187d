"""The .deb packages that cpack makes of a build folder: reproducible, complete and installable."""

import re
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, ROOT, run

VERSION = re.search(r"project\(snug VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
NAMES = ("snug-agent", "snug-extender", "snugctl")


@unittest.skipUnless((BUILD / "CPackConfig.cmake").exists(), "the programs are not in a build folder")
class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="snug-deb-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.packages = cls.pack("a")

    @classmethod
    def pack(cls, name):
        """The packages by name, made in a folder of this name."""
        done = run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / name, SOURCE_DATE_EPOCH="1700000000")
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return {path.name.split("_")[0]: path for path in (cls.folder / name).glob("*.deb")}

    def test_they_are_the_same_each_time(self):
        again = self.pack("b")
        self.assertEqual(sorted(again), sorted(NAMES))
        for name in NAMES:
            self.assertEqual(self.packages[name].name, again[name].name)
            self.assertEqual(self.packages[name].read_bytes(), again[name].read_bytes(), name)

    def test_apt_finds_all_that_they_depend_on(self):
        done = run("apt-get", "--simulate", "install", *self.packages.values())
        self.assertEqual(done.returncode, 0, done.stdout)
        for name in NAMES:
            self.assertRegex(done.stdout, rf"(?m)^Inst {name} \({re.escape(VERSION)} ")
            self.assertIn("libcurl4", run("dpkg-deb", "--field", self.packages[name], "Depends").stdout)

    def test_together_they_have_all_that_a_build_installs(self):
        done = run("cmake", "--install", BUILD, "--prefix", self.folder / "whole/usr")
        self.assertEqual(done.returncode, 0, done.stdout)
        for path in self.packages.values():
            run("dpkg-deb", "--extract", path, self.folder / "packed")
        files = [sorted(str(path.relative_to(self.folder / name)) for path in (self.folder / name).glob("**/*") if not path.is_dir())
                 for name in ("whole", "packed")]
        self.assertIn("usr/share/man/man1/kubectl-snug.1", files[1])
        self.assertEqual(*files)

    def test_the_programs_run_where_they_are_installed(self):
        for package in ("snugctl", "snug-agent"):
            self.assertEqual(run("dpkg-deb", "--extract", self.packages[package], self.folder / "root").returncode, 0)
        for name, said in (("snugctl", "snugctl"), ("kubectl-snug", "kubectl snug"), ("snug-agent", "snug-agent"),
                           ("snug-mps", "snug-mps"), ("snug-gate", "snug-gate"), ("snug-observe", "snug-observe")):
            self.assertEqual(run(self.folder / "root/usr/bin" / name, "--version").stdout, f"{said} {VERSION}\n")


if __name__ == "__main__":
    unittest.main()

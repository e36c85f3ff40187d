"""deploy/krew: the manifest is what krew takes, and pack.sh makes an archive that fits it."""

import hashlib
import re
import tarfile
import tempfile
import unittest
from pathlib import Path

import yaml

from programs import ROOT, SNUGCTL, run

MANIFEST = ROOT / "deploy/krew/snug.yaml"
# As krew's v1alpha2 has them.
KEYS = {"version", "homepage", "shortDescription", "description", "caveats", "platforms"}
PLATFORM_KEYS = {"selector", "uri", "sha256", "bin", "files"}


class KrewTest(unittest.TestCase):
    def check(self, manifest):
        self.assertEqual(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2")
        self.assertEqual((manifest["kind"], manifest["metadata"]), ("Plugin", {"name": "snug"}))
        spec = manifest["spec"]
        self.assertEqual(set(spec), KEYS)
        version = re.search(r"project\(snug VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual(spec["version"], f"v{version}")
        self.assertRegex(spec["version"], r"^v\d+\.\d+\.\d+$")
        self.assertLessEqual(len(spec["shortDescription"]), 50)
        [platform] = spec["platforms"]
        self.assertEqual(set(platform), PLATFORM_KEYS)
        self.assertEqual(platform["selector"]["matchLabels"]["os"], "linux")
        arch = platform["selector"]["matchLabels"]["arch"]
        self.assertRegex(platform["uri"], rf"^https://.*/snug-v{version}-linux-{arch}\.tar\.gz$")
        self.assertRegex(platform["sha256"], r"^[0-9a-f]{64}$")
        self.assertIn({"from": platform["bin"], "to": "."}, platform["files"])
        return platform

    def test_the_manifest_has_its_form(self):
        self.check(yaml.safe_load(MANIFEST.read_text()))

    def test_the_archive_is_as_the_manifest_says(self):
        with tempfile.TemporaryDirectory(prefix="snug-krew-") as folder:
            for name in ("a", "b"):
                done = run("bash", "deploy/krew/pack.sh", f"{folder}/{name}", "https://host.example/files/", SNUGCTL=str(SNUGCTL))
                self.assertEqual((done.returncode, done.stdout), (0, f"{folder}/{name}/snug.yaml\n"))
            platform = self.check(yaml.safe_load(Path(folder, "a/snug.yaml").read_text()))
            archive = platform["uri"].removeprefix("https://host.example/files/")
            data = Path(folder, "a", archive).read_bytes()
            self.assertEqual(hashlib.sha256(data).hexdigest(), platform["sha256"])
            self.assertEqual(data, Path(folder, "b", archive).read_bytes())
            with tarfile.open(Path(folder, "a", archive)) as packed:
                self.assertEqual(packed.getnames(), [each["from"] for each in platform["files"]])
            run("tar", "-xzf", Path(folder, "a", archive), "-C", folder)
            # As krew installs it: a link with the plug-in's name leads to the program.
            plugin = Path(folder, "bin")
            plugin.mkdir()
            (plugin / "kubectl-snug").symlink_to(Path(folder, platform["bin"]))
            self.assertRegex(run(plugin / "kubectl-snug", "--version").stdout, r"^kubectl snug \d")

    def test_another_version_is_not_packed(self):
        with tempfile.TemporaryDirectory(prefix="snug-krew-") as folder:
            done = run("bash", "deploy/krew/pack.sh", folder, "https://host.example", SNUGCTL="/bin/true")
            self.assertEqual((done.returncode, done.stdout), (1, "pack: /bin/true is not version v0.1.0 of snugctl\n"))


if __name__ == "__main__":
    unittest.main()

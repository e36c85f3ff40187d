"""The images of deploy/image: made twice they are the same, and a container of each runs as the manifests demand.
umoci unpacks it and runc runs it, as a node's container runtime would.

SNUG_ARCH=arm64 does so with programs of this architecture, which qemu executes."""

import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy/image"))

from oci import Layout, Tree
from programs import BUILD, CLUSTER, FIRST_LINE, KUBECONFIG, ROOT, run, start

HOST = run("dpkg", "--print-architecture").stdout.strip()
ARCH = os.environ.get("SNUG_ARCH", HOST)
QEMU = "qemu-aarch64-static"
EMULATOR = () if ARCH == HOST else (f"/dev/{QEMU}",)  # where a runtime mounts a file system of its own
CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"project\(snug VERSION (\S+)", CMAKE)[1]
# Of each image: its folder, its SBOM and its programs.
IMAGES = {"snug-extender": ("image", "snug", ["snug-extender", "snugctl"]),
          "snug-agent": ("agent-image", "snug-agent", ["snug-agent", "snug-gate", "snug-mps", "snug-observe"])}
USER = re.search(r"runAsUser: (\d+)", (ROOT / "deploy/dedicated.yaml").read_text())[1]
SPDX_TOOLS = "spdx-tools==0.8.5"
CACHE = Path(os.environ.get("SNUG_CACHE") or Path.home() / ".cache/snug")


def build(out):
    done = run("bash", "deploy/image/build.sh", "--arch", ARCH, BUILD, out)
    if done.returncode != 0:
        raise AssertionError(done.stdout)
    return done.stdout.splitlines()[-len(IMAGES):]


def spdx_tools():
    """The folder of the Python packages that check SPDX documents, from the cache or from their registry."""
    final, partial = CACHE / SPDX_TOOLS, CACHE / f"{SPDX_TOOLS}.{os.getpid()}"
    if not final.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        "--root-user-action=ignore", "--target", partial, SPDX_TOOLS], check=True)
        partial.rename(final)
    return final


@unittest.skipUnless(os.geteuid() == 0, "a container without a user namespace needs root")
class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="snug-image-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = Path(cls.folder.name, "a")
        cls.said = build(cls.out)
        for name, (folder, _, _) in IMAGES.items():
            done = run("umoci", "unpack", "--image", f"{cls.out}/{folder}:{VERSION}", Path(cls.folder.name, name))
            if done.returncode != 0:
                raise AssertionError(done.stdout)

    def root(self, image):
        return Path(self.folder.name, image, "rootfs")

    def sbom(self, image):
        return self.out / f"{IMAGES[image][1]}-{ARCH}.spdx.json"

    def container(self, image, file, *flags, **process):
        """(command prefix, process id, first line) of a container of the image with this file and these flags."""
        bundle = Path(self.folder.name, image)
        path = bundle / "config.json"
        spec = json.loads(path.read_text())
        program = spec["process"]["args"]
        self.assertEqual(program, [f"/usr/bin/{image}"])
        spec["process"].update(terminal=False, noNewPrivileges=True, args=[*EMULATOR, *program, *flags], **process)
        spec["process"]["capabilities"] = {}
        spec["root"]["readonly"] = True
        for source, inside in ((file, f"/{file.name}"), *((f"/usr/bin/{QEMU}", each) for each in EMULATOR)):
            spec["mounts"].append({"destination": inside, "source": str(source), "type": "bind", "options": ["bind", "ro"]})
        # The test asks the program over the host's loopback.
        spec["linux"]["namespaces"] = [each for each in spec["linux"]["namespaces"] if each["type"] != "network"]
        path.write_text(json.dumps(spec))
        name = f"{image}-{os.getpid()}"
        runc = ("runc", "--root", self.folder.name + "/runc")
        self.addCleanup(run, *runc, "delete", "--force", name)
        process = start(self, *runc, "run", "--bundle", bundle, name)
        line = process.stdout.readline() or process.stderr.read()
        pid = json.loads(run(*runc, "state", name).stdout)["pid"]
        return (*runc, "exec", name, *EMULATOR), pid, line

    def test_a_second_build_gives_the_same_bytes(self):
        again = Path(self.folder.name, "b")
        self.assertEqual(build(again), self.said)
        for line, name in zip(self.said, IMAGES, strict=True):
            self.assertRegex(line, rf"^{name} {ARCH} sha256:[0-9a-f]{{64}}$")
        done = run("diff", "-r", self.out, again)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    @unittest.skipUnless(Path("/sys/fs/cgroup").is_mount(), "a runtime needs control groups, which a plain chroot lacks")
    def test_a_container_serves_without_rights(self):
        """As deploy/dedicated.yaml restricts it."""
        inside, pid, line = self.container("snug-extender", CLUSTER, f"--cluster=/{CLUSTER.name}", "--listen=127.0.0.1:0",
                                           "--admin-listen=127.0.0.1:0")
        match = FIRST_LINE.fullmatch(line)
        self.assertTrue(match, line)
        admin = f"http://{match[2]}"
        self.assertEqual(self.poll_ready(admin), 200)
        status = dict(re.findall(r"^(\w+):\t(.*)$", Path(f"/proc/{pid}/status").read_text(), re.M))
        self.assertEqual(status["Uid"].split(), [USER] * 4)
        self.assertEqual(status["Gid"].split(), [USER] * 4)
        for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(status["NoNewPrivs"], "1")
        for folder in ("", "etc", "tmp", "usr/bin", "usr/share/snug"):
            with self.assertRaises(OSError) as caught:
                os.open(f"/proc/{pid}/root/{folder}/new", os.O_CREAT | os.O_WRONLY)
            self.assertEqual(caught.exception.errno, errno.EROFS, folder)
        done = run(*inside, "/usr/bin/snugctl", "top", "cluster", "--server", admin)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("GPU", done.stdout)

    @unittest.skipUnless(Path("/sys/fs/cgroup").is_mount(), "a runtime needs control groups, which a plain chroot lacks")
    def test_the_agent_starts_as_the_root_user_that_its_manifest_names(self):
        [user] = re.findall(r"runAsUser: (0)$", (ROOT / "deploy/agent.yaml").read_text(), re.M)
        config = Path(self.folder.name, "kubeconfig")
        config.write_text(KUBECONFIG)
        _, _, line = self.container("snug-agent", config, "--kubeconfig=/kubeconfig", "--node-name=a", "--listen=127.0.0.1:0",
                                    user={"uid": int(user), "gid": 0})
        match = re.fullmatch(r"listening admin=(\S+)\n", line)
        self.assertTrue(match, line)
        with urllib.request.urlopen(f"http://{match[1]}/livez", timeout=10) as answer:
            self.assertEqual(answer.status, 200)

    def poll_ready(self, admin):
        for _ in range(100):
            try:
                with urllib.request.urlopen(f"{admin}/readyz", timeout=10) as answer:
                    return answer.status
            except OSError:
                time.sleep(0.1)
        raise AssertionError("not ready")

    def test_it_has_no_shell_and_nothing_that_changes_users(self):
        for image, (_, _, programs) in IMAGES.items():
            root = self.root(image)
            self.assertEqual(sorted(path.name for path in root.glob("**/*bin/*")), programs)
            for path in root.glob("**/*"):
                if not path.is_symlink():
                    self.assertEqual(path.stat().st_mode & 0o6000, 0, path)
                    self.assertEqual((path.stat().st_uid, path.stat().st_gid), (0, 0), path)

    def test_each_program_is_in_one_image(self):
        self.assertEqual(sorted(re.findall(r"^(?:snug_program|add_executable)\((snug\S+)", CMAKE, re.M)),
                         sorted(name for _, _, programs in IMAGES.values() for name in programs))

    def test_scanners_find_debian_and_its_packages(self):
        for image in IMAGES:
            with self.subTest(image):
                self.check_packages(self.root(image))

    def check_packages(self, root):
        self.assertIn("VERSION_ID=\"12\"", (root / "etc/os-release").read_text())
        recorded = dict(line.split("\t")[:2] for line in (self.out / f"packages-{ARCH}.tsv").read_text().splitlines())
        listed = {}
        for path in (root / "var/lib/dpkg/status.d").iterdir():
            fields = dict(re.findall(r"^(\S+): (.*)$", path.read_text(), re.M))
            self.assertEqual(fields["Package"], path.name)
            listed[path.name] = fields["Version"]
        self.assertEqual(listed, recorded)
        named = {line for line in (ROOT / "deploy/image/packages.txt").read_text().splitlines()}
        self.assertLessEqual(named, set(listed))

    def test_labels_name_version_and_commit(self):
        commit = run("git", "rev-parse", "HEAD").stdout.strip()
        for name, (folder, _, _) in IMAGES.items():
            layout = self.out / folder
            [index] = json.loads((layout / "index.json").read_text())["manifests"]
            blob = lambda each: json.loads((layout / "blobs/sha256" / each["digest"][7:]).read_text())
            [image] = blob(index)["manifests"]
            labels = blob(blob(image)["config"])["config"]["Labels"]
            self.assertEqual([labels[f"org.opencontainers.image.{key}"] for key in ("title", "version", "revision")],
                             [name, VERSION, commit])

    def test_the_sbom_is_valid_and_names_what_is_there(self):
        for image, (_, _, programs) in IMAGES.items():
            done = run(sys.executable, "-c", "from spdx_tools.spdx.clitools.pyspdxtools import main; main()", "-i",
                       self.sbom(image), PYTHONPATH=str(spdx_tools()))
            self.assertEqual(done.returncode, 0, done.stdout)
            document = json.loads(self.sbom(image).read_text())
            names = {each["name"] for each in document["packages"]}
            self.assertLessEqual({path.name for path in (self.root(image) / "var/lib/dpkg/status.d").iterdir()}, names)
            self.assertLessEqual({f"{image}-image", *programs}, names)

    @unittest.skipUnless(ARCH == HOST and (BUILD / ".ninja_deps").exists(), "only the build knows which headers it has read")
    def test_the_sbom_names_each_library_whose_headers_were_compiled(self):
        targets = run("ninja", "-C", BUILD, "-t", "inputs", "snug-extender", "snugctl", "snug-agent", "snug-mps", "snug-gate",
                      "snug-observe").stdout.split()
        objects = [each for each in targets if each.endswith(".o")]
        self.assertGreater(len(objects), 10)
        read = set(re.findall(r"^    (/usr/(?:include|lib)/\S+)$", run("ninja", "-C", BUILD, "-t", "deps", *objects).stdout, re.M))
        owners = {line.split(": ")[0].split(":")[0] for line in run("dpkg-query", "-S", *sorted(read)).stdout.splitlines()}
        # Declarations of C libraries, from which nothing is compiled in.
        declared = {"libc6-dev", "linux-libc-dev", "libssl-dev", "libcurl4-openssl-dev", "libgcc-12-dev"}
        for image in IMAGES:
            named = {each["name"] for each in json.loads(self.sbom(image).read_text())["packages"]}
            self.assertEqual(owners - declared - named, set(), image)


class LayoutTest(unittest.TestCase):
    """Several architectures in one image; small contents, since the code is the same."""

    def index(self, folder, *architectures):
        """What the index of a layout lists to which these have been added, and its digest."""
        layout = Layout(Path(folder))
        for name, content in architectures:
            tree = Tree()
            tree.add("usr/bin/program", content)
            layout.add(name, [tree], {}, {"org.opencontainers.image.version": "1"})
        [index] = json.loads(Path(folder, "index.json").read_text())["manifests"]
        blobs = Path(folder, "blobs/sha256")
        listed = json.loads((blobs / index["digest"][7:]).read_text())["manifests"]
        return [each["platform"]["architecture"] for each in listed], index["digest"], len(list(blobs.iterdir()))

    def test_the_order_in_which_architectures_are_added_does_not_matter(self):
        one, other = ("amd64", b"1"), ("arm64", b"2")
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, tempfile.TemporaryDirectory() as c:
            both = self.index(a, one, other)
            self.assertEqual(both[0], ["amd64", "arm64"])
            self.assertEqual(self.index(b, other, one), both)
            # What was replaced leaves nothing behind: an index, and three blobs for each architecture.
            self.assertEqual(self.index(c, ("amd64", b"old"), other, one), both)
            self.assertEqual(both[2], 7)


if __name__ == "__main__":
    unittest.main()

"""bench/gpu/record.py: without a GPU it says so; with stand-ins for NVIDIA's programs and library it writes its page."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from programs import BUILD, ROOT, run

sys.path.insert(0, str(ROOT / "tests/standin"))

from nvml_state import DRIVER, NvmlState, card  # noqa: E402

RECORD = ROOT / "bench/gpu/record.py"
READS = BUILD / "bench/gpu_reads"
STANDINS = BUILD / "tests/standin"


class GpuRecordTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-gpu-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def put(self, name, script):
        file = self.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def record(self, out=None, **variables):
        return run(sys.executable, RECORD, f"--programs={self.folder}", f"--out={out or self.folder}", f"--cgroups={self.folder}",
                   **{"PATH": f"{self.folder}:/usr/bin:/bin", **variables})

    def test_without_a_gpu(self):
        self.put("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
        done = self.record()
        self.assertEqual((done.returncode, done.stdout), (3, "this machine has no GPU that nvidia-smi lists: nothing to record\n"))

    def put_gpu(self, uuid):
        self.put("nvidia-smi", f'echo "0, {uuid}, NVIDIA A100-SXM4-40GB, 40960, {DRIVER}, Disabled"')

    def test_what_is_missing_is_said_in_a_line(self):
        self.put_gpu("GPU-1")
        steps = (("bench/gpu_reads", "build its target gpu_reads, or name another folder by --programs"),
                 ("snug-observe", "build its target snug-observe, or name another folder by --programs"))
        for name, advice in steps:
            done = self.record()
            self.assertEqual((done.returncode, done.stdout), (2, f"there is no {self.folder / name}: {advice}\n"))
            self.put(name, "exit 1")
        done = self.record()
        self.assertEqual((done.returncode, done.stdout), (2, "there is no nvidia-cuda-mps-control in PATH: the driver brings it\n"))
        self.put("nvidia-cuda-mps-control", "exit 0")
        done = self.record(out=self.folder / "none")
        self.assertEqual((done.returncode, done.stdout), (2, f"--out: {self.folder / 'none'} is not a folder\n"))

    def test_its_help_is_whole(self):
        done = run(sys.executable, RECORD, "--help")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("snug-agent", done.stdout)
        for paragraph in done.stdout.replace("options:", "").strip().split("\n\n")[1:2]:
            self.assertEqual(paragraph.strip()[-1], ".", done.stdout)

    def use_standins(self, got_mib, driver_mib=512):
        """The second MPS client gets `got_mib`, and the process in a cgroup `driver_mib`."""
        state = NvmlState(self.folder / "state", [card(0)])
        uuid = state.read()["cards"][0]["uuid"]
        self.put_gpu(uuid)
        self.put("nvidia-cuda-mps-control", "exit 0")
        self.put("bench/gpu_reads", f'exec "{READS}" "{STANDINS}/libnvidia-ml.so.1" 3 "$@"')
        seen = {"cuda": {"problem": "", "uuid": uuid[4:]},
                "allocation": {"wantedMiB": 768, "gotMiB": 512, "outOfMemory": True}}
        second = {**seen, "allocation": {"wantedMiB": 1280, "gotMiB": got_mib, "outOfMemory": True}}
        third = {**seen, "allocation": {"wantedMiB": 768, "gotMiB": driver_mib, "outOfMemory": True}}
        self.put("snug-observe", f"[ \"$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT\" = 0=1024M ] && echo '{json.dumps(second)}' && exit\n"
                                 f"ls {self.folder}/snug-record-*/cgroup.procs >/dev/null 2>&1 && rm {self.folder}/snug-record-*/cgroup.procs "
                                 f"&& echo '{json.dumps(third)}' && exit\necho '{json.dumps(seen)}'")
        done = self.record(SNUG_STANDIN_NVML=str(state.path))
        self.assertEqual(list(self.folder.glob("snug-record-*")), [])
        return done, state.read()["cards"][0].get("limits", {})

    @unittest.skipUnless(READS.exists(), "the benches are not built")
    def test_it_writes_what_it_has_seen(self):
        for got_mib, code, said in ((960, 0, "960 MiB of 1280, then out of memory: holds"), (1280, 1, "DOES NOT HOLD")):
            with self.subTest(got_mib):
                done, limits = self.use_standins(got_mib)
                self.assertEqual(done.returncode, code, done.stdout)
                [page] = self.folder.glob(f"gpu-*-{DRIVER}.md")
                text = page.read_text()
                self.assertIn(said, text)
                self.assertIn("the inventory agrees with nvidia-smi", text)
                self.assertIn("the driver has the function that limits the memory of a cgroup; not tried, since", text)
                self.assertEqual(limits, {})
                self.assertEqual(json.loads(text.split("```json\n")[1].split("```")[0])["gpus"][0]["memoryMiB"], 40960)

    @unittest.skipUnless(READS.exists(), "the benches are not built")
    def test_with_version_2_of_cgroups_the_driver_limits_one(self):
        (self.folder / "cgroup.controllers").touch()
        for driver_mib, code, said in ((500, 0, "500 MiB of 768, then out of memory: holds"), (768, 1, "DOES NOT HOLD")):
            with self.subTest(driver_mib):
                done, limits = self.use_standins(960, driver_mib)
                self.assertEqual(done.returncode, code, done.stdout)
                self.assertIn(f"process in a cgroup with the limit 512 MiB: {said}" if code == 0 else said, done.stdout)
                [(group, limit)] = limits.items()
                self.assertTrue(group.startswith(f"{self.folder}/snug-record-"), group)
                self.assertEqual(limit, {"soft_mib": 512, "hard_mib": 512})

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has a GPU")
    def test_the_program_says_that_there_is_no_gpu(self):
        if READS.exists():
            self.assertEqual(run(READS).returncode, 3)


if __name__ == "__main__":
    unittest.main()

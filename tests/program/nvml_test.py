"""The stand-in for NVIDIA's management library as NVIDIA's own Python bindings see it, and Snug's declarations of that
library against NVIDIA's header. Both are downloaded once, and kept in ${SNUG_CACHE:-~/.cache/snug}."""

import contextlib
import ctypes
import functools
import hashlib
import importlib
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from programs import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests/standin"))

from nvml_state import DRIVER, NvmlState, card  # noqa: E402

LIBRARY = BUILD / "tests/standin/libnvidia-ml.so.1"
REQUIREMENTS = Path(__file__).with_name("nvml_requirements.txt")
CACHE = Path(os.environ.get("SNUG_CACHE") or Path.home() / ".cache/snug") / "nvml"
REQUIRED = os.environ.get("CI") == "true"
CHECK = ROOT / "tests/program/nvml_abi_check.cpp"
DECLARATIONS = ROOT / "src/adapters/nvml/nvml_abi.hpp"
HEADER = "nvml.h"
FILLED_BY = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}  # compute slices of a GPU instance: the number of the profile that fills it


@functools.cache
def packages():
    """The folder of NVIDIA's packages."""
    final = CACHE / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    partial = final.with_name(f"{final.name}.{os.getpid()}")
    if not final.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--root-user-action=ignore", "--require-hashes", "--target", partial, "-r", REQUIREMENTS],
                              check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            if REQUIRED:
                raise AssertionError(done.stdout)
            raise unittest.SkipTest(f"NVIDIA's packages cannot be had: {done.stdout.strip()[-200:]}")
        partial.rename(final)
    return final


class StandinTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(packages()))
        cls.addClassCleanup(sys.path.remove, str(packages()))
        # The bindings load the library by its name, which is then the one that is loaded.
        cls.loaded = ctypes.CDLL(str(LIBRARY))
        cls.nvml = importlib.import_module("pynvml")

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="snug-nvml-")
        self.addCleanup(folder.cleanup)
        self.state = NvmlState(Path(folder.name, "state"), [card(0), card(1, mig=True), card(2, "Tesla T4", used_mib=1024)])
        os.environ["SNUG_STANDIN_NVML"] = str(self.state.path)
        self.addCleanup(os.environ.pop, "SNUG_STANDIN_NVML")
        self.nvml.nvmlInit()
        self.addCleanup(self.nvml.nvmlShutdown)
        self.gpus = [self.nvml.nvmlDeviceGetHandleByIndex(i) for i in range(self.nvml.nvmlDeviceGetCount())]

    def create(self, number, start):
        """The (GPU instance, compute instance) of the profile `number` on the second GPU."""
        nvml = self.nvml
        profile = nvml.nvmlDeviceGetGpuInstanceProfileInfo(self.gpus[1], number)
        sizes = [placement.size for placement in self.placements(profile.id) if placement.start == start]
        place = nvml.c_nvmlGpuInstancePlacement_t(start, sizes[0] if sizes else 1)
        instance = nvml.nvmlDeviceCreateGpuInstanceWithPlacement(self.gpus[1], profile.id, ctypes.byref(place))
        compute = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, FILLED_BY[profile.sliceCount], 0)
        return instance, nvml.nvmlGpuInstanceCreateComputeInstance(instance, compute.id)

    def placements(self, profile):
        count = ctypes.c_uint(0)
        self.nvml.nvmlDeviceGetGpuInstancePossiblePlacements(self.gpus[1], profile, None, ctypes.byref(count))
        array = (self.nvml.c_nvmlGpuInstancePlacement_t * count.value)()
        self.nvml.nvmlDeviceGetGpuInstancePossiblePlacements(self.gpus[1], profile, array, ctypes.byref(count))
        return list(array)

    def refused(self, error, function, *arguments):
        with self.assertRaises(self.nvml.NVMLError) as raised:
            function(*arguments)
        self.assertEqual(raised.exception.value, error)

    def test_the_inventory_is_that_of_the_state(self):
        nvml = self.nvml
        self.assertEqual(nvml.nvmlSystemGetDriverVersion(), DRIVER)
        self.assertEqual([nvml.nvmlDeviceGetName(each) for each in self.gpus],
                         ["NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "Tesla T4"])
        self.assertEqual([nvml.nvmlDeviceGetUUID(each) for each in self.gpus],
                         [each["uuid"] for each in self.state.read()["cards"]])
        self.assertEqual([nvml.nvmlDeviceGetMinorNumber(each) for each in self.gpus], [0, 1, 2])
        self.assertEqual(nvml.nvmlDeviceGetPciInfo(self.gpus[1]).busId, "00000000:3C:00.0")
        for version in (None, nvml.nvmlMemory_v2):
            memory = nvml.nvmlDeviceGetMemoryInfo(self.gpus[2], version)
            self.assertEqual((memory.total >> 20, memory.used >> 20), (15360, 1024))
        self.assertEqual([nvml.nvmlDeviceGetMigMode(each)[0] for each in self.gpus[:2]], [0, 1])
        self.refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceGetMigMode, self.gpus[2])
        self.assertEqual(nvml.nvmlDeviceGetComputeRunningProcesses(self.gpus[0]), [])
        self.state.set_card(0, processes=[{"pid": 4711, "used_mib": 100}], utilization=37)
        process, = nvml.nvmlDeviceGetComputeRunningProcesses(self.gpus[0])
        self.assertEqual((process.pid, process.usedGpuMemory >> 20), (4711, 100))
        self.assertEqual(nvml.nvmlDeviceGetUtilizationRates(self.gpus[0]).gpu, 37)

    def test_a_slice_is_made_listed_and_destroyed(self):
        nvml = self.nvml
        instance, compute = self.create(nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, 4)
        info = nvml.nvmlGpuInstanceGetInfo(instance)
        self.assertEqual((info.placement.start, info.placement.size), (4, 4))
        mig = nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.gpus[1], 0)
        self.assertEqual(nvml.nvmlDeviceGetGpuInstanceId(mig), info.id)
        uuid = nvml.nvmlDeviceGetUUID(mig)
        self.assertRegex(uuid, r"^MIG-[0-9a-f-]{36}$")
        self.assertEqual(nvml.nvmlDeviceGetUUID(nvml.nvmlComputeInstanceGetInfo(compute).device), uuid)
        self.assertEqual(nvml.nvmlDeviceGetAttributes(mig).computeInstanceSliceCount, 3)
        self.refused(nvml.NVML_ERROR_IN_USE, nvml.nvmlGpuInstanceDestroy, instance)
        self.state.set_card(1, processes=[{"pid": 1, "gpu_instance": info.id, "compute_instance": 0}])
        self.refused(nvml.NVML_ERROR_IN_USE, nvml.nvmlComputeInstanceDestroy, compute)
        self.refused(nvml.NVML_ERROR_IN_USE, nvml.nvmlGpuInstanceDestroy, instance)
        self.state.set_card(1, processes=[])
        nvml.nvmlComputeInstanceDestroy(compute)
        nvml.nvmlGpuInstanceDestroy(instance)
        self.assertEqual(self.state.read()["cards"][1]["instances"], [])
        self.refused(nvml.NVML_ERROR_NOT_FOUND, nvml.nvmlDeviceGetMigDeviceHandleByIndex, self.gpus[1], 0)

    def test_an_occupied_placement_has_insufficient_resources(self):
        nvml = self.nvml
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, 4)
        for profile, start in ((nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 5), (nvml.NVML_GPU_INSTANCE_PROFILE_7_SLICE, 0)):
            self.refused(nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, self.create, profile, start)
        self.refused(nvml.NVML_ERROR_INVALID_ARGUMENT, self.create, nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, 2)
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1, 0)
        self.refused(nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, self.create, nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1, 1)
        self.state.set_card(1, fail_create=True)
        self.refused(nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, self.create, nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 2)

    def test_the_profiles_of_a_compute_instance_are_those_that_fit(self):
        nvml = self.nvml
        instance, compute = self.create(nvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, 4)
        slices = []
        for number in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
            with contextlib.suppress(nvml.NVMLError_NotSupported):
                slices.append(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, number, 0).sliceCount)
        self.assertEqual(slices, [1, 2, 3])
        self.refused(nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance,
                     nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT, 0)
        info = nvml.nvmlComputeInstanceGetInfo(compute)
        self.refused(nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, nvml.nvmlGpuInstanceCreateComputeInstance, instance,
                     info.profileId)

    def test_a_creation_can_be_slow_and_fail_in_each_step(self):
        nvml = self.nvml
        start = time.monotonic()
        self.state.set_card(1, create_ms=20)
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 0)
        self.assertGreaterEqual(time.monotonic() - start, 0.04)
        self.state.set_card(1, create_ms=0, fail={"nvmlGpuInstanceCreateComputeInstance": nvml.NVML_ERROR_GPU_IS_LOST})
        self.refused(nvml.NVML_ERROR_GPU_IS_LOST, self.create, nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 1)
        self.assertEqual([len(each["compute"]) for each in self.state.read()["cards"][1]["instances"]], [1, 0])

    def test_a_card_shares_its_engines_for_media(self):
        nvml = self.nvml
        self.state.set_card(1, table="RTX-PRO-6000")
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME, 9)
        for profile in (nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1):
            self.refused(nvml.NVML_ERROR_INSUFFICIENT_RESOURCES, self.create, profile, 0)
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME, 0)

    def test_processes_are_listed_by_kind_and_instance(self):
        nvml = self.nvml
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 0)
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 1)
        migs = [nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.gpus[1], i) for i in range(2)]
        used = nvml.nvmlDeviceGetGpuInstanceId(migs[1])
        lists = {"compute": nvml.nvmlDeviceGetComputeRunningProcesses, "graphics": nvml.nvmlDeviceGetGraphicsRunningProcesses,
                 "mps": nvml.nvmlDeviceGetMPSComputeRunningProcesses}
        for kind in lists:
            self.state.set_card(1, processes=[{"pid": 7, "kind": kind, "gpu_instance": used, "compute_instance": 0}])
            for listed, function in lists.items():
                with self.subTest(kind=kind, listed=listed):
                    expected = [(7, used)] if listed == kind else []
                    for device in (self.gpus[1], migs[1]):
                        self.assertEqual([(each.pid, each.gpuInstanceId) for each in function(device)], expected)
                    self.assertEqual(function(migs[0]), [])

    def test_limits_of_memory_are_those_of_a_cgroup(self):
        nvml = self.nvml
        cgroup = str(self.state.path.parent)

        def limits(soft, hard, path=cgroup):
            return nvml.c_nvmlSetMemoryLimits_v1_t(path.encode(), soft, hard)

        nvml.nvmlDeviceSetMemoryLimits_v1(self.gpus[0], limits(1 << 30, 2 << 30))
        self.assertEqual(self.state.read()["cards"][0]["limits"], {cgroup: {"soft_mib": 1024, "hard_mib": 2048}})
        for wrong in (limits(2 << 30, 1 << 30), limits(0, 41 << 30)):
            self.refused(nvml.NVML_ERROR_INVALID_ARGUMENT, nvml.nvmlDeviceSetMemoryLimits_v1, self.gpus[0], wrong)
        self.refused(nvml.NVML_ERROR_OPERATING_SYSTEM, nvml.nvmlDeviceSetMemoryLimits_v1, self.gpus[0],
                     limits(0, 1, f"{cgroup}/none"))
        self.create(nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 0)
        self.refused(nvml.NVML_ERROR_NOT_SUPPORTED, nvml.nvmlDeviceSetMemoryLimits_v1,
                     nvml.nvmlDeviceGetMigDeviceHandleByIndex(self.gpus[1], 0), limits(0, 1))
        nvml.nvmlDeviceSetMemoryLimits_v1(self.gpus[0], limits(0, nvml.NVML_DEVICE_MEMORY_LIMIT_MAX))
        self.assertEqual(self.state.read()["cards"][0]["limits"], {})

    def test_a_gpu_without_mig_mode_takes_no_slice(self):
        profile = self.nvml.nvmlDeviceGetGpuInstanceProfileInfo(self.gpus[0], self.nvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE)
        place = self.nvml.c_nvmlGpuInstancePlacement_t(0, 1)
        self.refused(self.nvml.NVML_ERROR_NOT_SUPPORTED, self.nvml.nvmlDeviceCreateGpuInstanceWithPlacement, self.gpus[0],
                     profile.id, ctypes.byref(place))

    def test_an_xid_arrives_and_a_lost_gpu_does_not_answer(self):
        nvml = self.nvml
        events = nvml.nvmlEventSetCreate()
        self.addCleanup(nvml.nvmlEventSetFree, events)
        for each in self.gpus[:2]:
            nvml.nvmlDeviceRegisterEvents(each, nvml.nvmlEventTypeXidCriticalError, events)
        self.refused(nvml.NVML_ERROR_TIMEOUT, nvml.nvmlEventSetWait, events, 1)
        self.state.append_xid(2, 31)  # not registered
        self.state.lose(1)
        event = nvml.nvmlEventSetWait(events, 10_000)
        self.assertEqual((event.eventType, event.eventData), (nvml.nvmlEventTypeXidCriticalError, 79))
        self.refused(nvml.NVML_ERROR_GPU_IS_LOST, nvml.nvmlDeviceGetName, self.gpus[1])
        self.assertEqual(nvml.nvmlDeviceGetName(self.gpus[0]), "NVIDIA A100-SXM4-40GB")
        self.state.return_card(1)
        self.assertEqual(nvml.nvmlDeviceGetUUID(event.device), nvml.nvmlDeviceGetUUID(self.gpus[1]))

    def test_a_driver_that_was_loaded_anew_wants_a_new_initialisation(self):
        nvml = self.nvml
        self.state.unload_driver()
        self.refused(nvml.NVML_ERROR_DRIVER_NOT_LOADED, nvml.nvmlDeviceGetName, self.gpus[0])
        self.state.load_driver("620.1")
        self.refused(nvml.NVML_ERROR_UNKNOWN, nvml.nvmlDeviceGetName, self.gpus[0])
        nvml.nvmlShutdown()
        nvml.nvmlInit()
        self.assertEqual(nvml.nvmlSystemGetDriverVersion(), "620.1")


class DeclarationsTest(unittest.TestCase):
    """NVIDIA's header says what nvml_abi.hpp may say."""

    def errors(self, declarations):
        """What the compiler says of these declarations beside NVIDIA's header."""
        include = next(packages().glob(f"nvidia/**/{HEADER}")).parent
        with tempfile.TemporaryDirectory(prefix="snug-nvml-") as folder:
            changed = Path(folder, "adapters/nvml/nvml_abi.hpp")
            changed.parent.mkdir(parents=True)
            changed.write_text(declarations)
            compiler = os.environ.get("CXX", "c++")
            done = subprocess.run([compiler, "-std=c++23", "-fsyntax-only", f"-I{folder}", f"-I{include}", CHECK],
                                  check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout

    def test_they_agree_with_the_header(self):
        self.assertEqual(self.errors(DECLARATIONS.read_text()), "")

    def test_each_kind_of_mistake_is_found(self):
        text = DECLARATIONS.read_text()
        for right, wrong in (("kGpuIsLost = 15", "kGpuIsLost = 16"),
                             ("  unsigned long long total;  // bytes", "  unsigned total;"),
                             ("  unsigned start;\n  unsigned size;", "  unsigned size;\n  unsigned start;"),
                             ("  unsigned long long soft;", "  unsigned soft;"),
                             ("(Device, char*, unsigned)", "(Device, char*)"),
                             ("SlicePlacement*, unsigned*))", "SlicePlacement*, unsigned))"),
                             ("(unsigned, Device*)", "(unsigned, Device)"),
                             ("k1DoubleMemory = 0x9", "k1DoubleMemory = 0x8")):
            with self.subTest(wrong):
                self.assertIn(right, text)
                self.assertIn("static assertion failed", self.errors(text.replace(right, wrong)))


if __name__ == "__main__":
    unittest.main()

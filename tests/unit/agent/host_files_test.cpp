#include "snug/adapters/host/host_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "snug/base/agent_limits.hpp"

namespace snug::agent::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The folder of a host, with its driver below /run/driver and nothing else.
class HostFilesTest : public ::testing::Test {
 protected:
  HostFilesTest() {
    std::string folder = (fs::temp_directory_path() / "snug-host-XXXXXX").string();
    host_ = ::mkdtemp(folder.data());
    fs::create_directories(host_ / "run/driver");
  }
  ~HostFilesTest() override { fs::remove_all(host_); }

  void file(const fs::path& path, const std::string& text = "x") {
    fs::create_directories((host_ / path).parent_path());
    std::ofstream(host_ / path) << text;
  }
  void link(const fs::path& path, const std::string& target) {
    fs::create_directories((host_ / path).parent_path());
    fs::create_symlink(target, host_ / path);
  }
  /// False where the test may not make device nodes.
  bool node(const fs::path& path, unsigned major_number, unsigned minor_number) {
    fs::create_directories((host_ / path).parent_path());
    return ::mknod((host_ / path).c_str(), S_IFCHR | 0666, makedev(major_number, minor_number)) ==
           0;
  }
  [[nodiscard]] host::HostPaths paths() const {
    return {.host_root = host_.string(),
            .driver_root = "/run/driver",
            .dev_root = "/",
            .proc_root = host_.string(),
            .cdi_folder = (host_ / "var/run/cdi").string()};
  }
  agent::DriverFiles find(std::string_view version = "580.95.05") {
    auto files = host::HostFiles(paths()).driver_files(version);
    EXPECT_TRUE(files) << files.error().message;
    return files.value_or(agent::DriverFiles{});
  }

  fs::path host_;
};

TEST_F(HostFilesTest, LibrariesAreFoundByTheNamesThatLeadToThem) {
  const std::string lib = "run/driver/usr/lib/x86_64-linux-gnu/";
  file(lib + "libcuda.so.580.95.05");
  link(lib + "libcuda.so.1", "libcuda.so.580.95.05");
  link(lib + "libcuda.so", "libcuda.so.1");
  file(lib + "libnvidia-ml.so.570.1");  // of another driver
  link(lib + "libnvidia-ml.so.1", "libnvidia-ml.so.570.1");
  file(lib + "libc.so.6");
  file(lib + "notes-580.95.05.txt");
  link("run/driver/lib", "usr/lib");  // the same files a second time
  EXPECT_THAT(
      find().libraries,
      ElementsAre(agent::DriverFile{"/" + lib + "libcuda.so.580.95.05", "libcuda.so"},
                  agent::DriverFile{"/" + lib + "libcuda.so.580.95.05", "libcuda.so.1"},
                  agent::DriverFile{"/" + lib + "libcuda.so.580.95.05", "libcuda.so.580.95.05"}));
}

TEST_F(HostFilesTest, LinksAreFollowedInsideTheDriverRootAlone) {
  file("etc/libevil.so.580.95.05");
  file("run/driver/opt/libgood.so.580.95.05");
  const std::string lib = "run/driver/usr/lib64/";
  link(lib + "liba.so.1", "/opt/libgood.so.580.95.05");  // the root is the driver's
  link(lib + "libb.so.1", "../../../../../../opt/libgood.so.580.95.05");  // cannot leave it
  link(lib + "libc.so.1", (host_ / "etc/libevil.so.580.95.05").string());
  link(lib + "libd.so.1", "../../../../etc/libevil.so.580.95.05");
  link(lib + "libe.so.1", "libe.so.1");
  link(lib + "libf.so.1", "missing.so.580.95.05");
  fs::create_directories(host_ / lib / "libg.so.580.95.05");  // a folder
  file(lib + "lib\xff.so.580.95.05");                         // not UTF-8
  const std::string good = "/run/driver/opt/libgood.so.580.95.05";
  EXPECT_THAT(find().libraries, ElementsAre(agent::DriverFile{good, "liba.so.1"},
                                            agent::DriverFile{good, "libb.so.1"}));
}

TEST_F(HostFilesTest, ProgramsAreTheFewThatContainersNeed) {
  for (const char* name : {"nvidia-smi", "nvidia-persistenced", "nvidia-cuda-mps-control", "ls"}) {
    file(std::string("run/driver/usr/bin/") + name);
  }
  link("run/driver/usr/bin/nvidia-debugdump", "/nowhere");
  EXPECT_THAT(find().programs,
              ElementsAre(agent::DriverFile{"/run/driver/usr/bin/nvidia-cuda-mps-control",
                                            "nvidia-cuda-mps-control"},
                          agent::DriverFile{"/run/driver/usr/bin/nvidia-smi", "nvidia-smi"}));
}

TEST_F(HostFilesTest, DeviceNodesAreCharacterDevicesWithTheirNumbers) {
  if (!node("dev/nvidia10", 195, 10)) GTEST_SKIP() << "the test may not make device nodes";
  node("dev/nvidia9", 195, 9);
  node("dev/nvidiactl", 195, 255);
  node("dev/nvidia-uvm", 511, 0);
  node("dev/nvidia01", 195, 1);  // odd names
  node("dev/nvidia1x", 195, 1);
  node("dev/nvidia-fs0", 240, 0);
  file("dev/nvidia7");  // no device
  link("dev/nvidia8", "nvidia9");
  link("dev/nvidia-modeset", "/dev/null");
  const agent::DriverFiles files = find();
  EXPECT_THAT(files.gpu_nodes,
              ElementsAre(agent::DriverNode{"/dev/nvidia9", "/dev/nvidia9", 195, 9},
                          agent::DriverNode{"/dev/nvidia10", "/dev/nvidia10", 195, 10}));
  EXPECT_THAT(files.control_nodes,
              ElementsAre(agent::DriverNode{"/dev/nvidiactl", "/dev/nvidiactl", 195, 255},
                          agent::DriverNode{"/dev/nvidia-uvm", "/dev/nvidia-uvm", 511, 0}));
}

TEST_F(HostFilesTest, CapabilitiesHaveTheNumbersThatTheDriverSays) {
  file("proc/devices",
       "Character devices:\n195 nvidia\n508 nvidia-caps\n\nBlock devices:\n259 nvidia-caps\n");
  const std::string mig = "proc/driver/nvidia/capabilities/gpu2/mig/";
  file(mig + "gi10/access", "DeviceFileMinor: 93\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
  file(mig + "gi9/access", "DeviceFileMinor: 84\n");
  file(mig + "gi9/ci0/access", "DeviceFileMode: 256\nDeviceFileMinor: 85\n");
  file(mig + "gi9/ci1/access", "DeviceFileMinor: x\n");
  file(mig + "gi9/cix/access", "DeviceFileMinor: 86\n");
  file("proc/driver/nvidia/capabilities/mig/config", "DeviceFileMinor: 1\n");
  const auto capability = [](int gpu_instance, int compute_instance, std::int64_t minor_number) {
    const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor_number);
    return agent::CapabilityNode{
        2, gpu_instance, compute_instance, {path, path, 508, minor_number}};
  };
  EXPECT_THAT(find().capability_nodes,
              ElementsAre(capability(9, -1, 84), capability(9, 0, 85), capability(10, -1, 93)));
  file("proc/devices", "Character devices:\n195 nvidia\n");
  EXPECT_THAT(find().capability_nodes, IsEmpty());
  fs::remove(host_ / "proc/devices");
  EXPECT_FALSE(host::HostFiles(paths()).driver_files("580.95.05"));
}

TEST_F(HostFilesTest, ADriverVersionIsDigitsAndDots) {
  file("run/driver/usr/lib64/libcuda.so.580.95.05");
  EXPECT_EQ(find(""), agent::DriverFiles{});
  const auto files = host::HostFiles(paths()).driver_files("5/../x");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, base::ErrorCode::kInvalid);
}

TEST_F(HostFilesTest, TooManyLibrariesAreRefused) {
  const auto most = static_cast<int>(base::agent_limits::max_driver_files);
  for (int i = 0; i < most; ++i) {
    file("run/driver/lib64/lib" + std::to_string(i) + ".so.580.95.05");
  }
  EXPECT_EQ(find().libraries.size(), static_cast<std::size_t>(most));
  file("run/driver/lib64/libone-more.so.580.95.05");
  const auto files = host::HostFiles(paths()).driver_files("580.95.05");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, base::ErrorCode::kTooLarge);
  EXPECT_THAT(files.error().message, HasSubstr("257 libraries and programs"));
}

TEST_F(HostFilesTest, TheBootIdIsTheKernels) {
  host::HostFiles files(paths());
  EXPECT_FALSE(files.boot_id());
  file("proc/sys/kernel/random/boot_id", "6c1b7a8e-11d4-4f0e-9f3b-0a2f6f4a1b2c\n");
  EXPECT_EQ(files.boot_id().value_or(""), "6c1b7a8e-11d4-4f0e-9f3b-0a2f6f4a1b2c");
  file("proc/sys/kernel/random/boot_id", "not one\n");
  EXPECT_FALSE(files.boot_id());
  file("proc/sys/kernel/random/boot_id", std::string(70'000, 'a'));
  EXPECT_FALSE(files.boot_id());
}

TEST_F(HostFilesTest, SpecificationsAreWrittenListedAndRemoved) {
  host::HostFiles files(paths());
  EXPECT_THAT(files.cdi_specs("snug.dev-gpu_").value(), IsEmpty());
  EXPECT_TRUE(files.remove_cdi_spec("snug.dev-gpu_a.json"));
  ASSERT_TRUE(files.write_cdi_spec("snug.dev-gpu_b.json", "1"));
  ASSERT_TRUE(files.write_cdi_spec("snug.dev-gpu_a.json", "1"));
  ASSERT_TRUE(files.write_cdi_spec("snug.dev-gpu_a.json", "22"));
  file("var/run/cdi/nvidia.yaml");
  file("var/run/cdi/snug.dev-gpu_c");
  EXPECT_THAT(files.cdi_specs("snug.dev-gpu_").value(),
              ElementsAre("snug.dev-gpu_a.json", "snug.dev-gpu_b.json"));
  const fs::path written = host_ / "var/run/cdi/snug.dev-gpu_a.json";
  EXPECT_EQ(fs::file_size(written), 2U);
  EXPECT_EQ(fs::status(written).permissions(), fs::perms{0644});
  EXPECT_EQ(std::distance(fs::directory_iterator(written.parent_path()), {}), 4);  // no others
  ASSERT_TRUE(files.remove_cdi_spec("snug.dev-gpu_a.json"));
  EXPECT_THAT(files.cdi_specs("").value(), ElementsAre("snug.dev-gpu_b.json"));
}

TEST_F(HostFilesTest, WhatAKilledAgentHasNotFinishedIsListedAndRemoved) {
  file("var/run/cdi/snug.dev-gpu_a.json");
  const fs::path folder = host_ / "var/run/cdi";
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::signal(SIGXFSZ, SIG_DFL);
    const rlimit none{.rlim_cur = 0, .rlim_max = 0};
    ::setrlimit(RLIMIT_FSIZE, &none);  // the first byte kills it
    (void)host::HostFiles(paths()).write_cdi_spec("snug.dev-gpu_b.json", "1");
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(std::distance(fs::directory_iterator(folder), {}), 2);
  host::HostFiles files(paths());
  const auto names = files.cdi_specs("snug.dev-gpu_b").value();
  ASSERT_EQ(names.size(), 1U);
  EXPECT_TRUE(files.remove_cdi_spec(names[0]));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(HostFilesTest, AFailedWriteChangesNothing) {
  host::HostFiles files(paths());
  for (const char* name : {"", "a", ".json", "../a.json", "a/b.json", "a.yaml"}) {
    EXPECT_FALSE(files.write_cdi_spec(name, "1")) << name;
    EXPECT_FALSE(files.remove_cdi_spec(name)) << name;
  }
  const std::string large(static_cast<std::size_t>(base::agent_limits::max_cdi_spec_bytes) + 1,
                          'x');
  EXPECT_FALSE(files.write_cdi_spec("a.json", large));
  fs::create_directories(host_ / "var/run/cdi/b.json/inside");  // rename() cannot replace it
  const auto written = files.write_cdi_spec("b.json", "1");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("b.json: cannot be replaced"));
  EXPECT_EQ(std::distance(fs::directory_iterator(host_ / "var/run/cdi"), {}), 1);
}

TEST_F(HostFilesTest, ManyThreadsWriteAtOnce) {
  host::HostFiles files(paths());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&files, thread] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(
            files.write_cdi_spec("a.json", std::string(100, static_cast<char>('0' + thread))));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(files.cdi_specs("").value(), ElementsAre("a.json"));
  EXPECT_EQ(fs::file_size(host_ / "var/run/cdi/a.json"), 100U);
}

TEST_F(HostFilesTest, APathOfTheHostIsSeenAsTheHostSeesIt) {
  host::HostFiles files(paths());
  file("opt/hami-2/libvgpu.so");
  link("opt/hami", "/opt/hami-2");
  EXPECT_TRUE(files.exists("/opt/hami/libvgpu.so"));
  EXPECT_FALSE(files.exists("/opt/hami/ld.so.preload"));
  EXPECT_EQ(files.path_here("/opt/hami"), (host_ / "opt/hami").string());
  EXPECT_EQ(host::HostFiles({}).path_here("/opt/hami"), "/opt/hami");
}

}  // namespace
}  // namespace snug::agent::testing

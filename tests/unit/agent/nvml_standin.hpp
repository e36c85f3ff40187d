// A fixture for tests of the adapter of NVIDIA's management library: the state of the stand-in,
// which lies beside this program.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "snug/adapters/nvml/nvml_devices.hpp"

namespace snug::nvml_devices_test {

using nlohmann::json;

inline json card(int number, std::string model = "NVIDIA A100-SXM4-40GB", int memory_mib = 40960,
                 std::string table = "A100-40GB") {
  const std::string digit = std::to_string(number);
  return {{"uuid", "GPU-0000000" + digit + "-1111-2222-3333-444444444444"},
          {"model", std::move(model)},
          {"memory_mib", memory_mib},
          {"minor", 7 - number},
          {"pci", "00000000:3" + digit + ":00.0"},
          {"table", std::move(table)},
          {"instances", json::array()}};
}

class NvmlStandinTest : public testing::Test {
 protected:
  NvmlStandinTest() {
    folder_ = std::filesystem::temp_directory_path() / ("snug-nvml-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    state_ = {{"driver", "615.71"},
              {"epoch", 0},
              {"cards", {card(0), card(1)}},
              {"events", json::array()},
              {"next_event", 0}};
    store();
    setenv("SNUG_STANDIN_NVML", (folder_ / "state").c_str(), 1);
  }
  ~NvmlStandinTest() override { std::filesystem::remove_all(folder_); }

  /// Writes the state, as one step for the stand-in.
  void store() {
    const int file = open((folder_ / "state").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    ASSERT_EQ(flock(file, LOCK_EX), 0);
    const std::string text = state_.dump();
    ASSERT_EQ(ftruncate(file, 0), 0);
    ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(file);
  }
  /// Reads what the stand-in wrote.
  void load() {
    const int file = open((folder_ / "state").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    ASSERT_EQ(flock(file, LOCK_SH), 0);
    std::ifstream text(folder_ / "state");
    state_ = json::parse(text);
    close(file);
  }
  void set_card(std::size_t number, const std::string& key, const json& value) {
    state_["cards"][number][key] = value;
    store();
  }
  void append_xid(std::size_t number, int xid) {
    const int next = state_["next_event"].get<int>();
    state_["events"].push_back(
        {{"number", next}, {"uuid", state_["cards"][number]["uuid"]}, {"xid", xid}});
    state_["next_event"] = next + 1;
    store();
  }
  void restart_driver(const std::string& version) {
    state_["driver"] = version;
    state_["epoch"] = state_["epoch"].get<int>() + 1;
    store();
  }

  nvml::NvmlOptions options() const {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    // The first one is not there: the next is tried.
    return {.libraries = {folder_ / "no-such-library.so.1",
                          (folder / "standin/libnvidia-ml.so.1").string()},
            .pci_devices = folder_,
            .reopen_after = std::chrono::milliseconds(0)};
  }
  std::string uuid(std::size_t number) const {
    return state_["cards"][number]["uuid"].get<std::string>();
  }

  std::filesystem::path folder_;
  json state_;
};

inline agent::NodeDevices read(nvml::NvmlDevices& devices) {
  const auto read = devices.read();
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(agent::NodeDevices{});
}

}  // namespace snug::nvml_devices_test

#include "observe_app/observe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "observe_app/cuda_driver.hpp"

namespace snug::observe_app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDevices = "/dev/";
constexpr const char* kVariables[] = {
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_DEVICE_MEMORY_LIMIT_0",
    "CUDA_DEVICE_SM_LIMIT",
};

/// The paths of the character devices in the folder whose names begin with `nvidia`, sorted.
std::vector<std::string> nodes_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().filename().string().starts_with("nvidia") &&
        entry->is_character_file(unknown))
      paths.push_back(entry->path().string());
  }
  std::ranges::sort(paths);
  return paths;
}

/// Another error than a refusal is the driver's, of which CUDA will tell.
bool is_denied(const std::string& path, int flags) {
  const int node = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK);
  if (node < 0) return errno == EPERM || errno == EACCES;
  ::close(node);
  return false;
}

}  // namespace

verify::Observation observe(std::int64_t allocate_mib) {
  verify::Observation seen;
  for (const std::string& path : nodes_in("/dev"))
    seen.nodes.push_back({.name = path.substr(kDevices.size()), .denied = is_denied(path, O_RDWR)});
  // The nodes of slices may only be read.
  for (const std::string& path : nodes_in("/dev/nvidia-caps"))
    seen.nodes.push_back(
        {.name = path.substr(kDevices.size()), .denied = is_denied(path, O_RDONLY)});
  for (const char* const name : kVariables) {
    if (const char* const value = std::getenv(name)) seen.variables.emplace(name, value);
  }
  observe_cuda(allocate_mib, seen);
  return seen;
}

}  // namespace snug::observe_app

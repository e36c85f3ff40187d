#include "snug/agent/doubtful_gpus.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace snug::agent {
namespace {

constexpr int kLargestMinor = (1 << 20) - 1;  // Linux has 20 bits for it

bool had_both(const DeviceReport& gpu, const NodeDevices& before) {
  return std::ranges::any_of(before.gpus, [&gpu](const DeviceReport& known) {
    return known.uuid == gpu.uuid && known.minor == gpu.minor;
  });
}

/// Why the report of a GPU that answers cannot be right; empty: it can.
std::string doubt_of(const DeviceReport& gpu, const NodeDevices& now, const NodeDevices& before) {
  const std::string minor = "the minor number " + std::to_string(gpu.minor);
  if (gpu.uuid.empty()) return "the driver gives it no uuid";
  if (gpu.memory.value <= 0) return "the driver says that it has no memory";
  if (gpu.minor < 0 || gpu.minor > kLargestMinor)
    return "the driver gives it " + minor + ", which no device node can have";
  const bool is_right = had_both(gpu, before);
  for (const DeviceReport& other : now.gpus) {
    // What is known of a GPU that does not answer is older.
    if (&other == &gpu || !other.healthy || (is_right && !had_both(other, before))) continue;
    if (other.uuid == gpu.uuid) return "the driver gives two GPUs the uuid " + gpu.uuid;
    if (other.minor == gpu.minor) return "the driver gives two GPUs " + minor;
  }
  const auto known = std::ranges::find(before.gpus, gpu.uuid, &DeviceReport::uuid);
  if (known == before.gpus.end() || !known->healthy || known->minor == gpu.minor) return {};
  return "the driver gives it " + minor + " after " + std::to_string(known->minor);
}

void remove_at(NodeDevices& devices, std::ptrdiff_t position) {
  devices.gpus.erase(devices.gpus.begin() + position);
  if (devices.nvlinks.empty()) return;
  devices.nvlinks.erase(devices.nvlinks.begin() + position);
  for (std::vector<int>& row : devices.nvlinks) row.erase(row.begin() + position);
}

}  // namespace

std::vector<LeftOutGpu> replace_doubtful(NodeDevices& now, const NodeDevices& before) {
  std::vector<std::string> doubts;
  doubts.reserve(now.gpus.size());
  for (const DeviceReport& gpu : now.gpus)
    doubts.push_back(gpu.healthy ? doubt_of(gpu, now, before) : "");
  const auto is_replaced = [&](const DeviceReport& known) {
    for (std::size_t i = 0; i < now.gpus.size(); ++i) {
      const DeviceReport& gpu = now.gpus[i];
      if (!doubts[i].empty()) continue;
      if (gpu.uuid == known.uuid || (gpu.healthy && gpu.minor == known.minor)) return true;
    }
    return false;
  };
  std::vector<LeftOutGpu> left_out;
  std::vector<std::ptrdiff_t> removed;
  for (std::size_t i = 0; i < now.gpus.size(); ++i) {
    if (doubts[i].empty()) continue;
    DeviceReport& gpu = now.gpus[i];
    const auto known = std::ranges::find(before.gpus, gpu.index, &DeviceReport::index);
    if (known == before.gpus.end() || is_replaced(*known)) {
      left_out.push_back({gpu.index, doubts[i]});
      removed.push_back(static_cast<std::ptrdiff_t>(i));
      continue;
    }
    gpu = *known;
    gpu.healthy = false;
    gpu.recovery = Recovery::kUnknown;
    gpu.ailment = doubts[i];
  }
  while (!removed.empty()) {
    remove_at(now, removed.back());
    removed.pop_back();
  }
  return left_out;
}

}  // namespace snug::agent

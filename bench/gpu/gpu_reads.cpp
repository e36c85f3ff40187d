// What snug-agent reads of this machine's GPUs, and how long it takes, as one line of JSON:
//   gpu_reads [LIBRARY] [READS]
// LIBRARY is NVIDIA's management library, by default libnvidia-ml.so.1. Exit code 3: there is no
// GPU. record.py makes a page of it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "snug/adapters/nvml/nvml_devices.hpp"
#include "snug/agent/inventory.hpp"
#include "snug/agent_codec/inventory_writer.hpp"

namespace {

constexpr int kNoGpu = 3;
using Clock = std::chrono::steady_clock;

long long microseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

/// `[first, median, last]` in ascending order.
std::string times_json(std::vector<long long> times) {
  std::ranges::sort(times);
  return "[" + std::to_string(times.front()) + ", " + std::to_string(times[times.size() / 2]) +
         ", " + std::to_string(times.back()) + "]";
}

}  // namespace

int main(int argc, char** argv) {
  snug::nvml::NvmlOptions options;
  if (argc > 1) options.libraries = {argv[1]};
  const int reads = argc > 2 ? std::max(1, std::atoi(argv[2])) : 20;
  snug::nvml::NvmlDevices driver(options);
  const auto start = Clock::now();
  const auto first = driver.read();
  const long long opening = microseconds_since(start);
  if (!first || first->gpus.empty()) {
    std::fprintf(stderr, "gpu_reads: %s\n",
                 first ? "the driver has no GPU" : first.error().message.c_str());
    return kNoGpu;
  }
  std::vector<long long> device_times;
  std::vector<long long> usage_times;
  for (int i = 0; i < reads; ++i) {
    const auto begin = Clock::now();
    if (const auto again = driver.read(); !again) return kNoGpu;
    device_times.push_back(microseconds_since(begin));
    const auto middle = Clock::now();
    if (const auto usage = driver.read_usage(); !usage) return kNoGpu;
    usage_times.push_back(microseconds_since(middle));
  }
  const auto inventory =
      snug::agent::make_inventory(*first, {.boot_id = "", .modes = {snug::model::GpuMode::kWhole}});
  std::printf(
      "{\"openingUs\": %lld, \"readUs\": %s, \"usageUs\": %s, \"limitsMemory\": %s, "
      "\"inventory\": %s}\n",
      opening, times_json(device_times).c_str(), times_json(usage_times).c_str(),
      driver.can_limit() ? "true" : "false", snug::agent_codec::write_inventory(inventory).c_str());
  return 0;
}

// What snug-agent reads of this machine's GPUs, and how long it takes, as one line of JSON:
//   gpu_reads [LIBRARY] [READS] [--limit=MIB:CGROUP]
// LIBRARY is NVIDIA's management library, by default libnvidia-ml.so.1. With --limit the driver
// then limits the memory of the first GPU for the processes of the folder of a cgroup, until
// standard input ends. Exit code 3: there is no GPU. record.py makes a page of it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
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

struct Arguments {
  std::vector<std::string> positional;
  std::int64_t limit_mib = 0;
  std::string limited_cgroup;  // empty: no limit
};

Arguments read_arguments(int argc, char** argv) {
  Arguments read;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    constexpr std::string_view kLimit = "--limit=";
    const std::size_t colon = argument.find(':');
    if (!argument.starts_with(kLimit) || colon == std::string::npos) {
      read.positional.push_back(argument);
      continue;
    }
    read.limit_mib = std::atoll(argument.c_str() + kLimit.size());
    read.limited_cgroup = argument.substr(colon + 1);
  }
  return read;
}

/// Why the driver does not limit the cgroup; empty: it does, or nobody asked for it.
std::string limit(snug::nvml::NvmlDevices& driver, const std::string& gpu_uuid,
                  const Arguments& arguments) {
  if (arguments.limited_cgroup.empty()) return {};
  const auto limited =
      driver.limit_memory(gpu_uuid, arguments.limited_cgroup, {arguments.limit_mib});
  return limited ? "" : limited.error().message;
}

void wait_for_end_of_input() {
  while (std::getchar() != EOF) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read_arguments(argc, argv);
  snug::nvml::NvmlOptions options;
  if (!arguments.positional.empty()) options.libraries = {arguments.positional[0]};
  const int reads = arguments.positional.size() > 1
                        ? std::max(1, std::atoi(arguments.positional[1].c_str()))
                        : 20;
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
  const std::string not_limited = limit(driver, first->gpus.front().uuid, arguments);
  std::printf(
      "{\"openingUs\": %lld, \"readUs\": %s, \"usageUs\": %s, \"limitsMemory\": %s, "
      "\"notLimited\": %s, \"inventory\": %s}\n",
      opening, times_json(device_times).c_str(), times_json(usage_times).c_str(),
      driver.can_limit() ? "true" : "false", nlohmann::json(not_limited).dump().c_str(),
      snug::agent_codec::write_inventory(inventory).c_str());
  std::fflush(stdout);
  if (!arguments.limited_cgroup.empty()) wait_for_end_of_input();
  return 0;
}

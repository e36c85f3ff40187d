#include "sim/harness/sim_nodes.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace snug {
namespace {

struct GpuRow {
  const char* model;
  std::int64_t memory;
  std::vector<std::string> modes;
};

const GpuRow& a100() {
  static const GpuRow kRow{"NVIDIA-A100-SXM4-40GB", 40'960, {"whole", "time-slicing"}};
  return kRow;
}
const GpuRow& h100() {
  static const GpuRow kRow{"NVIDIA-H100-80GB-HBM3", 81'559, {"mps", "time-slicing", "whole"}};
  return kRow;
}
const GpuRow& t4() {
  static const GpuRow kRow{"Tesla-T4", 15'360, {"whole", "time-slicing"}};
  return kRow;
}

void add_gpu(SimNode& node, const GpuRow& row) {
  const int index = static_cast<int>(node.gpus.size());
  SimGpu gpu{.index = index, .uuid = {}, .model = row.model, .memory = row.memory};
  gpu.modes = row.modes;
  if (!node.labels_only) gpu.uuid = "GPU-" + node.name + "-" + std::to_string(index);
  node.gpus.push_back(std::move(gpu));
}

std::int64_t nominal_memory(const SimGpu& gpu) {
  for (const GpuRow* row : {&a100(), &h100(), &t4()}) {
    if (gpu.model == row->model) return row->memory;
  }
  return 0;
}

/// A driver keeps some memory to itself, or another card was put in.
std::string change_memory(SimNode& node, SimGpu& gpu, Random& random) {
  constexpr std::array<std::int64_t, 4> kPercent{100, 100, 96, 50};
  const std::int64_t memory = nominal_memory(gpu) * kPercent.at(random.below(4)) / 100;
  for (SimGpu& other : node.gpus) {
    if (node.labels_only || &other == &gpu) other.memory = memory;
  }
  return "a GPU has " + std::to_string(memory) + " MiB";
}

std::string change_modes(SimGpu& gpu, Random& random) {
  static const std::vector<std::vector<std::string>> kModes{{"whole", "time-slicing"},
                                                            {"mps", "time-slicing", "whole"},
                                                            {"mps"},
                                                            {"whole"},
                                                            {"time-slicing", "mps"}};
  gpu.modes = random.pick(kModes);
  return "a GPU has other modes";
}

/// Some GPU falls off the bus, comes back, or is replaced.
std::string change_number(SimNode& node, Random& random, int serial) {
  if (node.gpus.size() > 1 && random.chance(50)) {
    node.gpus.erase(node.gpus.begin() +
                    static_cast<std::ptrdiff_t>(random.below(node.gpus.size())));
    return "a GPU is off the bus";
  }
  if (node.gpus.size() >= 4) return "nothing";
  int index = 0;
  while (std::ranges::find(node.gpus, index, &SimGpu::index) != node.gpus.end()) ++index;
  SimGpu gpu = node.gpus.front();
  gpu.index = index;
  gpu.healthy = true;
  gpu.uuid = "GPU-" + node.name + "-" + std::to_string(index);
  const bool known = std::ranges::find(node.gpus, gpu.uuid, &SimGpu::uuid) != node.gpus.end();
  if (known || random.chance(30)) gpu.uuid += "-" + std::to_string(serial);
  node.gpus.push_back(std::move(gpu));
  return "a GPU comes";
}

}  // namespace

SimNode first_node(int number) {
  SimNode node;
  node.name = "n" + std::to_string(number);
  node.labels_only = number == 2 || number == 4;
  const std::vector<std::vector<const GpuRow*>> gpus{{&a100(), &a100(), &a100(), &a100()},
                                                     {&h100(), &h100()},
                                                     {&t4(), &t4()},
                                                     {&a100(), &h100(), &t4()},
                                                     {&t4(), &t4()},
                                                     {}};
  for (const GpuRow* row : gpus.at(static_cast<std::size_t>(number))) add_gpu(node, *row);
  if (number == 3) node.enforced = true;
  if (number == 4) node.replicas = 4;
  return node;
}

void replace_gpus(SimNode& node, int serial) {
  if (node.labels_only) return;
  for (SimGpu& gpu : node.gpus) gpu.uuid += "-" + std::to_string(serial);
}

std::string change_something(SimNode& node, Random& random, int serial) {
  static const std::vector<std::string> kPools{"auto", "auto", "auto", "shares", "whole"};
  const std::size_t drawn = random.below(100);
  if (drawn < 14) {
    node.pool = random.pick(kPools);
    return "is in the pool " + node.pool;
  }
  if (drawn < 20) {
    node.enforced = !node.enforced;
    return node.enforced ? "enforces shares" : "enforces nothing";
  }
  if (node.gpus.empty()) return "nothing";
  SimGpu& gpu = random.pick(node.gpus);
  if (drawn < 30) return change_memory(node, gpu, random);
  if (node.labels_only || drawn < 70) {
    gpu.healthy = random.chance(65);
    return gpu.healthy ? "a GPU is well" : "a GPU is ill";
  }
  if (drawn < 74) {
    node.stale = !node.stale && random.chance(50);
    return node.stale ? "is stale" : "is up to date";
  }
  if (drawn < 82) return change_modes(gpu, random);
  if (drawn < 90) {
    std::swap(gpu.uuid, node.gpus.front().uuid);
    return "two GPUs change places";
  }
  return change_number(node, random, serial);
}

}  // namespace snug

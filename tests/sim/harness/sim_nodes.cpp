#include "sim/harness/sim_nodes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace snug {
namespace {

using enum model::GpuMode;

struct GpuRow {
  const char* model;
  std::int64_t memory;
  std::vector<model::GpuMode> modes;
};

const GpuRow& a100() {
  static const GpuRow kRow{"NVIDIA-A100-SXM4-40GB", 40'960, {kWhole, kTimeSlicing}};
  return kRow;
}
const GpuRow& h100() {
  static const GpuRow kRow{"NVIDIA-H100-80GB-HBM3", 81'559, {kMps, kTimeSlicing, kWhole}};
  return kRow;
}
const GpuRow& t4() {
  static const GpuRow kRow{"Tesla-T4", 15'360, {kWhole, kTimeSlicing}};
  return kRow;
}

const GpuRow& a30() {
  static const GpuRow kRow{"NVIDIA-A30", 24'576, {kWhole, kTimeSlicing}};
  return kRow;
}
const GpuRow& rtx() {
  static const GpuRow kRow{
      "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", 97'887, {kWhole, kTimeSlicing}};
  return kRow;
}

void add_gpu(SimNode& node, const GpuRow& row) {
  const int index = static_cast<int>(node.gpus.size());
  model::GpuInfo gpu{.index = index, .uuid = {}, .model = row.model, .memory = {row.memory}};
  gpu.allowed_modes = row.modes;
  if (!node.labels_only) gpu.uuid = "GPU-" + node.name + "-" + std::to_string(index);
  node.gpus.push_back(std::move(gpu));
}

/// Tells card_of() which card it is.
model::MigTablePtr names_of(const GpuRow& row) {
  const auto card = std::ranges::find_if(literal_cards(), [&](const LiteralCard& each) {
    return each.model == row.model && each.memory == row.memory;
  });
  auto names = std::make_shared<model::MigTable>();
  for (const LiteralProfile& profile : card->profiles)
    names->profiles.push_back({.name = profile.name});
  return names;
}

void add_mig_gpu(SimNode& node, const GpuRow& row) {
  add_gpu(node, row);
  node.gpus.back().mig_enabled = true;
  node.gpus.back().mig_table = names_of(row);
}

using Layout = std::vector<std::pair<const char*, int>>;  // profiles and starts

/// The operator divides the GPU so. `serial`: as in change_something().
void lay_out(model::GpuInfo& gpu, const Layout& layout, int serial) {
  gpu.mig_instances.clear();
  const LiteralCard& card = *card_of(gpu);
  for (const auto& [profile, start] : layout) {
    gpu.mig_instances.push_back(
        {profile, start, card.find(profile)->size,
         "MIG-" + gpu.uuid + "-" + std::to_string(serial) + "-" + std::to_string(start)});
  }
}

/// Returns layouts of a card with `axis` memory slices.
const std::vector<Layout>& layouts_of(int axis) {
  static const std::vector<Layout> kEight{
      {{"1g.5gb", 0}, {"1g.5gb", 1}, {"2g.10gb", 2}, {"3g.20gb", 4}},
      {{"3g.20gb", 0}, {"1g.10gb", 4}, {"1g.5gb+me", 6}},
      {{"1g.5gb", 0}, {"1g.5gb", 2}, {"1g.5gb", 4}, {"1g.5gb", 6}},
      {{"7g.40gb", 0}}};
  static const std::vector<Layout> kFour{{{"2g.12gb", 0}, {"1g.6gb", 2}, {"1g.6gb", 3}},
                                         {{"4g.24gb", 0}},
                                         {{"1g.6gb", 1}, {"2g.12gb+me", 2}}};
  static const std::vector<Layout> kTwelve{
      {{"2g.48gb", 0}, {"1g.24gb", 6}, {"1g.24gb-me", 9}},
      {{"1g.24gb+me.all", 0}, {"1g.24gb-me", 3}, {"2g.48gb-me", 6}}};
  return axis == 8 ? kEight : axis == 4 ? kFour : kTwelve;
}

/// The slices of a GPU that is another one now.
void rename_slices(model::GpuInfo& gpu, int serial) {
  for (model::Slice& slice : gpu.mig_instances) slice.uuid += "-" + std::to_string(serial);
}

/// The operator divides a GPU otherwise, whoever has its slices; or takes some away.
std::string change_slices(SimNode& node, model::GpuInfo& gpu, Random& random, int serial) {
  if (random.chance(15)) {
    node.dynamic = !node.dynamic;
    return node.dynamic ? "creates slices" : "creates no slices";
  }
  if (!gpu.mig_enabled || node.dynamic) return "nothing";
  if (!gpu.mig_instances.empty() && random.chance(50)) {
    gpu.mig_instances.erase(gpu.mig_instances.begin() +
                            static_cast<std::ptrdiff_t>(random.below(gpu.mig_instances.size())));
    return "has a slice less";
  }
  lay_out(gpu, random.pick(layouts_of(card_of(gpu)->axis)), serial);
  return "has other slices";
}

std::int64_t nominal_memory(const model::GpuInfo& gpu) {
  for (const GpuRow* row : {&a100(), &h100(), &t4()}) {
    if (gpu.model == row->model) return row->memory;
  }
  return 0;
}

/// A driver keeps some memory to itself, or another card was put in.
std::string change_memory(SimNode& node, model::GpuInfo& gpu, Random& random) {
  if (gpu.mig_enabled) return "nothing";
  constexpr std::array<std::int64_t, 4> kPercent{100, 100, 96, 50};
  const std::int64_t memory = nominal_memory(gpu) * kPercent.at(random.below(4)) / 100;
  for (model::GpuInfo& other : node.gpus) {
    if (node.labels_only || &other == &gpu) other.memory = {memory};
  }
  return "a GPU has " + std::to_string(memory) + " MiB";
}

std::string change_modes(model::GpuInfo& gpu, Random& random) {
  static const std::vector<std::vector<model::GpuMode>> kModes{
      {kWhole, kTimeSlicing}, {kMps, kTimeSlicing, kWhole}, {kMps}, {kWhole}, {kTimeSlicing, kMps}};
  gpu.allowed_modes = random.pick(kModes);
  return "a GPU has other modes";
}

/// Removes a GPU from the node, or adds one, which may have been there before.
std::string change_number(SimNode& node, Random& random, int serial) {
  if (node.gpus.size() > 1 && random.chance(50)) {
    node.gpus.erase(node.gpus.begin() +
                    static_cast<std::ptrdiff_t>(random.below(node.gpus.size())));
    return "a GPU is off the bus";
  }
  if (node.gpus.size() >= 4) return "nothing";
  int index = 0;
  while (std::ranges::find(node.gpus, index, &model::GpuInfo::index) != node.gpus.end()) ++index;
  model::GpuInfo gpu = node.gpus.front();
  gpu.index = index;
  gpu.healthy = true;
  gpu.uuid = "GPU-" + node.name + "-" + std::to_string(index);
  rename_slices(gpu, serial);
  const bool known =
      std::ranges::find(node.gpus, gpu.uuid, &model::GpuInfo::uuid) != node.gpus.end();
  if (known || random.chance(30)) gpu.uuid += "-" + std::to_string(serial);
  node.gpus.push_back(std::move(gpu));
  return "a GPU comes";
}

}  // namespace

namespace {

SimNode first_sliced_node(int number) {
  SimNode node;
  node.name = "n" + std::to_string(number);
  node.labels_only = number == 5;
  node.dynamic = number <= 2;
  const std::vector<std::vector<const GpuRow*>> sliced{
      {&a100(), &a100()}, {&a30(), &a30()}, {&rtx(), &a100()}, {&a100(), &a30(), &rtx()}, {}, {}};
  const std::vector<std::vector<const GpuRow*>> plain{{&a100()},     {}, {}, {}, {&a100(), &h100()},
                                                      {&t4(), &t4()}};
  for (const GpuRow* row : sliced.at(static_cast<std::size_t>(number))) add_mig_gpu(node, *row);
  for (const GpuRow* row : plain.at(static_cast<std::size_t>(number))) add_gpu(node, *row);
  for (model::GpuInfo& gpu : node.gpus) {
    if (gpu.mig_enabled && !node.dynamic) lay_out(gpu, layouts_of(card_of(gpu)->axis).front(), 0);
  }
  return node;
}

}  // namespace

SimNode first_node(SimCluster cluster, int number) {
  if (cluster == SimCluster::kSlices) return first_sliced_node(number);
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
  for (model::GpuInfo& gpu : node.gpus) {
    gpu.uuid += "-" + std::to_string(serial);
    rename_slices(gpu, serial);
  }
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
  model::GpuInfo& gpu = random.pick(node.gpus);
  if (drawn < 30) return change_memory(node, gpu, random);
  if (node.labels_only || drawn < 70) {
    gpu.healthy = random.chance(65);
    return gpu.healthy ? "a GPU is well" : "a GPU is ill";
  }
  if (drawn < 74) {
    node.stale = !node.stale && random.chance(50);
    return node.stale ? "is stale" : "is up to date";
  }
  if (drawn < 82 && node.has_slices()) return change_slices(node, gpu, random, serial);
  if (drawn < 82) return change_modes(gpu, random);
  if (drawn < 90) {
    std::swap(gpu.uuid, node.gpus.front().uuid);
    return "two GPUs change places";
  }
  return change_number(node, random, serial);
}

}  // namespace snug

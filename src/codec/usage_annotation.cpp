#include <map>
#include <string>
#include <utility>

#include "codec/inventory_sources.hpp"
#include "codec/json_reader.hpp"

namespace snug::codec {
namespace {

constexpr std::int64_t kPercentStep = 10;

using LoadsByUuid = std::map<std::string, model::GpuLoad, std::less<>>;

std::uint8_t read_percent(JsonReader& json, const JsonCursor& percent_member) {
  const std::int64_t percent = json.integer(percent_member, {0, 100});
  if (percent % kPercentStep != 0) json.report_problem(percent_member, "must be a multiple of 10");
  return static_cast<std::uint8_t>(percent);
}

LoadsByUuid read_loads(JsonReader& json, const JsonCursor& root, const base::Limits& limits) {
  LoadsByUuid loads;
  (void)json.integer(json.required(root, "version"), {1, 1});
  const JsonCursor gpu_list = json.required(root, "gpus");
  const auto gpu_items = json.items(gpu_list);
  if (std::ssize(gpu_items) > limits.max_gpus_per_node)
    json.report_problem(gpu_list, "has too many entries");
  for (const JsonCursor& gpu_item : gpu_items) {
    if (!json.ok()) break;
    const JsonCursor uuid_member = json.required(gpu_item, "uuid");
    const JsonCursor memory_member = json.required(gpu_item, "memoryPercent");
    const JsonCursor compute_member = json.required(gpu_item, "computePercent");
    const model::GpuLoad load{.memory_percent = read_percent(json, memory_member),
                              .compute_percent = read_percent(json, compute_member)};
    if (!loads.emplace(json.nonempty_text(uuid_member), load).second)
      json.report_problem(uuid_member, "is a duplicate");
  }
  return loads;
}

}  // namespace

void read_usage_annotation(const model::NodeFacts& node, const base::Limits& limits,
                           model::NodeInventory& inventory) {
  const std::string_view annotation = value_or_empty(node.annotations, "snug.dev/usage");
  if (annotation.empty() || std::cmp_greater(annotation.size(), limits.max_inventory_bytes)) return;
  const auto loads = read_json(
      annotation, "snug.dev/usage", limits.max_json_depth,
      [&](JsonReader& json, const JsonCursor& root) { return read_loads(json, root, limits); });
  if (!loads) return;
  for (model::GpuInfo& gpu : inventory.gpus) {
    if (const auto load = loads->find(gpu.uuid); load != loads->end()) gpu.load = load->second;
  }
}

}  // namespace snug::codec

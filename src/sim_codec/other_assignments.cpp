#include "sim_codec/other_assignments.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"
#include "snug/request/quantity.hpp"

namespace snug::sim_codec {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kHamiAllocated = "hami.io/vgpu-devices-allocated";
constexpr std::string_view kVolcanoRegister = "volcano.sh/node-vgpu-register";
constexpr std::string_view kVolcanoAllocated = "volcano.sh/vgpu-ids-new";
constexpr std::string_view kGpushareIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr std::string_view kGpushareNodeModel = "aliyun.accelerator/nvidia_name";
constexpr const char* kInventory = "snug.dev/inventory";
constexpr std::int64_t kMostGpus = base::Limits{}.max_gpus_per_node;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view value_of(const model::StringMap& texts, std::string_view key) {
  const auto found = texts.find(key);
  return found == texts.end() ? std::string_view() : std::string_view(found->second);
}

/// A GPU as another system registers it.
struct RegisteredGpu {
  std::int64_t index = 0;
  std::string uuid;
  std::string model;
  std::int64_t memory_mib = 0;
  bool healthy = true;
  bool mig = false;
};

/// Reads HAMi's register, a JSON array.
std::optional<std::vector<RegisteredGpu>> read_json_register(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return std::nullopt;
  std::vector<RegisteredGpu> gpus;
  gpus.reserve(json.size());
  for (const Json& entry : json) {
    if (!entry.is_object()) return std::nullopt;
    const auto text_at = [&](const char* key) {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
    };
    const auto number_at = [&](const char* key) -> std::int64_t {
      const auto found = entry.find(key);
      return found != entry.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    };
    gpus.push_back({.index = number_at("index"),
                    .uuid = text_at("id"),
                    .model = text_at("type"),
                    .memory_mib = number_at("devmem"),
                    .healthy = entry.value("health", Json(false)) == true,
                    .mig = text_at("mode") == "mig"});
  }
  return gpus;
}

/// The positions of fields in a register of the form `id,…:id,…:`.
struct RegisterColumns {
  std::size_t memory;
  std::size_t model;
  std::size_t health;
  std::size_t mode;
};

std::optional<std::vector<RegisteredGpu>> read_text_register(std::string_view text,
                                                             const RegisterColumns& columns) {
  std::vector<RegisteredGpu> gpus;
  for (const std::string_view entry : split(text, ':')) {
    if (entry.empty()) continue;
    const std::vector<std::string_view> fields = split(entry, ',');
    if (fields.size() <= columns.health) return std::nullopt;
    gpus.push_back({.index = static_cast<std::int64_t>(gpus.size()),
                    .uuid = std::string(fields.front()),
                    .model = std::string(fields[columns.model]),
                    .memory_mib = base::parse_integer(fields[columns.memory]).value_or(0),
                    .healthy = fields[columns.health] == "true",
                    .mig = fields.size() > columns.mode && fields[columns.mode] == "mig"});
  }
  return gpus;
}

std::optional<std::vector<RegisteredGpu>> registered_gpus(const NodeObject& node,
                                                          const SystemsInUse& systems) {
  if (const std::string_view text = value_of(node.annotations, kHamiRegister); !text.empty()) {
    if (auto gpus = read_json_register(text)) return gpus;
    return read_text_register(text, {.memory = 2, .model = 4, .health = 6, .mode = 8});
  }
  if (const std::string_view text = value_of(node.annotations, kVolcanoRegister); !text.empty())
    return read_text_register(text, {.memory = 2, .model = 3, .health = 4, .mode = 5});
  const auto count = request::parse_unit_count(value_of(node.capacity, kGpushareCount));
  const auto memory = request::parse_unit_count(value_of(node.capacity, kGpushareMemory));
  if (!count || !memory || *count <= 0 || *count > kMostGpus) return std::nullopt;
  const std::string_view model = value_of(node.traits.labels, kGpushareNodeModel);
  std::vector<RegisteredGpu> gpus;
  gpus.reserve(static_cast<std::size_t>(*count));
  for (std::int64_t index = 0; index < *count; ++index) {
    gpus.push_back({.index = index,
                    .model = model.empty() ? "unknown" : std::string(model),
                    .memory_mib = *memory / *count * systems.gpushare_unit_mib});
  }
  return gpus;
}

std::string inventory_json(const std::vector<RegisteredGpu>& gpus) {
  Json list = Json::array();
  bool mig = false;
  for (const RegisteredGpu& gpu : gpus) {
    Json& entry = list.emplace_back(Json{{"index", gpu.index},
                                         {"model", gpu.model},
                                         {"memoryMiB", gpu.memory_mib},
                                         {"healthy", gpu.healthy},
                                         {"mig", gpu.mig}});
    if (!gpu.uuid.empty()) entry["uuid"] = gpu.uuid;
    mig = mig || gpu.mig;
  }
  return Json{{"version", 1}, {"dynamicMig", mig}, {"gpus", list}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

/// Reads `uuid,type,MiB,percent`. Nullopt: there are too few fields, or an amount is not possible.
std::optional<model::ReservedDevice> read_allocated_device(std::string_view text) {
  const std::vector<std::string_view> fields = split(text, ',');
  constexpr std::size_t kFields = 4;
  if (fields.size() < kFields || fields[0].empty()) return std::nullopt;
  const auto memory_mib = base::parse_integer(fields[2]);
  const auto percent = base::parse_integer(fields[3]);
  if (!memory_mib || *memory_mib < 0 || *memory_mib > base::kLargestQuantity) return std::nullopt;
  constexpr std::int64_t kWholeGpuPercent = 100;
  if (!percent || *percent < 0 || *percent > kWholeGpuPercent) return std::nullopt;
  const std::string_view uuid = fields[0].substr(0, fields[0].find('['));  // `[` begins a slice
  return model::ReservedDevice{.index = -1,  // the uuid says which GPU it is
                               .uuid = std::string(uuid),
                               .mode = model::GpuMode::kTimeSlicing,
                               .memory = {*memory_mib},
                               .compute = {*percent * 10}};
}

/// Reads `uuid,type,MiB,percent:…;…`: containers end with `;`, their devices with `:`. Containers
/// are those of the pod in order. Devices that cannot be read are left out.
OtherAssignment read_allocated(std::string_view text, const PodObject& object) {
  OtherAssignment assignment;
  std::size_t position = 0;
  for (const std::string_view container : split(text, ';')) {
    std::vector<model::ReservedDevice> devices;
    for (const std::string_view device : split(container, ':')) {
      if (device.empty()) continue;
      if (auto read = read_allocated_device(device)) {
        devices.push_back(*std::move(read));
      } else {
        assignment.is_partly_unreadable = true;
      }
    }
    if (!devices.empty() && position >= object.resources.size()) {
      assignment.is_partly_unreadable = true;  // it is of a container that the pod does not have
    } else if (!devices.empty()) {
      assignment.containers.push_back({.name = object.resources[position].first,
                                       .request_text = {},
                                       .assigned = std::move(devices)});
    }
    ++position;
  }
  return assignment;
}

OtherAssignment read_gpushare_index(std::string_view text, const PodObject& object,
                                    const SystemsInUse& systems) {
  const auto index = base::parse_integer(text);
  if (!index || *index < 0 || *index >= kMostGpus) return {.is_partly_unreadable = true};
  OtherAssignment assignment;
  for (const auto& [name, amounts] : object.resources) {
    const auto units = request::parse_unit_count(value_of(amounts, kGpushareMemory));
    if (!units || *units <= 0) continue;
    const std::int64_t memory_mib = *units * systems.gpushare_unit_mib;
    if (memory_mib > base::kLargestQuantity) {
      assignment.is_partly_unreadable = true;
      continue;
    }
    assignment.containers.push_back(
        {.name = name,
         .request_text = {},
         .assigned = std::vector<model::ReservedDevice>{{.index = static_cast<int>(*index),
                                                         .mode = model::GpuMode::kTimeSlicing,
                                                         .memory = {memory_mib}}}});
  }
  return assignment;
}

}  // namespace

void translate_node(const NodeObject& object, const SystemsInUse& systems, model::NodeFacts& node) {
  if (node.annotations.contains(kInventory)) return;
  const auto gpus = registered_gpus(object, systems);
  if (!gpus || gpus->empty()) return;
  node.annotations.emplace(kInventory, inventory_json(*gpus));
  // The device plug-ins of these systems offer several units for each GPU.
  for (model::StringMap* units : {&node.capacity, &node.allocatable}) units->clear();
}

OtherAssignment assigned_by_other_system(const PodObject& object, const SystemsInUse& systems) {
  for (const std::string_view key : {kHamiAllocated, kVolcanoAllocated}) {
    if (const std::string_view text = value_of(object.annotations, key); !text.empty())
      return read_allocated(text, object);
  }
  const std::string_view index = value_of(object.annotations, kGpushareIndex);
  return index.empty() ? OtherAssignment{} : read_gpushare_index(index, object, systems);
}

}  // namespace snug::sim_codec

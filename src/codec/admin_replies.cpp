#include "snug/codec/admin_replies.hpp"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "snug/base/limits.hpp"
#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

using ReplyJson = nlohmann::ordered_json;

/// Throws a ReplyJson::exception if the text is not JSON, or is nested too deeply.
ReplyJson parse_reply(std::string_view json) {
  bool too_deep = false;
  ReplyJson reply = ReplyJson::parse(json, [&](int depth, ReplyJson::parse_event_t, ReplyJson&) {
    too_deep = too_deep || depth > base::Limits{}.max_json_depth;
    return !too_deep;
  });
  if (too_deep) throw ReplyJson::other_error::create(500, "it is nested too deeply", nullptr);
  return reply;
}

std::string text_of(const ReplyJson& object, const char* key) {
  return object.at(key).get<std::string>();
}

std::int64_t number_of(const ReplyJson& object, const char* key) {
  return object.at(key).get<std::int64_t>();
}

/// The text of a key that may be absent or null.
std::string optional_text(const ReplyJson& object, const char* key) {
  const auto value = object.find(key);
  return value == object.end() || value->is_null() ? "" : value->get<std::string>();
}

ShownHolder read_shown_holder(const ReplyJson& holder) {
  return {.name_space = text_of(holder, "namespace"),
          .pod = text_of(holder, "pod"),
          .container = text_of(holder, "container"),
          .memory_mib = holder.value("memoryMiB", std::int64_t{0}),
          .compute_milli = holder.value("computeMilli", std::int64_t{0})};
}

ShownGpu read_shown_gpu(const ReplyJson& json) {
  ShownGpu gpu{.index = number_of(json, "index"),
               .uuid = text_of(json, "uuid"),
               .model = text_of(json, "model"),
               .memory_mib = number_of(json, "memoryMiB"),
               .closed = optional_text(json, "closed"),
               .free_whole = json.at("freeWhole").get<bool>(),
               .mode = text_of(json, "mode"),
               .used_memory_mib = number_of(json, "usedMemoryMiB"),
               .used_compute_milli = number_of(json, "usedComputeMilli"),
               .holders = {},
               .axis = 0,
               .slices = {}};
  for (const ReplyJson& holder : json.at("holders"))
    gpu.holders.push_back(read_shown_holder(holder));
  const auto slices = json.find("slices");
  if (slices == json.end()) return gpu;
  constexpr std::int64_t kLongestAxis = 64;  // api/openapi.yaml
  const auto on_axis = [&](std::int64_t number) {
    return std::clamp<std::int64_t>(number, 0, kLongestAxis);
  };
  gpu.axis = on_axis(number_of(*slices, "axis"));
  for (const ReplyJson& slice : slices->at("instances")) {
    gpu.slices.push_back({.profile = base::clip_text(text_of(slice, "profile"), kLongestAxis),
                          .start = on_axis(number_of(slice, "start")),
                          .size = on_axis(number_of(slice, "size")),
                          .holder = {}});
    if (slice.contains("holder")) gpu.slices.back().holder = read_shown_holder(slice.at("holder"));
  }
  return gpu;
}

ShownNode read_shown_node(const ReplyJson& json) {
  ShownNode node{.name = text_of(json, "name"),
                 .pool = text_of(json, "pool"),
                 .closed = optional_text(json, "closed"),
                 .agent = {},
                 .enforcer = optional_text(json, "enforcer"),
                 .gpus = {},
                 .units = {}};
  if (const auto agent = json.find("agent"); agent != json.end()) {
    node.agent = {.enforcement = text_of(*agent, "enforcement"),
                  .limits = optional_text(*agent, "limits"),
                  .alive = agent->at("alive").get<bool>()};
  }
  for (const ReplyJson& gpu : json.at("gpus")) node.gpus.push_back(read_shown_gpu(gpu));
  for (const ReplyJson& units : json.at("kubeletAssigned")) {
    node.units.push_back({.name_space = text_of(units, "namespace"),
                          .pod = text_of(units, "pod"),
                          .container = text_of(units, "container"),
                          .resource = text_of(units, "resource"),
                          .count = number_of(units, "count")});
  }
  return node;
}

std::string shown_device(const ReplyJson& device) {
  std::string index = std::to_string(number_of(device, "index"));
  const auto slice = device.find("mig");
  if (slice == device.end()) return index;
  return index + ":" + text_of(*slice, "profile") + "@" +
         std::to_string(number_of(*slice, "start"));
}

void read_shown_reservation(const ReplyJson& reservation, ShownPod& pod) {
  std::set<std::string> seen;
  const auto add_devices = [&](const std::string& devices) {
    pod.devices += (pod.devices.empty() ? "" : ",") + devices;
  };
  for (const ReplyJson& container : reservation.at("containers")) {
    if (container.contains("resource")) {
      add_devices(std::to_string(number_of(container, "count")) + " x " +
                  text_of(container, "resource"));
      continue;
    }
    // An init container may have the same device as an app.
    for (const ReplyJson& device : container.at("devices")) {
      if (const std::string shown = shown_device(device); seen.insert(shown).second)
        add_devices(shown);
    }
  }
}

ShownPod read_shown_pod(const ReplyJson& json) {
  ShownPod pod{.name_space = text_of(json, "namespace"),
               .name = text_of(json, "pod"),
               .node = optional_text(json, "node"),
               .state = text_of(json, "state"),
               .reason = optional_text(json, "reason"),
               .request = text_of(json, "request"),
               .devices = {},
               .memory_mib = json.value("memoryMiB", std::int64_t{0}),
               .compute_milli = json.value("computeMilli", std::int64_t{0})};
  if (json.contains("reservation")) read_shown_reservation(json.at("reservation"), pod);
  return pod;
}

/// The array `list` of a reply, which must have its generation: write_selection() repeats both.
const ReplyJson::array_t& rows_of(const ReplyJson& reply, const char* list) {
  (void)number_of(reply, "generation");
  return reply.at(list).get_ref<const ReplyJson::array_t&>();
}

void read_cluster_lists(const ReplyJson& json, ShownCluster& cluster) {
  for (const ReplyJson& model : rows_of(json, "models")) {
    cluster.models.push_back({.model = text_of(model, "model"),
                              .gpus = number_of(model, "gpus"),
                              .memory_mib = number_of(model, "memoryMiB"),
                              .used_memory_mib = number_of(model, "usedMemoryMiB"),
                              .used_compute_milli = number_of(model, "usedComputeMilli"),
                              .free_whole_gpus = number_of(model, "freeWholeGpus")});
  }
  for (const ReplyJson& row : rows_of(json, "namespaces")) {
    ShownNamespace& name_space = cluster.namespaces.emplace_back(
        ShownNamespace{.name = text_of(row, "namespace"),
                       .pods = number_of(row, "pods"),
                       .memory_mib = number_of(row, "memoryMiB"),
                       .compute_milli = number_of(row, "computeMilli"),
                       .cap_milli = {}});
    if (!row.at("capMilli").is_null()) name_space.cap_milli = number_of(row, "capMilli");
  }
  for (const ReplyJson& row : rows_of(json, "pending")) {
    cluster.pending.push_back({.code = text_of(row, "code"),
                               .sentence = text_of(row, "sentence"),
                               .pods = number_of(row, "pods")});
  }
}

ShownCluster read_shown_cluster(const ReplyJson& json) {
  ShownCluster cluster{.nodes = number_of(json, "nodes"),
                       .gpus = number_of(json, "gpus"),
                       .closed_gpus = number_of(json, "gpusClosed"),
                       .memory_mib = number_of(json, "memoryMiB"),
                       .used_memory_mib = number_of(json, "usedMemoryMiB"),
                       .compute_milli = number_of(json, "computeMilli"),
                       .used_compute_milli = number_of(json, "usedComputeMilli"),
                       .free_whole_gpus = number_of(json, "freeWholeGpus"),
                       .largest_free_share = {},
                       .fragmented_milli = number_of(json, "fragmentedMilli"),
                       .free_milli = number_of(json, "freeMilli"),
                       .models = {},
                       .namespaces = {},
                       .pending = {},
                       .policy_generation = number_of(json.at("policy"), "generation"),
                       .default_profile = text_of(json.at("policy"), "default")};
  if (const ReplyJson& share = json.at("largestFreeShare"); !share.is_null()) {
    cluster.largest_free_share = {.node = text_of(share, "node"),
                                  .gpu = number_of(share, "gpu"),
                                  .memory_mib = number_of(share, "memoryMiB"),
                                  .compute_milli = number_of(share, "computeMilli")};
  }
  read_cluster_lists(json, cluster);
  return cluster;
}

/// Reads each element of the array `list` of a reply.
template <typename Row>
base::Result<std::vector<Row>> read_rows(std::string_view json, const char* list,
                                         const std::function<Row(const ReplyJson&)>& read_row) {
  try {
    std::vector<Row> rows;
    const ReplyJson reply = parse_reply(json);
    for (const ReplyJson& row : rows_of(reply, list)) rows.push_back(read_row(row));
    return rows;
  } catch (const ReplyJson::exception& problem) {
    return base::fail(base::ErrorCode::kUnknown,
                      std::string("it is not a list of ") + list + ": " + problem.what());
  }
}

std::string quoted_json(const ReplyJson& value) {
  return value.dump(-1, ' ', false, ReplyJson::error_handler_t::replace);
}

bool is_block(const ReplyJson& value) { return value.is_structured() && !value.empty(); }

/// Whether the text needs no quotes in YAML, and means no other type there.
bool is_plain_yaml(const std::string& text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/";
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text.front())) return false;
  std::string lower = text;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const std::string_view word : kWords) {
    if (lower == word) return false;
  }
  return text.find_first_not_of(kSafe) == std::string::npos;
}

/// Appends the value as YAML in block style. The cursor is behind `key:` or `-`.
void append_yaml(std::string& yaml, const ReplyJson& value, std::size_t indent) {
  if (!is_block(value)) {
    const bool plain = value.is_string() && is_plain_yaml(value.get_ref<const std::string&>());
    yaml += ' ' + (plain ? value.get<std::string>() : quoted_json(value)) + '\n';
    return;
  }
  bool is_first = !yaml.empty() && yaml.back() == '-';  // continues the line of the dash
  if (!is_first && !yaml.empty()) yaml += '\n';
  for (const auto& [key, item] : value.items()) {
    yaml += is_first ? " " : std::string(indent, ' ');
    is_first = false;
    yaml += value.is_array() ? "-" : (is_plain_yaml(key) ? key : quoted_json(key)) + ":";
    const bool is_list_in_object = value.is_object() && item.is_array();
    append_yaml(yaml, item, is_list_in_object ? indent : indent + 2);
  }
}

std::string write_form(const ReplyJson& reply, ReplyForm form) {
  if (form == ReplyForm::kJson)
    return reply.dump(2, ' ', false, ReplyJson::error_handler_t::replace) + '\n';
  std::string yaml;
  append_yaml(yaml, reply, 0);
  return yaml;
}

}  // namespace

base::Result<std::vector<ShownNode>> read_nodes_reply(std::string_view json) {
  return read_rows<ShownNode>(json, "nodes", read_shown_node);
}

base::Result<std::vector<ShownPod>> read_pods_reply(std::string_view json) {
  return read_rows<ShownPod>(json, "pods", read_shown_pod);
}

base::Result<ShownCluster> read_cluster_reply(std::string_view json) {
  try {
    return read_shown_cluster(parse_reply(json));
  } catch (const ReplyJson::exception& problem) {
    return base::fail(base::ErrorCode::kUnknown,
                      std::string("it is not the state of a cluster: ") + problem.what());
  }
}

std::string write_selection(std::string_view reply, const std::string& list,
                            std::span<const std::size_t> selected, ReplyForm form) {
  const ReplyJson whole = ReplyJson::parse(reply);
  if (list.empty()) return write_form(whole, form);
  ReplyJson rows = ReplyJson::array();
  for (const std::size_t position : selected) rows.push_back(whole.at(list).at(position));
  return write_form({{"generation", whole.at("generation")}, {list, std::move(rows)}}, form);
}

std::string gpus_of_nodes_reply(std::string_view reply) {
  const ReplyJson whole = ReplyJson::parse(reply);
  ReplyJson gpus = ReplyJson::array();
  for (const ReplyJson& node : whole.at("nodes")) {
    for (const ReplyJson& gpu : node.at("gpus")) {
      ReplyJson& row = gpus.emplace_back(ReplyJson{{"node", node.at("name")}});
      for (const auto& [key, value] : gpu.items()) row[key] = value;
    }
  }
  return quoted_json(ReplyJson{{"generation", whole.at("generation")}, {"gpus", std::move(gpus)}});
}

}  // namespace snug::codec

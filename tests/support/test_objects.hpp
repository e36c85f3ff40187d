// Makes nodes, pods, requests and holdings for tests; a node from one line of text. Pure. An
// invalid text throws std::invalid_argument, which fails the test.
//
//   make_node("n1: A100-80 81920 x4, T4 16384 x2 unhealthy | pool=shares nvidia.com/gpu=6")
//
// Before `|` are groups of GPUs. A group is a model, its memory in MiB, and words: xN (N GPUs),
// unhealthy, mig (in MIG mode), by-index (without uuids), modes=mps+whole (default: whole and
// time-slicing), slices=1g.5gb@6+2g.10gb@4 (existing slices; make_mig_node() sets their sizes),
// failed=4+5 (memory slices on which no slice could be created). The indices of the GPUs ascend
// over all groups. The uuid of a GPU is GPU-<node>-<index>, that of a slice
// MIG-<node>-<index>-<start>. After `|` are words about the node: dynamic, enforced, pool=,
// closed=<Code>, closed-to-annotated=<Code>, plugin=PROFILE or plugin=all (slices that the device
// plug-in offers), RESOURCE=units or RESOURCE=units/capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

/// Splits `text` at each separator, removes blanks around the parts, and omits empty parts.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

inline std::string make_gpu_uuid(std::string_view node, int index) {
  return "GPU-" + std::string(node) + "-" + std::to_string(index);
}

inline model::ReasonCode parse_reason(std::string_view code) {
  for (std::size_t i = 0; i < model::all_reasons().size(); ++i) {
    if (model::all_reasons()[i].code == code) return static_cast<model::ReasonCode>(i);
  }
  throw std::invalid_argument("no such reason: " + std::string(code));
}

/// Parses slices such as `1g.5gb+me@6+2g.10gb@4`. `+` separates slices and may also be part of the
/// name of a profile.
inline std::vector<model::Slice> parse_slices(std::string_view text) {
  std::vector<model::Slice> slices;
  std::string name;
  for (const std::string& part : split(text, '+')) {
    const std::size_t at = part.find('@');
    name += (name.empty() ? "" : "+") + part.substr(0, at);
    if (at == std::string::npos) continue;
    slices.push_back({.profile = name, .start = std::stoi(part.substr(at + 1)), .uuid = {}});
    name.clear();
  }
  if (!name.empty()) throw std::invalid_argument("a slice is PROFILE@START, not " + name);
  return slices;
}

inline void set_gpu_list(model::GpuInfo& gpu, std::string_view key, std::string_view value) {
  if (key == "modes") {
    gpu.allowed_modes.clear();
    for (const std::string& mode : split(value, '+'))
      gpu.allowed_modes.push_back(model::parse_gpu_mode(mode));
  } else if (key == "slices") {
    gpu.mig_instances = parse_slices(value);
  } else if (key == "failed") {
    for (const std::string& slice : split(value, '+')) {
      gpu.failed_memory_slices |= model::axis_range(std::stoi(slice), 1);
    }
  } else {
    throw std::invalid_argument("unknown word of a group: " + std::string(key));
  }
}

inline void add_gpus(model::NodeInventory& node, std::string_view group) {
  const std::vector<std::string> words = split(group, ' ');
  if (words.size() < 2) throw std::invalid_argument("a group is MODEL MIB WORDS…");
  model::GpuInfo gpu{.model = words[0],
                     .memory = {std::stoll(words[1])},
                     .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}};
  int count = 1;
  bool by_index = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with('x')) {
      count = std::stoi(word.substr(1));
    } else if (word == "unhealthy") {
      gpu.healthy = false;
    } else if (word == "mig") {
      gpu.mig_enabled = true;
    } else if (word == "by-index") {
      by_index = true;
    } else {
      const std::size_t equals = std::min(word.find('='), word.size());
      set_gpu_list(gpu, word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
    }
  }
  for (int i = 0; i < count; ++i) {
    gpu.index = static_cast<int>(node.gpus.size());
    gpu.uuid = by_index ? "" : make_gpu_uuid(node.name, gpu.index);
    for (model::Slice& slice : gpu.mig_instances) {
      slice.uuid =
          "MIG-" + node.name + "-" + std::to_string(gpu.index) + "-" + std::to_string(slice.start);
    }
    node.gpus.push_back(gpu);
  }
}

inline void set_node_word(model::NodeInventory& node, std::string_view word) {
  if (word == "dynamic" || word == "enforced") {
    (word == "dynamic" ? node.dynamic_mig : node.enforces_shares) = true;
    return;
  }
  if (word == "silent") {
    node.agent_alive = false;
    return;
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) throw std::invalid_argument("a node's word is KEY=VALUE");
  const std::string_view key = word.substr(0, equals);
  const std::string value(word.substr(equals + 1));
  if (key == "enforcement") {
    node.enforcement = model::kEnforcementNames.find(value);
  } else if (key == "limits") {
    node.share_limits = model::kShareLimitsNames.find(value);
  } else if (key == "enforcer") {
    node.other_enforcer = model::kOtherEnforcerNames.find(value);
  } else if (key == "pool") {
    for (const model::Pool pool : {model::Pool::kAuto, model::Pool::kShares, model::Pool::kWhole}) {
      if (model::to_string(pool) == value) node.pool = pool;
    }
  } else if (key == "plugin") {
    node.plugin_owns_all_slices = node.plugin_owns_all_slices || value == "all";
    node.plugin_profiles.insert(value);
  } else if (key == "closed") {
    node.closed_to_all = parse_reason(value);
  } else if (key == "closed-to-annotated") {
    node.closed_to_annotated = parse_reason(value);
  } else {
    node.kubelet_allocatable.emplace(key, std::stoll(value));
    const std::size_t slash = value.find('/');
    if (slash != std::string::npos) {
      node.kubelet_capacity.emplace(key, std::stoll(value.substr(slash + 1)));
    }
  }
}

inline model::NodeInventory make_node(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw std::invalid_argument("a node is NAME: GPUS | WORDS");
  model::NodeInventory node;
  node.name = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  const std::size_t bar = std::min(text.find('|'), text.size());
  for (const std::string& group : split(text.substr(0, bar), ',')) add_gpus(node, group);
  if (bar == text.size()) return node;
  for (const std::string& word : split(text.substr(bar + 1), ' ')) set_node_word(node, word);
  return node;
}

/// A pod with one app container, `main`.
inline model::PodFacts make_pod(std::string_view name, model::StringMap annotations = {}) {
  model::PodFacts pod;
  pod.name_space = "default";
  pod.name = name;
  pod.uid = "uid-" + std::string(name);
  pod.containers.push_back({.name = "main"});
  pod.annotations = std::move(annotations);
  return pod;
}

/// A pod with an init container, a sidecar, another init container and two app containers.
inline model::PodFacts make_pod_of_five(model::StringMap annotations = {}) {
  model::PodFacts pod = make_pod("p", std::move(annotations));
  pod.containers = {{.name = "setup", .type = model::ContainerType::kInit},
                    {.name = "proxy", .type = model::ContainerType::kSidecar},
                    {.name = "late", .type = model::ContainerType::kInit},
                    {.name = "first"},
                    {.name = "second"}};
  return pod;
}

inline model::GpuRequest make_request(model::DeviceRequest device, std::int64_t count,
                                      std::string text) {
  model::GpuRequest request;
  request.main_container = "main";
  request.containers.push_back(
      {.container = "main", .device = std::move(device), .count = count, .text = std::move(text)});
  return request;
}

inline model::GpuRequest make_fraction(int thousandths) {
  const std::string digits = std::to_string(1000 + thousandths).substr(1);
  return make_request(model::FractionRequest{thousandths}, 1, "gpu-fraction=0." + digits);
}

inline model::GpuRequest make_memory(std::int64_t mebibytes) {
  return make_request(model::MemoryRequest{{mebibytes}}, 1,
                      "gpu-memory=" + std::to_string(mebibytes));
}

inline model::GpuRequest make_whole(int count) {
  return make_request(model::WholeGpuRequest{}, count, "gpu-fraction=" + std::to_string(count));
}

inline model::GpuRequest make_units(std::int64_t count, std::string resource = "nvidia.com/gpu") {
  std::string text = resource + "=" + std::to_string(count);
  return make_request(model::KubeletRequest{std::move(resource)}, count, std::move(text));
}

/// Makes a share of the GPU at `index`. Its uuid is empty; set it to identify the GPU by uuid.
inline model::ReservedDevice make_share(int index, std::int64_t mebibytes, std::int64_t milli) {
  return {.index = index,
          .mode = model::GpuMode::kTimeSlicing,
          .memory = {mebibytes},
          .compute = {milli}};
}

inline model::ReservedDevice make_whole_device(int index, std::int64_t mebibytes) {
  return {.index = index,
          .mode = model::GpuMode::kWhole,
          .memory = {mebibytes},
          .compute = base::kWholeGpu};
}

/// Makes the holding of the pod `uid` in the namespace `default`, with one container, `main`.
inline std::shared_ptr<model::Holding> make_holding(std::string_view uid, std::string_view node,
                                                    std::vector<model::ReservedDevice> devices) {
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = "default";
  holding->pod = uid;
  holding->uid = uid;
  holding->main_container = "main";
  holding->reservation.uid = uid;
  holding->reservation.node = node;
  holding->reservation.containers.push_back(
      {.name = "main", .request_text = "test", .assigned = std::move(devices)});
  return holding;
}

inline std::shared_ptr<model::Holding> make_units_holding(std::string_view uid,
                                                          std::string_view node, std::int64_t count,
                                                          std::string resource = "nvidia.com/gpu") {
  auto holding = make_holding(uid, node, {});
  holding->reservation.containers.front().assigned =
      model::KubeletUnits{std::move(resource), count};
  return holding;
}

/// Returns a copy of `holding` whose pod is terminating.
inline model::HoldingPtr make_terminating(const model::HoldingPtr& holding) {
  auto same = std::make_shared<model::Holding>(*holding);
  same->terminating = true;
  return same;
}

/// Makes the holding of an annotated pod that was bound by hand and has no devices.
inline std::shared_ptr<model::Holding> make_unplaced(std::string_view uid, std::string_view node) {
  auto holding = make_holding(uid, node, {});
  holding->reservation.containers.clear();
  holding->unplaced = true;
  return holding;
}

}  // namespace snug

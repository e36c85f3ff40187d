// Small clusters for tests, from one-line strings. Pure; a text that cannot be read throws
// std::invalid_argument, which fails the test that holds it.
//
//   make_node("n1: A100-80 81920 x4, T4 16384 x2 unhealthy | pool=shares nvidia.com/gpu=6")
//
// A group of GPUs is a model, its MiB, and words: xN, unhealthy, mig, by-index (no uuid),
// modes=mps+whole, slices=1g.5gb@6+2g.10gb@4 (that exist; their sizes come from the card's table,
// see support/slices.hpp), failed=4+5 (memory slices where none could be made). Indices ascend over
// the groups; uuids are GPU-<node>-<index>, of slices MIG-<node>-<index>-<start>; modes are whole
// and time-slicing. After `|`: dynamic, enforced, pool=, closed=<Code>,
// closed-to-annotated=<Code>, plugin=PROFILE or plugin=all (slices that the device plug-in offers),
// RESOURCE=units or RESOURCE=units/capacity.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/model/node.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"

namespace snug {

/// The parts between separators, without blanks around them and without empty ones.
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

inline std::string gpu_uuid(std::string_view node, int index) {
  return "GPU-" + std::string(node) + "-" + std::to_string(index);
}

inline ReasonCode reason_named(std::string_view code) {
  for (std::size_t i = 0; i < all_reasons().size(); ++i) {
    if (all_reasons()[i].code == code) return static_cast<ReasonCode>(i);
  }
  throw std::invalid_argument("no such reason: " + std::string(code));
}

/// `1g.5gb+me@6+2g.10gb@4`; a profile's name may hold the separator.
inline std::vector<Slice> slices_named(std::string_view text) {
  std::vector<Slice> slices;
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

inline void set_gpu_list(GpuInfo& gpu, std::string_view key, std::string_view value) {
  if (key == "modes") {
    gpu.modes.clear();
    for (const std::string& mode : split(value, '+')) gpu.modes.push_back(mode_from(mode));
  } else if (key == "slices") {
    gpu.mig_instances = slices_named(value);
  } else if (key == "failed") {
    for (const std::string& slice : split(value, '+')) {
      gpu.mig_failed |= axis_range(std::stoi(slice), 1);
    }
  } else {
    throw std::invalid_argument("unknown word of a group: " + std::string(key));
  }
}

inline void add_gpus(NodeInventory& node, std::string_view group) {
  const std::vector<std::string> words = split(group, ' ');
  if (words.size() < 2) throw std::invalid_argument("a group is MODEL MIB WORDS…");
  GpuInfo gpu{.model = words[0],
              .memory = {std::stoll(words[1])},
              .modes = {GpuMode::kWhole, GpuMode::kTimeSlicing}};
  int count = 1;
  bool by_index = false;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with('x')) {
      count = std::stoi(word.substr(1));
    } else if (word == "unhealthy") {
      gpu.healthy = false;
    } else if (word == "mig") {
      gpu.mig = true;
    } else if (word == "by-index") {
      by_index = true;
    } else {
      const std::size_t equals = std::min(word.find('='), word.size());
      set_gpu_list(gpu, word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
    }
  }
  for (int i = 0; i < count; ++i) {
    gpu.index = static_cast<int>(node.gpus.size());
    gpu.uuid = by_index ? "" : gpu_uuid(node.name, gpu.index);
    for (Slice& slice : gpu.mig_instances) {
      slice.uuid =
          "MIG-" + node.name + "-" + std::to_string(gpu.index) + "-" + std::to_string(slice.start);
    }
    node.gpus.push_back(gpu);
  }
}

inline void set_node_word(NodeInventory& node, std::string_view word) {
  if (word == "dynamic" || word == "enforced") {
    (word == "dynamic" ? node.dynamic_mig : node.enforced) = true;
    return;
  }
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) throw std::invalid_argument("a node's word is KEY=VALUE");
  const std::string_view key = word.substr(0, equals);
  const std::string value(word.substr(equals + 1));
  if (key == "pool") {
    for (const Pool pool : {Pool::kAuto, Pool::kShares, Pool::kWhole}) {
      if (to_string(pool) == value) node.pool = pool;
    }
  } else if (key == "plugin") {
    node.plugin_has_all_slices = node.plugin_has_all_slices || value == "all";
    node.plugin_profiles.insert(value);
  } else if (key == "closed") {
    node.closed_to_all = reason_named(value);
  } else if (key == "closed-to-annotated") {
    node.closed_to_annotated = reason_named(value);
  } else {
    node.kubelet_units.emplace(key, std::stoll(value));
    const std::size_t slash = value.find('/');
    if (slash != std::string::npos) {
      node.kubelet_capacity.emplace(key, std::stoll(value.substr(slash + 1)));
    }
  }
}

inline NodeInventory make_node(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) throw std::invalid_argument("a node is NAME: GPUS | WORDS");
  NodeInventory node;
  node.name = text.substr(0, colon);
  text.remove_prefix(colon + 1);
  const std::size_t bar = std::min(text.find('|'), text.size());
  for (const std::string& group : split(text.substr(0, bar), ',')) add_gpus(node, group);
  if (bar == text.size()) return node;
  for (const std::string& word : split(text.substr(bar + 1), ' ')) set_node_word(node, word);
  return node;
}

/// A pod with one app container, `main`.
inline PodFacts make_pod(std::string_view name, StringMap annotations = {}) {
  PodFacts pod;
  pod.name_space = "default";
  pod.name = name;
  pod.uid = "uid-" + std::string(name);
  pod.containers.push_back({.name = "main"});
  pod.annotations = std::move(annotations);
  return pod;
}

/// Init container, sidecar, another init container, two apps.
inline PodFacts pod_of_five(StringMap annotations = {}) {
  PodFacts pod = make_pod("p", std::move(annotations));
  pod.containers = {{.name = "setup", .kind = ContainerKind::kInit},
                    {.name = "proxy", .kind = ContainerKind::kSidecar},
                    {.name = "late", .kind = ContainerKind::kInit},
                    {.name = "first"},
                    {.name = "second"}};
  return pod;
}

inline GpuRequest make_request(Ask ask, std::int64_t count, std::string text) {
  GpuRequest request;
  request.main_container = "main";
  request.containers.push_back(
      {.container = "main", .ask = std::move(ask), .count = count, .text = std::move(text)});
  return request;
}

inline GpuRequest make_fraction(int thousandths) {
  const std::string digits = std::to_string(1000 + thousandths).substr(1);
  return make_request(FractionAsk{thousandths}, 1, "gpu-fraction=0." + digits);
}

inline GpuRequest make_memory(std::int64_t mebibytes) {
  return make_request(MemoryAsk{{mebibytes}}, 1, "gpu-memory=" + std::to_string(mebibytes));
}

inline GpuRequest make_whole(int count) {
  return make_request(WholeAsk{}, count, "gpu-fraction=" + std::to_string(count));
}

inline GpuRequest make_units(std::int64_t count, std::string resource = "nvidia.com/gpu") {
  std::string text = resource + "=" + std::to_string(count);
  return make_request(KubeletAsk{std::move(resource)}, count, std::move(text));
}

/// Held by index; set `uuid` for a device held by uuid.
inline ReservedDevice make_share(int index, std::int64_t mebibytes, std::int64_t milli) {
  return {.index = index, .mode = GpuMode::kTimeSlicing, .memory = {mebibytes}, .compute = {milli}};
}

inline ReservedDevice make_whole_device(int index, std::int64_t mebibytes) {
  return {.index = index, .mode = GpuMode::kWhole, .memory = {mebibytes}, .compute = kWholeGpu};
}

/// What a pod holds, by its uid; no devices and no units: nothing on the node.
inline std::shared_ptr<Holding> make_holding(std::string_view uid, std::string_view node,
                                             std::vector<ReservedDevice> devices) {
  auto holding = std::make_shared<Holding>();
  holding->name_space = "default";
  holding->pod = uid;
  holding->uid = uid;
  holding->main_container = "main";
  holding->reservation.uid = uid;
  holding->reservation.node = node;
  holding->reservation.containers.push_back(
      {.name = "main", .request = "test", .given = std::move(devices)});
  return holding;
}

inline std::shared_ptr<Holding> make_units_holding(std::string_view uid, std::string_view node,
                                                   std::int64_t count,
                                                   std::string resource = "nvidia.com/gpu") {
  auto holding = make_holding(uid, node, {});
  holding->reservation.containers.front().given = KubeletUnits{std::move(resource), count};
  return holding;
}

/// The same once its pod's deletion has begun.
inline HoldingPtr terminating(const HoldingPtr& holding) {
  auto same = std::make_shared<Holding>(*holding);
  same->terminating = true;
  return same;
}

/// Annotated, bound by hand, given no device.
inline std::shared_ptr<Holding> make_unplaced(std::string_view uid, std::string_view node) {
  auto holding = make_holding(uid, node, {});
  holding->reservation.containers.clear();
  holding->unplaced = true;
  return holding;
}

}  // namespace snug

// Reads the quantities of cpu, of memory and of the resources that mirror shares in a list of
// resources (`requests`, `limits`, `overhead`, `allocatable`), from JSON and from protobuf. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/kube_walk_errors.hpp"
#include "snug/model/host_resources.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/request/near_misses.hpp"

namespace snug::codec {

inline bool is_nvidia_key(std::string_view key) { return key.starts_with("nvidia.com/"); }
inline bool is_mirrored_resource(std::string_view name) {
  return name == model::kMilliResource || name == model::kMemoryResource;
}
inline bool is_relevant_resource(std::string_view name) {
  return is_nvidia_key(name) || name == "cpu" || name == "memory" || is_mirrored_resource(name);
}

/// The amounts in one list of resources. Nullopt: the list does not have the resource.
struct HostRequests {
  std::optional<std::int64_t> cpu_milli;
  std::optional<std::int64_t> memory_bytes;
  model::ListedAmounts mirrored;
  bool has_others = false;  // the list has a resource that is not relevant (is_relevant_resource)

  [[nodiscard]] model::HostResources resources() const {
    return {.cpu_milli = cpu_milli.value_or(0), .memory_bytes = memory_bytes.value_or(0)};
  }
};

/// Removes the resources that mirror shares from `resources` and returns their amounts. If a
/// quantity is invalid, `walk` fails at the place of the quantity in `list`.
[[nodiscard]] model::ListedAmounts take_mirrored_amounts(WalkErrors& walk, const FieldPath& list,
                                                         model::StringMap& resources);

/// Removes cpu, memory and the resources that mirror shares from `resources` and returns their
/// amounts. If a quantity is invalid, `walk` fails at the place of the quantity in `list`.
[[nodiscard]] HostRequests take_host_requests(WalkErrors& walk, const FieldPath& list,
                                              model::StringMap& resources);

/// Removes cpu, memory and pods from `resources`, the allocatable of a node, and returns their
/// amounts. If a quantity is invalid, `walk` fails.
[[nodiscard]] model::HostAllocatable take_allocatable(WalkErrors& walk, const FieldPath& list,
                                                      model::StringMap& resources);

/// Returns the amounts of the list, and copies its nvidia.com/* entries to `gpu_resources`, which
/// must be empty. If `stray_keys` is not null, adds resources of other systems to it.
template <typename Walk>
HostRequests read_host_requests(Walk& walk, const typename Walk::Field& list,
                                const FieldPath& parent, model::StringMap& gpu_resources,
                                model::StringMap* stray_keys = nullptr) {
  bool others = false;
  StrayRule stray;
  if (stray_keys != nullptr) {
    stray = {
        .keep = [](std::string_view key, std::size_t&) { return request::is_stray_resource(key); },
        .out = stray_keys};
  }
  walk.map(list, parent,
           {.keep = is_relevant_resource, .quantities = true, .others = &others, .stray = stray},
           gpu_resources);
  HostRequests host_requests =
      take_host_requests(walk, FieldPath{&parent, list.key}, gpu_resources);
  host_requests.has_others = others;
  return host_requests;
}

/// Returns the amounts of a list that is not of a container. Ignores its nvidia.com/* entries. The
/// resources that mirror shares count as others.
template <typename Walk>
HostRequests read_host_requests(Walk& walk, const typename Walk::Field& list,
                                const FieldPath& parent) {
  model::StringMap resources;
  HostRequests host_requests = read_host_requests(walk, list, parent, resources);
  host_requests.has_others =
      host_requests.has_others || host_requests.mirrored != model::ListedAmounts{};
  return host_requests;
}

/// Sets each absent request to its limit, as the API server does.
inline void default_requests_to(HostRequests& requests, const HostRequests& limits) {
  if (!requests.cpu_milli) requests.cpu_milli = limits.cpu_milli;
  if (!requests.memory_bytes) requests.memory_bytes = limits.memory_bytes;
  requests.has_others = requests.has_others || limits.has_others;
}

}  // namespace snug::codec

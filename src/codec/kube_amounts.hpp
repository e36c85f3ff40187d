// The quantities of cpu and memory in a list of resources (`requests`, `limits`, `overhead`,
// `allocatable`), in either wire. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/kube_walk.hpp"
#include "snug/model/host.hpp"
#include "snug/model/node.hpp"

namespace snug {

inline bool nvidia_key(std::string_view key) { return key.starts_with("nvidia.com/"); }
inline bool counted_resource(std::string_view name) {
  return nvidia_key(name) || name == "cpu" || name == "memory";
}

/// The amounts of one list.
struct AmountList {
  std::optional<std::int64_t> cpu_milli;
  std::optional<std::int64_t> memory_bytes;
  bool others = false;  // resources besides these two and nvidia.com/*

  [[nodiscard]] HostAmounts amounts() const {
    return {.cpu_milli = cpu_milli.value_or(0), .memory_bytes = memory_bytes.value_or(0)};
  }
};

/// Removes cpu and memory from the list and returns them. An invalid quantity is an error at its
/// place.
[[nodiscard]] AmountList take_amounts(WalkErrors& walk, const Where& list, StringMap& resources);

/// The same for a node's allocatable, with its pods.
[[nodiscard]] HostCapacity take_capacity(WalkErrors& walk, const Where& list, StringMap& resources);

/// Adds the list's nvidia.com/* entries to `gpu_resources`, which is empty before.
template <typename Walk>
AmountList read_amounts(Walk& walk, const typename Walk::Field& list, const Where& parent,
                        StringMap& gpu_resources) {
  bool others = false;
  walk.map(list, parent, {.keep = counted_resource, .quantities = true, .others = &others},
           gpu_resources);
  AmountList amounts = take_amounts(walk, Where{&parent, list.key}, gpu_resources);
  amounts.others = others;
  return amounts;
}

template <typename Walk>
AmountList read_amounts(Walk& walk, const typename Walk::Field& list, const Where& parent) {
  StringMap resources;
  return read_amounts(walk, list, parent, resources);
}

/// Absent requests default to the limits, as the API server does it.
inline void default_to(AmountList& requests, const AmountList& limits) {
  if (!requests.cpu_milli) requests.cpu_milli = limits.cpu_milli;
  if (!requests.memory_bytes) requests.memory_bytes = limits.memory_bytes;
  requests.others = requests.others || limits.others;
}

}  // namespace snug

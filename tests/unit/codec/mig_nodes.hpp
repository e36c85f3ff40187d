// Nodes with MIG slices, as NVIDIA's device plug-in and GPU Feature Discovery label them.
#pragma once

#include "snug/model/node_inventory.hpp"

namespace snug::mig_labels_test {

using model::NodeFacts;
using model::StringMap;

/// Keys without `nvidia.com/`; a value `-` removes the key.
inline void write(StringMap& map, const StringMap& rows) {
  for (const auto& [key, value] : rows) {
    if (value == "-") {
      map.erase("nvidia.com/" + key);
    } else {
      map["nvidia.com/" + key] = value;
    }
  }
}

/// 8 A100-40 in 7 slices of 1g.5gb each, under `mixed`; `more` on top.
inline NodeFacts mixed_node(const StringMap& labels, const StringMap& capacity = {},
                            const StringMap& allocatable = {}) {
  NodeFacts node;
  node.name = "n1";
  write(node.labels, {{"mig.capable", "true"},
                      {"mig.strategy", "mixed"},
                      {"mig.config", "all-1g.5gb"},
                      {"mig.config.state", "success"},
                      {"gpu.product", "NVIDIA-A100-SXM4-40GB"},
                      {"gpu.count", "8"},
                      {"gpu.replicas", "0"},
                      {"gpu.memory", "40960"},
                      {"mig-1g.5gb.count", "56"},
                      {"mig-1g.5gb.replicas", "1"},
                      {"mig-1g.5gb.memory", "4864"},
                      {"mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"},
                      {"mig-1g.5gb.slices.gi", "1"},
                      {"mig-1g.5gb.slices.ci", "1"}});
  write(node.labels, labels);
  write(node.capacity, {{"gpu", "0"}, {"mig-1g.5gb", "56"}});
  write(node.capacity, capacity);
  node.allocatable = node.capacity;
  write(node.allocatable, allocatable);
  return node;
}

/// The same under `single`.
inline NodeFacts single_node(const StringMap& labels, const StringMap& capacity = {}) {
  NodeFacts node;
  node.name = "n1";
  write(node.labels, {{"mig.capable", "true"},
                      {"mig.strategy", "single"},
                      {"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"},
                      {"gpu.count", "56"},
                      {"gpu.replicas", "1"},
                      {"gpu.memory", "4864"},
                      {"gpu.slices.gi", "1"},
                      {"gpu.slices.ci", "1"}});
  write(node.labels, labels);
  write(node.capacity, {{"gpu", "56"}});
  write(node.capacity, capacity);
  node.allocatable = node.capacity;
  return node;
}

}  // namespace snug::mig_labels_test

// One node by the naive model's own arithmetic: what is taken of it, and whether a pod may have the
// GPUs that it is given or would be given. Tries every choice of GPUs there is, so nodes are small.
// Calls nothing of Snug's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/harness/observed.hpp"
#include "sim/harness/plain_ask.hpp"
#include "sim/harness/plain_policy.hpp"

namespace snug {

/// What a pod holds, and what it asked when it was given that.
struct PlainHeld {
  Held held;
  PlainAsk ask;
};

struct Holder {
  std::string uid;
  std::string node;
  const model::PodFacts* pod = nullptr;
  std::shared_ptr<const PlainHeld> held;
  bool terminating = false;
};

struct GpuUse {
  Amounts used;
  int fractions = 0;  // shares by fraction, which follow the GPU's size
  SliceUse slices;    // in MIG mode
  std::set<std::string> modes;
  std::set<std::string> namespaces;
  bool closed = false;  // to anything new
};

struct NodeUse {
  std::vector<GpuUse> gpus;                                // as the node's
  std::map<std::pair<int, std::string>, GpuUse> vanished;  // by index and uuid
  std::int64_t units = 0;
  bool devices = false;              // somebody was given GPUs by Snug
  bool kubelet = false;              // somebody asks the kubelet
  bool unplaced = false;             // somebody was given nothing
  std::set<std::string> namespaces;  // of all who hold something
};

[[nodiscard]] NodeUse use_of(const SimNode& node, const std::vector<Holder>& holders);

/// Of GPUs' compute, as caps count it; `nodes`: those that exist.
[[nodiscard]] std::int64_t compute_of(const Holder& holder,
                                      const std::map<std::string, SimNode>& nodes);

/// Where a pod wants to be: a node, what is taken there, and by what rules.
struct Room {
  const SimNode& node;
  const NodeUse& use;
  const PlainPolicy& policy;
  std::string name_space;
  std::int64_t cap_left = 0;
};

struct Take {
  std::size_t container = 0;  // in PlainAsk::containers
  std::size_t gpu = 0;        // in SimNode::gpus
};

/// What can be had of a GPU in MIG mode beside its holders.
[[nodiscard]] SliceUse slices_beside(const Room& room, std::size_t gpu);

/// Null: the pod may take these GPUs. `modes`: of the GPUs that it takes, by position.
[[nodiscard]] const char* obstacle(const PlainAsk& ask, const Room& room,
                                   const std::vector<Take>& takes,
                                   std::map<std::size_t, std::string>& modes);
/// Null: the node takes pods of this kind, and has the units that it asks for.
[[nodiscard]] const char* obstacle_to_kind(const PlainAsk& ask, const Room& room);

/// What the pod would hold, for each choice of GPUs that it may have, until `visit` returns true.
/// True: it did. A pod that asks the kubelet has one choice.
bool any_choice(const PlainAsk& ask, const Room& room,
                const std::function<bool(std::shared_ptr<const PlainHeld>)>& visit);

}  // namespace snug

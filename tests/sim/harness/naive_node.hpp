// One node in the naive model: what is taken on it, and whether a pod may have certain GPUs. It
// tries every choice of GPUs, so simulated nodes are small. Does not use Snug's decision code.
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

/// What a pod holds, and the request for which it got it.
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
  int fractions = 0;  // number of shares by fraction, whose memory depends on the GPU's size
  SliceUse slices;    // for a GPU in MIG mode
  std::set<std::string> modes;
  std::set<std::string> namespaces;
  bool closed = false;  // takes no new pods
};

struct NodeUse {
  std::vector<GpuUse> gpus;                                // in the order of SimNode::gpus
  std::map<std::pair<int, std::string>, GpuUse> vanished;  // by index and uuid
  std::int64_t units = 0;
  bool devices = false;              // a pod holds GPUs that Snug assigned
  bool kubelet = false;              // a pod holds GPUs that the kubelet assigns
  bool unplaced = false;             // an annotated pod was bound without GPUs
  std::set<std::string> namespaces;  // of all pods that hold GPUs
};

[[nodiscard]] NodeUse use_of(const SimNode& node, const std::vector<Holder>& holders);

/// Returns the GPU compute of a holder as the cap of its namespace counts it. `nodes` are the nodes
/// that exist.
[[nodiscard]] std::int64_t compute_of(const Holder& holder,
                                      const std::map<std::string, SimNode>& nodes);

/// A node for which a pod is checked, what is taken there, and the rules for the pod's namespace.
struct Room {
  const SimNode& node;
  const NodeUse& use;
  const PlainPolicy& policy;
  std::string name_space;
  std::int64_t cap_left = 0;
};

struct Take {
  std::size_t container = 0;  // position in PlainAsk::containers
  std::size_t gpu = 0;        // position in SimNode::gpus
};

/// Returns what is taken of a GPU in MIG mode, by holders or by failures to create slices.
[[nodiscard]] SliceUse slices_beside(const Room& room, std::size_t gpu);

/// Returns why the pod may not take these GPUs, or null if it may. Sets `modes` to the modes of the
/// GPUs, by their positions.
[[nodiscard]] const char* obstacle(const PlainAsk& ask, const Room& room,
                                   const std::vector<Take>& takes,
                                   std::map<std::size_t, std::string>& modes);
/// Returns why the node takes no pods of this kind or has too few units, or null if there is no
/// reason.
[[nodiscard]] const char* obstacle_to_kind(const PlainAsk& ask, const Room& room);

/// Calls `visit` with what the pod would hold, for each allowed choice of GPUs, until `visit`
/// returns true. Returns whether it did. A kubelet-assigned pod has one choice.
bool any_choice(const PlainAsk& ask, const Room& room,
                const std::function<bool(std::shared_ptr<const PlainHeld>)>& visit);

}  // namespace snug

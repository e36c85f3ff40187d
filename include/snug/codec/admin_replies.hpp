// Reads the replies of the admin port for people's programs: GET /v1/nodes, /v1/pods and
// /v1/cluster, which admin_state_codec and its neighbours write; and writes a selection of a
// reply's rows as JSON or YAML. Keys that a type below does not have are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"

namespace snug::codec {

/// A container that holds a part of a GPU.
struct ShownHolder {
  std::string name_space;
  std::string pod;
  std::string container;
  std::int64_t memory_mib = 0;
  std::int64_t compute_milli = 0;
};

/// A MIG slice that exists or is reserved.
struct ShownSlice {
  std::string profile;
  std::int64_t start = 0;
  std::int64_t size = 0;
  std::optional<ShownHolder> holder;  // without amounts
};

struct ShownGpu {
  std::int64_t index = 0;
  std::string uuid;
  std::string model;
  std::int64_t memory_mib = 0;
  std::string closed;       // the reason; empty: it is open
  bool free_whole = false;  // a pod that asks for one whole GPU could take it
  std::string mode;
  std::int64_t used_memory_mib = 0;
  std::int64_t used_compute_milli = 0;
  std::vector<ShownHolder> holders;
  std::int64_t axis = 0;  // memory slices; 0: not in MIG mode, or its card is unknown
  std::vector<ShownSlice> slices;
};

/// Devices that the kubelet assigns to a container.
struct ShownUnits {
  std::string name_space;
  std::string pod;
  std::string container;
  std::string resource;
  std::int64_t count = 0;
};

/// What the agent of a node says of itself, and whether it lives.
struct ShownAgent {
  std::string enforcement;
  std::string limits;  // empty: it does not say
  bool alive = false;
};

struct ShownNode {
  std::string name;
  std::string pool;
  std::string closed;               // the reason; empty: it is open
  std::optional<ShownAgent> agent;  // nullopt: the node has none
  std::string enforcer;             // other software that gives containers their GPUs; empty: none
  std::vector<ShownGpu> gpus;
  std::vector<ShownUnits> units;
};

struct ShownPod {
  std::string name_space;
  std::string name;
  std::string node;  // empty: pending
  std::string state;
  std::string reason;   // `Code: sentence`: why it is pending, or what is odd about its GPUs
  std::string request;  // empty: it is malformed
  std::string devices;  // as `0,1`, `2:1g.5gb@6` or `2 x nvidia.com/gpu`; empty: none
  std::int64_t memory_mib = 0;
  std::int64_t compute_milli = 0;
};

struct ShownModel {
  std::string model;
  std::int64_t gpus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t used_memory_mib = 0;
  std::int64_t used_compute_milli = 0;
  std::int64_t free_whole_gpus = 0;
};

struct ShownNamespace {
  std::string name;
  std::int64_t pods = 0;
  std::int64_t memory_mib = 0;
  std::int64_t compute_milli = 0;
  std::optional<std::int64_t> cap_milli;
};

struct ShownPending {
  std::string code;  // empty: Snug has not refused them yet
  std::string sentence;
  std::int64_t pods = 0;
};

/// The free part of one GPU.
struct ShownFreeShare {
  std::string node;
  std::int64_t gpu = 0;
  std::int64_t memory_mib = 0;
  std::int64_t compute_milli = 0;
};

struct ShownCluster {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::int64_t closed_gpus = 0;
  std::int64_t memory_mib = 0;
  std::int64_t used_memory_mib = 0;
  std::int64_t compute_milli = 0;
  std::int64_t used_compute_milli = 0;
  std::int64_t free_whole_gpus = 0;
  std::optional<ShownFreeShare> largest_free_share;
  std::int64_t fragmented_milli = 0;
  std::int64_t free_milli = 0;
  std::vector<ShownModel> models;
  std::vector<ShownNamespace> namespaces;
  std::vector<ShownPending> pending;
  std::int64_t policy_generation = 0;
  std::string default_profile;
};

/// These read the replies of GET /v1/nodes, /v1/pods and /v1/cluster. They fail on any other text.
[[nodiscard]] base::Result<std::vector<ShownNode>> read_nodes_reply(std::string_view json);
[[nodiscard]] base::Result<std::vector<ShownPod>> read_pods_reply(std::string_view json);
[[nodiscard]] base::Result<ShownCluster> read_cluster_reply(std::string_view json);

/// How a reply is printed for other programs.
enum class ReplyForm { kJson, kYaml };

/// Writes the generation of a reply, which one of the functions above has read, and of its array
/// `list` the elements with the positions `selected`, in that order. If `list` is empty, it writes
/// the whole reply.
[[nodiscard]] std::string write_selection(std::string_view reply, const std::string& list,
                                          std::span<const std::size_t> selected, ReplyForm form);
/// Rewrites the reply of GET /v1/nodes: its array `gpus` has the GPUs of all nodes in their order,
/// each with the key `node`.
[[nodiscard]] std::string gpus_of_nodes_reply(std::string_view reply);

}  // namespace snug::codec

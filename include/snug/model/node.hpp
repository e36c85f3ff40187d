// What Snug reads of a Kubernetes node (NodeFacts), and what a node has to give (NodeInventory:
// codec/inventory makes the one from the other). Plain data. What is taken on a node is no part of
// this: see model/snapshot.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/enum_names.hpp"
#include "snug/base/units.hpp"
#include "snug/model/host.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/refusal.hpp"

namespace snug {

using StringMap = std::map<std::string, std::string, std::less<>>;

struct NodeFacts {
  std::string name;
  std::string boot_id;  // status.nodeInfo.bootID; empty: not given
  std::string resource_version;
  StringMap annotations;  // only snug.dev/*
  StringMap labels;       // only snug.dev/* and nvidia.com/*
  StringMap capacity;     // only nvidia.com/*, as written
  StringMap allocatable;  // only nvidia.com/*, as written
  HostCapacity host;      // allocatable cpu, memory and pods

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

/// How a GPU is used at one time. It changes only while the GPU is empty.
enum class GpuMode : std::uint8_t { kNone, kWhole, kTimeSlicing, kMps, kMig };

inline constexpr EnumNames kGpuModeNames{std::array{
    EnumName{GpuMode::kNone, "none"}, EnumName{GpuMode::kWhole, "whole"},
    EnumName{GpuMode::kTimeSlicing, "time-slicing"}, EnumName{GpuMode::kMps, "mps"},
    EnumName{GpuMode::kMig, "mig"}}};

[[nodiscard]] constexpr std::string_view to_string(GpuMode mode) { return kGpuModeNames[mode]; }
/// kNone for a text that is no mode's name.
[[nodiscard]] constexpr GpuMode mode_from(std::string_view text) {
  return kGpuModeNames.find(text).value_or(GpuMode::kNone);
}

/// A MIG instance as a range on the GPU's memory-slice axis.
struct Slice {
  std::string profile;
  int start = 0;
  int size = 0;
  std::string uuid;  // empty: still to be created

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The slice by its card's table, whichever spelling of the profile it has; nothing: the table has
/// no such profile of this size, or not at this start.
[[nodiscard]] std::optional<MigPlacement> placement_of(const MigTable& table, const Slice& slice);

struct GpuInfo {
  int index = 0;
  std::string uuid;  // empty: known by its index alone
  std::string model;
  /// Equal for equal models, within one ledger, which gives the numbers; 0: not numbered, or one
  /// of too many.
  std::uint8_t model_number = 0;
  MebiBytes memory;
  bool healthy = true;
  bool mig = false;  // MIG mode is on: the GPU takes slices only
  int numa = -1;
  std::vector<GpuMode> modes;        // what the operator allows on it, in the operator's order
  std::vector<Slice> mig_instances;  // those that exist, by what the node says
  /// The card's own table, else the built-in one; null: none is known, and the GPU takes no slices.
  MigTableRef mig_table;
  /// Equal for equal tables, within one ledger, which gives the numbers; 0: as `model_number`.
  std::uint8_t mig_number = 0;
  AxisMask mig_failed = 0;  // where the agent could not create a slice

  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// Whom the operator gives the node to (label snug.dev/pool).
enum class Pool : std::uint8_t { kAuto, kShares, kWhole };

inline constexpr EnumNames kPoolNames{std::array{EnumName{Pool::kAuto, "auto"},
                                                EnumName{Pool::kShares, "shares"},
                                                EnumName{Pool::kWhole, "whole"}}};

[[nodiscard]] constexpr std::string_view to_string(Pool pool) { return kPoolNames[pool]; }

struct NodeInventory {
  std::string name;
  Pool pool = Pool::kAuto;
  std::vector<GpuInfo> gpus;  // ascending by index
  /// links[i][j]: NVLinks between gpus[i] and gpus[j], 0 = PCIe; empty: unknown.
  std::vector<std::vector<int>> links;
  bool dynamic_mig = false;
  bool enforced = false;  // label snug.dev/enforced=true: what shares may use is enforced here
  /// The most units that the device plug-in offers one GPU or slice as.
  std::int64_t replicas = 1;
  HostCapacity host;
  /// Units of nvidia.com/* that the kubelet hands out here, by resource name.
  std::map<std::string, std::int64_t, std::less<>> kubelet_units;
  /// The same with every GPU healthy: what `kubelet_units` lack of it may come back.
  std::map<std::string, std::int64_t, std::less<>> kubelet_capacity;
  /// What a unit is of a GPU, where MIG slices are among the units; a resource that is not here is
  /// whole GPUs or their replicas. 0: nobody knows.
  std::map<std::string, MilliGpu, std::less<>> unit_milli;
  /// Profiles, in each of their spellings, of which the device plug-in offers slices: the kubelet
  /// gives any of these to any pod, and Snug gives none of them.
  std::set<std::string, std::less<>> plugin_profiles;
  bool plugin_has_all_slices = false;  // all slices of the node are the plug-in's
  /// While the MIG layout is being changed (`closed_to_all` is kReconfiguring): the profiles, in
  /// each of their spellings, that the tables of the node's cards have. Empty: none is known.
  std::set<std::string, std::less<>> coming_profiles;
  /// Why annotated pods, or GPU pods at all, are kept away from this node whatever it holds.
  /// kNone: they are not.
  ReasonCode closed_to_annotated = ReasonCode::kNone;
  ReasonCode closed_to_all = ReasonCode::kNone;
  /// The sentence for people behind either of the two, with the details; empty: not closed.
  std::string closed_because;

  /// The position in `gpus` of the one that a device reserved with this index and uuid is charged
  /// to; nothing: none of them.
  ///   - By uuid, wherever the index of that GPU is now;
  ///   - where that uuid is gone but the index exists, the GPU at the index;
  ///   - a device held by index alone is charged to whatever GPU has that index.
  [[nodiscard]] std::optional<std::size_t> gpu_of(int index, std::string_view uuid) const;

  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

}  // namespace snug

// What Snug reads of a Kubernetes node (NodeFacts), and the capacity that follows from it
// (NodeInventory, made by codec/inventory_codec). Plain data. For what is in use on a node, see
// model/snapshot.hpp.
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
#include "snug/model/host_resources.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/reasons.hpp"

namespace snug::model {

using StringMap = std::map<std::string, std::string, std::less<>>;

struct NodeFacts {
  std::string name;
  std::string boot_id;  // status.nodeInfo.bootID; empty: not given
  std::string resource_version;
  StringMap annotations;  // only snug.dev/*
  StringMap labels;       // only snug.dev/* and nvidia.com/*
  StringMap capacity;     // only nvidia.com/*, as written
  StringMap allocatable;  // only nvidia.com/*, as written
  HostAllocatable host;   // allocatable cpu, memory and pods

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

/// How a GPU is used at one time. It changes only while the GPU is empty.
enum class GpuMode : std::uint8_t { kNone, kWhole, kTimeSlicing, kMps, kMig };

inline constexpr base::EnumNames kGpuModeNames{
    std::array{base::EnumName{GpuMode::kNone, "none"}, base::EnumName{GpuMode::kWhole, "whole"},
               base::EnumName{GpuMode::kTimeSlicing, "time-slicing"},
               base::EnumName{GpuMode::kMps, "mps"}, base::EnumName{GpuMode::kMig, "mig"}}};

[[nodiscard]] constexpr std::string_view to_string(GpuMode mode) { return kGpuModeNames[mode]; }
/// Whether several pods can use a GPU in this mode at the same time.
[[nodiscard]] constexpr bool is_sharing_mode(GpuMode mode) {
  return mode == GpuMode::kTimeSlicing || mode == GpuMode::kMps;
}
/// kNone if `text` is not the name of a mode.
[[nodiscard]] constexpr GpuMode parse_gpu_mode(std::string_view text) {
  return kGpuModeNames.find(text).value_or(GpuMode::kNone);
}

/// A MIG instance as a range on the GPU's memory-slice axis.
struct Slice {
  std::string profile;
  int start = 0;
  int size = 0;
  std::string uuid;  // empty: not created yet

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// The slice as a placement of its card's table; the profile may be spelled either way. Nullopt:
/// the table has no such profile of this size, or not at this start.
[[nodiscard]] std::optional<MigPlacement> find_placement(const MigTable& table, const Slice& slice);

struct GpuInfo {
  int index = 0;
  std::string uuid;  // empty: known only by its index
  std::string model;
  /// Assigned by the ledger, so that equal numbers mean equal models within one ledger. 0: not
  /// numbered, or beyond the number of models that are distinguished.
  std::uint8_t model_id = 0;
  base::MebiBytes memory;
  bool healthy = true;
  bool mig_enabled = false;  // MIG mode is on: the GPU takes slices only
  int numa_node = -1;
  std::vector<GpuMode> allowed_modes;  // those that the operator allows, in the operator's order
  std::vector<Slice> mig_instances;    // existing slices, as the node reports them
  /// The table that the node publishes, else the built-in one; null: unknown, so no slices fit.
  MigTableRef mig_table;
  /// Assigned by the ledger: equal numbers mean equal tables. 0: as for `model_id`.
  std::uint8_t mig_table_id = 0;
  AxisMask mig_failed_slices = 0;  // memory slices where the agent failed to create a slice

  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// The pods for which the operator reserves the node (label snug.dev/pool).
enum class Pool : std::uint8_t { kAuto, kShares, kWhole };

inline constexpr base::EnumNames kPoolNames{std::array{base::EnumName{Pool::kAuto, "auto"},
                                                       base::EnumName{Pool::kShares, "shares"},
                                                       base::EnumName{Pool::kWhole, "whole"}}};

[[nodiscard]] constexpr std::string_view to_string(Pool pool) { return kPoolNames[pool]; }

struct NodeInventory {
  std::string name;
  Pool pool = Pool::kAuto;
  std::vector<GpuInfo> gpus;  // ascending by index
  /// links[i][j]: NVLinks between gpus[i] and gpus[j], 0 = PCIe; empty: unknown.
  std::vector<std::vector<int>> nvlinks;
  bool dynamic_mig = false;
  bool enforces_shares =
      false;  // label snug.dev/enforced=true: the limits of shares are enforced here
  /// The largest number of units as which the device plug-in offers one GPU or slice.
  std::int64_t replicas = 1;
  HostAllocatable host;
  /// Allocatable units of nvidia.com/*, which the kubelet assigns, by resource name.
  std::map<std::string, std::int64_t, std::less<>> kubelet_allocatable;
  /// The same if every GPU were healthy: units missing from `kubelet_allocatable` may come back.
  std::map<std::string, std::int64_t, std::less<>> kubelet_capacity;
  /// The part of a GPU that one unit of a MIG resource is. A resource that is not in the map
  /// consists of whole GPUs or their replicas. 0: unknown.
  std::map<std::string, base::MilliGpu, std::less<>> milli_per_unit;
  /// Profiles, in every spelling, of which the device plug-in offers slices. The kubelet may assign
  /// any of these slices to any pod, so Snug assigns none of them.
  std::set<std::string, std::less<>> plugin_profiles;
  bool plugin_owns_all_slices = false;  // every slice of the node belongs to the plug-in
  /// While the MIG layout is being changed (`closed_to_all` is kReconfiguring): the profiles, in
  /// every spelling, of the tables of the node's cards. Empty: unknown.
  std::set<std::string, std::less<>> expected_profiles;
  /// Why the node accepts no annotated pods, or no GPU pods at all, whatever its free capacity.
  /// kNone: it accepts them.
  ReasonCode closed_to_annotated = ReasonCode::kNone;
  ReasonCode closed_to_all = ReasonCode::kNone;
  /// The sentence that explains either of the two to people, with details; empty: not closed.
  std::string closed_message;

  /// The position in `gpus` of the GPU that a device reserved with this index and uuid is charged
  /// to. Nullopt: none.
  ///   - the GPU with this uuid, whatever its index is now;
  ///   - else, the GPU with this index;
  ///   - for a device reserved by index alone, the GPU with this index.
  [[nodiscard]] std::optional<std::size_t> find_gpu(int index, std::string_view uuid) const;

  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

}  // namespace snug::model

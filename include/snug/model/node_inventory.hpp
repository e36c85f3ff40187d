// NodeFacts: the fields of a Kubernetes node that Snug reads. NodeInventory: the node's GPUs and
// other capacity, which codec/inventory_codec derives from these fields. NodeState in
// model/snapshot.hpp says what pods use of a node. Plain data.
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
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/reasons.hpp"

namespace snug::model {

using StringMap = std::map<std::string, std::string, std::less<>>;

struct NodeFacts {
  std::string name;
  std::string boot_id;  // status.nodeInfo.bootID; empty if unknown
  std::string resource_version;
  StringMap annotations;  // only snug.dev/*
  StringMap labels;       // only snug.dev/* and nvidia.com/*
  StringMap capacity;     // only nvidia.com/*; unparsed quantities
  StringMap allocatable;  // only nvidia.com/*; unparsed quantities
  HostAllocatable host;   // allocatable CPU, memory and number of pods
  ShownAmounts mirrored;  // what the status shows of the resources that mirror shares

  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

/// How pods use a GPU: one pod has the whole GPU, several share it, or MIG partitions it. kNone if
/// no pod uses the GPU. The mode of a GPU changes only while no pod uses it.
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
/// Returns the mode with the name `text`; kNone if there is none.
[[nodiscard]] constexpr GpuMode parse_gpu_mode(std::string_view text) {
  return kGpuModeNames.find(text).value_or(GpuMode::kNone);
}

/// A MIG slice: a profile and a range of memory slices of the GPU.
struct Slice {
  std::string profile;
  int start = 0;
  int size = 0;
  std::string uuid;  // empty if unknown, for example before the slice is created

  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Converts `slice` to a placement of `table`. Slice::profile may be the name or the alias of the
/// profile. Nullopt if the table has no such profile, or if the profile has another size or no such
/// start.
[[nodiscard]] std::optional<MigPlacement> find_placement(const MigTable& table, const Slice& slice);

/// How much of a GPU is in use, as the node's agent measures it: in percent, in steps of 10.
struct GpuLoad {
  std::uint8_t memory_percent = 0;
  std::uint8_t compute_percent = 0;

  friend bool operator==(const GpuLoad&, const GpuLoad&) = default;
};

struct GpuInfo {
  int index = 0;
  std::string uuid;  // empty if the GPU is identified only by its index
  std::string model;
  /// A number for the model, assigned by the ledger: within one ledger, equal numbers mean equal
  /// models. 0 if the model has no number, because there are too many models or no ledger assigned
  /// one.
  std::uint8_t model_id = 0;
  base::MebiBytes memory;
  bool healthy = true;
  bool mig_enabled = false;  // whether MIG mode is on: pods can then use only slices of the GPU
  int numa_node = -1;
  std::vector<GpuMode> allowed_modes;  // modes that the operator allows, preferred modes first
  std::vector<Slice> mig_instances;    // existing slices, as the node reports them
  /// The table that the node publishes, or else the built-in one. Null if there is neither; no
  /// slice fits on the GPU then.
  MigTableRef mig_table;
  /// A number for the table, assigned by the ledger: equal numbers mean equal tables. 0 if the
  /// table has no number, for the reasons given at `model_id`.
  std::uint8_t mig_table_id = 0;
  AxisMask failed_memory_slices = 0;  // memory slices where the agent failed to create a slice
  std::optional<GpuLoad> load;        // only for scores; nullopt: the node's agent does not say

  friend bool operator==(const GpuInfo&, const GpuInfo&) = default;
};

/// The pods for which the operator reserves the node (label snug.dev/pool).
enum class Pool : std::uint8_t { kAuto, kShares, kWhole };

inline constexpr base::EnumNames kPoolNames{std::array{base::EnumName{Pool::kAuto, "auto"},
                                                       base::EnumName{Pool::kShares, "shares"},
                                                       base::EnumName{Pool::kWhole, "whole"}}};

[[nodiscard]] constexpr std::string_view to_string(Pool pool) { return kPoolNames[pool]; }

/// What the container runtime of a node does with GPU pods while the node's agent is away: it
/// starts their containers (kOpen), or refuses them (kFailClosed).
enum class Enforcement : std::uint8_t { kOpen, kFailClosed };

inline constexpr base::EnumNames kEnforcementNames{
    std::array{base::EnumName{Enforcement::kOpen, "open"},
               base::EnumName{Enforcement::kFailClosed, "fail-closed"}}};

/// What limits the memory and compute of a share on a node.
enum class ShareLimits : std::uint8_t { kNone, kDriver, kMps, kHamiCore };

inline constexpr base::EnumNames kShareLimitsNames{std::array{
    base::EnumName{ShareLimits::kNone, "none"}, base::EnumName{ShareLimits::kDriver, "driver"},
    base::EnumName{ShareLimits::kMps, "mps"}, base::EnumName{ShareLimits::kHamiCore, "hami-core"}}};

/// Node-side software of others that gives containers their GPUs and limits shares, by annotations
/// of its own that the binding carries (label snug.dev/enforcer): NVIDIA's GPU fractioning of KAI
/// (NvFractions), or Koordinator's koordlet.
enum class OtherEnforcer : std::uint8_t { kNvFractions, kKoordlet };

inline constexpr base::EnumNames kOtherEnforcerNames{
    std::array{base::EnumName{OtherEnforcer::kNvFractions, "nvfractions"},
               base::EnumName{OtherEnforcer::kKoordlet, "koordlet"}}};

/// Numbers of units by the name of their resource.
using UnitsByResource = std::map<std::string, std::int64_t, std::less<>>;
/// The units of the resource; 0 if there are none.
[[nodiscard]] inline std::int64_t units_of(const UnitsByResource& units,
                                           std::string_view resource) {
  const auto found = units.find(resource);
  return found == units.end() ? 0 : found->second;
}

struct NodeInventory {
  std::string name;
  Pool pool = Pool::kAuto;
  std::vector<GpuInfo> gpus;  // ascending by index
  /// nvlinks[i][j] is the number of NVLinks between gpus[i] and gpus[j]; 0 means PCIe. Empty if
  /// unknown.
  std::vector<std::vector<int>> nvlinks;
  bool dynamic_mig = false;
  /// What the node's agent says in the inventory. Nullopt: no agent wrote it.
  std::optional<Enforcement> enforcement;
  std::optional<ShareLimits> share_limits;  // nullopt: unknown
  /// Nullopt on nodes with an agent, which gives containers their GPUs itself.
  std::optional<OtherEnforcer> other_enforcer;
  /// Whether the node has the label snug.dev/enforced=true and its agent, if it has one, says
  /// nothing else: software on the node limits each pod to its share.
  bool enforces_shares = false;
  /// Whether Snug sees the heartbeat of the node's agent. Always true if `enforcement` is nullopt.
  bool agent_alive = true;
  /// The largest number of units that the device plug-in offers for one GPU or slice of the node.
  /// If it is above 1, several pods may share a GPU or slice.
  std::int64_t replicas = 1;
  HostAllocatable host;
  ShownAmounts mirrored;  // NodeFacts::mirrored
  /// Allocatable units of each resource nvidia.com/*. The kubelet assigns them to pods.
  UnitsByResource kubelet_allocatable;
  /// The units of each resource if all GPUs are healthy. `kubelet_allocatable` may have fewer now.
  UnitsByResource kubelet_capacity;
  /// The milli-GPU of one unit of each resource that consists of MIG slices; 0 if unknown. The
  /// units of a resource that is not in the map are whole GPUs or replicas of them.
  std::map<std::string, base::MilliGpu, std::less<>> milli_per_unit;
  /// Names and aliases of the profiles whose slices the device plug-in offers. The kubelet may
  /// assign these slices to pods, so Snug assigns none of them.
  std::set<std::string, std::less<>> plugin_profiles;
  bool plugin_owns_all_slices = false;  // the device plug-in offers all slices of the node
  /// Names and aliases of all profiles that the node's cards can have. Filled only while the MIG
  /// layout is being changed (`closed_to_all` is kReconfiguring). Empty if unknown.
  std::set<std::string, std::less<>> expected_profiles;
  /// Why the node accepts no annotated pods (closed_to_annotated) or no GPU pods at all
  /// (closed_to_all), regardless of its free capacity. kNone if it accepts them.
  ReasonCode closed_to_annotated = ReasonCode::kNone;
  ReasonCode closed_to_all = ReasonCode::kNone;
  /// A sentence with details for people that explains why the node is closed. Empty if it is not
  /// closed.
  std::string closed_message;

  /// The position in `gpus` of the GPU that a reserved device is charged to. This is the GPU with
  /// the reserved uuid, even if its index has changed. If there is none, or if the device is
  /// reserved only by index (`uuid` is empty), it is the GPU with the reserved index. Nullopt if
  /// the node has neither.
  [[nodiscard]] std::optional<std::size_t> find_gpu(int index, std::string_view uuid) const;

  /// Whether shares that require enforcement fit on the node.
  [[nodiscard]] bool is_enforced() const { return enforces_shares && agent_alive; }

  friend bool operator==(const NodeInventory&, const NodeInventory&) = default;
};

}  // namespace snug::model

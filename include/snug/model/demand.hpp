// The demand that demand/demand_learner has learned, as tables that score terms read. The tables
// are immutable, so snapshots share them and threads may read them at the same time. They contain
// only integers, so the same decision gives the same result bit for bit. Plain data.
//
// "Fixed point" means an integer in units of 2^-20: kFixedPointOne stands for 1. The milli-GPU of a
// share are the thousandths of the GPU's memory or of its compute, whichever is more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug::model {

inline constexpr int kFixedPointBits = 20;
inline constexpr std::int64_t kFixedPointOne = std::int64_t{1} << kFixedPointBits;

/// A set of GPU models: bit n is the model with GpuInfo::model_id n. Bit 0 stands for all models
/// without a number of their own; there are at most kMaxModels - 1 numbers.
using ModelSet = std::uint64_t;
inline constexpr std::size_t kMaxModels = 64;
inline constexpr ModelSet kAnyModel = ~ModelSet{0};

/// Estimates stranded GPU capacity: free GPU capacity that pods cannot use because the node lacks
/// CPU (one table) or memory (another table). The table is a histogram of the amount of that
/// resource that pods need for each whole GPU. Each pod is weighted by the GPUs that it requests.
class StrandingTable {
 public:
  static constexpr std::size_t kBins = 260;
  /// `served_per_unit` is multiplied by this factor, so that rounding errors stay small.
  static constexpr std::int64_t kServedScale = 1024;

  struct Bin {
    std::int64_t share = 0;      // the pods' part of all requested GPUs, fixed point
    std::int64_t mean_need = 0;  // the pods' mean need for each whole GPU; above 0 if `share` is
    /// The milli-GPU that one unit of the resource serves: the sum over pods of share * 1000 *
    /// kServedScale / need. This member counts a pod in the bin of the amount that it requests for
    /// each of its GPUs or shares. The other members count it in the bin of its need for each whole
    /// GPU, which can be larger if the pod requests shares.
    std::int64_t served_per_unit = 0;
  };
  using Bins = std::array<Bin, kBins>;

  /// A table without demand: stranded() is 0.
  StrandingTable() = default;
  /// Bin n holds the needs from n * width to (n + 1) * width; the last bin also holds all larger
  /// ones.
  StrandingTable(const Bins& bins, std::int64_t width);

  /// The stranded milli-GPU (fixed point) on a node with `gpu` free milli-GPU and the amount `free`
  /// of the resource, averaged over the demand:
  ///
  ///   sum over pods of share * max(0, gpu - 1000 * free / need)
  ///
  /// For a pod that requests more than `allocatable`, all of `gpu` is stranded, because the pod
  /// does not fit on the node even if the node is empty.
  [[nodiscard]] std::int64_t stranded(std::int64_t free, std::int64_t allocatable,
                                      std::int64_t gpu) const;

  friend bool operator==(const StrandingTable&, const StrandingTable&) = default;

 private:
  /// Sums over one bin and all higher bins.
  struct Tail {
    std::int64_t share = 0;
    /// The sum of share * 1000 * kServedScale / mean_need over these bins.
    std::int64_t served_per_unit = 0;
    /// The sum of Bin::served_per_unit over these bins; oversized() needs it.
    std::int64_t oversized_per_unit = 0;
    friend bool operator==(const Tail&, const Tail&) = default;
  };
  /// The sum given at stranded(), over all pods, including those that are too large for the node.
  [[nodiscard]] std::int64_t unserved(std::int64_t free, std::int64_t gpu) const;
  /// The milli-GPU that unserved() counts as usable by pods that are in fact too large for the
  /// node. Reduced in proportion if `gpu` is less than one whole GPU.
  [[nodiscard]] std::int64_t oversized(std::int64_t free, std::int64_t allocatable,
                                       std::int64_t gpu) const;

  std::array<Tail, kBins + 1> suffix_sums_{};
  std::int64_t bin_width_ = 1;
};

/// The value of the free part of a GPU for future shares: the largest sum of the prices of shares
/// that fit in it together (src/demand/cutting_stock.hpp). There is one table for each size of GPU
/// memory. `value` and `price` are indexed by milli-GPU and are in millionths of a GPU.
struct LeftOverTable {
  static constexpr std::size_t kSizes = 1001;  // 0 to 1000 milli-GPU

  base::MebiBytes memory;                    // the memory of each GPU
  std::array<std::int32_t, kSizes> value{};  // value[n] is the value of n free milli-GPU
  std::array<std::int32_t, kSizes> price{};  // price[n] is the price of a share of n milli-GPU

  friend bool operator==(const LeftOverTable&, const LeftOverTable&) = default;
};

/// The value of a MIG card for future slices, depending on which of its cells are taken. The starts
/// and ends of all placements divide the card's axis of memory slices into ranges; these are the
/// cells.
struct SliceValueTable {
  /// The largest number of cells; the table of a card with more cells is empty.
  static constexpr std::size_t kMaxCells = 8;

  std::vector<AxisMask> cells;
  /// The value in millionths of a card, indexed by state. Bit i of a state is set if any part of
  /// cell i is taken.
  std::vector<std::int32_t> value_by_state;

  [[nodiscard]] bool known() const { return !value_by_state.empty(); }
  /// The value of a card whose memory slices `taken` are taken. Requires known().
  [[nodiscard]] std::int32_t value_of(AxisMask taken) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      state |= std::size_t{(cells[i] & taken) != 0} << i;
    }
    return value_by_state[state];
  }
  friend bool operator==(const SliceValueTable&, const SliceValueTable&) = default;
};

/// Pods that request the same number of whole GPUs (two or more), the same CPU and memory, and the
/// same models.
struct MultiGpuShape {
  /// The number of elements of `discount`. If kDiscountSteps / 8 or more pods must leave, the
  /// weight is 0.
  static constexpr std::size_t kDiscountSteps = 80;

  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  ModelSet models = kAnyModel;
  /// The part of all requested GPUs that these pods request, fixed point. It is reduced if
  /// multi-GPU pods are rare (kCommonMultiGpuShare).
  std::int64_t share = 0;
  /// discount[e] is the weight (fixed point) of a block of `gpus` GPUs if e / 8 pods must leave
  /// before the block is free. It is 1 for e = 0 and falls as e grows (kBlockDiscount).
  std::array<std::int64_t, kDiscountSteps> discount{kFixedPointOne};

  friend bool operator==(const MultiGpuShape&, const MultiGpuShape&) = default;
};

/// A typical pod: a pod shape that is among the most frequent ones, as FGD defines it.
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int64_t gpus = 0;       // number of GPUs and slices; 0 if the pod requests none
  std::int64_t gpu_milli = 0;  // for each GPU; 1001 if the pod requests a MIG profile
  ModelSet models = kAnyModel;
  std::int64_t share = 0;  // part of all typical pods, fixed point
  /// The profile that the pod takes, indexed by GpuInfo::mig_table_id. An element is 1 + the
  /// profile's position in the table; 0 or missing if no profile of the table serves the pod.
  std::vector<std::uint16_t> profiles{};

  friend bool operator==(const TypicalPod&, const TypicalPod&) = default;
};

struct Demand {
  static constexpr int kFullChurn = 16;
  static constexpr int kFullSaturation = 4;

  /// Within one ledger, different contents have different versions. 0 if nothing has been learned.
  std::uint64_t version = 0;
  /// How many pods leave (demand/fitted.hpp): 0 if none do; kFullChurn if the departing milli-GPU
  /// are at least kFullChurnRatio of the arriving ones.
  int churn = 0;
  /// How many pods are refused (demand/fitted.hpp): 0 if none are; kFullSaturation if the refused
  /// milli-GPU are at least kFullSaturationRatio of all that were refused or placed. The effect of
  /// saturation is proportional to `churn`.
  int saturation = 0;
  StrandingTable cpu;                    // in thousandths of a core
  StrandingTable memory;                 // in MiB
  std::vector<LeftOverTable> left_over;  // most common size of GPU memory first; may be empty
  /// Indexed by GpuInfo::mig_table_id. Cards whose number is beyond the last element have no table.
  std::vector<SliceValueTable> slice_values;
  std::vector<MultiGpuShape> multi_gpu_shapes;
  /// The scarcity of each model, indexed by GpuInfo::model_id, fixed point: the part of the GPU
  /// demand that only this model can serve, divided by the model's part of all GPUs. Demand that k
  /// models can serve counts 1/k for each of them; demand that all models can serve does not count.
  std::array<std::int64_t, kMaxModels> scarcity{};
  std::vector<TypicalPod> typical_pods;

  /// The table for GPUs with this memory, or for the most common size if this size has no table.
  /// Null if there are no tables.
  [[nodiscard]] const LeftOverTable* left_over_for(base::MebiBytes of_gpu) const {
    for (const LeftOverTable& table : left_over) {
      if (table.memory == of_gpu) return &table;
    }
    return left_over.empty() ? nullptr : left_over.data();
  }

  /// The table for cards with this GpuInfo::mig_table_id; null if there is none.
  [[nodiscard]] const SliceValueTable* slice_values_for(std::uint8_t mig_table_id) const {
    const bool known = mig_table_id < slice_values.size() && slice_values[mig_table_id].known();
    return known ? &slice_values[mig_table_id] : nullptr;
  }

  friend bool operator==(const Demand&, const Demand&) = default;
};
using DemandPtr = std::shared_ptr<const Demand>;

inline constexpr Demand kNoDemand;

}  // namespace snug::model

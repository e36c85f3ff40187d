// The learned demand (demand/demand_learner) as the score terms read it: tables of integers that
// are never changed once built, so that snapshots share them and a decision repeats bit for bit.
// Plain data; any number of threads may read it.
//
// Parts of one are in units of 2^-20 (kOne). A milli-GPU is a thousandth of a GPU's memory or of
// its compute, whichever is more.
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

/// GPU models as bits: bit n is the model with number n (GpuInfo::model_id); bit 0 stands for
/// all models beyond kMaxModels.
using ModelSet = std::uint64_t;
inline constexpr std::size_t kMaxModels = 64;
inline constexpr ModelSet kAnyModel = ~ModelSet{0};

/// Stranded GPU capacity: idle GPU that pods cannot use because the node lacks CPU, or memory. One
/// table for each of the two resources: a histogram of what pods need of it with a whole GPU,
/// weighted by the GPUs that they ask for.
class StrandingTable {
 public:
  static constexpr std::size_t kBins = 260;
  /// Fixed-point scale of `served_per_unit`, so that rounding errors do not add up.
  static constexpr std::int64_t kServedScale = 1024;

  struct Bin {
    std::int64_t share = 0;      // of the GPUs asked for, in parts of kOne
    std::int64_t mean_need = 0;  // with a whole GPU; not 0 if `share` is not
    /// The milli-GPU that one unit of the resource serves, of the pods of which one alone needs as
    /// much as this bin says: the sum of their share * 1000 * kServedScale / need.
    std::int64_t served_per_unit = 0;
  };
  using Bins = std::array<Bin, kBins>;

  /// No demand: nothing is ever stranded.
  StrandingTable() = default;
  /// Bin n has the needs from n * width on, the last one all above.
  StrandingTable(const Bins& bins, std::int64_t width);

  /// Of `gpu` idle milli-GPU those that are stranded on a node with `free` of the resource, in the
  /// mean over the demand, in parts of kOne of a milli-GPU:
  ///
  ///   sum over pods of share * max(0, gpu - 1000 * free / need)
  ///
  /// and all of `gpu` for a pod that alone needs more than `allocatable`, so that the node could
  /// not hold it even empty.
  [[nodiscard]] std::int64_t stranded(std::int64_t free, std::int64_t allocatable,
                                      std::int64_t gpu) const;

  friend bool operator==(const StrandingTable&, const StrandingTable&) = default;

 private:
  /// Sums over a bin and all above it.
  struct Tail {
    std::int64_t share = 0;
    std::int64_t served_per_unit = 0;     // share * 1000 * kServedScale / mean_need
    std::int64_t oversized_per_unit = 0;  // Bin::served_per_unit
    friend bool operator==(const Tail&, const Tail&) = default;
  };
  /// The sum above over all pods.
  [[nodiscard]] std::int64_t unserved(std::int64_t free, std::int64_t gpu) const;
  /// What `free` would serve of the pods that are too large for the node; in part if `gpu` is less
  /// than a whole one.
  [[nodiscard]] std::int64_t oversized(std::int64_t free, std::int64_t allocatable,
                                       std::int64_t gpu) const;

  std::array<Tail, kBins + 1> suffix_sums_{};
  std::int64_t bin_width_ = 1;
};

/// What the free part of a GPU is worth to the shares that will come: a knapsack with the
/// cutting-stock prices of the shares' sizes (src/demand/cutting_stock.hpp). For GPUs of one size
/// of memory. Both tables are by milli-GPU, in millionths of a GPU.
struct LeftOverTable {
  static constexpr std::size_t kSizes = 1001;  // 0 to 1000 milli-GPU

  base::MebiBytes memory;                    // of the GPUs
  std::array<std::int32_t, kSizes> value{};  // of this much left over
  std::array<std::int32_t, kSizes> price{};  // of a share of this size

  friend bool operator==(const LeftOverTable&, const LeftOverTable&) = default;
};

/// What a MIG card is worth to the slices that will come, by which of its cells are taken. Cells
/// are the ranges into which the card's placements divide its axis of memory slices.
struct SliceValueTable {
  /// A card with more cells has no table.
  static constexpr std::size_t kMostCells = 8;

  std::vector<AxisMask> cells;
  /// Millionths of a card; bit i of the position says whether any part of cell i is taken.
  std::vector<std::int32_t> value_by_state;

  [[nodiscard]] bool known() const { return !value_by_state.empty(); }
  /// Precondition: known().
  [[nodiscard]] std::int32_t value_of(AxisMask taken) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      state |= std::size_t{(cells[i] & taken) != 0} << i;
    }
    return value_by_state[state];
  }
  friend bool operator==(const SliceValueTable&, const SliceValueTable&) = default;
};

/// Pods that need the same number of whole GPUs at once, and as much of the node with them.
struct MultiGpuShape {
  /// By eighths of a pod; beyond the table a block counts nothing.
  static constexpr std::size_t kDiscountSteps = 80;

  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  ModelSet models = kAnyModel;
  /// Of the GPUs that all pods ask for, in parts of kOne; less if multi-GPU pods are rare
  /// (kCommonMultiGpuShare).
  std::int64_t share = 0;
  /// What a block of GPUs counts that so many eighths of a pod have to leave first, in parts of
  /// kOne, falling from kOne (kBlockDiscount).
  std::array<std::int64_t, kDiscountSteps> discount{kFixedPointOne};

  friend bool operator==(const MultiGpuShape&, const MultiGpuShape&) = default;
};

/// One of FGD's typical pods.
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int64_t gpus = 0;       // 0: asks for none
  std::int64_t gpu_milli = 0;  // of each GPU; more than a GPU has if the pod needs a MIG slice
  ModelSet models = kAnyModel;
  std::int64_t share = 0;  // of the typical pods, in parts of kOne
  /// By GpuInfo::mig_table_id the profile that it takes, counted from 1; 0 or missing: it can have
  /// none.
  std::vector<std::uint16_t> profiles{};

  friend bool operator==(const TypicalPod&, const TypicalPod&) = default;
};

struct Demand {
  static constexpr int kFullChurn = 16;
  static constexpr int kFullSaturation = 4;

  /// Within one ledger, different contents have different versions; 0: nothing learned.
  std::uint64_t version = 0;
  /// The regime (demand/fitted.hpp). 0: no pod leaves; kFullChurn: the cluster is in balance.
  int churn = 0;
  /// 0: every pod finds a place; kFullSaturation: many do not. Counts only as far as pods leave.
  int saturation = 0;
  StrandingTable cpu;                         // thousandths of a core
  StrandingTable memory;                      // MiB
  std::vector<LeftOverTable> left_over;       // the most common size of memory first; may be empty
  std::vector<SliceValueTable> slice_values;  // by GpuInfo::mig_table_id; may have fewer
  std::vector<MultiGpuShape> multi_gpu_shapes;
  /// By model: the part of the GPU demand that is limited to the model, over the model's part of
  /// the GPUs, in parts of kOne. Demand that is limited to k models counts 1/k for each.
  std::array<std::int64_t, kMaxModels> scarcity{};
  std::vector<TypicalPod> typical_pods;

  /// For GPUs of this memory, else for those of the most common one; null: nothing is known.
  [[nodiscard]] const LeftOverTable* left_over_for(base::MebiBytes of_gpu) const {
    for (const LeftOverTable& table : left_over) {
      if (table.memory == of_gpu) return &table;
    }
    return left_over.empty() ? nullptr : left_over.data();
  }

  /// Null: nothing is known.
  [[nodiscard]] const SliceValueTable* slice_values_for(std::uint8_t mig_number) const {
    const bool known = mig_number < slice_values.size() && slice_values[mig_number].known();
    return known ? &slice_values[mig_number] : nullptr;
  }

  friend bool operator==(const Demand&, const Demand&) = default;
};
using DemandPtr = std::shared_ptr<const Demand>;

inline constexpr Demand kNoDemand;

}  // namespace snug::model

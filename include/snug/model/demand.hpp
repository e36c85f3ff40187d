// What has been learned of the pods that come and go (demand/learner), as the score terms read it:
// tables of integers, complete when made and never changed, so that a snapshot can share them and a
// decision repeats bit for bit. Plain data; any number of threads may read it.
//
// Parts of one are in units of 2^-20 (kOne). Milli-GPU are thousandths of one GPU: of its memory or
// of its compute, whichever is more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug {

inline constexpr int kPartBits = 20;
inline constexpr std::int64_t kOne = std::int64_t{1} << kPartBits;

/// GPU models as bits: bit n is the model with number n (GpuInfo::model_number); bit 0 stands for
/// all beyond kMostModels.
using ModelSet = std::uint64_t;
inline constexpr std::size_t kMostModels = 64;
inline constexpr ModelSet kAnyModel = ~ModelSet{0};

/// How much of something of the node's (CPU, memory) pods need with a GPU, as a histogram weighted
/// by the GPUs that they ask for.
class StrandTable {
 public:
  static constexpr std::size_t kBins = 260;
  /// Feeds are kept in such parts, so that rounding does not add up.
  static constexpr std::int64_t kFine = 1024;

  struct Bin {
    std::int64_t share = 0;  // of the GPUs asked for, in parts of kOne
    std::int64_t need = 0;   // mean need with a whole GPU; not 0 where `share` is not
    /// Of the pods of which each needs so much for one GPU or its share of one: the milli-GPU that
    /// one of what is needed feeds, times their share, times kFine.
    std::int64_t fed = 0;
  };
  using Bins = std::array<Bin, kBins>;

  /// No demand: nothing is ever stranded.
  StrandTable() = default;
  /// Bin n has the needs from n times `width` on, the last all above.
  StrandTable(const Bins& bins, std::int64_t width);

  /// Of so much idle GPU, what cannot be used for want of `have`, in parts of kOne of a milli-GPU,
  /// in the mean over the demand: for a need of r with a GPU max(0, gpu - have/r), and all of it
  /// where a pod needs more for one GPU or its share than the node `has` with nobody on it.
  [[nodiscard]] std::int64_t stranded(std::int64_t have, std::int64_t has,
                                      std::int64_t gpu_milli) const;

  friend bool operator==(const StrandTable&, const StrandTable&) = default;

 private:
  struct Sum {
    std::int64_t share = 0;  // of the bins from here on
    std::int64_t fed = 0;    // milli-GPU that one of what is needed feeds, times share and kFine
    std::int64_t lost = 0;   // the same, of the pods of which one needs so much
    friend bool operator==(const Sum&, const Sum&) = default;
  };
  /// What is beyond have/r.
  [[nodiscard]] std::int64_t unfed(std::int64_t have, std::int64_t gpu_milli) const;
  /// What have/r would feed of those that need more than the node has for one pod; of less than a
  /// whole GPU in part.
  [[nodiscard]] std::int64_t lost(std::int64_t have, std::int64_t has,
                                  std::int64_t gpu_milli) const;

  std::array<Sum, kBins + 1> from_{};
  std::int64_t width_ = 1;
};

/// What shares still sold into a GPU's left-over are worth, for GPUs of one size of memory.
struct LeftOverTable {
  static constexpr std::size_t kSizes = 1001;  // 0 to 1000 milli-GPU

  MebiBytes memory;                          // the size
  std::array<std::int32_t, kSizes> value{};  // of so much left, millionths of a GPU
  std::array<std::int32_t, kSizes> price{};  // of a share of that size, millionths of a GPU

  friend bool operator==(const LeftOverTable&, const LeftOverTable&) = default;
};

/// What a MIG card is worth to the slices that will come, by what of it is taken.
struct SliceWorth {
  /// Cards whose placements divide the axis into more ranges have no such table.
  static constexpr std::size_t kMostCells = 8;

  std::vector<AxisMask> cells;      // the ranges into which placements divide the axis
  std::vector<std::int32_t> worth;  // millionths of a card, by the cells of which any part is taken

  [[nodiscard]] bool known() const { return !worth.empty(); }
  /// Where it is known.
  [[nodiscard]] std::int32_t of(AxisMask taken) const {
    std::size_t state = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      state |= std::size_t{(cells[i] & taken) != 0} << i;
    }
    return worth[state];
  }
  friend bool operator==(const SliceWorth&, const SliceWorth&) = default;
};

/// A kind of pod that needs several GPUs at once.
struct RoomShape {
  /// What a room counts for which so many eighths of a pod have to leave; beyond them nothing.
  static constexpr std::size_t kFadeSteps = 80;

  std::int64_t gpus = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  ModelSet models = kAnyModel;
  /// Of the GPUs asked for by all pods, in parts of kOne; less where few pods are of such kinds.
  std::int64_t share = 0;
  std::array<std::int64_t, kFadeSteps> fade{kOne};  // in parts of kOne, falling from that

  friend bool operator==(const RoomShape&, const RoomShape&) = default;
};

/// A frequent kind of pod (FGD's "typical pods").
struct TypicalPod {
  std::int64_t cpu_milli = 0;
  std::int64_t gpus = 0;       // 0: asks for none
  std::int64_t gpu_milli = 0;  // of each; more than any GPU has where it must be a slice
  ModelSet models = kAnyModel;
  std::int64_t share = 0;  // of the pods, in parts of kOne
  /// On MIG cards, by GpuInfo::mig_number, the profile that it takes, counted from 1; 0, or
  /// missing: it can have none.
  std::vector<std::uint16_t> profiles{};

  friend bool operator==(const TypicalPod&, const TypicalPod&) = default;
};

struct Demand {
  /// How much pods leave, from 0 (none ever does) to kFullChurn.
  static constexpr int kFullChurn = 16;
  static constexpr int kFullSaturation = 4;

  std::uint64_t version = 0;  // another for other contents, within one ledger; 0: nothing learned
  int churn = 0;
  /// Where pods leave, how much of what comes finds no room, from 0 to kFullSaturation.
  int saturation = 0;
  StrandTable cpu;                       // thousandths of a core
  StrandTable memory;                    // MiB
  std::vector<LeftOverTable> left_over;  // the size that most GPUs have first; may be empty
  std::vector<SliceWorth> slices;        // by GpuInfo::mig_number; may have fewer
  std::vector<RoomShape> rooms;
  /// How much more of a model's GPUs is asked for than there are of it: the part of the demand that
  /// can have no other, or one of few, over the model's part of the GPUs, in parts of kOne.
  std::array<std::int64_t, kMostModels> scarcity{};
  std::vector<TypicalPod> typical;

  /// For GPUs of this size, else those of the size that most have; null: nothing is known.
  [[nodiscard]] const LeftOverTable* left_over_of(MebiBytes of_gpu) const {
    for (const LeftOverTable& table : left_over) {
      if (table.memory == of_gpu) return &table;
    }
    return left_over.empty() ? nullptr : left_over.data();
  }

  /// Of the cards with this number; null: nothing is known.
  [[nodiscard]] const SliceWorth* slices_of(std::uint8_t mig_number) const {
    const bool known = mig_number < slices.size() && slices[mig_number].known();
    return known ? &slices[mig_number] : nullptr;
  }

  friend bool operator==(const Demand&, const Demand&) = default;
};
using DemandPtr = std::shared_ptr<const Demand>;

inline constexpr Demand kNothingLearned;

}  // namespace snug

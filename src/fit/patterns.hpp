// Which sets of a pod's containers one GPU can serve at once: the patterns of bin packing. They are
// worked out once for each kind of GPU that a request meets, since the GPUs of a cluster are in few
// different states. Not thread-safe; for one request.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "fit/slices.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/charge.hpp"
#include "snug/model/node.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// Bit b is the container of turn b. Apps and sidecars have the low bits, in the pod's order, plain
/// init containers the others: first those that ask for whole GPUs, since others may use such a GPU
/// that could not use it alone.
using ContainerSet = std::uint32_t;

/// All of a GPU that decides whom it can serve. Of equal kinds nothing but scores tells GPUs apart.
struct GpuKind {
  Charge free;
  MebiBytes capacity;
  ContainerSet allowed = 0;            // by gpu-model; nobody: the GPU is closed
  std::array<GpuMode, 4> shared_as{};  // by Isolation: the mode in which it would serve a share
  bool whole = false;                  // whether it can be one pod's alone
  bool any_profile = false;            // whether it counts as having any slice that is named
  MigRoom mig;                         // with a table: shares and named slices are slices
  MebiBytes weigh_at;                  // the capacity by which Pattern weights are told

  /// A total order by content, the fullest first.
  friend auto operator<=>(const GpuKind&, const GpuKind&) = default;
};

/// What a container has of a GPU in MIG mode.
struct SetSlice {
  std::size_t turn = 0;
  MigPlacement slice;
};

/// What one kind of GPU can serve.
class Patterns {
 public:
  /// Whether it serves all of them at once. The empty set it always does.
  [[nodiscard]] bool serves(ContainerSet set) const { return serves_[set]; }
  /// Whether it serves them all at once, or would if further plain init containers were with them:
  /// an init container for which no slice is left may share the slice of another with a larger
  /// need.
  [[nodiscard]] bool serves_in_company(ContainerSet set) const {
    return in_company_.empty() ? serves_[set] : in_company_[set];
  }
  /// Those that it can serve at all, alone or in company.
  [[nodiscard]] ContainerSet served() const { return served_; }
  /// Of the init containers those that it can serve beside these apps and sidecars, alone or in
  /// company.
  [[nodiscard]] ContainerSet inits_beside(ContainerSet others) const { return beside_[others]; }
  /// Those that it can serve beside some.
  [[nodiscard]] ContainerSet inits() const { return inits_; }
  /// All patterns of apps and sidecars, the heaviest first, the empty one last.
  [[nodiscard]] std::span<const ContainerSet> heaviest_first() const { return heaviest_first_; }
  /// The same, those of the fewest containers first and of those the heaviest, the empty one last.
  [[nodiscard]] std::span<const ContainerSet> fewest_first() const { return fewest_first_; }

  /// For any set of apps and sidecars: the size of the largest pattern in it, and the most compute
  /// and memory that a pattern in it has at GpuKind::weigh_at.
  [[nodiscard]] const std::vector<std::int32_t>& most() const { return most_; }
  [[nodiscard]] const std::vector<std::int64_t>& most_compute() const { return most_compute_; }
  [[nodiscard]] const std::vector<std::int64_t>& most_memory() const { return most_memory_; }

  /// What a set weighs at GpuKind::weigh_at, whatever this GPU's capacity is.
  [[nodiscard]] const Charge& weight(ContainerSet set) const { return (*weights_)[set]; }
  /// What a set is charged on this GPU.
  [[nodiscard]] const Charge& cost(ContainerSet set) const { return (*costs_)[set]; }
  /// In which mode it serves the set, which is not empty; kNone: it does not.
  [[nodiscard]] GpuMode mode(ContainerSet set) const { return modes_[set]; }
  /// In mode kMig: the slices of the set's containers, by their turns; a plain init container may
  /// share one.
  [[nodiscard]] std::span<const SetSlice> slices(ContainerSet set) const { return slices_[set]; }
  [[nodiscard]] const GpuKind& kind() const { return kind_; }
  /// Different from that of any other kind, of the same request.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  friend class PatternBook;
  GpuKind kind_;
  std::size_t number_ = 0;
  std::vector<bool> serves_;
  std::vector<bool> in_company_;  // empty: no different from serves_
  std::vector<GpuMode> modes_;
  ContainerSet served_ = 0;
  ContainerSet inits_ = 0;
  std::vector<ContainerSet> beside_;
  std::vector<ContainerSet> heaviest_first_;
  std::vector<ContainerSet> fewest_first_;
  std::vector<std::int32_t> most_;
  std::vector<std::int64_t> most_compute_;
  std::vector<std::int64_t> most_memory_;
  std::shared_ptr<const std::vector<Charge>> costs_;
  std::shared_ptr<const std::vector<Charge>> weights_;
  std::vector<std::vector<SetSlice>> slices_;  // empty: it has none
};

/// The patterns of all kinds of GPU that one request has met.
class PatternBook {
 public:
  /// `request` outlives it, asks for GPUs in at most kMostAskingContainers, and nothing of the
  /// kubelet.
  explicit PatternBook(const GpuRequest& request);

  /// Valid until forget().
  [[nodiscard]] const Patterns& of(const GpuKind& kind);
  [[nodiscard]] std::size_t kinds() const { return known_.size(); }
  void forget();
  /// Steps of search that making patterns has taken.
  [[nodiscard]] std::int64_t steps() const { return slice_steps_; }

  [[nodiscard]] std::size_t containers() const { return turns_.size(); }
  /// How many apps and sidecars there are: they have the turns 0..others()-1.
  [[nodiscard]] std::size_t others() const { return others_; }
  [[nodiscard]] ContainerSet all_others() const { return (ContainerSet{1} << others_) - 1; }
  /// Its position in the request.
  [[nodiscard]] std::size_t position(std::size_t turn) const { return turns_[turn]; }
  [[nodiscard]] const ContainerRequest& asked(std::size_t turn) const {
    return request_.containers[turns_[turn]];
  }
  [[nodiscard]] ContainerSet wholes() const { return wholes_; }
  [[nodiscard]] ContainerSet apps() const { return apps_; }
  /// The other apps and sidecars that can stand wherever this one does.
  [[nodiscard]] ContainerSet twins(std::size_t turn) const { return twins_.at(turn); }

 private:
  struct KindHash {
    std::size_t operator()(const GpuKind& kind) const;
  };

  void find_twins();
  [[nodiscard]] std::shared_ptr<const std::vector<Charge>> costs(MebiBytes capacity);
  [[nodiscard]] GpuMode mode_of(const GpuKind& kind, ContainerSet set) const;
  [[nodiscard]] Patterns make(const GpuKind& kind);
  void serve_slices(Patterns& patterns);
  void serve_in_company(Patterns& patterns) const;
  void weigh(Patterns& patterns) const;

  const GpuRequest& request_;
  std::vector<std::size_t> turns_;
  std::size_t others_ = 0;
  ContainerSet wholes_ = 0;
  ContainerSet named_ = 0;  // those that ask for a slice by its profile
  ContainerSet apps_ = 0;
  std::array<ContainerSet, kMostAskingContainers> twins_{};
  std::array<ContainerSet, 4> by_isolation_{};  // of those that ask for a share
  std::unordered_map<std::int64_t, std::shared_ptr<const std::vector<Charge>>> costs_;
  std::unordered_map<GpuKind, Patterns, KindHash> known_;
  StartOrders starts_;
  std::int64_t slice_steps_ = 0;
  std::size_t made_ = 0;
};

}  // namespace snug

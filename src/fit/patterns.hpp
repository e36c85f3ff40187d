// Which sets of a pod's containers one GPU can serve at once: the patterns of bin packing. They are
// computed once for each kind of GPU that a request meets, because the GPUs of a cluster are in few
// different states. For one request. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "fit/allocatable.hpp"
#include "fit/slices.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/charge.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"

namespace snug::fit {

/// Bit b is the container of turn b. Regular containers (apps and sidecars) have the low bits, in
/// the pod's order. Plain init containers have the high bits: first those that ask for whole GPUs,
/// because they let other init containers use a GPU that could not use it alone.
using ContainerSet = std::uint32_t;

/// GPUs of equal kinds serve the same sets.
struct GpuClass {
  Allocatable offered;       // the containers by their turns
  base::MebiBytes weigh_at;  // the capacity for which Patterns::weight() is computed

  /// A total order by content, the fullest first.
  friend auto operator<=>(const GpuClass&, const GpuClass&) = default;
};

/// What a container has of a GPU in MIG mode.
struct SetSlice {
  std::size_t turn = 0;
  model::MigPlacement slice;
};

/// What one kind of GPU can serve.
class Patterns {
 public:
  /// Whether it serves all of them at once. It always serves the empty set.
  [[nodiscard]] bool serves(ContainerSet set) const { return serves_[set]; }
  /// Whether it serves them all at once, perhaps only together with further plain init containers:
  /// an init container for which no slice is free may share the slice of another one that needs
  /// more.
  [[nodiscard]] bool serves_with_inits(ContainerSet set) const {
    return serves_with_inits_.empty() ? serves_[set] : serves_with_inits_[set];
  }
  /// The containers that it serves in some set.
  [[nodiscard]] ContainerSet served() const { return served_; }
  /// The init containers that it serves beside exactly these regular containers, each in some set.
  [[nodiscard]] ContainerSet inits_with(ContainerSet regular) const { return inits_with_[regular]; }
  /// The init containers that the GPU can serve.
  [[nodiscard]] ContainerSet inits() const { return inits_; }
  /// All patterns of regular containers, the heaviest first, the empty one last.
  [[nodiscard]] std::span<const ContainerSet> heaviest_first() const { return heaviest_first_; }
  /// The same, by ascending number of containers, of equals the heaviest first, the empty one last.
  [[nodiscard]] std::span<const ContainerSet> fewest_first() const { return fewest_first_; }

  /// By set of regular containers: the size of the largest pattern in it, and the most compute and
  /// memory of a pattern in it at GpuClass::weigh_at.
  [[nodiscard]] const std::vector<std::int32_t>& max_containers() const { return max_containers_; }
  [[nodiscard]] const std::vector<std::int64_t>& max_compute() const { return max_compute_; }
  [[nodiscard]] const std::vector<std::int64_t>& max_memory() const { return max_memory_; }

  /// What a set is charged on a GPU of the capacity GpuClass::weigh_at.
  [[nodiscard]] const Charge& weight(ContainerSet set) const { return (*weights_)[set]; }
  /// What a set is charged on this GPU.
  [[nodiscard]] const Charge& cost(ContainerSet set) const { return (*costs_)[set]; }
  /// The mode in which it serves the set, which is not empty; kNone: it does not serve it.
  [[nodiscard]] model::GpuMode mode(ContainerSet set) const { return modes_[set]; }
  /// In mode kMig: the slices of the set's containers, in the order of their turns. A plain init
  /// container may share the slice of another container.
  [[nodiscard]] std::span<const SetSlice> slices(ContainerSet set) const { return slices_[set]; }
  [[nodiscard]] const GpuClass& gpu_class() const { return gpu_class_; }
  [[nodiscard]] const Allocatable& offered() const { return gpu_class_.offered; }
  /// Unique among the kinds of one request.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  friend class PatternBook;
  GpuClass gpu_class_;
  std::size_t number_ = 0;
  std::vector<bool> serves_;
  std::vector<bool> serves_with_inits_;  // empty: equal to serves_
  std::vector<model::GpuMode> modes_;
  ContainerSet served_ = 0;
  ContainerSet inits_ = 0;
  std::vector<ContainerSet> inits_with_;
  std::vector<ContainerSet> heaviest_first_;
  std::vector<ContainerSet> fewest_first_;
  std::vector<std::int32_t> max_containers_;
  std::vector<std::int64_t> max_compute_;
  std::vector<std::int64_t> max_memory_;
  std::shared_ptr<const std::vector<Charge>> costs_;
  std::shared_ptr<const std::vector<Charge>> weights_;
  std::vector<std::vector<SetSlice>> slices_;  // empty: it has none
};

/// The patterns of all kinds of GPU that one request has met.
class PatternBook {
 public:
  /// `request` must outlive it. It asks Snug for GPUs, in at most kMaxGpuContainers.
  explicit PatternBook(const model::GpuRequest& request);

  /// Valid until forget().
  [[nodiscard]] const Patterns& of(const GpuClass& kind);
  [[nodiscard]] std::size_t class_count() const { return known_.size(); }
  void forget();
  /// Search steps that making patterns has taken.
  [[nodiscard]] std::int64_t steps() const { return slice_steps_; }

  [[nodiscard]] std::size_t containers() const { return turns_.size(); }
  /// How many apps and sidecars there are. They have the turns 0..regular_containers()-1.
  [[nodiscard]] std::size_t regular_containers() const { return regular_; }
  [[nodiscard]] ContainerSet all_regular() const { return (ContainerSet{1} << regular_) - 1; }
  /// The position of the container in the request.
  [[nodiscard]] std::size_t position(std::size_t turn) const { return turns_[turn]; }
  [[nodiscard]] const model::ContainerRequest& request_of(std::size_t turn) const {
    return request_.containers[turns_[turn]];
  }
  [[nodiscard]] ContainerSet whole_gpu_containers() const { return whole_gpu_containers_; }
  [[nodiscard]] ContainerSet apps() const { return apps_; }
  /// The other regular containers that a GPU serves if and only if it serves this one.
  [[nodiscard]] ContainerSet twins(std::size_t turn) const { return twins_.at(turn); }

 private:
  struct GpuClassHash {
    std::size_t operator()(const GpuClass& kind) const;
  };

  void find_twins();
  [[nodiscard]] std::shared_ptr<const std::vector<Charge>> costs(base::MebiBytes capacity);
  [[nodiscard]] model::GpuMode mode_of(const Allocatable& offered, ContainerSet set) const;
  [[nodiscard]] Patterns make(const GpuClass& kind);
  void serve_slices(Patterns& patterns);
  void serve_in_company(Patterns& patterns) const;
  void weigh(Patterns& patterns) const;

  const model::GpuRequest& request_;
  std::vector<std::size_t> turns_;
  std::size_t regular_ = 0;
  ContainerSet whole_gpu_containers_ = 0;
  ContainerSet named_ = 0;  // those that ask for a slice by its profile
  ContainerSet apps_ = 0;
  std::array<ContainerSet, base::kMaxGpuContainers> twins_{};
  std::array<ContainerSet, 4> by_isolation_{};  // of those that ask for a share
  std::unordered_map<std::int64_t, std::shared_ptr<const std::vector<Charge>>> costs_;
  std::unordered_map<GpuClass, Patterns, GpuClassHash> known_;
  StartOrders starts_;
  std::int64_t slice_steps_ = 0;
  std::size_t made_ = 0;
};

}  // namespace snug::fit

// Patterns, as in bin packing: the sets of a pod's containers that one GPU can serve together. They
// are computed for one request, once for each class of GPUs, because the GPUs of a cluster are in
// few different states. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "fit/gpu_offer.hpp"
#include "fit/slices.hpp"
#include "snug/base/limits.hpp"
#include "snug/fit/charge.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"

namespace snug::fit {

/// A set of containers: bit b is the container with turn b. Turns order the containers of the
/// request: first the regular containers (apps and sidecars) in the pod's order, then the plain
/// init containers. Init containers that request whole GPUs come before the other init containers,
/// because some GPUs can serve one of the others only if they also serve one of these.
using ContainerSet = std::uint32_t;
/// The set that contains only the container with this turn.
constexpr ContainerSet bit(std::size_t turn) { return ContainerSet{1} << turn; }

/// A class of GPUs that serve the same sets.
struct GpuClass {
  GpuOffer offered;          // bit b of `allowed` is the container with turn b
  base::MebiBytes weigh_at;  // the capacity for which Patterns::weight() is computed

  /// A total order by the values of all fields; GPUs with less free memory come first.
  friend auto operator<=>(const GpuClass&, const GpuClass&) = default;
};

/// The slice that a container gets on a GPU in MIG mode.
struct SetSlice {
  std::size_t turn = 0;
  model::MigPlacement slice;
};

/// The patterns of one class of GPUs.
class Patterns {
 public:
  /// Whether a GPU serves all containers of the set together. True for the empty set.
  [[nodiscard]] bool serves(ContainerSet set) const { return serves_[set]; }
  /// Whether a GPU serves the set, or serves it together with further plain init containers. A
  /// further init container can make the set possible: an init container for which no slice is free
  /// can use the slice of another init container that needs more.
  [[nodiscard]] bool serves_with_inits(ContainerSet set) const {
    return serves_with_inits_.empty() ? serves_[set] : serves_with_inits_[set];
  }
  /// The containers that are in some pattern.
  [[nodiscard]] ContainerSet served() const { return served_; }
  /// The plain init containers that are in some pattern whose regular containers are exactly
  /// `regular`.
  [[nodiscard]] ContainerSet inits_with(ContainerSet regular) const { return inits_with_[regular]; }
  /// The plain init containers that are in some pattern.
  [[nodiscard]] ContainerSet inits() const { return inits_; }
  /// All patterns of regular containers, the heaviest first, the empty one last.
  [[nodiscard]] std::span<const ContainerSet> heaviest_first() const { return heaviest_first_; }
  /// All patterns of regular containers, by ascending number of containers; among equals the
  /// heaviest first; the empty one last.
  [[nodiscard]] std::span<const ContainerSet> fewest_first() const { return fewest_first_; }

  /// Each of these three vectors has one element for each set of regular containers: the largest
  /// number of containers, the most compute, or the most memory of any pattern within this set.
  /// Compute and memory are those of weight().
  [[nodiscard]] const std::vector<std::int32_t>& max_containers() const { return max_containers_; }
  [[nodiscard]] const std::vector<std::int64_t>& max_compute() const { return max_compute_; }
  [[nodiscard]] const std::vector<std::int64_t>& max_memory() const { return max_memory_; }

  /// The charge of a set on a GPU whose capacity is GpuClass::weigh_at.
  [[nodiscard]] const Charge& weight(ContainerSet set) const { return (*weights_)[set]; }
  /// The charge of a set on a GPU of this class.
  [[nodiscard]] const Charge& cost(ContainerSet set) const { return (*costs_)[set]; }
  /// The mode in which a GPU of this class serves the set, which is not empty; kNone: it does not
  /// serve the set.
  [[nodiscard]] model::GpuMode mode(ContainerSet set) const { return modes_[set]; }
  /// If mode(set) is kMig: the slices of the set's containers, in the order of their turns. A plain
  /// init container can have the slice of another container.
  [[nodiscard]] std::span<const SetSlice> slices(ContainerSet set) const { return slices_[set]; }
  [[nodiscard]] const GpuClass& gpu_class() const { return gpu_class_; }
  [[nodiscard]] const GpuOffer& offered() const { return gpu_class_.offered; }
  /// A number that identifies the class among the classes of one request.
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
  std::vector<std::vector<SetSlice>> slices_;  // by set; empty: the GPUs serve no slices
};

/// Computes and caches the patterns of classes of GPUs for one request.
class PatternBook {
 public:
  /// `request` must outlive this object. It must be an annotated pod's request with at most
  /// kMaxGpuContainers containers.
  explicit PatternBook(const model::GpuRequest& request);

  /// Returns the patterns of the class. Valid until forget() is called.
  [[nodiscard]] const Patterns& of(const GpuClass& gpu_class);
  [[nodiscard]] std::size_t class_count() const { return patterns_by_class_.size(); }
  /// Deletes all cached patterns.
  void forget();
  /// The search steps that have been spent on computing patterns.
  [[nodiscard]] std::int64_t steps() const { return slice_steps_; }

  [[nodiscard]] std::size_t containers() const { return turns_.size(); }
  /// The number of apps and sidecars. They have the turns from 0 to regular_containers() - 1.
  [[nodiscard]] std::size_t regular_containers() const { return regular_; }
  [[nodiscard]] ContainerSet all_regular() const { return (ContainerSet{1} << regular_) - 1; }
  /// The position in GpuRequest::containers of the container with this turn.
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
    std::size_t operator()(const GpuClass& gpu_class) const;
  };

  void find_twins();
  [[nodiscard]] std::shared_ptr<const std::vector<Charge>> costs(base::MebiBytes capacity);
  [[nodiscard]] model::GpuMode mode_of(const GpuOffer& offered, ContainerSet set) const;
  [[nodiscard]] Patterns make(const GpuClass& gpu_class);
  void serve_slices(Patterns& patterns);
  void serve_in_company(Patterns& patterns) const;
  void weigh(Patterns& patterns) const;

  const model::GpuRequest& request_;
  std::vector<std::size_t> turns_;  // by turn: the position in GpuRequest::containers
  std::size_t regular_ = 0;
  ContainerSet whole_gpu_containers_ = 0;
  ContainerSet profile_containers_ = 0;  // containers that request a slice by its profile
  ContainerSet several_shares_ = 0;      // containers that request shares of several GPUs
  ContainerSet apps_ = 0;
  std::array<ContainerSet, base::kMaxGpuContainers> twins_{};
  std::array<ContainerSet, 4> by_isolation_{};  // by Isolation: containers that need no whole GPU
  std::unordered_map<std::int64_t, std::shared_ptr<const std::vector<Charge>>> costs_;
  std::unordered_map<GpuClass, Patterns, GpuClassHash> patterns_by_class_;
  StartOrders starts_;
  std::int64_t slice_steps_ = 0;
  std::size_t next_number_ = 0;
};

}  // namespace snug::fit

// Searches for the pattern that each GPU of a node serves, so that every container of a pod is on
// as many GPUs as it asks for. The search is exact unless it runs out of steps. Pure.
//
// The search decides about one GPU after another. A branch ends as soon as one of these bounds
// shows that the remaining GPUs cannot take all unplaced devices:
//   - for any set S of apps and sidecars, a GPU serves at most as many containers of S as the
//     largest pattern within S has. (In particular, a container is on at most as many GPUs as
//     can serve it, and a GPU serves at most one of the containers that need more than half a
//     GPU.)
//   - a GPU takes no more compute than its pattern with the most compute; the same for memory;
//   - each init container needs enough GPUs that can serve it beside the placed containers;
//   - the compute of the placed devices plus the least compute of the others is within the cap.
// There is no search if an init container by itself exceeds the cap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "fit/patterns.hpp"

namespace snug::fit {

/// One GPU that can serve at least one container.
struct Bin {
  const Patterns* patterns = nullptr;
  std::size_t gpu = 0;            // the position in NodeState::gpus
  bool is_like_previous = false;  // differs from the bin before only in its position
};

/// For each bin, the set of containers that it serves.
using Cover = std::vector<ContainerSet>;

class CoverSearch {
 public:
  enum class Aim : std::uint8_t {
    kAny,     // one cover, whichever is found first
    kFull,    // first the covers that fill the first bins
    kSpread,  // first the covers that put few containers on each bin
  };

  /// `book` and `steps` must outlive the search. `steps` is the number of remaining steps: the
  /// search decrements it and stops when none remain.
  CoverSearch(const PatternBook& book, std::vector<Bin> bins, std::int64_t cap_left,
              std::int64_t& steps);

  /// Calls `on_cover` for each cover, until `on_cover` returns false. With kAny, the search can
  /// leave out covers, but it finds one if there is any. Of covers that differ only in the
  /// positions of equal GPUs, it finds the first. For each way to place the other containers, it
  /// places the init containers in one way only: on GPUs of apps if possible, else on GPUs of
  /// sidecars, else on other GPUs.
  void run(Aim aim, std::function<bool(const Cover&)> on_cover);

  /// Whether the last run ended because `steps` were used up.
  [[nodiscard]] bool ran_out() const { return ran_out_; }

 private:
  struct Nogood {
    std::uint64_t counts = 0;  // one byte for each container
    std::uint64_t bin_state = 0;
    friend bool operator==(const Nogood&, const Nogood&) = default;
  };
  struct NogoodHash {
    std::size_t operator()(const Nogood& nogood) const;
  };

  void add_up_bounds();
  [[nodiscard]] bool inits_within_cap() const;
  [[nodiscard]] bool within_bounds(std::size_t bin);
  [[nodiscard]] bool dominated(const Patterns& patterns, ContainerSet pattern) const;
  [[nodiscard]] bool breaks_symmetry(ContainerSet pattern) const;
  [[nodiscard]] Nogood nogood_at(std::size_t bin, std::size_t first_pattern) const;
  void extend_cover(std::size_t bin, std::size_t last_pattern);
  void try_patterns(std::size_t bin, std::size_t first_pattern);
  void place(std::size_t bin, ContainerSet pattern);
  void unplace(std::size_t bin);
  void count_inits(std::size_t bin, std::int64_t sign);
  [[nodiscard]] std::int64_t least_compute(const Patterns& patterns, ContainerSet set) const;
  [[nodiscard]] bool all_served() const;
  void place_inits();
  void place_init(std::size_t turn, std::int64_t device, std::size_t first_init_bin);
  [[nodiscard]] std::vector<std::size_t> bins_for_inits() const;
  void accept();

  const PatternBook& book_;
  std::vector<Bin> bins_;
  std::int64_t cap_left_;
  std::int64_t& steps_;
  std::size_t set_count_;  // the number of sets of apps and sidecars

  // For each bin and each set, the sum of Patterns::max_containers(), max_compute() or max_memory()
  // over this bin and the bins after it.
  std::vector<std::int32_t> max_containers_;
  std::vector<std::int64_t> max_compute_;
  std::vector<std::int64_t> max_memory_;
  std::array<std::int64_t, base::kMaxGpuContainers> cheapest_{};  // by turn: least compute on a bin

  Aim aim_ = Aim::kAny;
  std::function<bool(const Cover&)> on_cover_;
  Cover cover_;
  std::array<std::int64_t, base::kMaxGpuContainers> unplaced_{};  // by turn: devices without a bin
  std::array<std::int64_t, base::kMaxGpuContainers>
      init_capacity_{};  // by turn: the number of bins that can serve the init container
  /// Whether each init container can be placed without regard to other init containers: they run
  /// one after another, and no GPU's mode depends on them.
  bool inits_independent_ = true;
  bool remembers_ = true;                      // whether failed states are kept in nogoods_
  ContainerSet open_containers_ = 0;           // the containers with unplaced devices
  std::int64_t placed_compute_ = 0;            // compute of the placed devices
  Charge unplaced_weight_;                     // Patterns::weight() of the unplaced devices
  std::vector<std::int32_t> unplaced_in_set_;  // by set: the number of its unplaced devices
  std::vector<std::size_t> init_order_;
  std::unordered_set<Nogood, NogoodHash> nogoods_;
  std::size_t covers_ = 0;
  bool stopped_ = false;
  bool inits_placed_ = false;
  bool ran_out_ = false;
};

}  // namespace snug::fit

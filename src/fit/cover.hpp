// The search for the GPUs of a pod's containers: which pattern each GPU of a node serves, so that
// every container is on as many GPUs as it asks for. Exact within its steps. Pure.
//
// It goes from GPU to GPU. A branch ends where what is left to place is more than the GPUs left can
// take, by any of these bounds:
//   - of any set of apps and sidecars, no GPU serves more than its largest pattern in that set
//     (a container on as many GPUs as can serve it; of those that are larger than half a GPU, one
//     each);
//   - no GPU takes more compute, or memory, than its heaviest pattern;
//   - each init container finds as many GPUs beside what is placed;
//   - the cap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_set>
#include <vector>

#include "fit/patterns.hpp"

namespace snug {

/// One GPU that may serve something.
struct Bin {
  const Patterns* patterns = nullptr;
  std::size_t gpu = 0;         // NodeState's position
  bool like_previous = false;  // nothing but its position tells it from the one before
};

/// What each bin serves.
using Cover = std::vector<ContainerSet>;

class CoverSearch {
 public:
  enum class Aim : std::uint8_t {
    kAny,     // one cover, whichever is found soonest
    kFull,    // those first that fill the first bins
    kSpread,  // those first that put little on each
  };

  /// What is named outlives it. `steps` is used up by what is tried.
  CoverSearch(const PatternBook& book, std::vector<Bin> bins, std::int64_t cap_left,
              std::int64_t& steps);

  /// Calls `found` for each cover, until it returns false. Of covers that nothing but positions
  /// tells apart only the first; the init containers of each cover in one way alone, on GPUs of the
  /// apps rather than of sidecars rather than others.
  void run(Aim aim, std::function<bool(const Cover&)> found);

  /// The last run ended before it had tried everything.
  [[nodiscard]] bool ran_out() const { return ran_out_; }

 private:
  struct Nogood {
    std::uint64_t left = 0;
    std::uint64_t place = 0;
    friend bool operator==(const Nogood&, const Nogood&) = default;
  };
  struct NogoodHash {
    std::size_t operator()(const Nogood& nogood) const;
  };

  void add_up_bounds();
  [[nodiscard]] bool hopeful(std::size_t bin);
  [[nodiscard]] bool dominated(const Patterns& patterns, ContainerSet set) const;
  [[nodiscard]] bool renamed(ContainerSet set) const;
  [[nodiscard]] Nogood state(std::size_t bin, std::size_t from) const;
  void extend(std::size_t bin, std::size_t last);
  void try_patterns(std::size_t bin, std::size_t from);
  void put(std::size_t bin, ContainerSet set);
  void take_back(std::size_t bin);
  void count_inits(std::size_t bin, std::int64_t sign);
  [[nodiscard]] std::int64_t least_compute(const Patterns& patterns, ContainerSet set) const;
  [[nodiscard]] bool all_served() const;
  void place_inits();
  void place_init(std::size_t turn, std::int64_t device, std::size_t from);
  [[nodiscard]] std::vector<std::size_t> bins_for_inits() const;
  void accept();

  const PatternBook& book_;
  std::vector<Bin> bins_;
  std::int64_t cap_left_;
  std::int64_t& steps_;
  std::size_t sets_;  // of apps and sidecars

  // Of the bins from each one on, for each set: the sums of Patterns::most…
  std::vector<std::int32_t> most_;
  std::vector<std::int64_t> most_compute_;
  std::vector<std::int64_t> most_memory_;
  std::array<std::int64_t, kMostAskingContainers> cheapest_{};  // compute of each alone

  Aim aim_ = Aim::kAny;
  std::function<bool(const Cover&)> found_;
  Cover cover_;
  std::array<std::int64_t, kMostAskingContainers> left_{};   // to place, of each container
  std::array<std::int64_t, kMostAskingContainers> could_{};  // bins for each init container
  /// Whether one init container finds its GPUs whatever GPUs the others have: they run one after
  /// another, and none needs another for the mode of a GPU, or minds the one that it has.
  bool inits_independent_ = true;
  bool remembers_ = true;           // what came to nothing
  ContainerSet open_ = 0;           // those that left_ has any of
  std::int64_t compute_ = 0;        // that is placed
  Charge weight_left_;              // to place, at GpuKind::weigh_at
  std::vector<std::int32_t> need_;  // of each set, what is left to place
  std::vector<std::size_t> init_order_;
  std::unordered_set<Nogood, NogoodHash> nogoods_;
  std::size_t covers_ = 0;
  bool stopped_ = false;
  bool inits_placed_ = false;
  bool ran_out_ = false;
};

}  // namespace snug

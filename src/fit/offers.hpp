// Turns covers of one node into placements. Of covers that differ only in the positions of equal
// GPUs, one is offered: the one in which the GPUs with lower positions serve the containers that
// come first.
#pragma once

#include <vector>

#include "fit/cover.hpp"
#include "fit/patterns.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

class Offers {
 public:
  /// The arguments must outlive this object.
  Offers(const model::NodeState& node, const PatternBook& book, model::PlacementList& placements)
      : node_(node), book_(book), placements_(placements) {}

  void add(const std::vector<Bin>& bins, const Cover& cover);
  /// Does nothing if an equal placement was added before, even if it was made from other bins.
  void add_new(const std::vector<Bin>& bins, const Cover& cover);

 private:
  void assign(const std::vector<Bin>& bins, const Cover& cover);
  void offer_placement(const std::vector<Bin>& bins);
  [[nodiscard]] model::DeviceAllocation share_take(const Patterns& patterns, std::size_t gpu,
                                                   ContainerSet set, std::size_t turn) const;
  [[nodiscard]] model::DeviceAllocation slice_take(const Patterns& patterns, std::size_t gpu,
                                                   ContainerSet set, std::size_t turn) const;

  const model::NodeState& node_;
  const PatternBook& book_;
  model::PlacementList& placements_;
  Cover set_by_gpu_;  // by GPU position: the set that the GPU serves
  std::vector<Cover> offered_covers_;
};

}  // namespace snug::fit

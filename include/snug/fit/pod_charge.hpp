// Computes what the containers of one pod together are charged on one GPU. The charge holds for the
// pod's whole life. Its memory, and likewise its compute, is the maximum of
//   - the sum of the apps and sidecars, and
//   - for each plain init container, the sum of it and the sidecars that start before it,
// because plain init containers run one after another and before the apps.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/model/pod.hpp"

namespace snug::fit {

/// An object is for one pod and one GPU. Not thread-safe.
class PodCharge {
 public:
  /// Adds a container. `position` is its position in the pod; containers may be added in any order.
  /// A container that is added twice, as a hand-written reservation may require, counts twice.
  void add(model::ContainerType container_type, std::size_t position, const Charge& cost) {
    parts_.push_back({container_type, position, cost});
  }
  void remove_last() { parts_.pop_back(); }
  /// The charge of all added containers; zero if there are none.
  [[nodiscard]] Charge total() const;

 private:
  struct Part {
    model::ContainerType type;
    std::size_t position;
    Charge cost;
  };
  std::vector<Part> parts_;
};

}  // namespace snug::fit

// What the containers of one pod take of one GPU together. Per dimension it is the larger of
//   apps + sidecars, and
//   each plain init container + the sidecars started before it,
// for the pod's whole life: plain init containers run one after another, before the apps.
// Not thread-safe; made anew for each pod and GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/model/pod.hpp"

namespace snug {

class PodCharge {
 public:
  /// `position`: the container's in the pod's order. In any order; what a container has more than
  /// once, as a reservation made by hand may say, adds up.
  void add(ContainerKind kind, std::size_t position, const Charge& cost) {
    parts_.push_back({kind, position, cost});
  }
  void remove_last() { parts_.pop_back(); }
  /// Nothing of no containers.
  [[nodiscard]] Charge total() const;

 private:
  struct Part {
    ContainerKind kind;
    std::size_t position;
    Charge cost;
  };
  std::vector<Part> parts_;
};

}  // namespace snug

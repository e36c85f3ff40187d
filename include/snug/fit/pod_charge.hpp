// What the containers of one pod take of one GPU together. In each dimension it is the maximum of
//   apps + sidecars, and
//   each plain init container + the sidecars started before it,
// for the pod's whole life: plain init containers run one after another, before the apps.
// One object for each pod and GPU. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/model/pod.hpp"

namespace snug::fit {

class PodCharge {
 public:
  /// `position`: of the container in the pod. Calls may come in any order. If a container is added
  /// twice, as a reservation made by hand may say, its costs add up.
  void add(model::ContainerType kind, std::size_t position, const Charge& cost) {
    parts_.push_back({kind, position, cost});
  }
  void remove_last() { parts_.pop_back(); }
  /// Zero for no containers.
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

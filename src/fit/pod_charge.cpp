#include "snug/fit/pod_charge.hpp"

#include <algorithm>

namespace snug::fit {
namespace {

void raise(Charge& most, const Charge& cost) {
  most.memory = std::max(most.memory, cost.memory);
  most.compute = std::max(most.compute, cost.compute);
}

}  // namespace

Charge PodCharge::total() const {
  if (parts_.size() == 1) return parts_.front().cost;
  Charge running;
  for (const Part& part : parts_) {
    if (part.type != model::ContainerType::kInit) running += part.cost;
  }
  Charge most = running;
  for (const Part& init : parts_) {
    if (init.type != model::ContainerType::kInit) continue;
    Charge beside;
    for (const Part& part : parts_) {
      const bool started =
          part.type == model::ContainerType::kSidecar && part.position < init.position;
      if (started || part.position == init.position) beside += part.cost;
    }
    raise(most, beside);
  }
  return most;
}

}  // namespace snug::fit

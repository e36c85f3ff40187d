#include "snug/fit/pod_charge.hpp"

#include <algorithm>

namespace snug::fit {
namespace {

void raise(Charge& max_charge, const Charge& cost) {
  max_charge.memory = std::max(max_charge.memory, cost.memory);
  max_charge.compute = std::max(max_charge.compute, cost.compute);
}

}  // namespace

Charge PodCharge::total() const {
  if (parts_.size() == 1) return parts_.front().cost;
  Charge running;
  for (const Part& part : parts_) {
    if (part.type != model::ContainerType::kInit) running += part.cost;
  }
  Charge max_charge = running;
  for (const Part& init : parts_) {
    if (init.type != model::ContainerType::kInit) continue;
    Charge init_charge;
    for (const Part& part : parts_) {
      const bool started =
          part.type == model::ContainerType::kSidecar && part.position < init.position;
      if (started || part.position == init.position) init_charge += part.cost;
    }
    raise(max_charge, init_charge);
  }
  return max_charge;
}

}  // namespace snug::fit

#include "snug/fit/charge.hpp"

#include <algorithm>

namespace snug::fit {
namespace {

struct Charger {
  base::MebiBytes capacity;

  Charge operator()(const model::FractionRequest& ask) const {
    return {.memory = {std::max<std::int64_t>(1, ask.thousandths * capacity.value / 1000)},
            .compute = {ask.thousandths}};
  }
  Charge operator()(const model::MemoryRequest& ask) const {
    return {.memory = ask.memory,
            .compute = {std::max<std::int64_t>(1, 1000 * ask.memory.value / capacity.value)}};
  }
  Charge operator()(const model::WholeGpuRequest& /*ask*/) const {
    return {.memory = capacity, .compute = base::kWholeGpu};
  }
  Charge operator()(const model::SliceRequest& /*ask*/) const { return {}; }
  Charge operator()(const model::KubeletRequest& /*ask*/) const { return {}; }
};

}  // namespace

Charge charge(const model::ContainerRequest& asked, base::MebiBytes capacity) {
  Charge cost = std::visit(Charger{capacity}, asked.device);
  if (asked.compute_percent) cost.compute = {base::kWholeGpu.value / 100 * *asked.compute_percent};
  return cost;
}

Prices::Prices(const model::GpuRequest& request) {
  known_.reserve(request.containers.size());
  for (const model::ContainerRequest& container : request.containers) {
    known_.push_back({.asked = &container});
  }
}

Prices::Known Prices::price(const model::ContainerRequest& asked, base::MebiBytes capacity) {
  if (capacity.value <= 0) return {.asked = &asked, .capacity = capacity, .price = {}};
  const Charge cost = charge(asked, capacity);
  return {.asked = &asked,
          .capacity = capacity,
          .price = {.cost = cost, .milli_sum = cost.milli_sum(capacity)}};
}

}  // namespace snug::fit

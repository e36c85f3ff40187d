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

const Prices::Price& Prices::price_of(std::size_t container, base::MebiBytes capacity) {
  Known& known = known_[container];
  if (known.capacity != capacity) {
    known.capacity = capacity;
    known.price.cost = charge(*known.asked, capacity);
    known.price.milli_sum = known.price.cost.milli_sum(capacity);
  }
  return known.price;
}

}  // namespace snug::fit

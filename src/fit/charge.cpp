#include "snug/fit/charge.hpp"

#include <algorithm>

namespace snug {
namespace {

struct Charger {
  MebiBytes capacity;

  Charge operator()(const FractionAsk& ask) const {
    return {.memory = {std::max<std::int64_t>(1, ask.thousandths * capacity.value / 1000)},
            .compute = {ask.thousandths}};
  }
  Charge operator()(const MemoryAsk& ask) const {
    return {.memory = ask.memory,
            .compute = {std::max<std::int64_t>(1, 1000 * ask.memory.value / capacity.value)}};
  }
  Charge operator()(const WholeAsk& /*ask*/) const {
    return {.memory = capacity, .compute = kWholeGpu};
  }
  Charge operator()(const SliceAsk& /*ask*/) const { return {}; }
  Charge operator()(const KubeletAsk& /*ask*/) const { return {}; }
};

}  // namespace

Charge charge(const ContainerRequest& asked, MebiBytes capacity) {
  Charge cost = std::visit(Charger{capacity}, asked.ask);
  if (asked.compute_percent) cost.compute = {kWholeGpu.value / 100 * *asked.compute_percent};
  return cost;
}

Prices::Prices(const GpuRequest& request) {
  known_.reserve(request.containers.size());
  for (const ContainerRequest& container : request.containers) {
    known_.push_back({.asked = &container});
  }
}

const Prices::Price& Prices::of(std::size_t container, MebiBytes capacity) {
  Known& known = known_[container];
  if (known.capacity != capacity) {
    known.capacity = capacity;
    known.price.cost = charge(*known.asked, capacity);
    known.price.room = known.price.cost.room(capacity);
  }
  return known.price;
}

}  // namespace snug

#include "snug/fit/charge.hpp"

#include <algorithm>

namespace snug::fit {
namespace {

struct Charger {
  base::MebiBytes capacity;

  Charge operator()(const model::FractionRequest& fraction) const {
    return {.memory = {std::max<std::int64_t>(1, fraction.thousandths * capacity.value / 1000)},
            .compute = {fraction.thousandths}};
  }
  Charge operator()(const model::MemoryRequest& memory_request) const {
    return {.memory = memory_request.memory,
            .compute = {
                std::max<std::int64_t>(1, 1000 * memory_request.memory.value / capacity.value)}};
  }
  Charge operator()(const model::WholeGpuRequest& /*ask*/) const {
    return {.memory = capacity, .compute = base::kWholeGpu};
  }
  Charge operator()(const model::SliceRequest& /*ask*/) const { return {}; }
  Charge operator()(const model::KubeletRequest& /*ask*/) const { return {}; }
};

}  // namespace

Charge charge(const model::ContainerRequest& container_request, base::MebiBytes capacity) {
  Charge cost = std::visit(Charger{capacity}, container_request.device);
  if (container_request.compute_percent)
    cost.compute = {base::kWholeGpu.value / 100 * *container_request.compute_percent};
  return cost;
}

Prices::Prices(const model::GpuRequest& request) {
  last_prices_.reserve(request.containers.size());
  for (const model::ContainerRequest& container_request : request.containers) {
    last_prices_.push_back({.container_request = &container_request});
  }
}

Prices::LastPrice Prices::price(const model::ContainerRequest& container_request,
                                base::MebiBytes capacity) {
  if (capacity.value <= 0)
    return {.container_request = &container_request, .capacity = capacity, .price = {}};
  const Charge cost = charge(container_request, capacity);
  return {.container_request = &container_request,
          .capacity = capacity,
          .price = {.cost = cost, .milli_sum = cost.milli_sum(capacity)}};
}

}  // namespace snug::fit

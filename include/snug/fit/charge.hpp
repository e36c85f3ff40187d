// Computes the charge of a request: the memory and compute that it takes of a GPU with M MiB.
//   a fraction of m thousandths:  max(1, floor(m·M/1000)) MiB and m milli-GPU
//   q MiB of memory:              q MiB and max(1, floor(1000·q/M)) milli-GPU
//   a whole GPU:                  M MiB and 1000 milli-GPU
//   `gpu-compute` of p percent:   replaces the compute above by 10·p milli-GPU
// Examples with M = 40960: a fraction of 0.333 is charged 13639 MiB and 333 milli-GPU, and 4G of
// memory (3815 MiB) is charged 3815 MiB and 93 milli-GPU.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/request.hpp"

namespace snug::fit {

struct Charge {
  base::MebiBytes memory;
  base::MilliGpu compute;

  /// The charged memory plus the charged compute, each in thousandths of the GPU, as in
  /// GpuState::free_milli_sum. `capacity` is the GPU's memory.
  [[nodiscard]] std::int32_t milli_sum(base::MebiBytes capacity) const {
    return static_cast<std::int32_t>(1000 * memory.value / capacity.value + compute.value);
  }
  Charge& operator+=(const Charge& other) {
    memory += other.memory;
    compute += other.compute;
    return *this;
  }
  Charge& operator-=(const Charge& other) {
    memory += -other.memory;
    compute += -other.compute;
    return *this;
  }
  friend auto operator<=>(const Charge&, const Charge&) = default;
};

/// Returns the charge of one device of the container on a GPU with the memory `capacity`, which is
/// positive. The result is zero for a SliceRequest and for a KubeletRequest. It can exceed the
/// capacity; fit() then refuses the request.
[[nodiscard]] Charge charge(const model::ContainerRequest& container_request,
                            base::MebiBytes capacity);

/// Computes the charge of each container of a request. Caches the last charge of each container,
/// because the GPUs of a cluster have few sizes. `request` must outlive it. Not thread-safe.
class Prices {
 public:
  struct Price {
    Charge cost;
    std::int32_t milli_sum = 0;  // the result of Charge::milli_sum()
  };

  explicit Prices(const model::GpuRequest& request);
  /// `container` is a position in GpuRequest::containers. `capacity` is the GPU's memory; if it is
  /// 0, the price is zero.
  [[nodiscard]] const Price& price_of(std::size_t container, base::MebiBytes capacity) {
    LastPrice& last_price = last_prices_[container];
    if (last_price.capacity != capacity)
      last_price = price(*last_price.container_request, capacity);
    return last_price.price;
  }

 private:
  struct LastPrice {
    const model::ContainerRequest* container_request = nullptr;
    base::MebiBytes capacity;  // the capacity that `price` is for; 0: no price is cached
    Price price;
  };

  [[nodiscard]] static LastPrice price(const model::ContainerRequest& container_request,
                                       base::MebiBytes capacity);

  std::vector<LastPrice> last_prices_;
};

}  // namespace snug::fit

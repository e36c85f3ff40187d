// What a request costs on a GPU of a given size: the integer arithmetic of the contract.
//   fraction of m thousandths on M MiB: max(1, floor(m·M/1000)) MiB and m milli
//   memory of q MiB on M MiB:           q MiB and max(1, floor(1000·q/M)) milli
//   whole:                              M MiB and 1000 milli
//   gpu-compute: of p percent           10·p milli, whatever the memory
// So M = 40960: 0.333 → 13639 MiB, 333; 4G (3815 MiB) → 3815 MiB, 93.
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

  /// Thousandths of the GPU's memory plus thousandths of its compute, the unit of
  /// GpuState::free_milli_sum.
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

/// `capacity` > 0. Slices and kubelet units cost nothing here. The result may exceed the capacity:
/// fit refuses that.
[[nodiscard]] Charge charge(const model::ContainerRequest& asked, base::MebiBytes capacity);

/// What each container of a request costs, cached for the GPU size of the last call: the GPUs of a
/// cluster have few sizes. `request` must outlive it. Not thread-safe.
class Prices {
 public:
  struct Price {
    Charge cost;
    std::int32_t milli_sum = 0;  // Charge::milli_sum
  };

  explicit Prices(const model::GpuRequest& request);
  /// `container`: a position in the request's list. `capacity` > 0.
  [[nodiscard]] const Price& price_of(std::size_t container, base::MebiBytes capacity) {
    Known& known = known_[container];
    if (known.capacity != capacity) known = price(*known.asked, capacity);
    return known.price;
  }

 private:
  struct Known {
    const model::ContainerRequest* asked = nullptr;
    base::MebiBytes capacity;  // 0: none yet
    Price price;
  };

  [[nodiscard]] static Known price(const model::ContainerRequest& asked, base::MebiBytes capacity);

  std::vector<Known> known_;
};

}  // namespace snug::fit

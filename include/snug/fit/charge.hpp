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
#include "snug/model/mig.hpp"
#include "snug/model/request.hpp"

namespace snug {

struct Charge {
  MebiBytes memory;
  MilliGpu compute;

  /// Thousandths of the GPU's memory plus thousandths of its compute, as GpuState::room counts.
  [[nodiscard]] std::int32_t room(MebiBytes capacity) const {
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

/// `capacity` > 0. Asks that name no single GPU's share (slices, kubelet units) cost nothing here.
/// The result may exceed the capacity: that is for fit to refuse.
[[nodiscard]] Charge charge(const ContainerRequest& asked, MebiBytes capacity);

/// What each container of a request costs, remembered for the GPU size that was asked for last: the
/// GPUs of a cluster have few sizes. `request` must outlive it. Not thread-safe.
class Prices {
 public:
  struct Price {
    Charge cost;
    std::int32_t room = 0;  // Charge::room
  };

  explicit Prices(const GpuRequest& request);
  /// `container`: a position in the request's list. `capacity` > 0.
  [[nodiscard]] const Price& of(std::size_t container, MebiBytes capacity);

 private:
  struct Known {
    const ContainerRequest* asked = nullptr;
    MebiBytes capacity;  // 0: none yet
    Price price;
  };

  std::vector<Known> known_;
};

/// Whether a reservation may state this charge for what was asked on a GPU that has `capacity` > 0
/// today. What follows from the GPU's size may be off as far as if it had been an eighth smaller or
/// larger at binding (docs/decisions/0011).
[[nodiscard]] bool plausible(const ContainerRequest& asked, const Charge& stated,
                             MebiBytes capacity);
/// The same of a slice: whether one of this profile may have been given for what was asked, and
/// whether one that costs so much today may have cost what is stated. Drivers differ in what memory
/// a profile has.
[[nodiscard]] bool plausible(const MigTable& table, std::uint16_t profile,
                             const ContainerRequest& asked);
[[nodiscard]] bool plausible(const Charge& today, const Charge& stated);

}  // namespace snug

// Whether a reservation can be true, and what its devices count if it cannot. What follows from a
// GPU's size may be off as far as if the GPU had been an eighth smaller or larger at binding
// (docs/decisions/0011). Pure.
#pragma once

#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Whether a reservation may state this charge for what was asked on a GPU that has `capacity` > 0
/// today.
[[nodiscard]] bool plausible(const model::ContainerRequest& asked, const Charge& stated,
                             base::MebiBytes capacity);
/// Whether a slice of this profile may have been given for what was asked.
[[nodiscard]] bool plausible(const model::MigTable& table, std::uint16_t profile,
                             const model::ContainerRequest& asked);
/// Whether a slice that costs so much today may have cost what is stated. Drivers differ in what
/// memory a profile has.
[[nodiscard]] bool plausible(const Charge& today, const Charge& stated);

/// What a reserved device counts on its GPU.
struct CountedDevice {
  Charge cost;
  bool suspect = false;  // the reservation cannot be true
  bool rounded = false;  // it is a share by fraction, whose memory is rounded to MiB
};

/// `asked`: what the device was reserved for; null: not known. A vanished GPU contradicts nothing.
[[nodiscard]] CountedDevice count_device(const model::ReservedDevice& device,
                                         const model::ContainerRequest* asked,
                                         const model::GpuState& gpu);
/// The same for a device that is a slice with this profile. `stated`: what its reservation states,
/// which count_device() has judged without regard to the slice.
[[nodiscard]] CountedDevice count_slice(const model::MigTable& table, std::uint16_t profile,
                                        const model::ContainerRequest* asked, const Charge& stated);

}  // namespace snug::fit

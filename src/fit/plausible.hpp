// Decides whether the charges that a reservation states are plausible for its request, and what its
// devices are charged otherwise. A charge that depends on the size of the GPU is plausible if the
// request would have this charge on a GPU of another size, up to an eighth smaller or larger. The
// reason is that the GPU may have had another size when the pod was bound (docs/decisions/0011).
// Pure.
#pragma once

#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/model/mig.hpp"
#include "snug/model/request.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Whether the charge `stated` is plausible for this request on a GPU whose present memory is
/// `capacity`, which is positive.
[[nodiscard]] bool plausible(const model::ContainerRequest& container_request, const Charge& stated,
                             base::MebiBytes capacity);
/// Whether it is plausible that a slice of this profile was chosen for this request.
[[nodiscard]] bool plausible(const model::MigTable& table, std::uint16_t profile,
                             const model::ContainerRequest& container_request);
/// Whether the charge `stated` is plausible for a slice whose present charge is `today`. The memory
/// of the two charges can differ, because the memory of a profile depends on the driver version.
[[nodiscard]] bool plausible(const Charge& today, const Charge& stated);

/// The charge with which a reserved device is counted on its GPU.
struct CountedDevice {
  Charge cost;
  bool suspect = false;  // the reservation is not plausible
  bool rounded = false;  // the device is a share by fraction, whose memory is rounded to MiB
};

/// Returns the charge with which a reserved device is counted on `gpu`. `asked` is the request for
/// which it was reserved; null: unknown. On a vanished GPU, CountedDevice::suspect is always
/// false.
[[nodiscard]] CountedDevice count_device(const model::ReservedDevice& device,
                                         const model::ContainerRequest* asked,
                                         const model::GpuState& gpu);
/// Returns the charge with which a reserved slice of this profile is counted. `stated` is the
/// charge that count_device() has returned for it without regard to the profile.
[[nodiscard]] CountedDevice count_slice(const model::MigTable& table, std::uint16_t profile,
                                        const model::ContainerRequest* container_request,
                                        const Charge& stated);

}  // namespace snug::fit

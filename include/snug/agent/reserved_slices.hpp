// MIG slices as reservations name them, and how they are found among those that the driver reports.
// A slice is identified by its place (GPU, profile, start): its uuid changes when it is made anew.
// Pure; thread-safe.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/device_report.hpp"
#include "snug/model/reservation.hpp"

namespace snug::agent {

/// A slice in the reservation of a pod.
struct ReservedSlice {
  int gpu_index = 0;
  std::string gpu_uuid;  // empty if the GPU is reserved by its index alone
  std::string profile;   // as the reservation spells it
  int start = 0;
  std::string pod_uid;

  friend auto operator<=>(const ReservedSlice&, const ReservedSlice&) = default;
};

/// Why a reserved slice does not exist.
struct SliceFailure {
  std::string gpu_uuid;
  std::string profile;
  int start = 0;
  std::string pod_uid;
  std::string sentence;  // for people

  friend auto operator<=>(const SliceFailure&, const SliceFailure&) = default;
};

/// The slices that the reservation names, without repetitions.
[[nodiscard]] std::vector<ReservedSlice> slices_of(const model::Reservation& reservation);

/// The GPU of a reserved device: by its uuid, or by its index if `uuid` is empty. Null if the node
/// does not have it.
[[nodiscard]] const DeviceReport* reserved_gpu(const NodeDevices& devices, int index,
                                               std::string_view uuid);

/// Whether the two names mean the same profile of the GPU, whose profiles may have second names.
[[nodiscard]] bool is_same_profile(const DeviceReport& gpu, std::string_view one,
                                   std::string_view other);

/// The existing slice at this place; null if there is none.
[[nodiscard]] const MigSliceReport* slice_at(const DeviceReport& gpu, std::string_view profile,
                                             int start);

/// A noun for sentences: the slice "1g.5gb" at 0 of the GPU "GPU-…".
[[nodiscard]] std::string slice_noun(std::string_view profile, int start,
                                     std::string_view gpu_uuid);

}  // namespace snug::agent

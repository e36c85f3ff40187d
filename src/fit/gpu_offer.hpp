// The part of one GPU that the containers of a request can get.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "snug/fit/charge.hpp"
#include "snug/fit/fit.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/request.hpp"

namespace snug::fit {

/// Everything about a GPU that decides which containers it can serve. Two GPUs with equal values
/// serve the same containers, although their scores may differ.
struct GpuOffer {
  Charge free;
  base::MebiBytes capacity;
  ContainerBits allowed = 0;                  // the containers that the GPU is allowed to serve
  std::array<model::GpuMode, 4> shared_as{};  // by Isolation: the mode in which it serves a share
  bool whole = false;                         // one pod can take the whole GPU
  bool one_mps_device = false;  // a container that gets shares of several GPUs gets none by MPS
  bool any_profile = false;     // a named MIG profile counts as available although the GPU lacks it
  MigFree mig;                  // its table is set if the GPU serves slices instead of shares
  std::int64_t cap_left = kNoCap;  // milli-GPU of the namespace's cap that one container may take

  [[nodiscard]] model::GpuMode shares_for(model::Isolation isolation) const {
    return shared_as[static_cast<std::size_t>(isolation)];
  }
  [[nodiscard]] model::GpuMode shares_for(const model::ContainerRequest& container) const {
    const model::GpuMode mode = shares_for(container.isolation);
    return one_mps_device && container.count > 1 && mode == model::GpuMode::kMps
               ? without_mps(container.isolation)
               : mode;
  }
  /// The mode instead of MPS in which it serves a share with this isolation.
  [[nodiscard]] model::GpuMode without_mps(model::Isolation isolation) const {
    return isolation == model::Isolation::kAny ? shares_for(model::Isolation::kTimeSlicing)
                                               : model::GpuMode::kNone;
  }
  [[nodiscard]] bool has_free(const Charge& cost) const {
    return cost.memory <= free.memory && cost.compute <= free.compute;
  }
  /// A total order by the values of all fields; GPUs with less free memory come first.
  friend auto operator<=>(const GpuOffer&, const GpuOffer&) = default;
};

}  // namespace snug::fit

// What one GPU offers to the containers of a request.
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

/// All of a GPU that decides whom it can serve. Only scores can tell apart GPUs that offer the
/// same.
struct Allocatable {
  Charge free;
  base::MebiBytes capacity;
  ContainerBits allowed = 0;  // the containers that it may serve; none: the GPU is closed
  std::array<model::GpuMode, 4> shared_as{};  // by Isolation: the mode in which it serves a share
  bool whole = false;                         // whether it can be one pod's alone
  bool any_profile = false;                   // whether it counts as having any slice that is named
  MigFree mig;                                // with a table: it serves slices instead of shares
  std::int64_t cap_left = kNoCap;             // milli-GPU that one container may take of it

  [[nodiscard]] model::GpuMode shares_for(model::Isolation isolation) const {
    return shared_as[static_cast<std::size_t>(isolation)];
  }
  [[nodiscard]] bool has_free(const Charge& cost) const {
    return cost.memory <= free.memory && cost.compute <= free.compute;
  }
  /// A total order by content, the fullest first.
  friend auto operator<=>(const Allocatable&, const Allocatable&) = default;
};

}  // namespace snug::fit

#include "fit/slices.hpp"

#include <algorithm>
#include <cstddef>

#include "snug/base/limits.hpp"

namespace snug::fit {
Charge slice_charge(const model::MigTable& table, std::uint16_t profile) {
  const model::MigProfile& mig_profile = table.profiles[profile];
  return {.memory = mig_profile.memory, .compute = mig::slice_compute(table, mig_profile)};
}

model::DeviceAllocation slice_take(const model::MigTable& table, model::AxisMask idle,
                                   model::MigPlacement slice) {
  const Charge cost = slice_charge(table, slice.profile);
  const std::int32_t milli =
      mig::axis_thousandths(table, idle) - mig::axis_thousandths(table, idle & ~slice.range(table));
  return {.mode = model::GpuMode::kMig,
          .milli_sum = 2 * milli,
          .milli = milli,
          .memory = cost.memory,
          .compute = cost.compute,
          .slice = slice};
}

std::span<const std::uint16_t> StartOrders::of(const model::MigTableRef& table,
                                               std::uint16_t profile) {
  const auto [cached_order, is_new] = orders_.try_emplace({table.pointer().get(), profile});
  Order& order = cached_order->second;
  if (is_new) order = {table.pointer(), mig::least_blocking_starts(*table, profile)};
  return order.starts;
}

namespace {

class SlicePlacing {
 public:
  SlicePlacing(const MigFree& free, std::span<const std::uint16_t> profiles, StartOrders& orders)
      : free_(free), profiles_(profiles), orders_(orders) {}

  std::optional<std::vector<model::MigPlacement>> run(std::int64_t& steps) {
    const bool all_placed = place_remaining(free_.use, 0);
    steps += base::kMaxSliceSteps - std::max<std::int64_t>(0, steps_);
    if (!all_placed) return std::nullopt;
    return placed_;
  }

 private:
  /// Places the remaining slices beside `use`; returns whether it succeeded. Tries the starts of
  /// the next slice in their order (StartOrders), from position `first_start` on. Of two adjacent
  /// equal profiles, the second is tried only at starts after that of the first, so that no set of
  /// placements is tried twice.
  bool place_remaining(const model::MigUse& use, std::size_t first_start) {
    if (placed_.size() == profiles_.size()) return true;
    const std::uint16_t profile = profiles_[placed_.size()];
    const std::span<const std::uint16_t> starts = orders_.of(free_.table, profile);
    for (std::size_t i = first_start; i < starts.size() && steps_-- > 0; ++i) {
      const model::MigPlacement slice{profile, starts[i]};
      if (!free_.open(use, slice)) continue;
      placed_.push_back(slice);
      const bool again = placed_.size() < profiles_.size() && profiles_[placed_.size()] == profile;
      if (place_remaining(mig::with_slice(*free_.table, use, slice), again ? i + 1 : 0))
        return true;
      placed_.pop_back();
    }
    return false;
  }

  const MigFree& free_;
  std::span<const std::uint16_t> profiles_;
  StartOrders& orders_;
  std::vector<model::MigPlacement> placed_;
  std::int64_t steps_ = base::kMaxSliceSteps;  // remaining steps
};

}  // namespace

std::optional<std::vector<model::MigPlacement>> place_together(
    const MigFree& free, std::span<const std::uint16_t> profiles, StartOrders& orders,
    std::int64_t& steps) {
  return SlicePlacing(free, profiles, orders).run(steps);
}

}  // namespace snug::fit

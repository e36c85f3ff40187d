#include "fit/offers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fit/gpu_modes.hpp"
#include "fit/slices.hpp"

namespace snug::fit {
namespace {

/// Whether `a` comes before `b`: `a` has the first container that is in only one of the two sets.
bool comes_first(ContainerSet a, ContainerSet b) {
  const ContainerSet differ = a ^ b;
  return (a & differ & -differ) != 0;
}

}  // namespace

void Offers::add(const std::vector<Bin>& bins, const Cover& cover) {
  assign(bins, cover);
  offer(bins);
}

void Offers::add_new(const std::vector<Bin>& bins, const Cover& cover) {
  assign(bins, cover);
  if (std::ranges::find(offered_, sets_) == offered_.end()) offer(bins);
}

void Offers::assign(const std::vector<Bin>& bins, const Cover& cover) {
  sets_.assign(node_.gpus.size(), 0);
  for (std::size_t begin = 0; begin < bins.size();) {
    std::size_t end = begin + 1;
    while (end < bins.size() && bins[end].is_like_previous) ++end;
    if (end == begin + 1) {
      sets_[bins[begin].gpu] = cover[begin];
    } else {
      std::vector<std::size_t> gpus;
      for (std::size_t i = begin; i < end; ++i) gpus.push_back(bins[i].gpu);
      std::vector<ContainerSet> served(cover.begin() + static_cast<std::ptrdiff_t>(begin),
                                       cover.begin() + static_cast<std::ptrdiff_t>(end));
      std::ranges::sort(gpus);
      std::ranges::sort(served, comes_first);
      for (std::size_t i = 0; i < gpus.size(); ++i) sets_[gpus[i]] = served[i];
    }
    begin = end;
  }
}

void Offers::offer(const std::vector<Bin>& bins) {
  offered_.push_back(sets_);
  for (std::size_t turn = 0; turn < book_.containers(); ++turn) {
    const ContainerSet alone = ContainerSet{1} << turn;
    for (std::size_t gpu = 0; gpu < sets_.size(); ++gpu) {
      const ContainerSet set = sets_[gpu];
      if ((set & alone) == 0) continue;
      const Patterns& patterns = *std::ranges::find(bins, gpu, &Bin::gpu)->patterns;
      const bool slice = patterns.mode(set) == model::GpuMode::kMig;
      options_.add(slice ? slice_take(patterns, gpu, set, turn)
                         : share_take(patterns, gpu, set, turn));
    }
  }
  options_.close();
}

model::DeviceAllocation Offers::share_take(const Patterns& patterns, std::size_t gpu,
                                           ContainerSet set, std::size_t turn) const {
  const ContainerSet alone = ContainerSet{1} << turn;
  const ContainerSet before = set & (alone - 1);
  const model::GpuState& state = node_.gpus[gpu];
  return {.container = static_cast<std::uint16_t>(book_.position(turn)),
          .gpu = static_cast<std::uint16_t>(gpu),
          .mode = patterns.mode(set),
          .milli_sum = patterns.cost(before | alone).milli_sum(state.memory) -
                       patterns.cost(before).milli_sum(state.memory),
          .milli = free_milli_after(state, patterns.cost(before)) -
                   free_milli_after(state, patterns.cost(before | alone)),
          .memory = patterns.cost(alone).memory,
          .compute = patterns.cost(alone).compute};
}

/// If several containers use one slice, the first one is charged for it.
model::DeviceAllocation Offers::slice_take(const Patterns& patterns, std::size_t gpu,
                                           ContainerSet set, std::size_t turn) const {
  const MigFree& free = patterns.offered().mig;
  const model::MigTable& table = *free.table;
  model::AxisMask idle = free.idle();
  model::MigPlacement slice;
  for (const SetSlice& each : patterns.slices(set)) {
    slice = each.slice;
    if (each.turn == turn) break;
    idle &= ~slice.range(table);
  }
  model::DeviceAllocation allocation = fit::slice_take(table, idle, slice);
  allocation.container = static_cast<std::uint16_t>(book_.position(turn));
  allocation.gpu = static_cast<std::uint16_t>(gpu);
  return allocation;
}

}  // namespace snug::fit

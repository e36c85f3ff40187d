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
  offer_placement(bins);
}

void Offers::add_new(const std::vector<Bin>& bins, const Cover& cover) {
  assign(bins, cover);
  if (std::ranges::find(offered_covers_, set_by_gpu_) == offered_covers_.end())
    offer_placement(bins);
}

void Offers::assign(const std::vector<Bin>& bins, const Cover& cover) {
  set_by_gpu_.assign(node_.gpus.size(), 0);
  for (std::size_t like_begin = 0; like_begin < bins.size();) {
    std::size_t like_end = like_begin + 1;
    while (like_end < bins.size() && bins[like_end].is_like_previous) ++like_end;
    if (like_end == like_begin + 1) {
      set_by_gpu_[bins[like_begin].gpu] = cover[like_begin];
    } else {
      std::vector<std::size_t> gpus;
      for (std::size_t i = like_begin; i < like_end; ++i) gpus.push_back(bins[i].gpu);
      std::vector<ContainerSet> served_sets(cover.begin() + static_cast<std::ptrdiff_t>(like_begin),
                                            cover.begin() + static_cast<std::ptrdiff_t>(like_end));
      std::ranges::sort(gpus);
      std::ranges::sort(served_sets, comes_first);
      for (std::size_t i = 0; i < gpus.size(); ++i) set_by_gpu_[gpus[i]] = served_sets[i];
    }
    like_begin = like_end;
  }
}

void Offers::offer_placement(const std::vector<Bin>& bins) {
  offered_covers_.push_back(set_by_gpu_);
  for (std::size_t turn = 0; turn < book_.containers(); ++turn) {
    const ContainerSet container_bit = ContainerSet{1} << turn;
    for (std::size_t gpu = 0; gpu < set_by_gpu_.size(); ++gpu) {
      const ContainerSet set = set_by_gpu_[gpu];
      if ((set & container_bit) == 0) continue;
      const Patterns& patterns = *std::ranges::find(bins, gpu, &Bin::gpu)->patterns;
      const bool slice = patterns.mode(set) == model::GpuMode::kMig;
      placements_.add(slice ? slice_take(patterns, gpu, set, turn)
                            : share_take(patterns, gpu, set, turn));
    }
  }
  placements_.close();
}

model::DeviceAllocation Offers::share_take(const Patterns& patterns, std::size_t gpu,
                                           ContainerSet set, std::size_t turn) const {
  const ContainerSet container_bit = ContainerSet{1} << turn;
  const ContainerSet earlier_containers = set & (container_bit - 1);
  const model::GpuState& state = node_.gpus[gpu];
  return {.container = static_cast<std::uint16_t>(book_.position(turn)),
          .gpu = static_cast<std::uint16_t>(gpu),
          .mode = patterns.mode(set),
          .milli_sum = patterns.cost(earlier_containers | container_bit).milli_sum(state.memory) -
                       patterns.cost(earlier_containers).milli_sum(state.memory),
          .milli = free_milli_after(state, patterns.cost(earlier_containers)) -
                   free_milli_after(state, patterns.cost(earlier_containers | container_bit)),
          .memory = patterns.cost(container_bit).memory,
          .compute = patterns.cost(container_bit).compute};
}

/// If several containers use one slice, the first one is charged for it.
model::DeviceAllocation Offers::slice_take(const Patterns& patterns, std::size_t gpu,
                                           ContainerSet set, std::size_t turn) const {
  const MigFree& free = patterns.offered().mig;
  const model::MigTable& table = *free.table;
  model::AxisMask idle = free.idle();
  model::MigPlacement slice;
  for (const SetSlice& set_slice : patterns.slices(set)) {
    slice = set_slice.slice;
    if (set_slice.turn == turn) break;
    idle &= ~slice.range(table);
  }
  model::DeviceAllocation allocation = fit::slice_take(table, idle, slice);
  allocation.container = static_cast<std::uint16_t>(book_.position(turn));
  allocation.gpu = static_cast<std::uint16_t>(gpu);
  return allocation;
}

}  // namespace snug::fit

#include "score/demand_terms.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <variant>

#include "score/room.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/score/fragment.hpp"

namespace snug {
namespace {

/// `cost` in parts of kOne of a milli-GPU.
std::int32_t points(std::int64_t cost) {
  constexpr std::int64_t kMost = kTermBound / kPointsPerMilli * kOne;
  return static_cast<std::int32_t>(-kPointsPerMilli * std::clamp(cost, -kMost, kMost) / kOne);
}

/// What pods ask has no limit but 64 bits.
std::int64_t less(std::int64_t left, std::int64_t asked) {
  std::int64_t rest = 0;
  return __builtin_sub_overflow(left, asked, &rest) ? std::numeric_limits<std::int64_t>::min()
                                                    : rest;
}

HostLeft without(const HostLeft& left, const HostAmounts& asked) {
  return {less(left.cpu_milli, asked.cpu_milli), less(left.memory_mib, asked.memory_bytes >> 20)};
}

/// What the pod takes of the node's GPUs.
std::int64_t milli_of(const TermInput& input) {
  std::int64_t milli = 0;
  for (const DeviceTake& take : input.placement.takes) milli += take.milli;
  if (!input.request.kubelet_assigned()) return milli;
  for (const ContainerRequest& asked : input.request.containers) {
    const std::string& resource = std::get<KubeletAsk>(asked.ask).resource;
    milli += asked.count * unit_compute(*input.node.inventory, resource).value;
  }
  return milli;
}

/// For want of the one that is shorter.
std::int64_t stranded(const TermInput& input, const HostLeft& host, std::int64_t gpu_milli) {
  const HostAmounts& has = input.node.inventory->host.amounts;
  return std::max(input.demand.cpu.stranded(host.cpu_milli, has.cpu_milli, gpu_milli),
                  input.demand.memory.stranded(host.memory_mib, has.memory_bytes >> 20, gpu_milli));
}

}  // namespace

std::int32_t stranded_gpu(const TermInput& input) {
  const NodeState& node = input.node;
  if (!node.inventory->host.known || node.left == 0) return 0;
  const std::int64_t left = std::max<std::int64_t>(0, node.left - milli_of(input));
  const HostLeft host = node.host_left();
  return points(stranded(input, without(host, input.host), left) -
                stranded(input, host, node.left));
}

namespace {

/// What is left of the take's GPU when the placement's earlier takes have theirs.
std::int64_t left_for(const TermInput& input, const DeviceTake& take) {
  std::int64_t left = input.node.gpus[take.gpu].left;
  for (const DeviceTake& earlier : input.placement.takes) {
    if (&earlier == &take) break;
    if (earlier.gpu == take.gpu) left -= earlier.milli;
  }
  return left;
}

}  // namespace

std::int32_t left_over_value(const TermInput& input) {
  std::int64_t cost = 0;  // millionths of a GPU
  for (const DeviceTake& take : input.placement.takes) {
    const GpuState& gpu = input.node.gpus[take.gpu];
    const LeftOverTable* table = input.demand.left_over_of(gpu.memory);
    const std::int64_t has = left_for(input, take);
    const bool share = take.mode != GpuMode::kWhole && take.mode != GpuMode::kMig;
    if (table == nullptr || !share || take.milli > has || take.milli < 0) continue;
    const auto left = static_cast<std::size_t>(has);
    const auto size = static_cast<std::size_t>(take.milli);
    cost += std::max(0, table->value[left] - table->value[left - size] - table->price[size]);
  }
  return points(cost * kOne / 1000);
}

namespace {

/// Costs that differ by less are alike, so that ties stack slices on the first cards.
std::int64_t in_steps(std::int64_t cost) {
  constexpr std::int64_t kStep = 21'000;  // millionths of a card: a sixth of an eighth
  constexpr std::int64_t kHalf = kStep / 2;
  return (cost + (cost < 0 ? -kHalf : kHalf)) / kStep * kStep;
}

std::int64_t size_millionths(const MigTable& table, MigPlacement slice) {
  return std::int64_t{1'000'000} * table.profiles[slice.profile].size / table.axis;
}

/// What a container gives for its slice, in millionths of a GPU: as much as for a share, where it
/// asks for one.
std::int64_t slice_price(const TermInput& input, const DeviceTake& take) {
  const GpuState& gpu = input.node.gpus[take.gpu];
  const MigTable& table = *gpu.info->mig_table;
  const ContainerRequest& asked = input.request.containers[take.container];
  if (is_share(asked.ask)) {
    const Charge cost = charge(asked, gpu.memory);
    const std::int64_t milli = std::clamp<std::int64_t>(
        std::max(cost.compute.value, 1000 * cost.memory.value / gpu.memory.value), 0,
        kWholeGpu.value);
    const LeftOverTable* shares = input.demand.left_over_of(gpu.memory);
    return shares == nullptr ? 1000 * milli : shares->price[static_cast<std::size_t>(milli)];
  }
  return size_millionths(table, take.slice);
}

}  // namespace

namespace {

/// Of one card, in millionths of it, what the placement's slices take from those that will come. A
/// slice that exists and stays as it is keeps no other from coming: it costs what it is.
std::int64_t worth_lost(const TermInput& input, std::size_t position) {
  const GpuState& gpu = input.node.gpus[position];
  const MigTable& table = *gpu.info->mig_table;
  const bool dynamic = input.node.inventory->dynamic_mig;
  const SliceWorth* worth = input.demand.slices_of(gpu.info->mig_number);
  if (dynamic && worth == nullptr) return 0;
  AxisMask taken = mig_free(*input.node.inventory, gpu).use.taken;
  std::int64_t lost = dynamic ? worth->of(taken) : 0;
  for (const DeviceTake& each : input.placement.takes) {
    if (each.gpu != position || each.milli == 0) continue;
    taken |= each.slice.range(table);
    lost -= slice_price(input, each);
    if (!dynamic) lost += size_millionths(table, each.slice);
  }
  return dynamic ? lost - worth->of(taken) : lost;
}

}  // namespace

std::int32_t slice_value(const TermInput& input) {
  std::int64_t cost = 0;  // millionths of a GPU
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode != GpuMode::kMig || !is_first_on_its_gpu(input.placement, take)) continue;
    cost += worth_lost(input, take.gpu);
  }
  return points(in_steps(cost) * kOne / 1000);
}

std::int32_t slice_reuse(const TermInput& input) {
  constexpr std::int32_t kEach = 1'000;
  std::int32_t to_create = 0;
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode != GpuMode::kMig || take.milli == 0) continue;
    const GpuInfo& gpu = *input.node.gpus[take.gpu].info;
    const bool exists = std::ranges::any_of(gpu.mig_instances, [&](const Slice& slice) {
      return placement_of(*gpu.mig_table, slice) == take.slice;
    });
    to_create += exists ? 0 : 1;
  }
  return std::max(-kTermBound, -kEach * to_create);
}

std::int32_t left_over_size(const TermInput& input) {
  std::int64_t left = 0;
  for (const DeviceTake& take : input.placement.takes) {
    if (take.mode == GpuMode::kWhole || take.mode == GpuMode::kMig) continue;
    if (is_first_on_its_gpu(input.placement, take)) left += input.node.gpus[take.gpu].left;
    left -= take.milli;
  }
  return points(left * kOne);
}

std::int32_t multi_gpu_room(const TermInput& input) {
  if (input.demand.rooms.empty()) return 0;
  const RoomView now(input.node);
  return points(now.value(input.demand.rooms) -
                now.with(input.placement, milli_of(input), input.host).value(input.demand.rooms));
}

std::int32_t model_scarcity(const TermInput& input) {
  std::int64_t cost = 0;
  for (const DeviceTake& take : input.placement.takes) {
    const GpuState& gpu = input.node.gpus[take.gpu];
    cost += take.milli * input.demand.scarcity[gpu.info->model_number];
  }
  return points(cost);
}

namespace {

/// The least decrease of the fragments, in GPUs x 10^9, from which on 100 x sigmoid reaches 1, 2, …
/// 99: ln(s / (100 - s)).
constexpr std::array<std::int64_t, 99> kSigmoidSteps = {
    -4'595'119'850, -3'891'820'298, -3'476'098'690, -3'178'053'830, -2'944'438'979,
    -2'751'535'313, -2'586'689'344, -2'442'347'035, -2'313'634'929, -2'197'224'577,
    -2'090'741'097, -1'992'430'165, -1'900'958'761, -1'815'289'967, -1'734'601'055,
    -1'658'228'077, -1'585'627'264, -1'516'347'489, -1'450'010'176, -1'386'294'361,
    -1'324'925'415, -1'265'666'373, -1'208'311'206, -1'152'679'510, -1'098'612'289,
    -1'045'968'555, -994'622'575,   -944'461'609,   -895'384'047,   -847'297'860,
    -800'119'300,   -753'771'802,   -708'185'058,   -663'294'217,   -619'039'208,
    -575'364'145,   -532'216'814,   -489'548'225,   -447'312'218,   -405'465'108,
    -363'965'377,   -322'773'392,   -281'851'152,   -241'162'057,   -200'670'695,
    -160'342'650,   -120'144'312,   -80'042'708,    -40'005'335,    0,
    40'005'335,     80'042'708,     120'144'312,    160'342'650,    200'670'695,
    241'162'057,    281'851'152,    322'773'392,    363'965'377,    405'465'108,
    447'312'218,    489'548'225,    532'216'814,    575'364'145,    619'039'208,
    663'294'217,    708'185'058,    753'771'802,    800'119'300,    847'297'860,
    895'384'047,    944'461'609,    994'622'575,    1'045'968'555,  1'098'612'289,
    1'152'679'510,  1'208'311'206,  1'265'666'373,  1'324'925'415,  1'386'294'361,
    1'450'010'176,  1'516'347'489,  1'585'627'264,  1'658'228'077,  1'734'601'055,
    1'815'289'967,  1'900'958'761,  1'992'430'165,  2'090'741'097,  2'197'224'577,
    2'313'634'929,  2'442'347'035,  2'586'689'344,  2'751'535'313,  2'944'438'979,
    3'178'053'830,  3'476'098'690,  3'891'820'298,  4'595'119'850,
};

}  // namespace

std::int32_t fgd(const TermInput& input) {
  FragmentView view = fragment_view(input.node);
  const std::int64_t before = fragment(view, input.demand.typical);
  view.cpu_milli = less(view.cpu_milli, input.host.cpu_milli);
  for (const DeviceTake& take : input.placement.takes) {
    FragmentView::Gpu& gpu = view.gpus[take.gpu];
    gpu.left -= take.milli;
    if (!gpu.slices || take.milli == 0) continue;
    gpu.slices->use = with_slice(*gpu.slices->table, gpu.slices->use, take.slice);
  }
  const std::int64_t gain = before - fragment(view, input.demand.typical);
  // Milli-GPU in parts of kOne to GPUs x 10^9, rounded down.
  const std::int64_t scaled = (gain * 1'000'000) >> kPartBits;
  const auto reached = std::ranges::upper_bound(kSigmoidSteps, scaled) - kSigmoidSteps.begin();
  return static_cast<std::int32_t>(1000 * reached);
}

}  // namespace snug

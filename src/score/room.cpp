#include "score/room.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "snug/base/units.hpp"

namespace snug {
namespace {

/// What a room counts for which so many eighths of a pod have to leave: 0.35^(n/8) in parts of
/// kOne. Less than one in thirty thousand is nothing.
constexpr std::array<std::int64_t, 80> kFade = {
    1'048'576, 919'620, 806'523, 707'335, 620'346, 544'055, 477'146, 418'465, 367'002, 321'867,
    282'283,   247'567, 217'121, 190'419, 167'001, 146'463, 128'451, 112'653, 98'799,  86'649,
    75'992,    66'647,  58'450,  51'262,  44'958,  39'429,  34'580,  30'327,  26'597,  23'326,
    20'458,    17'942,  15'735,  13'800,  12'103,  10'614,  9'309,   8'164,   7'160,   6'280,
    5'507,     4'830,   4'236,   3'715,   3'258,   2'857,   2'506,   2'198,   1'928,   1'691,
    1'483,     1'300,   1'140,   1'000,   877,     769,     675,     592,     519,     455,
    399,       350,     307,     269,     236,     207,     182,     159,     140,     123,
    107,       94,      83,      72,      64,      56,      49,      43,      38,      33,
};

constexpr std::int64_t kNotEver = std::numeric_limits<std::int64_t>::max();

std::int64_t mebibytes(std::int64_t bytes) { return bytes >> 20; }

/// How many of the pods that are left have so much in the mean, in thousandths, whole pods alone.
std::int64_t pods_with(std::int64_t missing, std::int64_t used, std::int64_t crowd) {
  if (missing <= 0) return 0;
  const std::int64_t each =
      std::max<std::int64_t>(1, used * kCrowdOfPod / std::max<std::int64_t>(kCrowdOfPod, crowd));
  return (missing + each - 1) / each * kCrowdOfPod;
}

}  // namespace

RoomView::RoomView(const NodeState& node)
    : node_(node),
      cpu_milli_(node.inventory->host.amounts.cpu_milli - node.host_used.cpu_milli),
      memory_mib_(
          mebibytes(node.inventory->host.amounts.memory_bytes - node.host_used.memory_bytes)),
      crowd_(node.pods * kCrowdOfPod) {
  gpus_.reserve(node.gpus.size());
  for (const GpuState& gpu : node.gpus) {
    const bool usable = gpu.takes_whole && gpu.closure == GpuClosure::kOpen;
    gpus_.push_back({.crowd = gpu.crowd,
                     .host = gpu.host,
                     .model = usable ? ModelSet{1} << gpu.info->model_number : 0});
  }
}

void RoomView::place(PlacementView placement, const HostAmounts& host) {
  cpu_milli_ -= host.cpu_milli;
  memory_mib_ -= mebibytes(host.memory_bytes);
  crowd_ += kCrowdOfPod;
  const auto takes = static_cast<std::int64_t>(placement.takes.size());
  for (const DeviceTake& take : placement.takes) {
    Gpu& gpu = gpus_[take.gpu];
    gpu.crowd += kCrowdOfPod / takes;
    gpu.host += {host.cpu_milli / takes, host.memory_bytes / takes};
  }
}

void RoomView::add_up(ModelSet models) {
  std::vector<const Gpu*> usable;
  for (const Gpu& gpu : gpus_) {
    if ((gpu.model & models) != 0) usable.push_back(&gpu);
  }
  std::ranges::stable_sort(usable, {}, &Gpu::crowd);
  sums_.assign(1, {.crowd = 0, .cpu_milli = cpu_milli_, .memory_mib = memory_mib_});
  for (const Gpu* gpu : usable) {
    Sum sum = sums_.back();
    sum.crowd += gpu->crowd;
    sum.cpu_milli += gpu->host.cpu_milli;
    sum.memory_mib += mebibytes(gpu->host.memory_bytes);
    sums_.push_back(sum);
  }
}

std::int64_t RoomView::leaving(const Sum& sum, std::int64_t rooms, const RoomShape& shape) const {
  const HostAmounts& has = node_.inventory->host.amounts;
  const std::int64_t cpu = rooms * shape.cpu_milli;
  const std::int64_t memory = rooms * shape.memory_mib;
  if (!node_.inventory->host.known) return sum.crowd;
  if (cpu > has.cpu_milli || memory > mebibytes(has.memory_bytes)) return kNotEver;
  const std::int64_t left = crowd_ - sum.crowd;
  return sum.crowd + std::max(pods_with(cpu - sum.cpu_milli, has.cpu_milli - sum.cpu_milli, left),
                              pods_with(memory - sum.memory_mib,
                                        mebibytes(has.memory_bytes) - sum.memory_mib, left));
}

std::int64_t RoomView::value(std::span<const RoomShape> shapes) {
  std::int64_t value = 0;
  ModelSet summed = 0;
  for (const RoomShape& shape : shapes) {
    if (std::cmp_less(gpus_.size(), shape.gpus)) continue;
    if (summed != shape.models) add_up(summed = shape.models);
    std::int64_t counts = 0;
    for (std::int64_t rooms = 1; std::cmp_less(rooms * shape.gpus, sums_.size()); ++rooms) {
      const std::int64_t crowd =
          leaving(sums_[static_cast<std::size_t>(rooms * shape.gpus)], rooms, shape);
      const auto eighths = static_cast<std::size_t>(crowd / (kCrowdOfPod / 8));
      if (crowd == kNotEver || eighths >= kFade.size()) break;
      counts += kFade[eighths];
    }
    value += shape.share * shape.gpus * counts / kOne * kWholeGpu.value;
  }
  return value;
}

}  // namespace snug

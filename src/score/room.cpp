#include "score/room.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "snug/base/units.hpp"

namespace snug {
namespace {

constexpr std::int64_t kNotEver = std::numeric_limits<std::int64_t>::max() / 2;

/// What pods ask has no limit but 64 bits: beyond what any node has all is alike, and sums over
/// GPUs stay far inside.
std::int64_t bounded(std::int64_t amount) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  return std::clamp(amount, -kMost, kMost);
}

std::int64_t mebibytes(std::int64_t bytes) { return bounded(bytes >> 20); }

/// Of which the kubelet's pods hold at least a part.
std::int64_t gpus_of(std::int64_t milli) { return (milli + kWholeGpu.value - 1) / kWholeGpu.value; }

/// What each of so many thousandths of pods has in the mean, of what they have together.
std::int64_t each_of(std::int64_t used, std::int64_t crowd) {
  return std::max<std::int64_t>(1, used * kCrowdOfPod / std::max<std::int64_t>(kCrowdOfPod, crowd));
}

/// How many pods have as much as is missing: in thousandths, but whole ones alone.
std::int64_t pods_with(std::int64_t missing, std::int64_t each) {
  return missing <= 0 ? 0 : (missing + each - 1) / each * kCrowdOfPod;
}

}  // namespace

RoomView::RoomView(const NodeState& node)
    : count_(std::min(node.gpus.size(), kMostRoomGpus)), limited_(node.inventory->host.known) {
  const HostAmounts& has = node.inventory->host.amounts;
  has_ = {.crowd = node.pods * kCrowdOfPod,
          .cpu_milli = bounded(has.cpu_milli),
          .memory_mib = mebibytes(has.memory_bytes)};
  free_ = {.crowd = 0,
           .cpu_milli = bounded(node.host_left().cpu_milli),
           .memory_mib = bounded(node.host_left().memory_mib)};
  for (std::size_t i = 0; i < count_; ++i) {
    const GpuState& gpu = node.gpus[i];
    const bool usable = gpu.takes_whole && gpu.closure == GpuClosure::kOpen;
    gpus_[i] = {.model = usable ? ModelSet{1} << gpu.info->model_number : 0,
                .position = static_cast<std::uint32_t>(i),
                .crowd = gpu.crowd,
                .cpu_milli = bounded(gpu.host.cpu_milli),
                .memory_mib = mebibytes(gpu.host.memory_bytes)};
  }
  by_count_ = node.kubelet_milli;
  hold_by_count(gpus_of(by_count_), std::int64_t{node.kubelet_assigned} * kCrowdOfPod);
  sort();
}

void RoomView::hold_by_count(std::int64_t gpus, std::int64_t crowd) {
  if (gpus <= 0) return;
  const auto each = static_cast<std::int32_t>(std::max<std::int64_t>(1, crowd / gpus));
  for (std::size_t i = 0; i < count_ && gpus > 0; ++i) {
    if (gpus_[i].crowd > 0) continue;
    gpus_[i].crowd = each;
    --gpus;
  }
}

/// By insertion: they are few, and after a placement nearly in order.
void RoomView::sort() {
  for (std::size_t i = 1; i < count_; ++i) {
    for (std::size_t k = i; k > 0 && std::pair(gpus_[k].crowd, gpus_[k].position) <
                                         std::pair(gpus_[k - 1].crowd, gpus_[k - 1].position);
         --k) {
      std::swap(gpus_[k], gpus_[k - 1]);
    }
  }
}

RoomView RoomView::with(PlacementView placement, std::int64_t milli,
                        const HostAmounts& host) const {
  RoomView after = *this;
  after.free_.cpu_milli -= bounded(host.cpu_milli);
  after.free_.memory_mib -= mebibytes(host.memory_bytes);
  after.has_.crowd += kCrowdOfPod;
  const auto gpus =
      static_cast<std::int32_t>(std::ranges::count_if(placement.takes, [&](const DeviceTake& take) {
        return is_first_on_its_gpu(placement, take);
      }));
  if (gpus == 0) {
    after.hold_by_count(gpus_of(by_count_ + milli) - gpus_of(by_count_), kCrowdOfPod);
    after.by_count_ += milli;
  }
  for (const DeviceTake& take : placement.takes) {
    if (!is_first_on_its_gpu(placement, take)) continue;
    for (std::size_t i = 0; i < count_; ++i) {
      Gpu& gpu = after.gpus_[i];
      if (gpu.position != take.gpu) continue;
      gpu.crowd += kCrowdOfPod / gpus;
      gpu.cpu_milli += bounded(host.cpu_milli / gpus);
      gpu.memory_mib += mebibytes(host.memory_bytes / gpus);
      break;
    }
  }
  after.sort();
  return after;
}

std::size_t RoomView::add_up(ModelSet models, Sums& sums) const {
  std::size_t gpus = 0;
  sums[0] = free_;
  for (std::size_t i = 0; i < count_; ++i) {
    const Gpu& gpu = gpus_[i];
    if ((gpu.model & models) == 0) continue;
    const Sum& before = sums[gpus];
    Sum& sum = sums[++gpus];
    sum = {.crowd = before.crowd + gpu.crowd,
           .cpu_milli = before.cpu_milli + gpu.cpu_milli,
           .memory_mib = before.memory_mib + gpu.memory_mib};
    const std::int64_t left = has_.crowd - sum.crowd;
    sum.cpu_each = each_of(has_.cpu_milli - sum.cpu_milli, left);
    sum.memory_each = each_of(has_.memory_mib - sum.memory_mib, left);
  }
  return gpus;
}

std::int64_t RoomView::leaving(const Sum& sum, std::int64_t rooms, const RoomShape& shape) const {
  if (!limited_) return sum.crowd;
  const std::int64_t cpu = rooms * shape.cpu_milli;
  const std::int64_t memory = rooms * shape.memory_mib;
  if (cpu > has_.cpu_milli || memory > has_.memory_mib) return kNotEver;
  return sum.crowd + std::max(pods_with(cpu - sum.cpu_milli, sum.cpu_each),
                              pods_with(memory - sum.memory_mib, sum.memory_each));
}

std::int64_t RoomView::value(std::span<const RoomShape> shapes) const {
  std::int64_t value = 0;
  Sums sums;
  ModelSet summed = 0;
  std::size_t gpus = 0;
  for (const RoomShape& shape : shapes) {
    if (summed != shape.models) gpus = add_up(summed = shape.models, sums);
    const auto of_room = static_cast<std::size_t>(shape.gpus);
    std::int64_t counts = 0;
    for (std::size_t rooms = 1; rooms * of_room <= gpus; ++rooms) {
      const std::int64_t crowd =
          leaving(sums[rooms * of_room], static_cast<std::int64_t>(rooms), shape);
      // To the nearest: the thousandths of a pod on three GPUs do not add up to it.
      constexpr std::int64_t kEighth = kCrowdOfPod / 8;
      const auto eighths = static_cast<std::size_t>((crowd + kEighth / 2) / kEighth);
      if (eighths >= shape.fade.size()) break;
      counts += shape.fade[eighths];
    }
    value += shape.share * shape.gpus * counts / kOne * kWholeGpu.value;
  }
  return value;
}

}  // namespace snug

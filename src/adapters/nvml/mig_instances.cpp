#include "adapters/nvml/mig_instances.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapters/nvml/device_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;

constexpr unsigned kMaxMigDevices = 64;  // drivers have at most 8 on a card
constexpr unsigned kMaxInstances = 64;   // of one profile
constexpr unsigned kMaxComputeProfileNumbers = 32;

/// Adds the instance, unless it is in the list or vanishes.
Status add_instance(const abi::Functions& nvml, abi::GpuInstance handle,
                    std::vector<MigInstance>& instances) {
  MigInstance instance{.handle = handle};
  const Status status = abi::call(nvml.nvmlGpuInstanceGetInfo, handle, &instance.info);
  if (status != Status::kSuccess) return status;
  const bool is_new = std::ranges::none_of(
      instances, [&](const MigInstance& other) { return other.info.id == instance.info.id; });
  if (is_new) instances.push_back(instance);
  return Status::kSuccess;
}

std::expected<ComputeProfileFacts, Status> read_compute_profile(const abi::Functions& nvml,
                                                                abi::GpuInstance instance,
                                                                unsigned number) {
  abi::ComputeProfileInfo2 info{.version = abi::struct_version<abi::ComputeProfileInfo2>(2)};
  Status status = abi::call(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfoV, instance, number,
                            abi::kSharedEngines, &info);
  if (status == Status::kSuccess)
    return ComputeProfileFacts{info.id, info.slices, info.multiprocessors};
  if (status == Status::kFunctionNotFound || status == Status::kArgumentVersionMismatch) {
    abi::ComputeProfileInfo plain{};
    status = abi::call(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance, number,
                       abi::kSharedEngines, &plain);
    if (status == Status::kSuccess)
      return ComputeProfileFacts{plain.id, plain.slices, plain.multiprocessors};
  }
  return std::unexpected(status);
}

}  // namespace

std::expected<std::vector<MigDevice>, Status> list_mig_devices(const abi::Functions& nvml,
                                                               abi::Device device) {
  std::vector<MigDevice> found;
  unsigned count = 0;
  const Status counted = abi::call(nvml.nvmlDeviceGetMaxMigDeviceCount, device, &count);
  if (counted != Status::kSuccess) return std::unexpected(counted);
  for (unsigned index = 0; index < std::min(count, kMaxMigDevices); ++index) {
    MigDevice mig;
    Status status = abi::call(nvml.nvmlDeviceGetMigDeviceHandleByIndex, device, index, &mig.device);
    if (status == Status::kSuccess)
      status = abi::call(nvml.nvmlDeviceGetGpuInstanceId, mig.device, &mig.gpu_instance);
    if (status == Status::kSuccess)
      status = abi::call(nvml.nvmlDeviceGetComputeInstanceId, mig.device, &mig.compute_instance);
    if (is_gone(status)) return std::unexpected(status);
    if (status == Status::kSuccess) found.push_back(mig);
  }
  return found;
}

std::expected<std::vector<MigInstance>, Status> list_instances(
    const abi::Functions& nvml, abi::Device device, const std::vector<DriverProfile>& profiles,
    const std::vector<MigDevice>& mig_devices) {
  std::vector<MigInstance> instances;
  for (const DriverProfile& profile : profiles) {
    std::array<abi::GpuInstance, kMaxInstances> handles{};
    unsigned count = kMaxInstances;
    const Status status =
        abi::call(nvml.nvmlDeviceGetGpuInstances, device, profile.id, handles.data(), &count);
    if (is_gone(status)) return std::unexpected(status);
    if (status != Status::kSuccess) continue;
    for (unsigned i = 0; i < std::min(count, kMaxInstances); ++i) {
      if (const Status added = add_instance(nvml, handles[i], instances); is_gone(added))
        return std::unexpected(added);
    }
  }
  for (const MigDevice& mig : mig_devices) {
    abi::GpuInstance handle = nullptr;
    Status status = abi::call(nvml.nvmlDeviceGetGpuInstanceById, device, mig.gpu_instance, &handle);
    if (status == Status::kSuccess) status = add_instance(nvml, handle, instances);
    if (is_gone(status)) return std::unexpected(status);
  }
  std::ranges::sort(instances, {}, [](const MigInstance& one) {
    return std::pair{one.info.placement.start, one.info.id};
  });
  return instances;
}

std::expected<std::vector<ComputeProfileFacts>, Status> read_compute_profiles(
    const abi::Functions& nvml, abi::GpuInstance instance) {
  std::vector<ComputeProfileFacts> profiles;
  for (unsigned number = 0; number < kMaxComputeProfileNumbers; ++number) {
    const auto profile = read_compute_profile(nvml, instance, number);
    if (profile) {
      profiles.push_back(*profile);
    } else if (is_gone(profile.error())) {
      return std::unexpected(profile.error());
    } else if (number >= abi::kComputeProfiles && profile.error() == Status::kInvalidArgument) {
      break;  // the driver knows no higher number
    }
  }
  return profiles;
}

std::expected<std::vector<MigComputeInstance>, Status> list_compute_instances(
    const abi::Functions& nvml, abi::GpuInstance instance,
    const std::vector<ComputeProfileFacts>& profiles) {
  std::vector<MigComputeInstance> found;
  for (const ComputeProfileFacts& profile : profiles) {
    std::array<abi::ComputeInstance, kMaxInstances> handles{};
    unsigned count = kMaxInstances;
    const Status status = abi::call(nvml.nvmlGpuInstanceGetComputeInstances, instance, profile.id,
                                    handles.data(), &count);
    if (is_gone(status)) return std::unexpected(status);
    if (status != Status::kSuccess) continue;
    for (unsigned i = 0; i < std::min(count, kMaxInstances); ++i)
      found.push_back({handles[i], profile.slices});
  }
  return found;
}

}  // namespace snug::nvml

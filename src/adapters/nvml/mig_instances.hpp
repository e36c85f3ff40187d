// Lists the GPU instances and MIG devices of one GPU in MIG mode. Instances that vanish meanwhile
// are left out. Stateless.
#pragma once

#include <expected>
#include <vector>

#include "adapters/nvml/mig_profiles.hpp"
#include "adapters/nvml/nvml_abi.hpp"

namespace snug::nvml {

/// A compute instance, as processes use it.
struct MigDevice {
  abi::Device device = nullptr;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
[[nodiscard]] std::expected<std::vector<MigDevice>, abi::Status> list_mig_devices(
    const abi::Functions& nvml, abi::Device device);

struct MigInstance {
  abi::GpuInstance handle = nullptr;
  abi::GpuInstanceInfo info{};
};
/// Those of all profiles, and those of `mig_devices`, whose profiles may be unknown. Ascending by
/// start.
[[nodiscard]] std::expected<std::vector<MigInstance>, abi::Status> list_instances(
    const abi::Functions& nvml, abi::Device device, const std::vector<DriverProfile>& profiles,
    const std::vector<MigDevice>& mig_devices);

/// A profile of compute instances, which depends on the GPU instance.
struct ComputeProfileFacts {
  unsigned id = 0;
  unsigned slices = 0;
  unsigned multiprocessors = 0;
};
[[nodiscard]] std::expected<std::vector<ComputeProfileFacts>, abi::Status> read_compute_profiles(
    const abi::Functions& nvml, abi::GpuInstance instance);

/// A compute instance and the number of its compute slices.
struct MigComputeInstance {
  abi::ComputeInstance handle = nullptr;
  unsigned slices = 0;
};
[[nodiscard]] std::expected<std::vector<MigComputeInstance>, abi::Status> list_compute_instances(
    const abi::Functions& nvml, abi::GpuInstance instance,
    const std::vector<ComputeProfileFacts>& profiles);

}  // namespace snug::nvml

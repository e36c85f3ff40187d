#include "adapters/nvml/slice_maker.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "adapters/nvml/device_reader.hpp"
#include "adapters/nvml/mig_instances.hpp"
#include "adapters/nvml/mig_profiles.hpp"
#include "adapters/nvml/named_gpu.hpp"
#include "adapters/nvml/process_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;
using base::ErrorCode;
using base::Result;

constexpr const char* kNoAnswer = "the driver does not say what MIG instances there are";

/// Where a slice is to be.
struct Wanted {
  DriverProfile profile;
  unsigned start = 0;

  [[nodiscard]] std::string text() const {
    return profile.report.name + " at " + std::to_string(start);
  }
};

/// The MIG instances of a GPU, read at once.
struct Layout {
  std::vector<MigDevice> mig_devices;
  std::vector<MigInstance> instances;
};

std::string text_of(const MigInstance& instance) {
  const abi::SlicePlacement& place = instance.info.placement;
  return "GPU instance " + std::to_string(instance.info.id) + " with the memory slices " +
         std::to_string(place.start) + " to " + std::to_string(place.start + place.size - 1);
}

Result<Layout> read_layout(const NamedGpu& gpu, const std::vector<DriverProfile>& profiles) {
  auto mig_devices = list_mig_devices(gpu.nvml, gpu.device);
  if (!mig_devices) return gpu.fail(kNoAnswer, mig_devices.error());
  auto instances = list_instances(gpu.nvml, gpu.device, profiles, *mig_devices);
  if (!instances) return gpu.fail(kNoAnswer, instances.error());
  return Layout{std::move(*mig_devices), std::move(*instances)};
}

Result<std::vector<DriverProfile>> profiles_of(const NamedGpu& gpu) {
  const auto mode = read_mig_mode(gpu.nvml, gpu.device);
  if (!mode) return gpu.fail("the driver does not say whether MIG mode is on", mode.error());
  if (!*mode) return gpu.refuse(ErrorCode::kConflict, "it is not in MIG mode");
  const auto memory = read_memory(gpu.nvml, gpu.device);
  if (!memory) return gpu.fail("the driver does not say its memory", memory.error());
  auto profiles = read_profiles(gpu.nvml, gpu.device, *memory);
  if (!profiles) return gpu.fail("the driver does not say its MIG profiles", profiles.error());
  return std::move(*profiles);
}

Result<Wanted> find_wanted(const NamedGpu& gpu, const std::vector<DriverProfile>& profiles,
                           std::string_view name, int start) {
  const auto found = std::ranges::find_if(profiles, [&](const DriverProfile& profile) {
    return profile.offered && profile.report.name == name;
  });
  if (found == profiles.end())
    return gpu.refuse(ErrorCode::kInvalid, "it has no MIG profile " + std::string(name));
  if (std::ranges::find(found->report.starts, start) == found->report.starts.end()) {
    return gpu.refuse(ErrorCode::kInvalid,
                      "a slice " + std::string(name) + " cannot start at " + std::to_string(start));
  }
  return Wanted{*found, static_cast<unsigned>(start)};
}

/// The instance with the wanted profile, or one of the same name, at the wanted place.
std::optional<MigInstance> find_instance(const std::vector<MigInstance>& instances,
                                         const std::vector<DriverProfile>& profiles,
                                         const Wanted& wanted) {
  for (const MigInstance& instance : instances) {
    const auto profile = std::ranges::find(profiles, instance.info.profile_id, &DriverProfile::id);
    if (profile != profiles.end() && profile->report.name == wanted.profile.report.name &&
        instance.info.placement.start == wanted.start)
      return instance;
  }
  return std::nullopt;
}

/// The profile that fills the instance: of those with all its compute slices the one with the most
/// multiprocessors, and of these the first.
std::optional<ComputeProfileFacts> filling_profile(const std::vector<ComputeProfileFacts>& profiles,
                                                   unsigned slices) {
  std::optional<ComputeProfileFacts> best;
  for (const ComputeProfileFacts& profile : profiles) {
    if (profile.slices == slices && (!best || profile.multiprocessors > best->multiprocessors))
      best = profile;
  }
  return best;
}

/// Gives the GPU instance a compute instance that fills it, unless it has one.
Result<void> fill_instance(const NamedGpu& gpu, const MigInstance& instance, const Wanted& wanted) {
  const std::string failure = "the slice " + wanted.text() + " has GPU instance " +
                              std::to_string(instance.info.id) + ", but ";
  const auto profiles = read_compute_profiles(gpu.nvml, instance.handle);
  if (!profiles) return gpu.fail(failure + "its compute profiles are not known", profiles.error());
  const unsigned slices = wanted.profile.compute_slices;
  const auto look = [&] { return list_compute_instances(gpu.nvml, instance.handle, *profiles); };
  const auto is_full = [&](const std::vector<MigComputeInstance>& found) {
    return found.size() == 1 && found.front().slices == slices;
  };
  const auto before = look();
  if (!before) return gpu.fail(failure + kNoAnswer, before.error());
  if (is_full(*before)) return {};
  if (!before->empty()) {
    return gpu.refuse(ErrorCode::kConflict,
                      failure + "it has compute instances that do not fill it");
  }
  const auto profile = filling_profile(*profiles, slices);
  if (!profile) return gpu.refuse(ErrorCode::kInvalid, failure + "no compute profile fills it");
  abi::ComputeInstance created = nullptr;
  const Status status = abi::call(gpu.nvml.nvmlGpuInstanceCreateComputeInstance, instance.handle,
                                  profile->id, &created);
  if (status == Status::kSuccess) return {};
  if (const auto after = look(); after && is_full(*after)) return {};
  return gpu.fail(failure + "no compute instance can be made", status);
}

/// Fills the instance that was just made, or destroys it again.
Result<void> finish(const NamedGpu& gpu, abi::GpuInstance made, const Wanted& wanted) {
  MigInstance instance{.handle = made};
  const Status known = abi::call(gpu.nvml.nvmlGpuInstanceGetInfo, made, &instance.info);
  Result<void> filled =
      known == Status::kSuccess
          ? fill_instance(gpu, instance, wanted)
          : gpu.fail("the new GPU instance of the slice " + wanted.text() + " is not known", known);
  if (filled) return {};
  const Status undone = abi::call(gpu.nvml.nvmlGpuInstanceDestroy, made);
  if (undone != Status::kSuccess) {
    filled.error().message +=
        "; the GPU instance cannot be destroyed again: " + gpu.library.text_of(undone);
  }
  return filled;
}

/// The driver refused the GPU instance: says what is in the way.
Result<void> refuse_place(const NamedGpu& gpu, const std::vector<MigInstance>& instances,
                          const Wanted& wanted, Status status) {
  const std::string sentence = "the slice " + wanted.text() + " cannot be made";
  const unsigned end = wanted.start + static_cast<unsigned>(wanted.profile.report.size);
  for (const MigInstance& instance : instances) {
    const abi::SlicePlacement& place = instance.info.placement;
    if (place.start >= end || wanted.start >= place.start + place.size) continue;
    return gpu.refuse(ErrorCode::kConflict, sentence + ", since " + text_of(instance) +
                                                " is in the way: " + gpu.library.text_of(status));
  }
  return gpu.fail(sentence, status);
}

std::expected<abi::GpuInstance, Status> instance_by_id(const NamedGpu& gpu, unsigned id) {
  abi::GpuInstance handle = nullptr;
  const Status status = abi::call(gpu.nvml.nvmlDeviceGetGpuInstanceById, gpu.device, id, &handle);
  if (status != Status::kSuccess) return std::unexpected(status);
  return handle;
}

/// NVML says "not supported" without MIG mode.
bool is_absent(Status status) {
  return status == Status::kNotFound || status == Status::kNotSupported;
}

/// Another program destroyed it, so the handle is no longer valid.
bool is_vanished(Status status) {
  return status == Status::kNotFound || status == Status::kInvalidArgument;
}

/// Refuses if a process uses the instance, or the driver does not say that none does.
Result<void> check_idle(const NamedGpu& gpu, unsigned id, std::size_t compute_instances) {
  auto mig_devices = list_mig_devices(gpu.nvml, gpu.device);
  if (!mig_devices) return gpu.fail(kNoAnswer, mig_devices.error());
  std::erase_if(*mig_devices, [&](const MigDevice& mig) { return mig.gpu_instance != id; });
  const auto use = read_instance_use(gpu.nvml, gpu.device, id, *mig_devices, compute_instances);
  if (!use) return gpu.fail("the driver does not say which processes use it", use.error());
  const std::string instance = "GPU instance " + std::to_string(id);
  if (!use->processes.empty()) {
    return gpu.refuse(
        ErrorCode::kConflict,
        "the process " + std::to_string(use->processes.front()) + " uses " + instance);
  }
  if (use->is_known) return {};
  return gpu.refuse(ErrorCode::kConflict,
                    "the driver does not say which processes use " + instance);
}

}  // namespace

Result<void> make_slice(const NvmlLibrary& library, std::string_view gpu_uuid,
                        std::string_view profile, int start) {
  const auto gpu = find_gpu(library, gpu_uuid);
  if (!gpu) return std::unexpected(gpu.error());
  const auto profiles = profiles_of(*gpu);
  if (!profiles) return std::unexpected(profiles.error());
  const auto wanted = find_wanted(*gpu, *profiles, profile, start);
  if (!wanted) return std::unexpected(wanted.error());
  const auto before = read_layout(*gpu, *profiles);
  if (!before) return std::unexpected(before.error());
  if (const auto there = find_instance(before->instances, *profiles, *wanted))
    return fill_instance(*gpu, *there, *wanted);
  const abi::SlicePlacement place{wanted->start,
                                  static_cast<unsigned>(wanted->profile.report.size)};
  abi::GpuInstance made = nullptr;
  const Status status = abi::call(gpu->nvml.nvmlDeviceCreateGpuInstanceWithPlacement, gpu->device,
                                  wanted->profile.id, &place, &made);
  if (status == Status::kSuccess) return finish(*gpu, made, *wanted);
  const auto after = read_layout(*gpu, *profiles);
  if (!after) return std::unexpected(after.error());
  if (const auto there = find_instance(after->instances, *profiles, *wanted))
    return fill_instance(*gpu, *there, *wanted);
  return refuse_place(*gpu, after->instances, *wanted, status);
}

Result<void> destroy_slice(const NvmlLibrary& library, std::string_view gpu_uuid,
                           int gpu_instance) {
  const auto gpu = find_gpu(library, gpu_uuid);
  if (!gpu) return std::unexpected(gpu.error());
  const auto id = static_cast<unsigned>(gpu_instance);
  const std::string text = "GPU instance " + std::to_string(id);
  const auto instance = instance_by_id(*gpu, id);
  if (!instance && is_absent(instance.error())) return {};
  if (!instance)
    return gpu->fail("the driver does not say whether it has " + text, instance.error());
  const auto profiles = read_compute_profiles(gpu->nvml, *instance);
  if (!profiles) return gpu->fail(kNoAnswer, profiles.error());
  const auto compute = list_compute_instances(gpu->nvml, *instance, *profiles);
  if (!compute) return gpu->fail(kNoAnswer, compute.error());
  if (auto idle = check_idle(*gpu, id, compute->size()); !idle) return idle;
  for (const MigComputeInstance& each : *compute) {
    const Status status = abi::call(gpu->nvml.nvmlComputeInstanceDestroy, each.handle);
    if (status != Status::kSuccess && !is_vanished(status))
      return gpu->fail("the compute instance of " + text + " cannot be destroyed", status);
  }
  const Status status = abi::call(gpu->nvml.nvmlGpuInstanceDestroy, *instance);
  if (status == Status::kSuccess) return {};
  if (const auto left = instance_by_id(*gpu, id); !left && is_absent(left.error())) return {};
  return gpu->fail(text + " cannot be destroyed", status);
}

}  // namespace snug::nvml

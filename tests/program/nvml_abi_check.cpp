// Compiles only if src/adapters/nvml/nvml_abi.hpp agrees with NVIDIA's header. nvml_test.py
// compiles it with the folder of that header, which is not part of this tree.
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "adapters/nvml/nvml_abi.hpp"

namespace abi = snug::nvml::abi;

// Structures: the same size, and each member at the same place with the same size.
#define SAME_STRUCT(ours, theirs)                                                              \
  static_assert(sizeof(abi::ours) == sizeof(theirs) && alignof(abi::ours) == alignof(theirs)); \
  template <>                                                                                  \
  inline constexpr bool kSameStruct<abi::ours, theirs> = true;
#define SAME_MEMBER(ours, member, theirs, their_member)                          \
  static_assert(offsetof(abi::ours, member) == offsetof(theirs, their_member) && \
                sizeof(abi::ours::member) == sizeof(theirs::their_member));
#define SAME_VALUE(ours, theirs)                              \
  static_assert(static_cast<unsigned long long>(abi::ours) == \
                static_cast<unsigned long long>(theirs));
#define AT_LEAST(ours, theirs) static_assert(abi::ours >= theirs);

template <typename Ours, typename Theirs>
inline constexpr bool kSameStruct = false;

SAME_STRUCT(PciInfo, nvmlPciInfo_t)
SAME_MEMBER(PciInfo, domain, nvmlPciInfo_t, domain)
SAME_MEMBER(PciInfo, bus, nvmlPciInfo_t, bus)
SAME_MEMBER(PciInfo, device, nvmlPciInfo_t, device)
SAME_MEMBER(PciInfo, bus_id, nvmlPciInfo_t, busId)
SAME_STRUCT(Memory, nvmlMemory_t)
SAME_MEMBER(Memory, total, nvmlMemory_t, total)
SAME_MEMBER(Memory, free, nvmlMemory_t, free)
SAME_MEMBER(Memory, used, nvmlMemory_t, used)
SAME_STRUCT(Memory2, nvmlMemory_v2_t)
SAME_MEMBER(Memory2, version, nvmlMemory_v2_t, version)
SAME_MEMBER(Memory2, total, nvmlMemory_v2_t, total)
SAME_MEMBER(Memory2, reserved, nvmlMemory_v2_t, reserved)
SAME_MEMBER(Memory2, free, nvmlMemory_v2_t, free)
SAME_MEMBER(Memory2, used, nvmlMemory_v2_t, used)
SAME_STRUCT(Utilization, nvmlUtilization_t)
SAME_MEMBER(Utilization, gpu, nvmlUtilization_t, gpu)
SAME_STRUCT(Process, nvmlProcessInfo_t)
SAME_MEMBER(Process, pid, nvmlProcessInfo_t, pid)
SAME_MEMBER(Process, memory, nvmlProcessInfo_t, usedGpuMemory)
SAME_MEMBER(Process, gpu_instance, nvmlProcessInfo_t, gpuInstanceId)
SAME_MEMBER(Process, compute_instance, nvmlProcessInfo_t, computeInstanceId)
SAME_STRUCT(EventData, nvmlEventData_t)
SAME_MEMBER(EventData, device, nvmlEventData_t, device)
SAME_MEMBER(EventData, type, nvmlEventData_t, eventType)
SAME_MEMBER(EventData, data, nvmlEventData_t, eventData)
SAME_MEMBER(EventData, gpu_instance, nvmlEventData_t, gpuInstanceId)
SAME_MEMBER(EventData, compute_instance, nvmlEventData_t, computeInstanceId)
SAME_STRUCT(Value, nvmlValue_t)
SAME_MEMBER(Value, as_unsigned, nvmlValue_t, uiVal)
SAME_STRUCT(FieldValue, nvmlFieldValue_t)
SAME_MEMBER(FieldValue, field, nvmlFieldValue_t, fieldId)
SAME_MEMBER(FieldValue, scope, nvmlFieldValue_t, scopeId)
SAME_MEMBER(FieldValue, value_type, nvmlFieldValue_t, valueType)
SAME_MEMBER(FieldValue, status, nvmlFieldValue_t, nvmlReturn)
SAME_MEMBER(FieldValue, value, nvmlFieldValue_t, value)
SAME_STRUCT(SlicePlacement, nvmlGpuInstancePlacement_t)
SAME_MEMBER(SlicePlacement, start, nvmlGpuInstancePlacement_t, start)
SAME_MEMBER(SlicePlacement, size, nvmlGpuInstancePlacement_t, size)
SAME_STRUCT(SlicePlacement, nvmlComputeInstancePlacement_t)
SAME_STRUCT(GpuProfileInfo, nvmlGpuInstanceProfileInfo_t)
SAME_MEMBER(GpuProfileInfo, id, nvmlGpuInstanceProfileInfo_t, id)
SAME_MEMBER(GpuProfileInfo, slices, nvmlGpuInstanceProfileInfo_t, sliceCount)
SAME_MEMBER(GpuProfileInfo, instances, nvmlGpuInstanceProfileInfo_t, instanceCount)
SAME_MEMBER(GpuProfileInfo, memory_mib, nvmlGpuInstanceProfileInfo_t, memorySizeMB)
SAME_STRUCT(GpuProfileInfo2, nvmlGpuInstanceProfileInfo_v2_t)
SAME_MEMBER(GpuProfileInfo2, version, nvmlGpuInstanceProfileInfo_v2_t, version)
SAME_MEMBER(GpuProfileInfo2, id, nvmlGpuInstanceProfileInfo_v2_t, id)
SAME_MEMBER(GpuProfileInfo2, slices, nvmlGpuInstanceProfileInfo_v2_t, sliceCount)
SAME_MEMBER(GpuProfileInfo2, instances, nvmlGpuInstanceProfileInfo_v2_t, instanceCount)
SAME_MEMBER(GpuProfileInfo2, memory_mib, nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB)
SAME_MEMBER(GpuProfileInfo2, name, nvmlGpuInstanceProfileInfo_v2_t, name)
SAME_STRUCT(GpuInstanceInfo, nvmlGpuInstanceInfo_t)
SAME_MEMBER(GpuInstanceInfo, device, nvmlGpuInstanceInfo_t, device)
SAME_MEMBER(GpuInstanceInfo, id, nvmlGpuInstanceInfo_t, id)
SAME_MEMBER(GpuInstanceInfo, profile_id, nvmlGpuInstanceInfo_t, profileId)
SAME_MEMBER(GpuInstanceInfo, placement, nvmlGpuInstanceInfo_t, placement)
SAME_STRUCT(ComputeProfileInfo, nvmlComputeInstanceProfileInfo_t)
SAME_MEMBER(ComputeProfileInfo, id, nvmlComputeInstanceProfileInfo_t, id)
SAME_MEMBER(ComputeProfileInfo, slices, nvmlComputeInstanceProfileInfo_t, sliceCount)
SAME_MEMBER(ComputeProfileInfo, instances, nvmlComputeInstanceProfileInfo_t, instanceCount)
SAME_STRUCT(ComputeProfileInfo2, nvmlComputeInstanceProfileInfo_v2_t)
SAME_MEMBER(ComputeProfileInfo2, version, nvmlComputeInstanceProfileInfo_v2_t, version)
SAME_MEMBER(ComputeProfileInfo2, id, nvmlComputeInstanceProfileInfo_v2_t, id)
SAME_MEMBER(ComputeProfileInfo2, slices, nvmlComputeInstanceProfileInfo_v2_t, sliceCount)
SAME_MEMBER(ComputeProfileInfo2, instances, nvmlComputeInstanceProfileInfo_v2_t, instanceCount)
SAME_MEMBER(ComputeProfileInfo2, name, nvmlComputeInstanceProfileInfo_v2_t, name)
SAME_STRUCT(ComputeInstanceInfo, nvmlComputeInstanceInfo_t)
SAME_MEMBER(ComputeInstanceInfo, device, nvmlComputeInstanceInfo_t, device)
SAME_MEMBER(ComputeInstanceInfo, gpu_instance, nvmlComputeInstanceInfo_t, gpuInstance)
SAME_MEMBER(ComputeInstanceInfo, id, nvmlComputeInstanceInfo_t, id)
SAME_MEMBER(ComputeInstanceInfo, profile_id, nvmlComputeInstanceInfo_t, profileId)
SAME_MEMBER(ComputeInstanceInfo, placement, nvmlComputeInstanceInfo_t, placement)
SAME_STRUCT(DeviceAttributes, nvmlDeviceAttributes_t)
SAME_MEMBER(DeviceAttributes, gpu_slices, nvmlDeviceAttributes_t, gpuInstanceSliceCount)
SAME_MEMBER(DeviceAttributes, compute_slices, nvmlDeviceAttributes_t, computeInstanceSliceCount)
SAME_MEMBER(DeviceAttributes, memory_mib, nvmlDeviceAttributes_t, memorySizeMB)
SAME_STRUCT(MemoryLimits, nvmlSetMemoryLimits_v1_t)
SAME_MEMBER(MemoryLimits, cgroup, nvmlSetMemoryLimits_v1_t, nameSpace)
SAME_MEMBER(MemoryLimits, soft, nvmlSetMemoryLimits_v1_t, softLimit)
SAME_MEMBER(MemoryLimits, hard, nvmlSetMemoryLimits_v1_t, hardLimit)

SAME_VALUE(Status::kSuccess, NVML_SUCCESS)
SAME_VALUE(Status::kUninitialized, NVML_ERROR_UNINITIALIZED)
SAME_VALUE(Status::kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT)
SAME_VALUE(Status::kNotSupported, NVML_ERROR_NOT_SUPPORTED)
SAME_VALUE(Status::kNoPermission, NVML_ERROR_NO_PERMISSION)
SAME_VALUE(Status::kNotFound, NVML_ERROR_NOT_FOUND)
SAME_VALUE(Status::kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE)
SAME_VALUE(Status::kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED)
SAME_VALUE(Status::kTimeout, NVML_ERROR_TIMEOUT)
SAME_VALUE(Status::kLibraryNotFound, NVML_ERROR_LIBRARY_NOT_FOUND)
SAME_VALUE(Status::kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND)
SAME_VALUE(Status::kGpuIsLost, NVML_ERROR_GPU_IS_LOST)
SAME_VALUE(Status::kResetRequired, NVML_ERROR_RESET_REQUIRED)
SAME_VALUE(Status::kOperatingSystem, NVML_ERROR_OPERATING_SYSTEM)
SAME_VALUE(Status::kVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH)
SAME_VALUE(Status::kInUse, NVML_ERROR_IN_USE)
SAME_VALUE(Status::kInsufficientResources, NVML_ERROR_INSUFFICIENT_RESOURCES)
SAME_VALUE(Status::kArgumentVersionMismatch, NVML_ERROR_ARGUMENT_VERSION_MISMATCH)
SAME_VALUE(Status::kNotReady, NVML_ERROR_NOT_READY)
SAME_VALUE(Status::kGpuNotFound, NVML_ERROR_GPU_NOT_FOUND)
SAME_VALUE(Status::kUnknown, NVML_ERROR_UNKNOWN)
AT_LEAST(kUuidBytes, NVML_DEVICE_UUID_V2_BUFFER_SIZE)
AT_LEAST(kNameBytes, NVML_DEVICE_NAME_V2_BUFFER_SIZE)
AT_LEAST(kDriverVersionBytes, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE)
AT_LEAST(kMaxNvLinks, NVML_NVLINK_MAX_LINKS)
AT_LEAST(kGpuProfiles, NVML_GPU_INSTANCE_PROFILE_COUNT)
AT_LEAST(kComputeProfiles, NVML_COMPUTE_INSTANCE_PROFILE_COUNT)
SAME_VALUE(kRemoteIsGpu, NVML_NVLINK_DEVICE_TYPE_GPU)
SAME_VALUE(kRemoteIsSwitch, NVML_NVLINK_DEVICE_TYPE_SWITCH)
SAME_VALUE(kMigModeOn, NVML_DEVICE_MIG_ENABLE)
SAME_VALUE(kLinkActive, NVML_FEATURE_ENABLED)
SAME_VALUE(kXidEvent, nvmlEventTypeXidCriticalError)
SAME_VALUE(kRecoveryActionField, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION)
SAME_VALUE(kUnsignedIntValue, NVML_VALUE_TYPE_UNSIGNED_INT)
SAME_VALUE(RecoveryAction::kNone, NVML_GPU_RECOVERY_ACTION_NONE)
SAME_VALUE(RecoveryAction::kResetGpu, NVML_GPU_RECOVERY_ACTION_GPU_RESET)
SAME_VALUE(RecoveryAction::kRebootNode, NVML_GPU_RECOVERY_ACTION_NODE_REBOOT)
SAME_VALUE(RecoveryAction::kDrainPeers, NVML_GPU_RECOVERY_ACTION_DRAIN_P2P)
SAME_VALUE(RecoveryAction::kDrainAndReset, NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET)
SAME_VALUE(RecoveryAction::kRecoverImexDomain, NVML_GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN)
SAME_VALUE(RecoveryAction::kResetBus, NVML_GPU_RECOVERY_ACTION_BUS_RESET)
SAME_VALUE(RecoveryAction::kRebootSystem, NVML_GPU_RECOVERY_ACTION_SYSTEM_REBOOT)
SAME_VALUE(GpuProfile::k1, NVML_GPU_INSTANCE_PROFILE_1_SLICE)
SAME_VALUE(GpuProfile::k2, NVML_GPU_INSTANCE_PROFILE_2_SLICE)
SAME_VALUE(GpuProfile::k3, NVML_GPU_INSTANCE_PROFILE_3_SLICE)
SAME_VALUE(GpuProfile::k4, NVML_GPU_INSTANCE_PROFILE_4_SLICE)
SAME_VALUE(GpuProfile::k6, NVML_GPU_INSTANCE_PROFILE_6_SLICE)
SAME_VALUE(GpuProfile::k7, NVML_GPU_INSTANCE_PROFILE_7_SLICE)
SAME_VALUE(GpuProfile::k8, NVML_GPU_INSTANCE_PROFILE_8_SLICE)
SAME_VALUE(GpuProfile::k1Media, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1)
SAME_VALUE(GpuProfile::k2Media, NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1)
SAME_VALUE(GpuProfile::k1DoubleMemory, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2)
SAME_VALUE(GpuProfile::k1Graphics, NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX)
SAME_VALUE(GpuProfile::k2Graphics, NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX)
SAME_VALUE(GpuProfile::k3Graphics, NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX)
SAME_VALUE(GpuProfile::k4Graphics, NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX)
SAME_VALUE(GpuProfile::k1NoMedia, NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME)
SAME_VALUE(GpuProfile::k2NoMedia, NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME)
SAME_VALUE(GpuProfile::k1AllMedia, NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME)
SAME_VALUE(GpuProfile::k2AllMedia, NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME)
SAME_VALUE(ComputeProfile::k1, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE)
SAME_VALUE(ComputeProfile::k2, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE)
SAME_VALUE(ComputeProfile::k3, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE)
SAME_VALUE(ComputeProfile::k4, NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE)
SAME_VALUE(ComputeProfile::k7, NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE)
SAME_VALUE(kSharedEngines, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
static_assert(abi::struct_version<abi::GpuProfileInfo2>(2) == nvmlGpuInstanceProfileInfo_v2);
static_assert(abi::struct_version<abi::ComputeProfileInfo2>(2) ==
              nvmlComputeInstanceProfileInfo_v2);
static_assert(abi::struct_version<abi::Memory2>(2) == nvmlMemory_v2);

// Functions: the same number of parameters, each passed alike, and pointers to the same.
template <typename Ours, typename Theirs>
constexpr bool same_parameter() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using Our = std::remove_pointer_t<Ours>;
    using Their = std::remove_pointer_t<Theirs>;
    if constexpr (std::is_const_v<Our> != std::is_const_v<Their>) {
      return false;
    } else if constexpr (std::is_pointer_v<Our> || std::is_integral_v<Our>) {
      return same_parameter<Our, Their>();
    } else {
      return kSameStruct<std::remove_const_t<Our>, std::remove_const_t<Their>> ||
             (!requires { sizeof(Our); } && !requires { sizeof(Their); });  // both are opaque
    }
  } else {
    return !std::is_pointer_v<Ours> && !std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
  }
}

template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename Result, typename... Ours, typename TheirResult, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameFunction<Result(Ours...), TheirResult(Theirs...)>
    : std::bool_constant<same_parameter<Result, TheirResult>() &&
                         (same_parameter<Ours, Theirs>() && ...)> {};

namespace snug::nvml::abi {
#define SAME_FUNCTION(symbol, result, parameters) \
  static_assert(SameFunction<result parameters, decltype(::symbol)>::value);
SNUG_NVML_FUNCTIONS(SAME_FUNCTION)
}  // namespace snug::nvml::abi

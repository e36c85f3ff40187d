// The binary interface of NVIDIA's management library (libnvidia-ml.so.1), as far as Snug uses it:
// layouts, values and signatures. The names are our own, but for the symbols of functions. The
// structures end in a version where the library has several; a versioned structure begins with
// struct_version() of itself. tests/program/nvml_test.py compares all of it with NVIDIA's
// header. Plain data.
#pragma once

#include <cstddef>

namespace snug::nvml::abi {

/// What each function returns.
enum class Status : unsigned int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kLibraryNotFound = 12,
  kFunctionNotFound = 13,
  kGpuIsLost = 15,
  kResetRequired = 16,
  kOperatingSystem = 17,
  kVersionMismatch = 18,  // of library and driver
  kInUse = 19,
  kInsufficientResources = 23,
  kArgumentVersionMismatch = 25,
  kNotReady = 27,
  kGpuNotFound = 28,
  kUnknown = 999,
};

// Opaque handles. The handle of a MIG device is a Device too.
using Device = struct DeviceObject*;
using GpuInstance = struct GpuInstanceObject*;
using ComputeInstance = struct ComputeInstanceObject*;
using EventSet = struct EventSetObject*;

// Sizes of the buffers for texts, with the terminating zero.
inline constexpr unsigned kUuidBytes = 96;
inline constexpr unsigned kNameBytes = 96;
inline constexpr unsigned kDriverVersionBytes = 80;

inline constexpr unsigned kMaxNvLinks = 36;
inline constexpr unsigned kRemoteIsGpu = 0;  // types of devices at the other end of an NVLink
inline constexpr unsigned kRemoteIsSwitch = 2;
inline constexpr unsigned kMigModeOn = 1;
inline constexpr unsigned kLinkActive = 1;
inline constexpr unsigned long long kXidEvent = 0x8;
/// The id of the field that says what recovers a GPU. Its value is an unsigned int.
inline constexpr unsigned kRecoveryActionField = 230;
inline constexpr unsigned kUnsignedIntValue = 1;
inline constexpr unsigned kNoInstance = 0xFFFF'FFFF;  // in events and processes: no MIG instance

enum class RecoveryAction : unsigned int {
  kNone = 0,
  kResetGpu = 1,
  kRebootNode = 2,
  kDrainPeers = 3,
  kDrainAndReset = 4,
  kRecoverImexDomain = 5,
  kResetBus = 6,
  kRebootSystem = 7,
};

/// Numbers of GPU instance profiles. `+` and `-` of the names of profiles are words here.
enum class GpuProfile : unsigned int {
  k1 = 0x0,
  k2 = 0x1,
  k3 = 0x2,
  k4 = 0x3,
  k7 = 0x4,
  k8 = 0x5,
  k6 = 0x6,
  k1Media = 0x7,
  k2Media = 0x8,
  k1DoubleMemory = 0x9,
  k1Graphics = 0xA,
  k2Graphics = 0xB,
  k4Graphics = 0xC,
  k1NoMedia = 0xD,
  k2NoMedia = 0xE,
  k1AllMedia = 0xF,
  k2AllMedia = 0x10,
  k3Graphics = 0x11,
};
inline constexpr unsigned kGpuProfiles = 0x12;

/// Numbers of compute instance profiles: the count of compute slices decides.
enum class ComputeProfile : unsigned int { k1 = 0, k2 = 1, k3 = 2, k4 = 3, k7 = 4 };
inline constexpr unsigned kComputeProfiles = 0x9;
inline constexpr unsigned kSharedEngines = 0;  // the engine profile of compute instances

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];  // 00000000:3B:00.0
};

struct Memory {
  unsigned long long total;  // bytes
  unsigned long long free;
  unsigned long long used;
};

struct Memory2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

struct Utilization {
  unsigned gpu;  // percent
  unsigned memory;
};

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  // the XID
  unsigned gpu_instance;
  unsigned compute_instance;
};

union Value {
  double as_double;
  unsigned as_unsigned;
  unsigned long long as_unsigned_long;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency;
  unsigned value_type;
  Status status;
  Value value;
};

struct SlicePlacement {
  unsigned start;
  unsigned size;
};

struct GpuProfileInfo {
  unsigned id;
  unsigned peer_to_peer;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  unsigned long long memory_mib;
};

struct GpuProfileInfo2 {
  unsigned version;
  unsigned id;
  unsigned peer_to_peer;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  unsigned long long memory_mib;
  char name[kNameBytes];
};

struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  SlicePlacement placement;
};

struct ComputeProfileInfo {
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
};

struct ComputeProfileInfo2 {
  unsigned version;
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  char name[kNameBytes];
};

struct ComputeInstanceInfo {
  Device device;  // the MIG device
  GpuInstance gpu_instance;
  unsigned id;
  unsigned profile_id;
  SlicePlacement placement;  // in compute slices of the GPU instance
};

struct DeviceAttributes {
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpeg_engines;
  unsigned ofa_engines;
  unsigned gpu_slices;      // of the MIG device's GPU instance
  unsigned compute_slices;  // of its compute instance
  unsigned long long memory_mib;
};

/// What processes of a cgroup can allocate on a GPU.
struct MemoryLimits {
  const char* cgroup;       // its path in the file system
  unsigned long long soft;  // bytes that are kept for it
  unsigned long long hard;  // bytes; allocations beyond them fail
};

/// The first member of a versioned structure.
template <typename Struct>
[[nodiscard]] constexpr unsigned struct_version(unsigned version) {
  return static_cast<unsigned>(sizeof(Struct)) | version << 24U;
}

// clang-format off
/// ROW(symbol, result, parameters). A driver may be older than any of these functions.
#define SNUG_NVML_FUNCTIONS(ROW)                                                                       \
  ROW(nvmlInit_v2, Status, ())                                                                         \
  ROW(nvmlShutdown, Status, ())                                                                        \
  ROW(nvmlErrorString, const char*, (Status))                                                          \
  ROW(nvmlSystemGetDriverVersion, Status, (char*, unsigned))                                           \
  ROW(nvmlDeviceGetCount_v2, Status, (unsigned*))                                                      \
  ROW(nvmlDeviceGetHandleByIndex_v2, Status, (unsigned, Device*))                                      \
  ROW(nvmlDeviceGetHandleByUUID, Status, (const char*, Device*))                                       \
  ROW(nvmlDeviceGetUUID, Status, (Device, char*, unsigned))                                            \
  ROW(nvmlDeviceGetName, Status, (Device, char*, unsigned))                                            \
  ROW(nvmlDeviceGetMinorNumber, Status, (Device, unsigned*))                                           \
  ROW(nvmlDeviceGetPciInfo_v3, Status, (Device, PciInfo*))                                             \
  ROW(nvmlDeviceGetMemoryInfo, Status, (Device, Memory*))                                              \
  ROW(nvmlDeviceGetMemoryInfo_v2, Status, (Device, Memory2*))                                          \
  ROW(nvmlDeviceGetUtilizationRates, Status, (Device, Utilization*))                                   \
  ROW(nvmlDeviceGetComputeRunningProcesses_v3, Status, (Device, unsigned*, Process*))                  \
  ROW(nvmlDeviceGetGraphicsRunningProcesses_v3, Status, (Device, unsigned*, Process*))                 \
  ROW(nvmlDeviceGetMPSComputeRunningProcesses_v3, Status, (Device, unsigned*, Process*))               \
  ROW(nvmlDeviceSetMemoryLimits_v1, Status, (Device, MemoryLimits*))                                   \
  ROW(nvmlDeviceGetFieldValues, Status, (Device, int, FieldValue*))                                    \
  ROW(nvmlDeviceGetNvLinkState, Status, (Device, unsigned, unsigned*))                                 \
  ROW(nvmlDeviceGetNvLinkRemotePciInfo_v2, Status, (Device, unsigned, PciInfo*))                       \
  ROW(nvmlDeviceGetNvLinkRemoteDeviceType, Status, (Device, unsigned, unsigned*))                      \
  ROW(nvmlEventSetCreate, Status, (EventSet*))                                                         \
  ROW(nvmlEventSetFree, Status, (EventSet))                                                            \
  ROW(nvmlEventSetWait_v2, Status, (EventSet, EventData*, unsigned))                                   \
  ROW(nvmlDeviceGetSupportedEventTypes, Status, (Device, unsigned long long*))                         \
  ROW(nvmlDeviceRegisterEvents, Status, (Device, unsigned long long, EventSet))                        \
  ROW(nvmlDeviceGetMigMode, Status, (Device, unsigned*, unsigned*))                                    \
  ROW(nvmlDeviceGetMaxMigDeviceCount, Status, (Device, unsigned*))                                     \
  ROW(nvmlDeviceGetMigDeviceHandleByIndex, Status, (Device, unsigned, Device*))                        \
  ROW(nvmlDeviceGetGpuInstanceId, Status, (Device, unsigned*))                                         \
  ROW(nvmlDeviceGetComputeInstanceId, Status, (Device, unsigned*))                                     \
  ROW(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, Status, (Device, Device*))                         \
  ROW(nvmlDeviceGetAttributes_v2, Status, (Device, DeviceAttributes*))                                 \
  ROW(nvmlDeviceGetGpuInstanceProfileInfo, Status, (Device, unsigned, GpuProfileInfo*))                \
  ROW(nvmlDeviceGetGpuInstanceProfileInfoV, Status, (Device, unsigned, GpuProfileInfo2*))              \
  ROW(nvmlDeviceGetGpuInstancePossiblePlacements_v2, Status, (Device, unsigned, SlicePlacement*, unsigned*)) \
  ROW(nvmlDeviceCreateGpuInstanceWithPlacement, Status, (Device, unsigned, const SlicePlacement*, GpuInstance*)) \
  ROW(nvmlDeviceGetGpuInstances, Status, (Device, unsigned, GpuInstance*, unsigned*))                  \
  ROW(nvmlDeviceGetGpuInstanceById, Status, (Device, unsigned, GpuInstance*))                          \
  ROW(nvmlGpuInstanceGetInfo, Status, (GpuInstance, GpuInstanceInfo*))                                 \
  ROW(nvmlGpuInstanceDestroy, Status, (GpuInstance))                                                   \
  ROW(nvmlGpuInstanceGetComputeInstanceProfileInfo, Status, (GpuInstance, unsigned, unsigned, ComputeProfileInfo*)) \
  ROW(nvmlGpuInstanceGetComputeInstanceProfileInfoV, Status, (GpuInstance, unsigned, unsigned, ComputeProfileInfo2*)) \
  ROW(nvmlGpuInstanceCreateComputeInstance, Status, (GpuInstance, unsigned, ComputeInstance*))         \
  ROW(nvmlGpuInstanceGetComputeInstances, Status, (GpuInstance, unsigned, ComputeInstance*, unsigned*)) \
  ROW(nvmlGpuInstanceGetComputeInstanceById, Status, (GpuInstance, unsigned, ComputeInstance*))        \
  ROW(nvmlComputeInstanceGetInfo_v2, Status, (ComputeInstance, ComputeInstanceInfo*))                  \
  ROW(nvmlComputeInstanceDestroy, Status, (ComputeInstance))
// clang-format on

/// The functions of a loaded library. Null: the library does not have it.
struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): they are parts of a declaration
#define SNUG_NVML_MEMBER(symbol, result, parameters) result(*symbol) parameters = nullptr;
  SNUG_NVML_FUNCTIONS(SNUG_NVML_MEMBER)
#undef SNUG_NVML_MEMBER
};

/// Calls `function`, or says that there is none.
template <typename Function, typename... Arguments>
[[nodiscard]] Status call(Function function, Arguments... arguments) {
  return function == nullptr ? Status::kFunctionNotFound : function(arguments...);
}

}  // namespace snug::nvml::abi

// A stand-in for CUDA's driver library, libcuda.so.1, in containers: as many functions as
// snug-observe uses. Its devices are the device nodes /dev/nvidiaN, whose uuids are those of
// nvml_state.py. It keeps to the limits of MPS and HAMi-core, by their variables, unless it is
// compiled with SNUG_STANDIN_UNLIMITED.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kMaxDevices = 8;
constexpr std::size_t kBytesOfMib = 1'048'576;
constexpr std::size_t kCardMib = 40'960;

std::size_t allocated_bytes = 0;

/// The minor number of the device `ordinal`; -1: there is none.
int minor_of(int ordinal) {
  for (int number = 0; number < kMaxDevices; ++number) {
    const std::string path = "/dev/nvidia" + std::to_string(number);
    if (::access(path.c_str(), F_OK) == 0 && ordinal-- == 0) return number;
  }
  return -1;
}

#ifdef SNUG_STANDIN_UNLIMITED
std::size_t limit_bytes() { return kCardMib * kBytesOfMib; }
#else
/// The MiB in a variable such as `0=2048M` or `2048m`; the whole card if it is not set.
std::size_t limit_in(const char* name, std::size_t prefix) {
  const char* const value = std::getenv(name);
  return value == nullptr ? kCardMib : std::strtoul(value + prefix, nullptr, 10);
}

std::size_t limit_bytes() {
  const std::size_t by_mps = limit_in("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", 2);
  const std::size_t by_hami = limit_in("CUDA_DEVICE_MEMORY_LIMIT_0", 0);
  return (by_mps < by_hami ? by_mps : by_hami) * kBytesOfMib;
}
#endif

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) { return minor_of(0) < 0 ? kNoDevice : kSuccess; }

int cuDeviceGetCount(int* count) {
  *count = 0;
  while (minor_of(*count) >= 0) ++*count;
  return kSuccess;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return minor_of(ordinal) < 0 ? kInvalidValue : kSuccess;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  constexpr std::array<unsigned char, 16> kUuid{0,    0,    0,    0,    0x11, 0x11, 0x22, 0x22,
                                                0x33, 0x33, 0x44, 0x44, 0x44, 0x44, 0x44, 0x44};
  for (std::size_t i = 0; i < kUuid.size(); ++i) uuid[i] = kUuid[i];
  uuid[3] = static_cast<unsigned char>(minor_of(device));
  return kSuccess;
}

int cuDevicePrimaryCtxRetain(void** context, int /*device*/) {
  *context = nullptr;
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int /*device*/) { return kSuccess; }
int cuCtxSetCurrent(void* /*context*/) { return kSuccess; }

int cuMemGetInfo_v2(std::size_t* free_bytes, std::size_t* total_bytes) {
  *total_bytes = limit_bytes();
  *free_bytes = *total_bytes - allocated_bytes;
  return kSuccess;
}

int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (allocated_bytes + bytes > limit_bytes()) return kOutOfMemory;
  allocated_bytes += bytes;
  *address = bytes;  // so that it can be freed
  return kSuccess;
}

int cuMemFree_v2(unsigned long long address) {
  allocated_bytes -= address;
  return kSuccess;
}

}  // extern "C"

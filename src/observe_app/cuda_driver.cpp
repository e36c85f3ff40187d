#include "observe_app/cuda_driver.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "snug/verify/verify_limits.hpp"

namespace snug::observe_app {
namespace {

using Result = int;                  // CUresult
using Device = int;                  // CUdevice
using Context = void*;               // CUcontext
using Address = unsigned long long;  // CUdeviceptr

constexpr Result kSuccess = 0;
constexpr Result kOutOfMemory = 2;
constexpr std::int64_t kBytesOfMib = 1'048'576;
constexpr std::size_t kUuidBytes = 16;

/// 16 bytes as 8-4-4-4-12 hexadecimal digits.
std::string uuid_text(const std::array<unsigned char, kUuidBytes>& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

/// The library, and the first problem with it. Each call does nothing after a problem.
class Library {
 public:
  explicit Library(verify::SeenCuda& cuda)
      : cuda_(cuda), handle_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      const char* const problem = ::dlerror();
      cuda_.problem = problem == nullptr ? "libcuda.so.1 cannot be loaded" : problem;
      return;
    }
    // Not by the address of a function: HAMi-core puts its own functions in their place.
    link_map* about = nullptr;
    const bool is_known =
        ::dlinfo(handle_, RTLD_DI_LINKMAP, static_cast<void*>(&about)) == 0 && about != nullptr;
    cuda_.library = is_known ? about->l_name : "libcuda.so.1";
  }
  // It stays loaded: the program ends soon, and drivers do not like to be unloaded.

  template <typename... Arguments>
  Result call(const char* name, Arguments... arguments) {
    using Function = Result (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr) {
      note(std::string("the library has no ") + name);
      return -1;
    }
    return function(arguments...);
  }
  /// The same, for a call that must succeed.
  template <typename... Arguments>
  bool must(const char* name, Arguments... arguments) {
    if (!cuda_.problem.empty()) return false;
    const Result result = call(name, arguments...);
    if (result != kSuccess) note(std::string(name) + " returns " + std::to_string(result));
    return result == kSuccess;
  }
  [[nodiscard]] bool has(const char* name) const { return ::dlsym(handle_, name) != nullptr; }

 private:
  void note(const std::string& problem) {
    if (cuda_.problem.empty()) cuda_.problem = problem;
  }

  verify::SeenCuda& cuda_;
  void* handle_;
};

/// Allocates step by step until the first failure, and frees all.
void allocate(Library& library, std::int64_t wanted_mib, verify::SeenAllocation& allocation) {
  std::vector<Address> blocks;
  while (allocation.got_mib < wanted_mib) {
    const std::int64_t step = std::min(verify::kAllocationStepMib, wanted_mib - allocation.got_mib);
    Address block = 0;
    const Result result =
        library.call("cuMemAlloc_v2", &block, static_cast<std::size_t>(step * kBytesOfMib));
    allocation.out_of_memory = result == kOutOfMemory;
    if (result != kSuccess) break;
    blocks.push_back(block);
    allocation.got_mib += step;
  }
  for (const Address block : blocks) library.call("cuMemFree_v2", block);
}

}  // namespace

void observe_cuda(std::int64_t allocate_mib, verify::Observation& seen) {
  Library library(seen.cuda);
  int devices = 0;
  Device device = 0;
  if (!library.must("cuInit", 0U) || !library.must("cuDeviceGetCount", &devices)) return;
  seen.cuda.devices = devices;
  if (devices == 0 || !library.must("cuDeviceGet", &device, 0)) return;
  std::array<unsigned char, kUuidBytes> uuid{};
  // The second version names a MIG slice, the first one its card.
  const char* const get_uuid =
      library.has("cuDeviceGetUuid_v2") ? "cuDeviceGetUuid_v2" : "cuDeviceGetUuid";
  if (library.must(get_uuid, uuid.data(), device)) seen.cuda.uuid = uuid_text(uuid);
  Context context = nullptr;
  if (!library.must("cuDevicePrimaryCtxRetain", &context, device)) return;
  std::size_t free = 0;
  std::size_t total = 0;
  if (library.must("cuCtxSetCurrent", context) && library.must("cuMemGetInfo_v2", &free, &total)) {
    seen.cuda.total_mib = static_cast<std::int64_t>(total) / kBytesOfMib;
    seen.allocation.wanted_mib = allocate_mib;
    allocate(library, allocate_mib, seen.allocation);
  }
  library.call("cuDevicePrimaryCtxRelease_v2", device);
}

}  // namespace snug::observe_app

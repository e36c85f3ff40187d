#include "adapters/nvml/nvml_library.hpp"

#include <dlfcn.h>

#include <utility>

namespace snug::nvml {

using abi::Status;

std::expected<NvmlLibrary, Status> NvmlLibrary::open(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::unexpected(Status::kLibraryNotFound);
  abi::Functions functions;
#define SNUG_NVML_FIND(symbol, result, parameters)                           \
  /* NOLINTNEXTLINE(bugprone-macro-parentheses): they are parts of a type */ \
  functions.symbol = reinterpret_cast<result(*) parameters>(dlsym(handle, #symbol));
  using abi::ComputeInstance, abi::ComputeInstanceInfo, abi::ComputeProfileInfo,
      abi::ComputeProfileInfo2, abi::Device, abi::DeviceAttributes, abi::EventData, abi::EventSet,
      abi::FieldValue, abi::GpuInstance, abi::GpuInstanceInfo, abi::GpuProfileInfo,
      abi::GpuProfileInfo2, abi::Memory, abi::Memory2, abi::MemoryLimits, abi::PciInfo,
      abi::SlicePlacement, abi::Process, abi::Utilization;
  SNUG_NVML_FUNCTIONS(SNUG_NVML_FIND)
#undef SNUG_NVML_FIND
  if (const Status status = abi::call(functions.nvmlInit_v2); status != Status::kSuccess) {
    dlclose(handle);
    return std::unexpected(status);
  }
  NvmlLibrary library;
  library.handle_ = handle;
  library.functions_ = functions;
  return library;
}

NvmlLibrary::NvmlLibrary(NvmlLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), functions_(other.functions_) {}

NvmlLibrary& NvmlLibrary::operator=(NvmlLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(functions_, other.functions_);
  return *this;
}

NvmlLibrary::~NvmlLibrary() {
  if (handle_ == nullptr) return;
  (void)abi::call(functions_.nvmlShutdown);
  dlclose(handle_);
}

std::string NvmlLibrary::text_of(Status status) const {
  const char* text =
      functions_.nvmlErrorString == nullptr ? nullptr : functions_.nvmlErrorString(status);
  return "NVML: " + std::string(text == nullptr ? "error" : text) + " (" +
         std::to_string(static_cast<unsigned>(status)) + ")";
}

}  // namespace snug::nvml

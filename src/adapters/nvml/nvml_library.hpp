// A loaded management library: opens it by dlopen, finds its functions by dlsym, and initialises
// it. Not thread-safe apart from `functions`, whose calls are. Errors are NVML's status.
#pragma once

#include <expected>
#include <string>

#include "adapters/nvml/nvml_abi.hpp"

namespace snug::nvml {

class NvmlLibrary {
 public:
  /// kLibraryNotFound: it cannot be loaded, which is so where no driver is installed.
  [[nodiscard]] static std::expected<NvmlLibrary, abi::Status> open(const std::string& path);

  NvmlLibrary(NvmlLibrary&& other) noexcept;
  NvmlLibrary& operator=(NvmlLibrary&& other) noexcept;
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;
  /// Shuts the library down and unloads it, so that the next one that is opened may be a newer
  /// version.
  ~NvmlLibrary();

  [[nodiscard]] const abi::Functions& functions() const { return functions_; }
  /// `NVML: GPU is lost (15)`
  [[nodiscard]] std::string text_of(abi::Status status) const;

 private:
  NvmlLibrary() = default;

  void* handle_ = nullptr;  // of dlopen
  abi::Functions functions_;
};

}  // namespace snug::nvml

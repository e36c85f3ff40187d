// A GPU that a caller names by its uuid, with what the calls that change it need: the library and
// sentences for errors. Stateless.
#pragma once

#include <string>
#include <string_view>

#include "adapters/nvml/nvml_abi.hpp"
#include "adapters/nvml/nvml_library.hpp"
#include "snug/base/result.hpp"

namespace snug::nvml {

struct NamedGpu {
  const NvmlLibrary& library;
  const abi::Functions& nvml;
  abi::Device device = nullptr;
  std::string uuid;

  /// `GPU <uuid>: <sentence>`
  [[nodiscard]] std::unexpected<base::Error> refuse(base::ErrorCode code,
                                                    const std::string& sentence) const;
  /// The same for a call of the driver, with what it said; its status gives the code.
  [[nodiscard]] std::unexpected<base::Error> fail(const std::string& sentence,
                                                  abi::Status status) const;
};

/// kNotFound: the driver has no such GPU.
[[nodiscard]] base::Result<NamedGpu> find_gpu(const NvmlLibrary& library, std::string_view uuid);

}  // namespace snug::nvml

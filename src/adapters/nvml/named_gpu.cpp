#include "adapters/nvml/named_gpu.hpp"

#include "adapters/nvml/device_reader.hpp"

namespace snug::nvml {
namespace {

using abi::Status;
using base::ErrorCode;

ErrorCode code_of(Status status) {
  if (is_gone(status) || status == Status::kTimeout) return ErrorCode::kUnavailable;
  switch (status) {
    case Status::kInUse:
    case Status::kInsufficientResources:
      return ErrorCode::kConflict;
    case Status::kNotFound:
      return ErrorCode::kNotFound;
    case Status::kInvalidArgument:
    case Status::kNotSupported:
      return ErrorCode::kInvalid;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

std::unexpected<base::Error> NamedGpu::refuse(ErrorCode code, const std::string& sentence) const {
  return base::fail(code, "GPU " + uuid + ": " + sentence);
}

std::unexpected<base::Error> NamedGpu::fail(const std::string& sentence, Status status) const {
  return refuse(code_of(status), sentence + ": " + library.text_of(status));
}

base::Result<NamedGpu> find_gpu(const NvmlLibrary& library, std::string_view uuid) {
  NamedGpu gpu{.library = library, .nvml = library.functions(), .uuid = std::string(uuid)};
  const Status status =
      abi::call(gpu.nvml.nvmlDeviceGetHandleByUUID, gpu.uuid.c_str(), &gpu.device);
  if (status != Status::kSuccess) return gpu.fail("the driver does not find it", status);
  return gpu;
}

}  // namespace snug::nvml

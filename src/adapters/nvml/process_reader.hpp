// Which processes use a GPU instance, as far as the driver says. Stateless.
#pragma once

#include <expected>
#include <vector>

#include "adapters/nvml/mig_instances.hpp"
#include "adapters/nvml/nvml_abi.hpp"

namespace snug::nvml {

struct InstanceUse {
  /// False: the driver lists the CUDA processes neither of the whole GPU nor of each of the
  /// instance's MIG devices, so there may be some.
  bool is_known = false;
  std::vector<unsigned> processes;  // ascending
};

/// Processes with contexts of CUDA, of graphics and of MPS. `mig_devices`: those of the instance,
/// which has `compute_instances` compute instances.
[[nodiscard]] std::expected<InstanceUse, abi::Status> read_instance_use(
    const abi::Functions& nvml, abi::Device gpu, unsigned gpu_instance,
    const std::vector<MigDevice>& mig_devices, std::size_t compute_instances);

}  // namespace snug::nvml

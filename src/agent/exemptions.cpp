#include "snug/agent/exemptions.hpp"

#include <algorithm>

#include "snug/model/model_patterns.hpp"

namespace snug::agent {

// Service accounts: NVIDIA/gpu-operator, assets/*/0100_service_account.yaml (nvidia-driver,
// nvidia-container-toolkit, nvidia-device-plugin, nvidia-gpu-feature-discovery, nvidia-dcgm,
// nvidia-dcgm-exporter, nvidia-mig-manager, nvidia-operator-validator, nvidia-node-status-exporter)
// and assets/state-dra-driver; NVIDIA/k8s-device-plugin, deployments/helm and
// deployments/static/nvidia-device-plugin-privileged-with-service-account.yml (`default`, if the
// chart creates none); NVIDIA/k8s-dra-driver-gpu, deployments/helm/*/templates/_helpers.tpl;
// NVIDIA/dcgm-exporter, deployment/templates/_helpers.tpl. The static manifest of the device
// plug-in runs as kube-system's `default`, which is too broad for a default.
const std::vector<Exemption>& default_exemptions() {
  static const std::vector<Exemption> rows = {
      {"gpu-operator", "nvidia-*"},
      {"gpu-operator-resources", "nvidia-*"},
      {"nvidia-gpu-operator", "nvidia-*"},  // OpenShift
      {"nvidia-device-plugin", "*"},
      {"nvidia-dra-driver-gpu", "*dra-driver*"},
      {"nvidia-dra-driver-gpu", "compute-domain-daemon*"},
      {"dra-driver-nvidia-gpu", "*dra-driver*"},
      {"dra-driver-nvidia-gpu", "compute-domain-daemon*"},
      {"dcgm-exporter", "*dcgm-exporter*"},
  };
  return rows;
}

bool is_exempt(std::span<const Exemption> exemptions, std::string_view name_space,
               std::string_view service_account) {
  return std::ranges::any_of(exemptions, [&](const Exemption& row) {
    return model::glob_matches(row.name_space, name_space) &&
           model::glob_matches(row.service_account, service_account);
  });
}

bool may_be_exempt(std::span<const Exemption> exemptions, std::string_view name_space) {
  return std::ranges::any_of(exemptions, [&](const Exemption& row) {
    return model::glob_matches(row.name_space, name_space);
  });
}

}  // namespace snug::agent

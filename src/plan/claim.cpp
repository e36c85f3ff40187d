#include "snug/plan/claim.hpp"

namespace snug {

Tenant tenant_of(std::string_view name_space, const SharingRules& sharing,
                 const NamespaceUse& held) {
  Tenant tenant{.name_space = name_space, .rules = &sharing};
  if (const auto& cap = sharing.of(name_space).cap) {
    tenant.cap_left = cap->value - held.of(name_space).value;
  }
  return tenant;
}

std::string memo_key(const Claim& claim) {
  const SharingRule& rule = claim.sharing.of(claim.name_space);
  if (rule.cap) return {};
  std::string key = claim.profiles.key() + '\n';
  if (rule.require_enforcement) key += "enforced\n";
  if (claim.sharing.any_apart()) key.append(claim.name_space).append("\n");
  key +=
      std::to_string(claim.host.cpu_milli) + ' ' + std::to_string(claim.host.memory_bytes) + '\n';
  for (const ContainerRequest& asked : claim.request.containers) {
    key += std::to_string(static_cast<int>(asked.kind)) + asked.text + '\n';
  }
  return key;
}

}  // namespace snug

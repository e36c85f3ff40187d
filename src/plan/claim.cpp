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

}  // namespace snug

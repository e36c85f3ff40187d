#include "snug/plan/incoming_pod.hpp"

#include "snug/fit/other_enforcer.hpp"

namespace snug::plan {

std::string verdict_cache_key(const IncomingPod& incoming) {
  const model::SharingRule& rule = incoming.sharing.rule_for(incoming.name_space);
  if (rule.cap) return {};
  std::string key = incoming.profiles.cache_key() + '\n';
  if (rule.require_enforcement) key += "enforced\n";
  if (incoming.sharing.isolates_any_namespace()) key.append(incoming.name_space).append("\n");
  key += std::to_string(incoming.host.cpu_milli) + ' ' +
         std::to_string(incoming.host.memory_bytes) + '\n';
  for (const model::ContainerRequest& container_request : incoming.request.containers) {
    key += std::to_string(static_cast<int>(container_request.type)) + container_request.text + '\n';
    if (fit::is_long_for_fractions(container_request)) key += "long name\n";
  }
  return key;
}

}  // namespace snug::plan

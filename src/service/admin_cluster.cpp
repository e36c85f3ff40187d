#include "snug/codec/admin_cluster_codec.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::service {

Reply AdminService::cluster() {
  const MeasuredUsage measured = parts_.usage.measure();
  return {200,
          codec::write_cluster(measured.usage,
                               {.generation = measured.policy.version,
                                .default_profile = measured.policy.policy->default_profile_name})};
}

Reply AdminService::history() {
  return {200, codec::write_history(parts_.usage.interval(), parts_.usage.history())};
}

Reply AdminService::policy() {
  const ShownPolicy policy = parts_.policy.shown();
  return {200, codec::write_policy(policy.version, policy.text->source, policy.text->yaml)};
}

}  // namespace snug::service

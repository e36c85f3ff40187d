// Writes the JSON replies of GET /v1/cluster, GET /v1/history and GET /v1/policy on the admin port.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snug/usage/cluster_usage.hpp"

namespace snug::codec {

/// What GET /v1/cluster shows of the policy in force.
struct PolicySummary {
  std::uint64_t generation = 0;
  std::string_view default_profile;
};

[[nodiscard]] std::string write_cluster(const usage::ClusterUsage& usage,
                                        const PolicySummary& policy);
[[nodiscard]] std::string write_history(std::chrono::milliseconds interval,
                                        std::span<const usage::UsagePoint> points);
/// `source`: `default`, or the path of the policy file. `yaml`: the text that was loaded.
[[nodiscard]] std::string write_policy(std::uint64_t generation, std::string_view source,
                                       std::string_view yaml);

}  // namespace snug::codec

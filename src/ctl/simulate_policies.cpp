#include "ctl/simulate_policies.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/codec/policy_codec.hpp"
#include "snug/codec/policy_reply.hpp"
#include "snug/config/files.hpp"

namespace snug::ctl {
namespace {

base::Result<score::PolicyPtr> read_one_policy(std::string_view text, std::string_view source) {
  base::Result<score::Policy> policy = codec::read_policy(text, source, base::Limits{});
  if (!policy) return std::unexpected(policy.error());
  return std::make_shared<const score::Policy>(std::move(*policy));
}

/// Returns possible names of a policy: its default profile, the file's name without extension, and
/// the file's path. Only the path is certain to be unique.
std::vector<std::string> possible_names(const std::string& path, const score::Policy& policy) {
  return {policy.default_profile_name, std::filesystem::path(path).stem().string(), path};
}

/// Gives each policy the first of its possible names that no other policy has.
void make_names_unique(std::vector<NamedPolicy>& policies, const std::vector<std::string>& paths) {
  std::vector<std::size_t> levels(policies.size(), 0);
  const auto rename = [&](std::size_t i) {
    policies[i].name = possible_names(paths[i], *policies[i].policy)[levels[i]];
  };
  for (std::size_t i = 0; i < policies.size(); ++i) rename(i);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::size_t> ambiguous;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const auto same = std::ranges::count(policies, policies[i].name, &NamedPolicy::name);
      if (same > 1 && levels[i] < 2) ambiguous.push_back(i);
    }
    for (const std::size_t i : ambiguous) {
      ++levels[i];
      rename(i);
      changed = true;
    }
  }
}

base::Result<NamedPolicy> read_policy_in_force(const ConnectionFlags& flags) {
  auto connection = AdminConnection::open(flags);
  if (!connection) return std::unexpected(connection.error());
  const std::string& server = connection->name();
  const auto reply = connection->get("/v1/policy");
  if (!reply) return base::fail(reply.error().code, "--server: " + reply.error().message);
  const auto in_force = codec::read_policy_reply(*reply);
  if (!in_force) {
    return base::fail(base::ErrorCode::kInvalid, server + ": " + in_force.error().message);
  }
  auto policy = read_one_policy(in_force->yaml, server + ": the policy in force");
  if (!policy) return std::unexpected(policy.error());
  return NamedPolicy{"in force: " + (*policy)->default_profile_name, *policy};
}

}  // namespace

base::Result<std::vector<NamedPolicy>> read_simulated_policies(
    const std::vector<std::string>& paths, const ConnectionFlags& connection) {
  std::vector<NamedPolicy> policies;
  for (const std::string& path : paths) {
    const base::Result<std::string> text = config::read_file(path, base::Limits{}.max_config_bytes);
    if (!text) return std::unexpected(text.error());
    const auto policy = read_one_policy(*text, path);
    if (!policy) return std::unexpected(policy.error());
    policies.push_back({"", *policy});
  }
  make_names_unique(policies, paths);
  if (connection.server) {
    auto in_force = read_policy_in_force(connection);
    if (!in_force) return std::unexpected(in_force.error());
    policies.insert(policies.begin(), *std::move(in_force));
  }
  if (policies.empty()) {
    const auto policy = read_one_policy(codec::default_policy_yaml(), "the default policy");
    if (!policy) return std::unexpected(policy.error());
    policies.push_back({(*policy)->default_profile_name, *policy});
  }
  return policies;
}

}  // namespace snug::ctl

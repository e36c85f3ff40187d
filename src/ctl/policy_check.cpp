#include "ctl/policy_check.hpp"

#include "app/files.hpp"
#include "snug/base/limits.hpp"
#include "snug/codec/policy_codec.hpp"

namespace snug {

Result<std::string> check_policy(const std::string& path) {
  const Limits limits;
  const Result<std::string> text = read_file(path, limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  const Result<Policy> policy = read_policy(*text, path, limits);
  if (!policy) return std::unexpected(policy.error());
  return path + ": ok: " + summary_of(*policy);
}

}  // namespace snug

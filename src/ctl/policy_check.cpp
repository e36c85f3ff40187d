#include "ctl/policy_check.hpp"

#include <array>

#include "app/files.hpp"
#include "app/options.hpp"
#include "snug/codec/policy_codec.hpp"

namespace snug {

Result<Limits> limits_of(const std::string& config) {
  if (config.empty()) return Limits{};
  const std::array argv{"snug-extender", "--config", config.c_str()};
  const Result<Options> options = read_options(static_cast<int>(argv.size()), argv.data());
  if (!options) return std::unexpected(options.error());
  return options->limits;
}

Result<std::string> check_policy(const std::string& path, const Limits& limits) {
  const Result<std::string> text = read_file(path, limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  const Result<Policy> policy = read_policy(*text, path, limits);
  if (!policy) return std::unexpected(policy.error());
  return path + ": ok: " + summary_of(*policy);
}

}  // namespace snug

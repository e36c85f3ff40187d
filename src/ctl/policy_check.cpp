#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "ctl/commands.hpp"
#include "snug/codec/policy_codec.hpp"
#include "snug/config/files.hpp"
#include "snug/config/options.hpp"

namespace snug::ctl {
namespace {

struct CheckFlags {
  std::string file;
  std::string config;
};

/// Returns the limits that snug-extender has with the configuration file `config`, or the default
/// limits if `config` is empty. An error message says where the file is wrong.
base::Result<base::Limits> limits_of(const std::string& config) {
  if (config.empty()) return base::Limits{};
  const std::string config_flag = "--config=" + config;
  const std::array argv{"snug-extender", config_flag.c_str()};
  const base::Result<config::Options> options =
      config::read_options(static_cast<int>(argv.size()), argv.data());
  if (!options) return std::unexpected(options.error());
  return options->limits;
}

/// Returns `FILE: ok: SUMMARY` for a valid policy file. An error message says where the file is
/// wrong.
base::Result<std::string> check_policy(const std::string& path, const base::Limits& limits) {
  const base::Result<std::string> text = config::read_file(path, limits.max_config_bytes);
  if (!text) return std::unexpected(text.error());
  const base::Result<score::Policy> policy = codec::read_policy(*text, path, limits);
  if (!policy) return std::unexpected(policy.error());
  return path + ": ok: " + codec::summary_of(*policy);
}

int run(const CheckFlags& flags) {
  const base::Result<base::Limits> limits = limits_of(flags.config);
  if (!limits) return report_error(kExitUsage, limits.error().message);
  const base::Result<std::string> line = check_policy(flags.file, *limits);
  if (!line) return report_error(kExitUsage, line.error().message);
  std::puts(line->c_str());
  return kExitOk;
}

}  // namespace

void add_policy_check(CLI::App& app, Action& chosen_action) {
  CLI::App* policy = app.add_subcommand("policy", "Checks policy files");
  policy->require_subcommand(1);
  CLI::App* check = policy->add_subcommand(
      "check", "Checks whether a policy file is valid; the exit code is 2 if it is not");
  const auto flags = std::make_shared<CheckFlags>();
  check
      ->add_option("--config", flags->config,
                   "take the limits from this configuration file of snug-extender")
      ->type_name("FILE");
  check->add_option("file", flags->file, "the policy file (YAML)")->type_name("FILE")->required();
  check->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl

// snugctl: what people ask Snug from a shell. Each subcommand is one file beside this one.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "ctl/policy_check.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kWrong = 2;  // flags, or the file that was to be checked

int complain(const std::string& what) {
  std::fprintf(stderr, "snugctl: %s\n", what.c_str());
  return kWrong;
}

/// `unknown command "x"; there is y`, or empty where no word stands in the place of a command.
std::string unknown_command(const CLI::App& app) {
  const CLI::App* at = &app;
  for (auto named = at->get_subcommands(); !named.empty(); named = at->get_subcommands()) {
    at = named.front();
  }
  const std::vector<std::string> words = at->remaining();
  std::string commands;
  for (const CLI::App* each : at->get_subcommands({})) {
    commands += (commands.empty() ? "" : ", ") + each->get_name();
  }
  if (words.empty() || words.front().starts_with('-') || commands.empty()) return "";
  return "unknown command \"" + words.front() + "\"; there is " + commands;
}

int check_policy(const std::string& path, const std::string& config) {
  const auto limits = snug::limits_of(config);
  if (!limits) return complain(limits.error().message);
  const auto line = snug::check_policy(path, *limits);
  if (!line) return complain(line.error().message);
  std::puts(line->c_str());
  return kDone;
}

int run(int argc, const char* const* argv) {
  CLI::App app("Asks about Snug's files.", "snugctl");
  app.set_version_flag("--version", "snugctl " SNUG_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  CLI::App* policy = app.add_subcommand("policy", "Policy files");
  policy->require_subcommand(1);
  CLI::App* check = policy->add_subcommand(
      "check", "Says whether snug-extender would take a policy file; exit code 2: it would not");
  std::string file;
  std::string config;
  check
      ->add_option(
          "--config", config,
          "the configuration file of snug-extender, for its limits; without it the defaults")
      ->type_name("FILE");
  check->add_option("file", file, "the policy file (YAML)")->type_name("FILE")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kDone;
  } catch (const CLI::CallForVersion& version) {
    std::puts(version.what());
    return kDone;
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_command(app);
    return complain((unknown.empty() ? error.what() : unknown) + "; --help says what there is");
  }
  return check_policy(file, config);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "snugctl: %s\n", problem.what());
    return 1;
  }
}

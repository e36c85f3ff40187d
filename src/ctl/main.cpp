// snugctl: what people ask Snug from a shell. Each subcommand is one file beside this one.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "ctl/command.hpp"
#include "ctl/defrag.hpp"
#include "ctl/mig.hpp"
#include "ctl/policy_check.hpp"
#include "ctl/simulate.hpp"

namespace {

using snug::complain;
using snug::kDone;
using snug::kWrong;

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

int run(int argc, const char* const* argv) {
  CLI::App app("Asks about Snug's files and a running Snug, and simulates its decisions.",
               "snugctl");
  app.set_version_flag("--version", "snugctl " SNUG_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  snug::Action chosen;
  snug::add_defrag(app, chosen);
  snug::add_mig(app, chosen);
  snug::add_policy_check(app, chosen);
  snug::add_simulate(app, chosen);
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
    return complain(kWrong,
                    (unknown.empty() ? error.what() : unknown) + "; --help says what there is");
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& problem) {
    return complain(snug::kFailed, problem.what());
  }
}

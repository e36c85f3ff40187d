// The main function of snugctl: parses the command line and runs one subcommand. The subcommands
// are in src/ctl/.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/commands.hpp"
#include "ctl/completion.hpp"
#include "snug/base/version.hpp"
#include "snug/config/flag_errors.hpp"

namespace {

using snug::ctl::completions_text;
using snug::ctl::is_completer;
using snug::ctl::kExitOk;
using snug::ctl::kExitUsage;
using snug::ctl::report_error;

int complete_words(const CLI::App& app, int count, const char* const* words) {
  const std::vector<std::string> command_line(words, words + count);
  const auto printed = snug::ctl::print(completions_text(snug::ctl::complete(app, command_line)));
  return printed ? kExitOk : report_error(printed.error());
}

int run(int argc, const char* const* argv) {
  CLI::App app("Checks policy files, queries a running Snug, and simulates Snug's decisions.",
               snug::ctl::program_name());
  app.set_version_flag("--version", snug::base::version_of(snug::ctl::program_name()),
                       "Print the version and exit");
  app.require_subcommand(1);
  snug::ctl::Action chosen_action;
  snug::ctl::add_admission(app, chosen_action);
  snug::ctl::add_completion(app, chosen_action);
  snug::ctl::add_defrag(app, chosen_action);
  snug::ctl::add_explain(app, chosen_action);
  snug::ctl::add_man(app, chosen_action);
  snug::ctl::add_mig(app, chosen_action);
  snug::ctl::add_policy_check(app, chosen_action);
  snug::ctl::add_simulate(app, chosen_action);
  snug::ctl::add_top(app, chosen_action);
  snug::ctl::add_verify(app, chosen_action);
  if (is_completer()) return complete_words(app, argc - 1, argv + 1);
  if (argc > 1 && std::string_view(argv[1]) == "__complete")
    return complete_words(app, argc - 2, argv + 2);
  try {
    if (const std::string message = snug::config::parse_flags(app, argc, argv); !message.empty())
      return report_error(kExitUsage, message + "; see --help");
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitOk;
  } catch (const CLI::CallForVersion& version) {
    std::puts(version.what());
    return kExitOk;
  }
  return chosen_action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    snug::ctl::set_program(argc > 0 ? argv[0] : "");
    return run(argc, argv);
  } catch (const std::exception& problem) {
    return report_error(snug::ctl::kExitFailure, problem.what());
  }
}

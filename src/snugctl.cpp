// snugctl: reads the command line and runs one subcommand, each of which is a file of src/ctl.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "ctl/commands.hpp"
#include "snug/config/bad_flags.hpp"

namespace {

using snug::complain;
using snug::kDone;
using snug::kWrong;

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
    return complain(kWrong, snug::bad_flags_sentence(app, error) + "; see --help");
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

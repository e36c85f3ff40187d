#include <memory>
#include <string>
#include <vector>

#include "ctl/commands.hpp"
#include "snug/codec/admission_policies.hpp"

namespace snug::ctl {
namespace {

int write_policies(const admission::PodDefaults& defaults) {
  const base::Result<std::string> text = codec::write_admission_policies(defaults);
  if (!text) return report_error(kExitUsage, text.error().message);
  const auto done = print(*text);
  return done ? kExitOk : report_error(kExitFailure, done.error().message);
}

}  // namespace

void add_admission(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand("admission",
                                         "Prints the admission policies that give GPU pods their "
                                         "scheduler, tolerations, variables and "
                                         "resources (Kubernetes 1.36 or later)");
  const auto defaults = std::make_shared<admission::PodDefaults>();
  command
      ->add_option("--scheduler-name", defaults->scheduler,
                   "the scheduler that asks Snug, set in place of default-scheduler; `none` keeps "
                   "default-scheduler")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option(
          "--tolerations", defaults->tolerations,
          "comma-separated keys of taints that the pods tolerate; `none` adds no toleration")
      ->type_name("KEY,…")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option(
          "--runtime-class-name", defaults->runtime_class,
          "the runtime class of pods that set none; `none` or without this flag: nothing is set")
      ->type_name("NAME");
  command->callback([defaults, &chosen_action] {
    chosen_action = [defaults] {
      if (defaults->scheduler == "none") defaults->scheduler.clear();
      if (defaults->runtime_class == "none") defaults->runtime_class.clear();
      if (defaults->tolerations == std::vector<std::string>{"none"}) defaults->tolerations.clear();
      return write_policies(*defaults);
    };
  });
}

}  // namespace snug::ctl

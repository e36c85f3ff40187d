#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ctl/commands.hpp"
#include "snug/sim_codec/mig_card_text.hpp"

namespace snug::ctl {
namespace {

struct MigFlags {
  std::vector<std::string> model;  // the words of the card's name
  bool all = false;
  bool json = false;
};

/// Returns the output of the command. An error message is one sentence about the arguments.
base::Result<std::string> mig_text(const MigFlags& flags) {
  if (flags.model.empty()) {
    if (flags.all)
      return base::fail(base::ErrorCode::kInvalid, "--all requires MODEL, which is missing");
    return flags.json ? sim_codec::write_mig_cards() : sim_codec::mig_card_list();
  }
  if (std::ranges::find(flags.model, "-") != flags.model.end()) {
    return base::fail(base::ErrorCode::kInvalid,
                      "\"-\" is an unexpected argument; --json takes no file and writes to stdout");
  }
  std::string model = flags.model.front();
  for (std::size_t i = 1; i < flags.model.size(); ++i) model += ' ' + flags.model[i];
  const base::Result<const mig::MigCard*> card = sim_codec::find_one_mig_card(model);
  if (!card) return std::unexpected(card.error());
  const sim_codec::LayoutScope which =
      flags.all ? sim_codec::LayoutScope::kAll : sim_codec::LayoutScope::kPlain;
  return flags.json ? sim_codec::write_mig_card(**card, which)
                    : sim_codec::mig_picture(**card, which);
}

int run(const MigFlags& flags) {
  const base::Result<std::string> text = mig_text(flags);
  if (!text) return report_error(kExitUsage, text.error().message);
  const auto done = print(*text);
  return done ? kExitOk : report_error(kExitFailure, done.error().message);
}

}  // namespace

void add_mig(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "mig", "Shows what a MIG card can be divided into: its profiles and layouts");
  const auto flags = std::make_shared<MigFlags>();
  command
      ->add_option("model", flags->model,
                   "the card's name, as in the list that `snugctl mig` prints without MODEL, or as "
                   "in a node's label nvidia.com/gpu.product; it may consist of several words")
      ->type_name("MODEL");
  command->add_flag("--all", flags->all,
                    "show layouts of all profiles, including those with + or - in the name");
  command->add_flag("--json", flags->json, "print the output as JSON");
  command->callback([flags, &chosen_action] { chosen_action = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ctl/commands.hpp"
#include "snug/sim_codec/mig_card_text.hpp"

namespace snug::ctl {
namespace {

struct MigFlags {
  std::vector<std::string> model;  // its words
  bool all = false;
  bool json = false;
};

/// An error is one sentence about what was typed.
base::Result<std::string> mig_text(const MigFlags& flags) {
  if (flags.model.empty()) {
    if (flags.all)
      return base::fail(base::ErrorCode::kInvalid, "--all belongs to a model, which is missing");
    return flags.json ? sim_codec::write_mig_cards() : sim_codec::mig_card_list();
  }
  if (std::ranges::find(flags.model, "-") != flags.model.end()) {
    return base::fail(base::ErrorCode::kInvalid, "- is no word of a model; --json takes no file");
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

void add_mig(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "mig", "Shows what a MIG card can be divided into: its profiles and layouts");
  const auto flags = std::make_shared<MigFlags>();
  command
      ->add_option("model", flags->model,
                   "a card: by its name in the list that this prints without MODEL, or by the one "
                   "in a node's label nvidia.com/gpu.product; it may be several words")
      ->type_name("MODEL");
  command->add_flag("--all", flags->all,
                    "layouts of all profiles, not only of those without + and -");
  command->add_flag("--json", flags->json, "the same as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace snug::ctl

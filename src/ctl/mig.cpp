#include "ctl/mig.hpp"

#include <memory>
#include <optional>
#include <string>

#include "ctl/output.hpp"
#include "snug/codec/mig_picture.hpp"

namespace snug {
namespace {

struct MigFlags {
  std::optional<std::string> model;
  bool all = false;
  bool json = false;
};

/// An error is one sentence about what was typed.
Result<std::string> answer(const MigFlags& flags) {
  if (!flags.model) {
    if (flags.all) return fail(ErrorCode::kInvalid, "--all belongs to a model, which is missing");
    return flags.json ? write_mig_cards() : mig_card_list();
  }
  const Result<const MigCard*> card = one_mig_card(*flags.model);
  if (!card) return std::unexpected(card.error());
  const MigLayouts which = flags.all ? MigLayouts::kAll : MigLayouts::kPlain;
  return flags.json ? write_mig_card(**card, which) : mig_picture(**card, which);
}

int run(const MigFlags& flags) {
  const Result<std::string> text = answer(flags);
  if (!text) return complain(kWrong, text.error().message);
  const auto done = print(*text);
  return done ? kDone : complain(kFailed, done.error().message);
}

}  // namespace

void add_mig(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "mig", "Shows what a MIG card can be divided into: its profiles and layouts");
  const auto flags = std::make_shared<MigFlags>();
  command
      ->add_option("model", flags->model,
                   "the card, as nodes or this command without a model call it")
      ->type_name("MODEL");
  command->add_flag("--all", flags->all,
                    "layouts of all profiles, not only of those without + and -");
  command->add_flag("--json", flags->json, "the same as JSON");
  command->callback([flags, &chosen] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace snug

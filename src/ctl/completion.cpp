#include "ctl/completion.hpp"

#include <algorithm>
#include <memory>

#include "ctl/commands.hpp"

namespace snug::ctl {
namespace {

constexpr const char* kShells = "bash|zsh|fish";

// PROGRAM stands for the name of the program. The program itself says what may follow; each script
// asks it, and hands the answer to its shell.
constexpr std::string_view kBashScript =
    R"(# Completion of PROGRAM for bash: source <(PROGRAM completion bash)
_PROGRAM() {
  local line=${COMP_LINE:0:COMP_POINT} words=() answer=() prefix="" each
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  mapfile -t answer < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  ((${#answer[@]} > 0)) || return
  # bash replaces only what follows a character of COMP_WORDBREAKS.
  [[ ${words[-1]} != *=* || $COMP_WORDBREAKS != *=* ]] || prefix=${words[-1]%%=*}=
  for each in "${answer[@]::${#answer[@]}-1}"; do
    each=${each%%$'\t'*}
    COMPREPLY+=("${each#"$prefix"}")
  done
  [[ ${answer[-1]} != :0 ]] || compopt -o default
}
complete -F _PROGRAM PROGRAM
)";
constexpr std::string_view kZshScript = R"(#compdef PROGRAM
# Completion of PROGRAM for zsh: put it as _PROGRAM into a folder of $fpath, or
# source <(PROGRAM completion zsh)
_PROGRAM() {
  local -a answer candidates
  answer=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  candidates=("${(@)answer[1,-2]//:/\\:}")
  candidates=("${(@)candidates/$'\t'/:}")
  ((${#candidates} == 0)) || _describe PROGRAM candidates
  [[ ${answer[-1]} != :0 ]] || _files
}
if [[ ${funcstack[1]} == _PROGRAM ]]; then
  _PROGRAM "$@"
else
  compdef _PROGRAM PROGRAM
fi
)";
constexpr std::string_view kFishScript =
    R"(# Completion of PROGRAM for fish: PROGRAM completion fish | source
function __PROGRAM_answer
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c PROGRAM -f
complete -c PROGRAM -a '(__PROGRAM_answer | string match --invert --regex "^:[0-9]+\$")'
complete -c PROGRAM -n 'test (__PROGRAM_answer)[-1] = :0' -F
)";

std::string script_of(const std::string& shell) {
  std::string script(shell == "bash" ? kBashScript : shell == "zsh" ? kZshScript : kFishScript);
  constexpr std::string_view kPlaceholder = "PROGRAM";
  const std::string program = is_plugin() ? "kubectl-snug" : "snugctl";
  for (auto at = script.find(kPlaceholder); at != std::string::npos;
       at = script.find(kPlaceholder, at + program.size())) {
    script.replace(at, kPlaceholder.size(), program);
  }
  return script;
}

/// The commands whose flags are valid behind `command`: it, and those to which it falls through.
std::vector<const CLI::App*> commands_of_flags(const CLI::App& command) {
  std::vector<const CLI::App*> commands{&command};
  while (commands.back()->get_fallthrough() && commands.back()->get_parent() != nullptr)
    commands.push_back(commands.back()->get_parent());
  return commands;
}

const CLI::Option* find_flag(const CLI::App& command, const std::string& word) {
  for (const CLI::App* each : commands_of_flags(command)) {
    if (const CLI::Option* option = each->get_option_no_throw(word); option != nullptr)
      return option;
  }
  return nullptr;
}

const CLI::App* find_command(const CLI::App& command, const std::string& word) {
  for (const CLI::App* each : command.get_subcommands({})) {
    if (each->check_name(word)) return each;
  }
  return nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

/// Where the command line stands before its last word.
struct Place {
  const CLI::App* command;
  const CLI::Option* flag = nullptr;  // whose value the last word is; null: none
  std::size_t positionals = 0;        // of the command that have values already
  bool only_positionals = false;      // behind `--`
};

Place walk(const CLI::App& app, std::span<const std::string> words) {
  Place place{.command = &app};
  for (const std::string& word : words) {
    if (place.flag != nullptr) {
      place.flag = nullptr;
    } else if (word == "--") {
      place.only_positionals = true;
    } else if (!place.only_positionals && word.size() > 1 && word.starts_with('-')) {
      const CLI::Option* option = find_flag(*place.command, word.substr(0, word.find('=')));
      if (takes_value(option) && !word.contains('=')) place.flag = option;
    } else if (const CLI::App* subcommand = find_command(*place.command, word);
               subcommand != nullptr && place.positionals == 0) {
      place.command = subcommand;
    } else {
      ++place.positionals;
    }
  }
  return place;
}

void add_word(Completions& completions, const std::string& begin, std::string word,
              const std::string& help) {
  if (word.starts_with(begin)) completions.words.push_back({std::move(word), help});
}

/// Adds the values that the option may have, each behind `prefix`.
void add_values(Completions& completions, const CLI::Option& option, const std::string& prefix,
                const std::string& begin) {
  const std::string type = option.get_type_name();
  completions.files = completions.files || type.starts_with("FILE");
  if (!type.contains('|')) return;
  for (std::size_t start = 0; start < type.size();) {
    const std::size_t end = std::min(type.find('|', start), type.size());
    add_word(completions, begin, prefix + type.substr(start, end - start), "");
    start = end + 1;
  }
}

void add_flags(Completions& completions, const CLI::App& command, const std::string& begin) {
  for (const CLI::App* each : commands_of_flags(command)) {
    for (const CLI::Option* option : each->get_options()) {
      if (option->nonpositional() && !option->get_lnames().empty())
        add_word(completions, begin, "--" + option->get_lnames().front(),
                 option->get_description());
    }
  }
  const auto same_word = [](const Completion& a, const Completion& b) { return a.word == b.word; };
  std::ranges::stable_sort(completions.words, {}, &Completion::word);
  const auto repeated = std::ranges::unique(completions.words, same_word);
  completions.words.erase(repeated.begin(), repeated.end());
}

void add_positional(Completions& completions, const Place& place, const std::string& begin) {
  std::size_t position = 0;
  for (const CLI::Option* option : place.command->get_options()) {
    if (!option->get_positional()) continue;
    const bool takes_more = option->get_items_expected_max() > 1;
    if (position++ == place.positionals || takes_more)
      return add_values(completions, *option, "", begin);
  }
}

}  // namespace

Completions complete(const CLI::App& app, std::span<const std::string> words) {
  Completions completions;
  if (words.empty()) return completions;
  const std::string& begin = words.back();
  const Place place = walk(app, words.first(words.size() - 1));
  if (place.flag != nullptr) {
    add_values(completions, *place.flag, "", begin);
  } else if (begin.starts_with('-') && !place.only_positionals) {
    const std::string flag = begin.substr(0, begin.find('='));
    const CLI::Option* option = find_flag(*place.command, flag);
    if (begin.contains('=') && takes_value(option)) {
      add_values(completions, *option, flag + "=", begin);
    } else {
      add_flags(completions, *place.command, begin);
    }
  } else {
    if (place.positionals == 0 && !place.only_positionals) {
      for (const CLI::App* command : place.command->get_subcommands({}))
        add_word(completions, begin, command->get_name(), command->get_description());
    }
    add_positional(completions, place, begin);
  }
  return completions;
}

std::string completions_text(const Completions& completions) {
  std::string text;
  for (const Completion& completion : completions.words) {
    text += completion.word;
    if (!completion.help.empty()) text += "\t" + completion.help;
    text += "\n";
  }
  return text + (completions.files ? ":0\n" : ":4\n");
}

void add_completion(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand(
      "completion", "Prints a script with which a shell completes command lines");
  const auto shell = std::make_shared<std::string>();
  add_choice(*command, "shell", *shell, kShells, "the shell that reads the script")->required();
  command->footer(
      "kubectl completes `kubectl snug` by itself, with kubectl_complete-snug in PATH.");
  command->callback([shell, &chosen_action] {
    chosen_action = [shell] {
      const base::Result<void> printed = print(script_of(*shell));
      return printed ? kExitOk : report_error(printed.error());
    };
  });
}

}  // namespace snug::ctl

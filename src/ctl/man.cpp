// The manual page, written from the definitions of the commands and flags that --help prints too.
#include <algorithm>
#include <string>
#include <vector>

#include "ctl/commands.hpp"

namespace snug::ctl {
namespace {

struct ManRow {
  const char* term;
  const char* text;
};
constexpr ManRow kExitCodes[] = {
    {"0", "The command has done what it was asked for."},
    {"1", "Something failed, such as a connection, or a check of verify."},
    {"2", "A flag, a request, a configuration or a policy is wrong; the message says where."},
    {"3", "verify: no check failed, but one or more could not be made."},
};
constexpr ManRow kEnvironment[] = {
    {"NO_COLOR", "If it is set and not empty, nothing is coloured, unless --color is always."},
    {"LC_ALL, LC_CTYPE, LANG", "Bars are drawn in Unicode if the locale is UTF-8, else in ASCII."},
    {"KUBECONFIG, PATH",
     "kubectl, through which a Snug in a cluster is reached, is searched for in "
     "PATH and reads KUBECONFIG."},
};

/// Returns the text as roff: what roff would interpret is escaped.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += std::string("\\&") + c;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

std::string entry(const std::string& term, const std::string& text) {
  return ".TP\n" + term + "\n" + text + "\n";
}

std::string flag_term(const CLI::Option& option) {
  std::string term;
  for (const std::string& name : option.get_snames()) term += bold("-" + name) + ", ";
  for (const std::string& name : option.get_lnames()) term += bold("--" + name);
  if (option.get_items_expected_max() > 0) term += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return term;
}

std::string flag_entry(const CLI::Option& option) {
  std::string text = roff(option.get_description());
  if (const std::string value = option.get_default_str(); !value.empty())
    text += " (default: " + roff(value) + ")";
  return entry(
      option.get_positional() ? "\\fI" + roff(option.get_type_name()) + "\\fR" : flag_term(option),
      text);
}

/// A group of flags that several commands share, each with the same text.
struct SharedGroup {
  std::string title;
  std::string entries;
};

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string flag_entries(const CLI::App& command, std::vector<SharedGroup>& shared) {
  std::string entries;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : command.get_options()) {
      const bool is_own = option->get_group() == "Options";
      if (option->get_positional() == positional && is_own && option != command.get_help_ptr())
        entries += flag_entry(*option);
    }
  }
  for (const std::string& title : command.get_groups()) {
    const auto same = [&](const SharedGroup& group) { return group.title == title; };
    if (title == "Options" || title.empty()) continue;
    entries += ".PP\nFurther flags: see " + bold(upper(title)) + " below.\n";
    if (std::ranges::any_of(shared, same)) continue;
    SharedGroup& group = shared.emplace_back(SharedGroup{.title = title, .entries = {}});
    for (const CLI::Option* option :
         command.get_options([&](const CLI::Option* each) { return each->get_group() == title; }))
      group.entries += flag_entry(*option);
  }
  return entries;
}

/// The sections of the commands below `command`, whose names begin with `name`.
std::string command_sections(const CLI::App& command, const std::string& name,
                             std::vector<SharedGroup>& shared) {
  std::string sections;
  for (const CLI::App* each : command.get_subcommands({})) {
    const std::string full_name = name + " " + each->get_name();
    sections += ".SS " + roff(full_name) + "\n" + roff(each->get_description()) + ".\n";
    sections += flag_entries(*each, shared);
    if (!each->get_footer().empty()) sections += ".PP\n" + roff(each->get_footer()) + "\n";
    sections += command_sections(*each, full_name, shared);
  }
  return sections;
}

template <std::size_t count>
std::string rows_text(const ManRow (&rows)[count]) {
  std::string text;
  for (const ManRow& row : rows) text += entry(bold(row.term), roff(row.text));
  return text;
}

std::string man_page(const CLI::App& app) {
  const std::string program = program_name();
  const std::string page_name = is_plugin() ? "kubectl-snug" : "snugctl";
  std::vector<SharedGroup> shared;
  const std::string commands = command_sections(app, program, shared);
  std::string page = ".TH " + upper(roff(page_name)) + " 1 \"\" \"" + app.version() +
                     "\" \"Snug\"\n.SH NAME\n" + roff(page_name) +
                     " \\- the command line of the scheduler extender Snug\n.SH SYNOPSIS\n" +
                     bold(program) + " \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n.SH DESCRIPTION\n" +
                     roff(app.get_description()) + "\n.SH COMMANDS\n" + commands;
  for (const SharedGroup& group : shared)
    page += ".SH " + upper(roff(group.title)) + "\n" + group.entries;
  return page + ".SH EXIT STATUS\n" + rows_text(kExitCodes) + ".SH ENVIRONMENT\n" +
         rows_text(kEnvironment) + ".SH SEE ALSO\n" + bold("kubectl") + "(1)\n";
}

}  // namespace

void add_man(CLI::App& app, Action& chosen_action) {
  CLI::App* command = app.add_subcommand("man", "Prints the manual page, for man -l");
  command->callback([&app, &chosen_action] {
    chosen_action = [&app] {
      const base::Result<void> printed = print(man_page(app));
      return printed ? kExitOk : report_error(printed.error());
    };
  });
}

}  // namespace snug::ctl

#include "snug/config/flag_errors.hpp"

#include <algorithm>
#include <vector>

#include "snug/base/text.hpp"

namespace snug::config {
namespace {

/// Returns the command that the error is about: the outermost command with an unknown word, or the
/// innermost command if no word is unknown.
const CLI::App& blamed_command(const CLI::App& app) {
  const CLI::App* command = &app;
  for (auto subcommands = command->get_subcommands();
       command->remaining().empty() && !subcommands.empty();
       subcommands = command->get_subcommands()) {
    command = subcommands.front();
  }
  return *command;
}

/// Returns the end of an error message, a list of the subcommands of `app` like `expected one of
/// check, show`. Empty if `app` has no subcommands.
std::string expected_commands_text(const CLI::App& app) {
  std::string names;
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* subcommand : commands)
    names += (names.empty() ? "" : ", ") + subcommand->get_name();
  return names.empty() ? "" : (commands.size() == 1 ? "expected " : "expected one of ") + names;
}

/// Returns an error message about an unknown flag. If the only mistake is that the flag is in
/// camelCase, like a key of the configuration file, the message has the correct name.
std::string about_unknown_flag(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string kebab_name = kebab_case(name);
  const bool exists = kebab_name != name && command.get_option_no_throw(kebab_name) != nullptr;
  return exists ? "the flag " + name + " must be written " + kebab_name : "unknown flag " + word;
}

std::string extra_words_message(const CLI::App& command) {
  const std::vector<std::string> words = command.remaining();
  if (words.empty()) return "";
  const std::string& word = words.front();
  if (word.size() > 1 && word.starts_with('-')) return about_unknown_flag(command, word);
  const std::string commands = expected_commands_text(command);
  if (commands.empty()) return base::in_quotes(word) + " is an unexpected argument";
  return "unknown command " + base::in_quotes(word) + "; " + commands;
}

std::string missing_words_message(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) return option->get_name() + " is required";
  }
  if (!command.remaining().empty()) return extra_words_message(command);
  const std::string commands = expected_commands_text(command);
  return commands.empty() ? "" : "a command is required; " + commands;
}

/// Returns an error message about an option that is given too often.
std::string wrong_count_message(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw) continue;
    if (option->count() > static_cast<std::size_t>(option->get_items_expected_max())) {
      return option->get_name() + " was given " + std::to_string(option->count()) +
             " times; it may be given only once";
    }
  }
  return "";
}

std::string dependency_message(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    for (const CLI::Option* needed_option : option->get_needs()) {
      if (needed_option->count() > 0) continue;
      return option->get_name() + " requires " + needed_option->get_name() + ", which is missing";
    }
    for (const CLI::Option* excluded_option : option->get_excludes()) {
      if (excluded_option->count() == 0) continue;
      return option->get_name() + " and " + excluded_option->get_name() +
             " were both given; only one of them is allowed";
    }
  }
  return "";
}

std::string parse_error_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = blamed_command(app);
  const std::string cli11_message = error.what();
  std::string sentence;
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      sentence = extra_words_message(command);
      break;
    case CLI::ExitCodes::RequiredError:
      sentence = missing_words_message(command);
      break;
    case CLI::ExitCodes::ArgumentMismatch:
      sentence = wrong_count_message(command);
      break;
    case CLI::ExitCodes::RequiresError:
    case CLI::ExitCodes::ExcludesError:
      sentence = dependency_message(command);
      break;
    default:
      break;
  }
  return sentence.empty() ? cli11_message : sentence;
}

/// Returns the option `word` of the command, or of its subcommand that was given. Null if there is
/// none.
const CLI::Option* find_option(const CLI::App& app, const std::string& word) {
  if (const CLI::Option* option = app.get_option_no_throw(word); option != nullptr) return option;
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? nullptr : find_option(*subcommands.front(), word);
}

/// Whether `word`, which follows a flag, is a flag too and not the value of that flag. A value that
/// begins with `--` must be written `--flag=--value`.
bool is_flag(const CLI::App& app, const std::string& word) {
  return word.starts_with("--") ||
         (word.size() > 1 && word.front() == '-' && find_option(app, word) != nullptr);
}

/// Returns an error message about a flag with an empty value or without its value. CLI11 takes the
/// next word as the value, even if that word is a flag.
std::string missing_value_message(const CLI::App& app, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with("--")) continue;
    const std::size_t equals = std::min(words[i].find('='), words[i].size());
    const std::string flag = words[i].substr(0, equals);
    const CLI::Option* option = find_option(app, flag);
    if (option == nullptr || option->get_items_expected_max() == 0) continue;
    const bool separate = equals == words[i].size() && option->get_items_expected_min() > 0;
    const bool last = i + 1 == words.size();
    if (equals + 1 == words[i].size() || (separate && !last && words[i + 1].empty()))
      return flag + " must not be empty";
    if (separate && (last || is_flag(app, words[i + 1])))
      return flag + " needs a value: " + option->get_type_name();
  }
  return "";
}

}  // namespace

std::string kebab_case(std::string_view camel_case) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string kebab;
  bool in_capitals = false;
  for (const char c : camel_case) {
    if (is_upper(c) && !in_capitals) kebab += '-';
    in_capitals = is_upper(c);
    kebab += in_capitals ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return kebab;
}

std::string parse_flags(CLI::App& app, int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  std::string message;
  try {
    // CLI11 requires the reverse order.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    message = extra_words_message(blamed_command(app));  // there is no help on unknown words
    if (message.empty()) throw;
    return message;
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    message = parse_error_message(app, error);
  }
  std::string missing_value = missing_value_message(app, words);
  return missing_value.empty() ? message : missing_value;
}

base::Result<std::string> parse_or_print(CLI::App& app, int argc, const char* const* argv) {
  try {
    if (const std::string message = parse_flags(app, argc, argv); !message.empty())
      return base::fail(base::ErrorCode::kInvalid, message + "; see --help");
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return version.what() + std::string("\n");
  }
  return "";
}

}  // namespace snug::config

#include "snug/config/options.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "config/option_table.hpp"
#include "snug/base/version.hpp"
#include "snug/config/files.hpp"
#include "snug/config/flag_errors.hpp"

namespace snug::config {
namespace {

using Values = std::vector<std::string>;

/// The flags and values of the command line, before the values are checked.
struct CommandLine {
  std::string print_and_exit;
  std::string config;
  std::map<std::string_view, Values> values;  // by key of the setting; has only the given flags
  Values limits;                              // each is KEY=N
};

std::string description() {
  return "Packs GPU pods tightly onto GPUs, for kube-scheduler.\n"
         "Every setting is also a key of the configuration file, in camelCase. Flags override it.";
}

std::string flag_of(const OptionRow& row) { return "--" + kebab_case(row.key); }

std::string help_of(const OptionRow& row) {
  std::string text(row.help);
  if (!row.default_text.empty()) text += "; default: " + std::string(row.default_text);
  return text;
}

base::Result<CommandLine> parse(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(description(), "snug-extender");
  app.set_version_flag("--version", base::version_of("snug-extender"),
                       "Print the version and exit");
  app.add_option("--config", line.config, "the configuration file (YAML)")->type_name("FILE");
  std::map<std::string_view, Values> flag_values;
  for (const OptionRow& row : option_rows()) {
    CLI::Option* option = app.add_option(flag_of(row), flag_values[row.key], help_of(row));
    option->type_name(std::string(row.placeholder));
    if (row.list_member == nullptr) option->expected(1)->allow_extra_args(false);
  }
  app.get_option("--leader-elect")->expected(0, 1)->default_str("true");
  app.add_option("--limits", line.limits,
                 "limits on memory, calls and times; docs/reference/limits.md lists them")
      ->type_name("KEY=N");
  try {
    if (const std::string message = parse_flags(app, argc, argv); !message.empty())
      return base::fail(base::ErrorCode::kInvalid, message + "; see --help");
  } catch (const CLI::CallForHelp&) {
    // default_str is the value of the flag if it is given without an argument. --help would show
    // default_str as the default of the setting.
    app.get_option("--leader-elect")->default_str("");
    line.print_and_exit = app.help();
  } catch (const CLI::CallForVersion& version) {
    line.print_and_exit = version.what() + std::string("\n");
  }
  for (const OptionRow& row : option_rows()) {
    if (app.count(flag_of(row)) == 0) continue;
    Values& values = flag_values[row.key];
    if (values.empty()) values.emplace_back("true");
    line.values.emplace(row.key, std::move(values));
  }
  return line;
}

std::unexpected<base::Error> bad_flag(const std::string& flag, const std::string& complaint) {
  return base::fail(base::ErrorCode::kInvalid, flag + " " + complaint);
}

base::Result<void> apply_limits(const CommandLine& line, Options& options) {
  for (const std::string& pair : line.limits) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) {
      return bad_flag("--limits", "must be KEY=N, like --limits maxNodes=1000");
    }
    std::string key = pair.substr(0, equals);
    const std::string value = pair.substr(equals + 1);
    const std::string complaint = set_limit(options, key, value);
    if (!complaint.empty()) return bad_flag("--limits", key.append(" ").append(complaint));
  }
  return {};
}

base::Result<void> apply_flags(const CommandLine& line, Options& options) {
  for (const OptionRow& row : option_rows()) {
    const auto flag_values = line.values.find(row.key);
    if (flag_values == line.values.end()) continue;
    if (row.list_member != nullptr) (options.*row.list_member).clear();
    for (const std::string& value : flag_values->second) {
      const std::string complaint = row.parse(options, value);
      if (!complaint.empty()) return bad_flag(flag_of(row), complaint);
    }
  }
  return apply_limits(line, options);
}

base::Result<void> apply_file(const std::string& path, Options& options) {
  const base::Result<std::string> text = read_file(path, options.limits.max_config_bytes);
  if (!text) return base::fail(text.error().code, "--config: " + text.error().message);
  return read_config(*text, path, options);
}

}  // namespace

base::Result<Options> read_options(int argc, const char* const* argv) {
  const auto line = parse(argc, argv);
  if (!line) return std::unexpected(line.error());
  Options options;
  options.print_and_exit = line->print_and_exit;
  if (!options.print_and_exit.empty()) return options;
  if (!line->config.empty()) {
    const auto read = apply_file(line->config, options);
    if (!read) return std::unexpected(read.error());
  }
  auto applied = apply_flags(*line, options);
  if (applied) applied = check_consistency(options);
  if (!applied) return std::unexpected(applied.error());
  return options;
}

}  // namespace snug::config

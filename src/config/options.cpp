#include "snug/config/options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "config/option_rows.hpp"
#include "snug/config/bad_flags.hpp"
#include "snug/config/files.hpp"

namespace snug {
namespace {

using Values = std::vector<std::string>;

/// What stands on the command line, not yet understood.
struct CommandLine {
  std::string show;
  std::string config;
  std::map<std::string_view, Values> values;  // by key; only what was given
  Values limits;                              // KEY=VALUE
};

std::string description() {
  return "Packs GPU pods tightly onto GPUs, for kube-scheduler.\n"
         "Every setting is also a key of the configuration file; flags win.\n"
         "A flag may be written in kebab-case: --admin-listen is --adminListen.";
}

/// As Kubernetes' programs write their flags: `client-ca` for `clientCA`.
std::string in_kebab_case(std::string_view key) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string kebab;
  bool in_capitals = false;
  for (const char c : key) {
    if (is_upper(c) && !in_capitals) kebab += '-';
    in_capitals = is_upper(c);
    kebab += in_capitals ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return kebab;
}

/// `--key`, and its other spelling where it has one, as CLI11 wants them.
std::string flag_names(std::string_view key) {
  const std::string flag = "--" + std::string(key);
  const std::string kebab = in_kebab_case(key);
  return kebab == key ? flag : flag + ",--" + kebab;
}

/// The help names each flag once, as the configuration file does.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    if (!option->get_snames().empty()) return Formatter::make_option_name(option, positional);
    return option->get_name();
  }
};

Result<CommandLine> parse(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(description(), "snug-extender");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "snug-extender " SNUG_VERSION, "Print the version and exit");
  app.add_option("--config", line.config, "the configuration file (YAML)")->type_name("FILE");
  std::map<std::string_view, Values> given;
  for (const OptionRow& row : option_rows()) {
    CLI::Option* option =
        app.add_option(flag_names(row.key), given[row.key], std::string(row.help));
    option->type_name(std::string(row.placeholder));
    if (row.list == nullptr) option->expected(1);
  }
  app.get_option("--leaderElect")->expected(0, 1)->default_str("true");
  app.add_option("--limits", line.limits, "bounds of the system; docs/limits.md lists them")
      ->type_name("KEY=N");
  try {
    std::vector<std::string> words;  // CLI11 takes them from the back
    for (int i = argc - 1; i > 0; --i) words.emplace_back(argv[i]);
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    // What the bare flag means is no default to print.
    app.get_option("--leaderElect")->default_str("");
    line.show = app.help();
  } catch (const CLI::CallForVersion& version) {
    line.show = version.what() + std::string("\n");
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::kInvalid, bad_flags_sentence(app, error) + "; --help lists the flags");
  }
  for (const OptionRow& row : option_rows()) {
    if (app.count("--" + std::string(row.key)) == 0) continue;
    Values& values = given[row.key];
    if (values.empty()) values.emplace_back("true");
    line.values.emplace(row.key, std::move(values));
  }
  return line;
}

std::unexpected<Error> bad_flag(std::string_view flag, const std::string& wrong) {
  return fail(ErrorCode::kInvalid, "--" + std::string(flag) + " " + wrong);
}

Result<void> apply_limits(const CommandLine& line, Options& options) {
  for (const std::string& pair : line.limits) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) {
      return bad_flag("limits", "must be KEY=N, like --limits maxNodes=1000");
    }
    std::string key = pair.substr(0, equals);
    const std::string value = pair.substr(equals + 1);
    const std::string wrong = set_limit(options, {.key = key, .value = value, .place = ""});
    if (!wrong.empty()) return bad_flag("limits", key.append(" ").append(wrong));
  }
  return {};
}

Result<void> apply_flags(const CommandLine& line, Options& options) {
  for (const OptionRow& row : option_rows()) {
    const auto given = line.values.find(row.key);
    if (given == line.values.end()) continue;
    if (row.list != nullptr) (options.*row.list).clear();
    for (const std::string& value : given->second) {
      const std::string wrong = row.set(options, value);
      if (!wrong.empty()) return bad_flag(row.key, wrong);
    }
  }
  return apply_limits(line, options);
}

Result<void> apply_file(const std::string& path, Options& options) {
  const Result<std::string> text = read_file(path, options.limits.max_config_bytes);
  if (!text) return fail(text.error().code, "--config: " + text.error().message);
  return read_config(*text, path, options);
}

}  // namespace

Result<Options> read_options(int argc, const char* const* argv) {
  const auto line = parse(argc, argv);
  if (!line) return std::unexpected(line.error());
  Options options;
  options.show = line->show;
  if (!options.show.empty()) return options;
  if (!line->config.empty()) {
    // The file is read within the limits of the command line.
    auto read = apply_limits(*line, options);
    if (read) read = apply_file(line->config, options);
    if (!read) return std::unexpected(read.error());
  }
  auto applied = apply_flags(*line, options);
  if (applied) applied = check_together(options);
  if (!applied) return std::unexpected(applied.error());
  return options;
}

}  // namespace snug

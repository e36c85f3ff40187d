#include "ctl/commands.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ctl/text_table.hpp"
#include "snug/base/text.hpp"

namespace snug::ctl {
namespace {

constexpr std::string_view kPluginName = "kubectl-snug";
constexpr std::string_view kCompleterName = "kubectl_complete-snug";  // kubectl starts it
bool started_as_plugin = false;
bool started_as_completer = false;

void write_to_stderr(const std::string& what) {
  const std::string line = line_text(program_name() + ": " + what, Colour::kNone, {});
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace

void set_program(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  started_as_completer = name == kCompleterName;
  started_as_plugin = name == kPluginName || started_as_completer;
}

bool is_plugin() { return started_as_plugin; }

bool is_completer() { return started_as_completer; }

std::string program_name() { return started_as_plugin ? "kubectl snug" : "snugctl"; }

CLI::Option* add_choice(CLI::App& command, const std::string& flag, std::string& value,
                        const std::string& choices, const std::string& help) {
  const auto check_choice = [choices](const std::string& chosen) {
    const std::string all = "|" + choices + "|";
    const bool is_choice =
        !chosen.contains('|') && !chosen.empty() && all.contains("|" + chosen + "|");
    return is_choice ? "" : "must be one of " + choices + ", not " + base::in_quotes(chosen);
  };
  return command.add_option(flag, value, help)
      ->type_name(choices)
      ->check(CLI::Validator(check_choice, ""));
}

base::Result<void> print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return base::fail(base::ErrorCode::kUnavailable,
                    std::string("stdout: cannot be written: ") + std::strerror(errno));
}

void warn(const std::string& what) { write_to_stderr("warning: " + what); }

int report_error(int code, const std::string& what) {
  write_to_stderr(what);
  return code;
}

int report_error(const base::Error& error) {
  return report_error(error.code == base::ErrorCode::kInvalid ? kExitUsage : kExitFailure,
                      error.message);
}

}  // namespace snug::ctl

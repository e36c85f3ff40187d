#include "ctl/verify_text.hpp"

#include <algorithm>
#include <utility>

#include "ctl/commands.hpp"

namespace snug::ctl {
namespace {

using verify::Check;
using verify::CheckVerdict;

TextCell verdict_cell(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kOk:
      return {.text = "ok", .colour = Colour::kGreen};
    case CheckVerdict::kFailed:
      return {.text = "FAILED", .colour = Colour::kRed};
    case CheckVerdict::kNotChecked:
      return {.text = "not checked", .colour = Colour::kYellow};
    case CheckVerdict::kNotEnforced:
      break;
  }
  return {.text = "not enforced", .colour = Colour::kDim};
}

std::ptrdiff_t count(std::span<const Check> checks, CheckVerdict verdict) {
  return std::ranges::count(checks, verdict, &Check::verdict);
}

std::string sum_text(const std::string& node, std::span<const Check> checks) {
  std::string text = node + ": " + std::to_string(count(checks, CheckVerdict::kOk)) + " ok";
  const std::pair<CheckVerdict, const char*> others[] = {
      {CheckVerdict::kFailed, "failed"},
      {CheckVerdict::kNotChecked, "not checked"},
      {CheckVerdict::kNotEnforced, "not enforced"}};
  for (const auto& [verdict, word] : others) {
    if (const auto number = count(checks, verdict); number > 0)
      text += ", " + std::to_string(number) + " " + word;
  }
  return text;
}

}  // namespace

std::string verify_text(const std::string& node, std::span<const Check> checks,
                        const TextStyle& style) {
  TextTable table(
      {{.title = "VERDICT"}, {.title = "CHECK"}, {.title = "EXPECTED"}, {.title = "SEEN"}});
  for (const Check& check : checks) {
    table.add_row({verdict_cell(check.verdict),
                   {.text = check.what},
                   {.text = check.expected},
                   {.text = check.seen}});
  }
  table.add_line(sum_text(node, checks));
  std::string text;
  for (const std::string& line : table.lines(style)) text += line + "\n";
  return text;
}

int verify_exit_code(std::span<const Check> checks) {
  if (count(checks, CheckVerdict::kFailed) > 0) return kExitFailure;
  return count(checks, CheckVerdict::kNotChecked) > 0 ? kExitNotChecked : kExitOk;
}

}  // namespace snug::ctl

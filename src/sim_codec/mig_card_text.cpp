#include "snug/sim_codec/mig_card_text.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "snug/base/text.hpp"
#include "snug/mig/layouts.hpp"

namespace snug::sim_codec {
namespace {

using Line = std::vector<std::string>;

std::string join_words(std::span<const std::string> names, std::string_view between,
                       std::string_view before_last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? before_last : between;
    text += names[i];
  }
  return text;
}

std::string padded(const std::string& cell, std::size_t width, bool to_the_right) {
  const std::string blanks(width - std::min(width, cell.size()), ' ');
  return to_the_right ? blanks + cell : cell + blanks;
}

/// Returns the lines as a table. The first column and column `left` are aligned to the left, the
/// others to the right.
std::string table_text(const std::vector<Line>& lines, std::size_t left) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string padded_line;
    for (std::size_t i = 0; i < line.size(); ++i) {
      padded_line += (i == 0 ? "" : "  ") + padded(line[i], widths[i], i != 0 && i != left);
    }
    padded_line.erase(padded_line.find_last_not_of(' ') + 1);
    text += padded_line + '\n';
  }
  return text;
}

std::string profiles_text(const model::MigTable& table) {
  const bool media = table.engines.media > 0;
  std::vector<Line> lines = {
      {"profile", "compute slices", "memory slices", "MiB", "starts", "at most"}};
  constexpr std::size_t kStarts = 4;
  if (media) lines.front().emplace_back("media");
  lines.front().emplace_back("extension");
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    const model::MigProfile& profile = table.profiles[i];
    std::vector<std::string> starts;
    starts.reserve(profile.starts.size());
    for (const int start : profile.starts) starts.push_back(std::to_string(start));
    Line& line = lines.emplace_back(
        Line{profile.name, std::to_string(profile.compute_slices), std::to_string(profile.size),
             std::to_string(profile.memory.value), join_words(starts, ",", ","),
             std::to_string(mig::max_slices(table, i))});
    if (media) line.push_back(std::to_string(profile.engines.media));
    line.push_back(std::to_string(profile.engines.extension));
  }
  std::string text = table_text(lines, kStarts);
  for (const model::MigProfile& profile : table.profiles) {
    if (!profile.alias.empty()) text += profile.alias + ": another name of " + profile.name + '\n';
  }
  return text;
}

/// Returns how many characters wide a memory slice must be, so that the box of every shown profile
/// has room for the profile's name.
std::size_t width_of_slice(const model::MigTable& table, LayoutScope which) {
  std::size_t width = 3;
  for (const model::MigProfile& profile : table.profiles) {
    if (which == LayoutScope::kPlain && !profile.is_plain()) continue;
    const auto size = static_cast<std::size_t>(profile.size);
    width = std::max(width, (profile.name.size() + 2 + size - 1) / size);
  }
  return width;
}

std::string centred(const std::string& text, std::size_t width) {
  return padded(padded(text, (width + text.size()) / 2, true), width, false);
}

std::string layout_text(const model::MigTable& table, const mig::MigLayout& layout,
                        std::size_t width) {
  std::string text;
  int memory_slice = 0;
  const auto draw_gap = [&](int until) {
    for (; memory_slice < until; ++memory_slice) text += centred(".", width);
  };
  for (const model::MigPlacement slice : layout) {
    const model::MigProfile& profile = table.profiles[slice.profile];
    draw_gap(slice.start);
    text += '[' + centred(profile.name, static_cast<std::size_t>(profile.size) * width - 2) + ']';
    memory_slice += profile.size;
  }
  draw_gap(table.memory_slices);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string axis_text(const model::MigTable& table, std::size_t width) {
  std::string text;
  for (int memory_slice = 0; memory_slice < table.memory_slices; ++memory_slice)
    text += centred(std::to_string(memory_slice), width);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string count_text(int number, const std::string& noun) {
  return std::to_string(number) + ' ' + noun + (number == 1 ? "" : "s");
}

std::string heading(const mig::MigCard& card) {
  const model::MigTable& table = *card.table;
  std::string text = card.name + ": " + std::to_string(card.memory.value) + " MiB, " +
                     count_text(table.memory_slices, "memory slice") + ", " +
                     count_text(table.compute_slices, "compute slice");
  if (table.engines.media > 0) text += ", " + count_text(table.engines.media, "media engine");
  return text + ", " + count_text(table.engines.extension, "media extension") + '\n';
}

}  // namespace

base::Result<const mig::MigCard*> find_one_mig_card(std::string_view model) {
  std::vector<const mig::MigCard*> cards = mig::mig_cards_named(model);
  if (cards.size() == 1) return cards.front();
  if (cards.empty()) cards = mig::mig_cards_with_prefix(model);
  std::vector<std::string> names;
  names.reserve(mig::mig_cards().size());
  for (const mig::MigCard* card : cards) names.push_back(card->name);
  if (!cards.empty()) {
    return base::fail(
        base::ErrorCode::kInvalid,
        base::in_quotes(model) + " may be " + join_words(names, ", ", " or ") + "; say which");
  }
  for (const mig::MigCard& card : mig::mig_cards()) names.push_back(card.name);
  return base::fail(base::ErrorCode::kInvalid, "no card called " + base::in_quotes(model) +
                                                   " is known to have MIG; the known cards are " +
                                                   join_words(names, ", ", " and "));
}

std::string mig_card_list() {
  std::vector<Line> lines = {{"card", "MiB", "memory slices", "compute slices", "profiles"}};
  for (const mig::MigCard& card : mig::mig_cards()) {
    lines.push_back(
        {card.name, std::to_string(card.memory.value), std::to_string(card.table->memory_slices),
         std::to_string(card.table->compute_slices), std::to_string(card.table->profiles.size())});
  }
  return table_text(lines, 0);
}

std::string mig_picture(const mig::MigCard& card, LayoutScope which) {
  const model::MigTable& table = *card.table;
  const bool plain = which == LayoutScope::kPlain;
  const std::vector<mig::MigLayout> layouts = mig::maximal_layouts(table, plain);
  const std::size_t width = width_of_slice(table, which);
  std::string text = heading(card) + '\n' + profiles_text(table) + '\n' +
                     std::to_string(layouts.size()) + " layouts of " +
                     (plain ? "plain profiles" : "all profiles") +
                     " to which no slice can be added; a dot is a memory slice left over\n\n" +
                     axis_text(table, width);
  for (const mig::MigLayout& layout : layouts) text += layout_text(table, layout, width);
  return text;
}

}  // namespace snug::sim_codec

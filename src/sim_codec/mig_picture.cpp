#include "snug/sim_codec/mig_picture.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "snug/base/text.hpp"
#include "snug/mig/layouts.hpp"

namespace snug {
namespace {

using Line = std::vector<std::string>;

std::string listed(std::span<const std::string> names, std::string_view between,
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

/// The first column and those at `left` begin where their heads do, the others end there.
std::string table_text(const std::vector<Line>& lines, std::size_t left) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string written;
    for (std::size_t i = 0; i < line.size(); ++i) {
      written += (i == 0 ? "" : "  ") + padded(line[i], widths[i], i != 0 && i != left);
    }
    written.erase(written.find_last_not_of(' ') + 1);
    text += written + '\n';
  }
  return text;
}

std::string profiles_text(const MigTable& table) {
  const bool media = table.engines.media > 0;
  std::vector<Line> lines = {
      {"profile", "compute slices", "memory slices", "MiB", "starts", "at most"}};
  constexpr std::size_t kStarts = 4;
  if (media) lines.front().emplace_back("media");
  lines.front().emplace_back("extension");
  for (std::size_t i = 0; i < table.profiles.size(); ++i) {
    const MigProfile& profile = table.profiles[i];
    std::vector<std::string> starts;
    starts.reserve(profile.starts.size());
    for (const int start : profile.starts) starts.push_back(std::to_string(start));
    Line& line =
        lines.emplace_back(Line{profile.name, std::to_string(profile.compute),
                                std::to_string(profile.size), std::to_string(profile.memory.value),
                                listed(starts, ",", ","), std::to_string(most_slices(table, i))});
    if (media) line.push_back(std::to_string(profile.engines.media));
    line.push_back(std::to_string(profile.engines.extension));
  }
  std::string text = table_text(lines, kStarts);
  for (const MigProfile& profile : table.profiles) {
    if (!profile.alias.empty()) text += profile.alias + ": another name of " + profile.name + '\n';
  }
  return text;
}

/// Characters for one memory slice, so that the name of each profile shown has room in its box.
std::size_t width_of_slice(const MigTable& table, MigLayouts which) {
  std::size_t width = 3;
  for (const MigProfile& profile : table.profiles) {
    if (which == MigLayouts::kPlain && !profile.plain()) continue;
    const auto size = static_cast<std::size_t>(profile.size);
    width = std::max(width, (profile.name.size() + 2 + size - 1) / size);
  }
  return width;
}

std::string centred(const std::string& text, std::size_t width) {
  return padded(padded(text, (width + text.size()) / 2, true), width, false);
}

std::string layout_text(const MigTable& table, const MigLayout& layout, std::size_t width) {
  std::string text;
  int at = 0;
  const auto leave = [&](int until) {
    for (; at < until; ++at) text += centred(".", width);
  };
  for (const MigPlacement slice : layout) {
    const MigProfile& profile = table.profiles[slice.profile];
    leave(slice.start);
    text += '[' + centred(profile.name, static_cast<std::size_t>(profile.size) * width - 2) + ']';
    at += profile.size;
  }
  leave(table.axis);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string axis_text(const MigTable& table, std::size_t width) {
  std::string text;
  for (int at = 0; at < table.axis; ++at) text += centred(std::to_string(at), width);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string counted(int number, const std::string& of) {
  return std::to_string(number) + ' ' + of + (number == 1 ? "" : "s");
}

std::string heading(const MigCard& card) {
  const MigTable& table = *card.table;
  std::string text = card.name + ": " + std::to_string(card.memory.value) + " MiB, " +
                     counted(table.axis, "memory slice") + ", " +
                     counted(table.compute, "compute slice");
  if (table.engines.media > 0) text += ", " + counted(table.engines.media, "media engine");
  return text + ", " + counted(table.engines.extension, "media extension") + '\n';
}

}  // namespace

Result<const MigCard*> one_mig_card(std::string_view model) {
  std::vector<const MigCard*> cards = mig_cards_called(model);
  if (cards.size() == 1) return cards.front();
  if (cards.empty()) cards = mig_cards_beginning(model);
  std::vector<std::string> names;
  names.reserve(mig_cards().size());
  for (const MigCard* card : cards) names.push_back(card->name);
  if (!cards.empty()) {
    return fail(ErrorCode::kInvalid,
                in_quotes(model) + " may be " + listed(names, ", ", " or ") + "; say which");
  }
  for (const MigCard& card : mig_cards()) names.push_back(card.name);
  return fail(ErrorCode::kInvalid, "no card called " + in_quotes(model) +
                                       " is known to have MIG; known are " +
                                       listed(names, ", ", " and "));
}

std::string mig_card_list() {
  std::vector<Line> lines = {{"card", "MiB", "memory slices", "compute slices", "profiles"}};
  for (const MigCard& card : mig_cards()) {
    lines.push_back({card.name, std::to_string(card.memory.value), std::to_string(card.table->axis),
                     std::to_string(card.table->compute),
                     std::to_string(card.table->profiles.size())});
  }
  return table_text(lines, 0);
}

std::string mig_picture(const MigCard& card, MigLayouts which) {
  const MigTable& table = *card.table;
  const bool plain = which == MigLayouts::kPlain;
  const std::vector<MigLayout> layouts = maximal_layouts(table, plain);
  const std::size_t width = width_of_slice(table, which);
  std::string text = heading(card) + '\n' + profiles_text(table) + '\n' +
                     std::to_string(layouts.size()) + " layouts of " +
                     (plain ? "plain profiles" : "all profiles") +
                     " to which no slice can be added; a dot is a memory slice left over\n\n" +
                     axis_text(table, width);
  for (const MigLayout& layout : layouts) text += layout_text(table, layout, width);
  return text;
}

}  // namespace snug

#include "ctl/text_table.hpp"

#include <algorithm>
#include <array>

#include "snug/base/text.hpp"

namespace snug::ctl {
namespace {

constexpr std::size_t kGap = 2;  // blanks between two columns
constexpr std::size_t kWidestBar = 12;
constexpr std::size_t kNarrowestBar = 4;
constexpr std::size_t kShownOfCutColumn = 16;  // at least
constexpr std::string_view kColourEnd = "\x1b[0m";

constexpr std::string_view code_of(Colour colour) {
  constexpr std::array<std::string_view, 7> kCodes{"",         "\x1b[1m",  "\x1b[2m", "\x1b[31m",
                                                   "\x1b[32m", "\x1b[33m", "\x1b[36m"};
  return kCodes[static_cast<std::size_t>(colour)];
}

/// Whether the character may control a terminal: C0, DEL, C1, and those that end a line or change
/// the direction of what follows (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069).
bool is_control(std::string_view character) {
  if (character.size() == 1) {
    const auto byte = static_cast<unsigned char>(character[0]);
    return byte < 0x20 || byte == 0x7f;
  }
  const auto is_within = [&](std::string_view first, std::string_view last) {
    return character.size() == first.size() && character >= first && character <= last;
  };
  return is_within("\u0080", "\u009f") || character == "\u061c" || is_within("\u200e", "\u200f") ||
         is_within("\u2028", "\u202e") || is_within("\u2066", "\u2069");
}

/// Calls `visit` with each character of the text; what is not valid or could control a terminal is
/// a `?`.
template <typename Visitor>
void for_each_character(std::string_view text, Visitor visit) {
  while (!text.empty()) {
    const std::size_t length = base::character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    visit(length == 0 || is_control(character) ? std::string_view("?") : character);
    text.remove_prefix(character.size());
  }
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string repeated;
  for (std::size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

/// `portion` of `steps`, rounded; never 0 if something is used, never all if something is free.
std::int64_t steps_used(Portion portion, std::int64_t steps) {
  if (portion.whole <= 0 || portion.part <= 0) return 0;
  if (portion.part >= portion.whole) return steps;
  const std::int64_t rounded = (portion.part * steps + portion.whole / 2) / portion.whole;
  return std::clamp<std::int64_t>(rounded, 1, std::max<std::int64_t>(steps - 1, 1));
}

/// Builds one line of characters, each with its colour.
class LineBuilder {
 public:
  void append(std::string_view text, Colour colour) {
    for_each_character(text, [&](std::string_view character) {
      characters_.push_back({text_.size(), character.size(), colour});
      text_ += character;
    });
  }

  void pad_to(std::size_t column) {
    if (column > characters_.size())
      append(std::string(column - characters_.size(), ' '), Colour::kNone);
  }

  /// Returns the line without blanks at its end, cut off at the width of the style.
  [[nodiscard]] std::string finish(const TextStyle& style) {
    while (!characters_.empty() && view(characters_.back()) == " ") characters_.pop_back();
    const bool is_cut = style.width > 0 && characters_.size() > style.width;
    if (is_cut) characters_.resize(style.width - 1);
    std::string line;
    Colour current = Colour::kNone;
    for (const Character& character : characters_) {
      if (style.colour && character.colour != current && view(character) != " ") {
        if (current != Colour::kNone) line += kColourEnd;
        line += code_of(character.colour);
        current = character.colour;
      }
      line += view(character);
    }
    if (current != Colour::kNone) line += kColourEnd;
    if (is_cut) line += style.unicode ? "…" : "~";
    return line;
  }

 private:
  struct Character {
    std::size_t start;
    std::size_t bytes;
    Colour colour;
  };
  [[nodiscard]] std::string_view view(const Character& character) const {
    return std::string_view(text_).substr(character.start, character.bytes);
  }

  std::string text_;
  std::vector<Character> characters_;
};

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for_each_character(text, [&](std::string_view) { ++width; });
  return width;
}

std::string line_text(std::string_view text, Colour colour, const TextStyle& style) {
  LineBuilder line;
  line.append(text, colour);
  return line.finish(style);
}

std::string bar_text(Portion portion, std::size_t cells, bool unicode) {
  const auto used = static_cast<std::size_t>(steps_used(portion, static_cast<std::int64_t>(cells)));
  return repeat(unicode ? "█" : "#", used) + repeat(unicode ? "░" : ".", cells - used);
}

std::string level_text(Portion portion, bool unicode) {
  constexpr std::array<const char*, 9> kBlocks{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (unicode) return kBlocks[static_cast<std::size_t>(steps_used(portion, 8))];
  const std::int64_t tenths = steps_used(portion, 10);
  return tenths == 0 ? "." : tenths == 10 ? "#" : std::to_string(tenths);
}

std::string percent_text(Portion portion) {
  if (portion.whole <= 0) return "-";
  // More than all, such as a namespace above its cap, is never shown as 100 %.
  if (portion.part > portion.whole)
    return std::to_string((100 * portion.part + portion.whole - 1) / portion.whole) + " %";
  return std::to_string(steps_used(portion, 100)) + " %";
}

std::string gib_text(std::int64_t mib) {
  const std::int64_t tenths = (mib * 10 + 512) / 1024;
  if (tenths % 10 == 0 || tenths >= 10'000) return std::to_string((tenths + 5) / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string gpus_text(std::int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return text;
  std::string thousandths = std::to_string(1000 + milli % 1000).substr(1);
  thousandths.erase(thousandths.find_last_not_of('0') + 1);
  return text + "." + thousandths;
}

void TextTable::add_line(std::string text, Colour colour) {
  rows_.push_back({TextCell{.text = std::move(text), .colour = colour}});
}

TextTable::Widths TextTable::widths() const {
  Widths widths;
  for (const Column& column : columns_) widths.without_bar.push_back(display_width(column.title));
  widths.beside_bar.resize(columns_.size());
  for (const std::vector<TextCell>& row : rows_) {
    if (row.size() < 2 && columns_.size() > 1) continue;  // a line across all columns
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::size_t& widest = row[i].bar ? widths.beside_bar[i] : widths.without_bar[i];
      widest = std::max(widest, display_width(row[i].text) + (row[i].bar ? 1 : 0));
    }
  }
  return widths;
}

std::vector<std::size_t> TextTable::columns_from_the_right(Room room) const {
  std::vector<std::size_t> found;
  for (std::size_t i = columns_.size(); i > 0; --i)
    if (columns_[i - 1].room == room) found.push_back(i - 1);
  return found;
}

/// The layout with bars of this length; 0: without bars.
TextTable::Layout TextTable::layout(const Widths& widths, std::size_t bar_cells,
                                    std::span<const std::size_t> left_out) const {
  Layout layout{.bar_cells = bar_cells, .widths = widths.without_bar};
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t& width = layout.widths[i];
    if (const std::size_t beside_bar = widths.beside_bar[i]; beside_bar > 0)
      width = std::max(width, bar_cells > 0 ? beside_bar + bar_cells : beside_bar - 1);
    if (std::ranges::find(left_out, i) != left_out.end()) width = 0;
    if (width == 0) continue;
    const bool may_be_cut = columns_[i].room == Room::kMayBeCut;
    const std::size_t gap = layout.total > 0 ? kGap : 0;
    layout.total += gap + (may_be_cut ? std::min(width, kShownOfCutColumn) : width);
    layout.least += gap + (may_be_cut ? 1 : width);
  }
  return layout;
}

TextTable::Layout TextTable::fitting_layout(const TextStyle& style) const {
  const Widths all_widths = widths();
  const std::vector<std::size_t> before_bars = columns_from_the_right(Room::kIfThereIsRoom);
  for (std::size_t count = 0; count <= before_bars.size(); ++count) {
    for (std::size_t cells = kWidestBar; cells >= kNarrowestBar; --cells) {
      Layout fitting = layout(all_widths, cells, std::span(before_bars).first(count));
      if (style.width == 0 || fitting.total <= style.width) return fitting;
    }
  }
  std::vector<std::size_t> left_out = before_bars;
  Layout fitting = layout(all_widths, 0, left_out);
  for (const std::size_t column : columns_from_the_right(Room::kLeftOutLast)) {
    if (fitting.least <= style.width) break;
    left_out.push_back(column);
    fitting = layout(all_widths, 0, left_out);
  }
  return fitting;
}

std::string TextTable::line(const std::vector<TextCell>& row, const Layout& layout,
                            const TextStyle& style) const {
  LineBuilder builder;
  std::size_t start = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const TextCell& cell = row[i];
    const std::size_t width = layout.widths[i];
    if (width == 0 && row.size() > 1) continue;  // left out
    builder.pad_to(start);
    const std::size_t text_width = display_width(cell.text);
    if (columns_[i].to_the_right && text_width < width) builder.pad_to(start + width - text_width);
    if (cell.bar && layout.bar_cells > 0)
      builder.append(bar_text(*cell.bar, layout.bar_cells, style.unicode) + " ", cell.colour);
    builder.append(cell.text, cell.bar ? Colour::kNone : cell.colour);
    start += width + kGap;
  }
  return builder.finish(style);
}

std::vector<std::string> TextTable::lines(const TextStyle& style) const {
  const Layout fitting = fitting_layout(style);
  std::vector<TextCell> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_)
    titles.push_back({.text = column.title, .colour = Colour::kBold});
  std::vector<std::string> text_lines;
  text_lines.reserve(rows_.size() + 1);
  const bool has_titles =
      std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); });
  if (has_titles) text_lines.push_back(line(titles, fitting, style));
  for (const std::vector<TextCell>& row : rows_) text_lines.push_back(line(row, fitting, style));
  return text_lines;
}

std::string safe_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    lines += line_text(line, Colour::kNone, {}) + "\n";
  }
  return lines;
}

}  // namespace snug::ctl

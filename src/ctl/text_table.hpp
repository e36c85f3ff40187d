// Tables with bars for a terminal or a file: aligned columns that fit a width, in Unicode or ASCII,
// with or without colours. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug::ctl {

enum class Colour : std::uint8_t { kNone, kBold, kDim, kRed, kGreen, kYellow, kCyan };

/// What the output can show.
struct TextStyle {
  bool unicode = false;
  bool colour = false;
  std::size_t width = 0;  // columns of the terminal; 0: any width
};

/// A part of a whole, drawn as a bar.
struct Portion {
  std::int64_t part = 0;
  std::int64_t whole = 0;
};

struct TextCell {
  std::string text;
  Colour colour = Colour::kNone;
  std::optional<Portion> bar = {};  // before the text
};

class TextTable {
 public:
  /// What happens to a column if a line is too narrow for all.
  enum class Room : std::uint8_t {
    kNeeded,
    kIfThereIsRoom,  // left out before the bars
    kLeftOutLast,    // after the bars, rather than cut off
    kMayBeCut,
  };
  struct Column {
    std::string title;
    bool to_the_right = false;
    Room room = Room::kNeeded;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Adds a row with at most one cell for each column.
  void add_row(std::vector<TextCell> cells) { rows_.push_back(std::move(cells)); }
  /// Adds a line across all columns.
  void add_line(std::string text, Colour colour = Colour::kNone);

  /// The lines without newlines; the first has the titles, if there are any. If they are wider than
  /// the style allows, bars become shorter, then columns kIfThereIsRoom are left out one by one
  /// from the right, then the bars. Columns kLeftOutLast follow, from the right, if they would be
  /// cut. What is still too wide is cut off.
  [[nodiscard]] std::vector<std::string> lines(const TextStyle& style) const;

 private:
  /// The widest text of each column.
  struct Widths {
    std::vector<std::size_t> without_bar;
    std::vector<std::size_t> beside_bar;  // with a blank; 0: the column has no bar
  };
  struct Layout {
    std::size_t bar_cells = 0;
    std::vector<std::size_t> widths;  // 0: the column is left out
    std::size_t total = 0;            // with a readable part of what may be cut
    std::size_t least = 0;            // with one character of what may be cut
  };
  [[nodiscard]] Widths widths() const;
  [[nodiscard]] std::vector<std::size_t> columns_from_the_right(Room room) const;
  [[nodiscard]] Layout layout(const Widths& widths, std::size_t bar_cells,
                              std::span<const std::size_t> left_out) const;
  [[nodiscard]] Layout fitting_layout(const TextStyle& style) const;
  [[nodiscard]] std::string line(const std::vector<TextCell>& row, const Layout& layout,
                                 const TextStyle& style) const;

  std::vector<Column> columns_;
  std::vector<std::vector<TextCell>> rows_;
};

/// Returns one line of the text: what could control a terminal becomes `?`, and what is beyond the
/// width of the style is cut off.
[[nodiscard]] std::string line_text(std::string_view text, Colour colour, const TextStyle& style);
/// The lines of a text, each as line_text() without colour: names and values from the cluster must
/// not control the terminal.
[[nodiscard]] std::string safe_lines(std::string_view text);
/// The number of columns that the text takes. Each character beyond ASCII counts as one.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// A bar of `cells` characters. It is full only if the whole is used, and empty only if nothing is.
[[nodiscard]] std::string bar_text(Portion portion, std::size_t cells, bool unicode);
/// One character that shows how much is used.
[[nodiscard]] std::string level_text(Portion portion, bool unicode);
/// `44 %`, with the same rule as bar_text(); `-` if the whole is 0.
[[nodiscard]] std::string percent_text(Portion portion);
/// An amount of memory in GiB: `20`, `13.3`.
[[nodiscard]] std::string gib_text(std::int64_t mib);
/// An amount of compute in GPUs: `3`, `2.25`.
[[nodiscard]] std::string gpus_text(std::int64_t milli);

}  // namespace snug::ctl

#include "ctl/text_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace snug::text_table_test {
namespace {

using ctl::Colour;
using ctl::TextTable;
using testing::ElementsAre;
using Room = TextTable::Room;

TEST(TextTableTest, AnAmountIsFullOnlyIfAllIsUsedAndEmptyOnlyIfNothingIs) {
  struct Row {
    ctl::Portion portion;
    const char* percent;
    const char* bar;    // of 10 cells
    const char* level;  // one character in ASCII
    const char* block;  // one in Unicode
  };
  const Row rows[] = {
      {{0, 1000}, "0 %", "..........", ".", "·"},
      {{1, 100'000}, "1 %", "#.........", "1", "▁"},
      {{500, 1000}, "50 %", "#####.....", "5", "▄"},
      {{444, 1000}, "44 %", "####......", "4", "▄"},
      {{999, 1000}, "99 %", "#########.", "9", "▇"},
      {{1000, 1000}, "100 %", "##########", "#", "█"},
      {{1001, 1000}, "101 %", "##########", "#", "█"},
      {{0, 0}, "-", "..........", ".", "·"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.portion.part);
    EXPECT_EQ(ctl::percent_text(row.portion), row.percent);
    EXPECT_EQ(ctl::bar_text(row.portion, 10, false), row.bar);
    EXPECT_EQ(ctl::level_text(row.portion, false), row.level);
    EXPECT_EQ(ctl::level_text(row.portion, true), row.block);
  }
  EXPECT_EQ(ctl::bar_text({1, 2}, 4, true), "██░░");
  EXPECT_EQ(ctl::bar_text({1, 2}, 1, true), "█") << "something is used";
}

TEST(TextTableTest, AmountsAreShort) {
  struct Row {
    std::int64_t mib;
    const char* gib;
  };
  for (const Row& row : {Row{0, "0"}, Row{51, "0"}, Row{52, "0.1"}, Row{1024, "1"},
                         Row{13'639, "13.3"}, Row{40'960, "40"}, Row{1'048'000, "1023"}}) {
    EXPECT_EQ(ctl::gib_text(row.mib), row.gib) << row.mib;
  }
  EXPECT_EQ(ctl::gpus_text(0), "0");
  EXPECT_EQ(ctl::gpus_text(1), "0.001");
  EXPECT_EQ(ctl::gpus_text(2250), "2.25");
  EXPECT_EQ(ctl::gpus_text(3000), "3");
}

TEST(TextTableTest, ColumnsAreAligned) {
  TextTable table({{.title = "NODE"}, {.title = "FREE", .to_the_right = true}, {.title = "WHY"}});
  table.add_row({{.text = "a"}, {.text = "12"}, {.text = "x"}});
  table.add_row({{.text = "long-name"}, {.text = "3"}});
  table.add_line("a line across the columns, which widens none");
  EXPECT_THAT(table.lines({}),
              ElementsAre("NODE       FREE  WHY",  //
                          "a            12  x",    //
                          "long-name     3", "a line across the columns, which widens none"));
}

TextTable table_with_bars() {
  TextTable table({{.title = "NODE"},
                   {.title = "MEMORY"},
                   {.title = "MODEL", .room = Room::kIfThereIsRoom},
                   {.title = "REMARKS", .room = Room::kMayBeCut}});
  table.add_row({{.text = "n1"},
                 {.text = "50 %", .bar = ctl::Portion{1, 2}},
                 {.text = "A100"},
                 {.text = "closed: unhealthy, and more words"}});
  return table;
}

TEST(TextTableTest, BarsAndColumnsGiveWay) {
  struct Row {
    std::size_t width;
    const char* line;
  };
  const Row rows[] = {
      {0, "n1    ######...... 50 %  A100   closed: unhealthy, and more words"},
      {48, "n1    ######...... 50 %  A100   closed: unhealt~"},
      {42, "n1    ###... 50 %  A100   closed: unhealt~"},
      {40, "n1    ##.. 50 %  A100   closed: unhealt~"},
      {39, "n1    #####..... 50 %  closed: unhealt~"},
      {33, "n1    ##.. 50 %  closed: unhealt~"},
      {32, "n1    50 %    closed: unhealthy~"},
      {8, "n1    5~"},
      {1, "~"},
  };
  for (const Row& row : rows) {
    const std::vector<std::string> lines = table_with_bars().lines({.width = row.width});
    EXPECT_EQ(lines.back(), row.line) << row.width;
    for (const std::string& line : lines) {
      if (row.width > 0) {
        EXPECT_LE(ctl::display_width(line), row.width) << line;
      }
    }
  }
  EXPECT_EQ(table_with_bars().lines({.unicode = true, .width = 33}).back(),
            "n1    ██░░ 50 %  closed: unhealt…");
}

TEST(TextTableTest, AColumnIsLeftOutRatherThanCut) {
  TextTable table({{.title = "NODE"},
                   {.title = "FREE", .to_the_right = true, .room = Room::kLeftOutLast},
                   {.title = "MEMORY", .room = Room::kLeftOutLast},
                   {.title = "REMARKS", .room = Room::kMayBeCut}});
  table.add_row({{.text = "n1"},
                 {.text = "12"},
                 {.text = "50 %", .bar = ctl::Portion{1, 2}},
                 {.text = "closed"}});
  EXPECT_EQ(table.lines({.width = 30}).back(), "n1      12  ##.. 50 %  closed");
  EXPECT_EQ(table.lines({.width = 29}).back(), "n1      12  50 %    closed");
  EXPECT_EQ(table.lines({.width = 21}).back(), "n1      12  50 %    ~");
  EXPECT_EQ(table.lines({.width = 20}).back(), "n1      12  closed");
  EXPECT_THAT(table.lines({.width = 12}), ElementsAre("NODE  REMAR~", "n1    closed"));
}

TEST(TextTableTest, ColoursAreThereOnlyIfTheyAreWanted) {
  TextTable table({{.title = "A"}, {.title = "B"}});
  table.add_row({{.text = "x", .colour = Colour::kRed}, {.text = "y"}});
  EXPECT_THAT(table.lines({.colour = true}),
              ElementsAre("\x1b[1mA  B\x1b[0m", "\x1b[31mx  \x1b[0my"));
  for (const std::string& line : table.lines({})) EXPECT_FALSE(line.contains('\x1b'));
}

TEST(TextTableTest, NothingControlsTheTerminal) {
  TextTable table({{.title = "A"}, {.title = "B"}});
  table.add_row({{.text = "a\x1b[2Jb\nc\td\x7f"},
                 {.text = "\xc2\x9b"
                          "31m \xff ü"}});
  EXPECT_EQ(table.lines({}).back(), "a?[2Jb?c?d?  ?31m ? ü");
  EXPECT_EQ(ctl::line_text("a\rb", Colour::kNone, {}), "a?b");
  EXPECT_EQ(ctl::line_text("a\u202eb\u2069c\u2028d\u061ce\u200ff", Colour::kNone, {}),
            "a?b?c?d?e?f");
  EXPECT_EQ(ctl::line_text("\u00a0\u200d\u202f\u2065\u206a", Colour::kNone, {}),
            "\u00a0\u200d\u202f\u2065\u206a");
}

}  // namespace
}  // namespace snug::text_table_test

#include "snug/config/flag_errors.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace snug::bad_flags_test {
namespace {

struct Row {
  std::string line;
  std::string sentence;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.line; }

class BadFlagsTest : public testing::TestWithParam<Row> {};

TEST_P(BadFlagsTest, AreOneSentence) {
  CLI::App app("", "tool");
  app.require_subcommand(1);
  CLI::App* ask = app.add_subcommand("ask");
  std::string server;
  std::string must;
  unsigned times = 0;
  bool json = false;
  bool svg = false;
  ask->add_option("--server", server)->type_name("URL");
  CLI::Option* much = ask->add_option("--times", times)->check(CLI::Range(1U, 9U));
  ask->add_option("--first", server)->needs(much);
  CLI::Option* as_json = ask->add_flag("--json", json);
  ask->add_flag("--svg", svg)->excludes(as_json);
  ask->add_option("--must", must)->required();
  ask->add_flag("--as-json", json);
  CLI::App* policy = app.add_subcommand("policy");
  policy->require_subcommand(1);
  policy->add_subcommand("check");
  policy->add_subcommand("show");
  std::istringstream line("tool " + GetParam().line);
  const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  EXPECT_EQ(config::parse_flags(app, static_cast<int>(argv.size()), argv.data()),
            GetParam().sentence);
}

TEST(FlagsTest, ThereIsNoHelpOnUnknownWords) {
  const Row rows[] = {
      {"chek --help", "unknown command \"chek\"; expected one of policy, top"},
      {"--help chek", "unknown command \"chek\"; expected one of policy, top"},
      {"policy chek --help", "unknown command \"chek\"; expected check"},
      {"policy check --no-such -h", "unknown flag --no-such"},
  };
  for (const Row& row : rows) {
    CLI::App app("", "tool");
    app.add_subcommand("policy")->add_subcommand("check");
    app.add_subcommand("top");
    std::istringstream line("tool " + row.line);
    const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    EXPECT_EQ(config::parse_flags(app, static_cast<int>(argv.size()), argv.data()), row.sentence);
  }
}

TEST(FlagsTest, HelpIsNoMistake) {
  for (const char* word : {"--help", "-h"}) {
    CLI::App app("", "tool");
    const std::array argv{"tool", word};
    EXPECT_THROW((void)config::parse_flags(app, static_cast<int>(argv.size()), argv.data()),
                 CLI::CallForHelp);
  }
}

TEST(FlagsTest, AValueMayBeginWithTwoHyphensAfterAnEqualsSign) {
  CLI::App app("", "tool");
  std::string name;
  bool json = false;
  app.add_option("--name", name);
  app.add_flag("--json", json);
  const std::array argv{"tool", "--name=--json"};
  EXPECT_EQ(config::parse_flags(app, static_cast<int>(argv.size()), argv.data()), "");
  EXPECT_EQ(name, "--json");
  EXPECT_FALSE(json);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadFlagsTest,
    testing::Values(Row{"", "a command is required; expected one of ask, policy"},
                    Row{"aks", "unknown command \"aks\"; expected one of ask, policy"},
                    Row{"policy", "a command is required; expected one of check, show"},
                    Row{"policy chek x", "unknown command \"chek\"; expected one of check, show"},
                    Row{"policy check x", "\"x\" is an unexpected argument"},
                    Row{"--no-such ask --must 1", "unknown flag --no-such"},
                    Row{"ask --must 1 --no-such", "unknown flag --no-such"},
                    Row{"ask --must 1 --Server=a", "unknown flag --Server=a"},
                    Row{"ask --must 1 --asJson", "the flag --asJson must be written --as-json"},
                    Row{"ask --must 1 --asJson=1", "the flag --asJson must be written --as-json"},
                    Row{"ask --must 1 --asXml", "unknown flag --asXml"},
                    Row{"ask --must 1 stray", "\"stray\" is an unexpected argument"},
                    Row{"ask", "--must is required"},
                    Row{"ask --json --must 1 --server a --server b",
                        "--server was given 2 times; it may be given only once"},
                    Row{"ask --must 1 --server", "--server needs a value: URL"},
                    Row{"ask --must --server a", "--must needs a value: TEXT"},
                    Row{"ask --must 1 --server --first=2 stray", "--server needs a value: URL"},
                    Row{"ask --must --noSuch", "--must needs a value: TEXT"},
                    Row{"ask --must --json", "--must needs a value: TEXT"},
                    Row{"ask --must -- --json", "--must needs a value: TEXT"},
                    Row{"ask --must=", "--must must not be empty"},
                    Row{"ask --must 1 --noSuch=", "unknown flag --noSuch="},
                    Row{"ask --must 1 --asJson=", "the flag --asJson must be written --as-json"},
                    Row{"ask --must 1 --first 1", "--first requires --times, which is missing"},
                    Row{"ask --must 1 --svg --json",
                        "--json and --svg were both given; only one of them is allowed"},
                    Row{"ask --must 1 --times 0", "--times: Value 0 not in range 1 to 9"}));

}  // namespace
}  // namespace snug::bad_flags_test

// The tables of docs/reference that list settings, flags, limits, metrics and reasons come from the
// tables of the code. Where a last column explains the rows, people write it; all other columns are
// generated. SNUG_WRITE_TABLES=1 in the environment of this test writes them into the pages.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_table.hpp"
#include "snug/adapters/obs/agent_metrics.hpp"
#include "snug/adapters/obs/metrics.hpp"
#include "snug/adapters/obs/mps_metrics.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/limits.hpp"
#include "snug/config/agent_options.hpp"
#include "snug/config/mps_options.hpp"
#include "snug/model/reasons.hpp"
#include "support/node_states.hpp"
#include "support/source_file.hpp"

namespace snug::reference_tables_test {
namespace {

using Cells = std::vector<std::string>;

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string line_of(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += (cell.empty() ? " |" : " " + cell + " |");
  return line;
}

/// The cells of a line of a table with `count` columns. Only the last one may contain bars.
Cells cells_of(const std::string& line, std::size_t count) {
  Cells cells;
  std::size_t begin = 1;
  while (cells.size() < count) {
    std::size_t end = cells.size() + 1 == count ? line.size() - 1 : line.find('|', begin);
    if (end == line.npos || end < begin) return {};
    const std::size_t first = line.find_first_not_of(' ', begin);
    const std::size_t last = line.find_last_not_of(' ', end - 1);
    cells.push_back(first < end ? line.substr(first, last - first + 1) : "");
    begin = end + 1;
  }
  return cells;
}

/// Returns `page` with these rows in the table that has this head. A row that lacks the last cell
/// keeps that of the page's row with the same first cell; it is empty if there is none.
std::string with_table(const std::string& page, const Cells& head, const std::vector<Cells>& rows) {
  std::istringstream lines(page);
  std::string text;
  std::map<std::string, std::string> last_cells;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == line_of(head)) {
      inside = true;
    } else if (inside && line.starts_with("|")) {
      const Cells cells = cells_of(line, head.size());
      if (!cells.empty()) last_cells[cells.front()] = cells.back();
      continue;
    } else if (inside) {
      inside = false;
      text += "|";
      for (std::size_t column = 0; column < head.size(); ++column) text += "---|";
      text += "\n";
      for (Cells cells : rows) {
        if (cells.size() < head.size()) cells.push_back(last_cells[cells.front()]);
        text += line_of(cells) + "\n";
      }
    }
    text += line + "\n";
  }
  return text;
}

/// Checks the table of docs/reference/NAME.md with this head, or writes it.
void check_table(const std::string& name, const Cells& head, const std::vector<Cells>& rows) {
  ASSERT_FALSE(rows.empty());
  const std::string path = source_file("docs/reference/") + name + ".md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  ASSERT_NE(page.str().find(line_of(head) + "\n|"), std::string::npos)
      << path << " has no table with the head " << line_of(head);
  const std::string text = with_table(page.str(), head, rows);
  if (std::getenv("SNUG_WRITE_TABLES") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(text, page.str()) << "run this test with SNUG_WRITE_TABLES=1 to write the table";
  EXPECT_FALSE(std::regex_search(text, std::regex("\\| \\|\n")))
      << path << ": an empty last column";
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto end = std::ssize(text) - 3; end > 0; end -= 3) {
    text.insert(static_cast<std::size_t>(end), ",");
  }
  return text;
}

/// What stands for a setting's value in --help: `NAME`, or the words that it may be.
std::string value_of(const config::OptionRow& row) {
  std::istringstream words{std::string(row.placeholder)};
  std::string text;
  for (std::string word; std::getline(words, word, '|');) {
    text += (text.empty() ? "" : ", ") + code(word);
  }
  return (row.list_member == nullptr ? "" : "list of ") + text;
}

TEST(ReferenceTablesTest, Settings) {
  std::vector<Cells> rows;
  for (const config::OptionRow& row : config::option_rows()) {
    rows.push_back({code(row.key), value_of(row),
                    row.default_text.empty() ? "off" : std::string(row.default_text)});
  }
  rows.push_back({"`limits`", "map of integers", "[limits](limits.md)"});
  check_table("settings", {"key", "value", "default", "meaning"}, rows);
}

TEST(ReferenceTablesTest, ConfigurableLimits) {
  std::vector<Cells> rows;
  for (const base::LimitRow& row : base::limit_rows()) {
    rows.push_back({code(row.key), grouped(row.default_value), grouped(row.smallest),
                    grouped(row.largest), std::string(row.description)});
  }
  check_table("limits", {"key", "default", "smallest", "largest", "what it limits"}, rows);
}

TEST(ReferenceTablesTest, FixedLimits) {
#define SNUG_FIXED_LIMIT_CELLS(name, value, meaning) Cells{code(#name), grouped(value), meaning},
  const std::vector<Cells> rows{SNUG_FIXED_LIMITS(SNUG_FIXED_LIMIT_CELLS)};
#undef SNUG_FIXED_LIMIT_CELLS
  check_table("limits", {"limit", "value", "what it limits"}, rows);
}

TEST(ReferenceTablesTest, LimitsOfTheAgent) {
#define SNUG_AGENT_LIMIT_CELLS(name, value, meaning) Cells{code(#name), grouped(value), meaning},
  const std::vector<Cells> rows{SNUG_AGENT_LIMITS(SNUG_AGENT_LIMIT_CELLS)};
#undef SNUG_AGENT_LIMIT_CELLS
  check_table("limits", {"limit of `snug-agent`", "value", "what it limits"}, rows);
}

/// The flags with values that --help shows, as `flag`, `value`, `default` and `meaning`.
std::vector<Cells> flags_in(const std::string& help) {
  std::vector<std::string> flags;
  std::istringstream lines(help.substr(help.find("Options:\n")));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  -")) {
      flags.push_back(line);
    } else if (line.starts_with("   ") && !flags.empty()) {
      flags.back() += " " + line;  // the rest of a long one
    }
  }
  std::vector<Cells> rows;
  for (const std::string& flag : flags) {
    std::smatch match;
    const std::regex parts(
        R"(  (--[\w-]+) ([A-Z]\S*|[a-z\d]+\|\S+)(?: \.\.\.)? +(.*?)(?:; default: (.*))?)");
    if (!std::regex_match(flag, match, parts)) continue;
    const std::string value = std::regex_replace(match[2].str(), std::regex("\\|"), "\\|");
    rows.push_back({code(match[1].str()), code(value), match[4].str(), match[3].str()});
  }
  return rows;
}

TEST(ReferenceTablesTest, FlagsOfTheAgent) {
  const char* const arguments[] = {"snug-agent", "--help"};
  const auto options = config::read_agent_options(2, arguments);
  ASSERT_TRUE(options);
  check_table("agent", {"flag", "value", "default", "meaning"}, flags_in(options->print_and_exit));
}

TEST(ReferenceTablesTest, FlagsOfSnugMps) {
  const char* const arguments[] = {"snug-mps", "--help"};
  const auto options = config::read_mps_options(2, arguments);
  ASSERT_TRUE(options);
  check_table("agent", {"flag of `snug-mps`", "value", "default", "meaning"},
              flags_in(options->print_and_exit));
}

TEST(ReferenceTablesTest, ExemptionsOfTheAgent) {
  std::vector<Cells> rows;
  for (const agent::Exemption& row : agent::default_exemptions())
    rows.push_back({code(row.name_space + "/" + row.service_account)});
  check_table("agent", {"exempt", "what it is"}, rows);
}

TEST(ReferenceTablesTest, Reasons) {
  std::vector<Cells> rows;
  for (const model::ReasonRow& reason : model::all_reasons()) {
    if (reason.code.empty()) continue;
    rows.push_back(
        {code(reason.code), reason.resolvable ? "yes" : "no", std::string(reason.sentence)});
  }
  check_table("reasons", {"code", "evictable", "sentence", "what to do"}, rows);
}

/// Labels whose values depend on the cluster or the build.
const std::set<std::string> kOpenLabels{"closed",    "gpu",  "holder", "mode",   "model",
                                        "namespace", "node", "uuid",   "version"};

struct Metric {
  std::string kind;
  std::map<std::string, std::set<std::string>> labels;  // values by label

  [[nodiscard]] std::string labels_text() const {
    std::string text;
    for (const auto& [label, values] : labels) {
      text += (text.empty() ? "" : "; ") + code(label);
      if (kOpenLabels.contains(label)) continue;
      if (values.contains("NoRoom")) {
        text += ": [codes](reasons.md)";
        continue;
      }
      std::string separator = ": ";
      for (const std::string& value : values) {
        text += separator + (value.empty() ? "empty" : code(value));
        separator = ", ";
      }
    }
    return text;
  }
};

/// The metrics of a text in Prometheus' format.
std::map<std::string, Metric> metrics_in(const std::string& exposition) {
  std::map<std::string, Metric> table;
  std::string name;
  std::istringstream lines(exposition);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, std::regex(R"(# TYPE (\w+) (\w+))"))) {
      name = match[1];
      table[name].kind = match[2];
    }
    if (line.starts_with('#')) continue;
    const std::regex label(R"re((\w+)="([^"]*)")re");
    for (std::sregex_iterator it(line.begin(), line.end(), label), end; it != end; ++it) {
      if ((*it)[1] != "le") table[name].labels[(*it)[1]].insert((*it)[2]);
    }
  }
  return table;
}

std::vector<Cells> metric_rows(const std::string& exposition) {
  std::vector<Cells> rows;
  for (const auto& [name, metric] : metrics_in(exposition))
    rows.push_back({code(name), metric.kind, metric.labels_text()});
  return rows;
}

/// What GET /metrics serves, with at least one series of each metric and one for each value of a
/// label that is not open.
std::string served() {
  const std::unique_ptr<obs::PrometheusMetrics> metrics = obs::make_prometheus_metrics();
  obs::ClusterGauges gauges;
  gauges.usage.models.push_back({.model = "A"});
  gauges.usage.namespaces.push_back({.name_space = "n", .cap = base::MilliGpu{1}});
  auto snapshot = std::make_shared<model::Snapshot>();
  snapshot->nodes = model::NodeTable({make_state("n: A 1")});
  gauges.snapshot = snapshot;
  for (const service::Resource resource : service::kResourceNames.values())
    gauges.streams[resource] = {{}, "1"};
  metrics->webhook_checked(true, std::nullopt);
  return metrics->exposition(gauges);
}

TEST(ReferenceTablesTest, Metrics) {
  check_table("metrics", {"metric", "type", "labels", "what it shows"}, metric_rows(served()));
}

TEST(ReferenceTablesTest, MetricsOfTheAgent) {
  const auto metrics = obs::make_agent_metrics("1");
  check_table("metrics", {"metric of `snug-agent`", "type", "labels", "what it shows"},
              metric_rows(metrics->exposition()));
}

TEST(ReferenceTablesTest, MetricsOfSnugMps) {
  check_table("metrics", {"metric of `snug-mps`", "type", "labels", "what it shows"},
              metric_rows(obs::PrometheusMpsMetrics("1").exposition()));
}

TEST(ReferenceTablesTest, OtherTextAndLastCellsAreKept) {
  const std::string page =
      "# Page\n\n| a | b |\n|---|---|\n| `x` | old `y\\|z` |\n| `gone` | b |\n\nText.\n";
  EXPECT_EQ(with_table(page, {"a", "b"}, {{"`x`"}, {"`new`"}}),
            "# Page\n\n| a | b |\n|---|---|\n| `x` | old `y\\|z` |\n| `new` | |\n\nText.\n");
  EXPECT_EQ(with_table(page, {"a", "b"}, {{"`x`", "2"}}),
            "# Page\n\n| a | b |\n|---|---|\n| `x` | 2 |\n\nText.\n");
}

}  // namespace
}  // namespace snug::reference_tables_test

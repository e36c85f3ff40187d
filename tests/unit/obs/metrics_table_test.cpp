// The table of metrics in docs/reference/metrics.md lists what GET /metrics serves: the same names,
// the same labels and, where the table lists the values of a label, the same values.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "snug/adapters/obs/metrics.hpp"
#include "support/node_states.hpp"

namespace snug::metrics_table_test {
namespace {

using Words = std::set<std::string>;
using Labels = std::map<std::string, Words>;  // values by label
using Table = std::map<std::string, Labels>;  // labels by metric

std::vector<std::smatch> matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

/// A cell such as "`holder`; `result`: `ok`, `error`". A label without values may have any.
Labels read_labels(const std::string& cell) {
  Labels labels;
  std::istringstream parts(cell);
  for (std::string part; std::getline(parts, part, ';');) {
    std::string label;
    for (const std::smatch& word : matches(part, std::regex("`(\\w+)`"))) {
      if (label.empty()) {
        label = word[1];
        labels[label];
      } else {
        labels[label].insert(word[1]);
      }
    }
  }
  return labels;
}

Table documented() {
  std::ifstream file(SNUG_SOURCE_DIR "/docs/reference/metrics.md");
  const std::regex row(R"(\| (`snug_\w+`(?:, `snug_\w+`)*) \|([^|]*)\|.*)");
  Table table;
  std::smatch cells;
  for (std::string line; std::getline(file, line);) {
    if (!std::regex_match(line, cells, row)) continue;
    const std::string names = cells[1];
    for (const std::smatch& name : matches(names, std::regex("`(\\w+)`")))
      table[name[1]] = read_labels(cells[2]);
  }
  return table;
}

Table served() {
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
  Table table;
  std::string metric;
  std::istringstream lines(metrics->exposition(gauges));
  for (std::string line; std::getline(lines, line);) {
    std::smatch type;
    if (std::regex_match(line, type, std::regex(R"(# TYPE (\w+) \w+)"))) {
      metric = type[1];
      table[metric];
    }
    if (line.starts_with('#')) continue;
    for (const std::smatch& label : matches(line, std::regex(R"re((\w+)="([^"]*)")re"))) {
      if (label[1] != "le") table[metric][label[1]].insert(label[2]);
    }
  }
  return table;
}

TEST(MetricsTableTest, TheTableListsWhatIsServed) {
  const Table expected = documented();
  Table actual = served();
  ASSERT_FALSE(expected.empty()) << "no row of a metric in docs/reference/metrics.md";
  for (const auto& [metric, labels] : expected) {
    for (const auto& [label, values] : labels) {
      // Values that depend on the cluster.
      if (values.empty() && actual.contains(metric) && actual[metric].contains(label)) {
        actual[metric][label].clear();
      }
    }
    EXPECT_TRUE(actual.contains(metric)) << metric << " is in the table only";
    EXPECT_EQ(actual[metric], labels) << metric;
  }
  for (const auto& [metric, labels] : actual) {
    EXPECT_TRUE(expected.contains(metric)) << metric << " is not in the table";
  }
}

}  // namespace
}  // namespace snug::metrics_table_test

#include <algorithm>
#include <vector>

#include "sim_codec/csv_table.hpp"
#include "snug/base/text.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug::sim_codec {
namespace {

namespace time_column {
enum : std::size_t { kCreated, kDeleted };
constexpr CsvColumn kAll[] = {{"creation_time"}, {"deletion_time"}};
}  // namespace time_column

constexpr std::int64_t kLatestSecond = 999'999'999'999;

struct PodTimes {
  std::size_t pod = 0;
  std::int64_t created = 0;
  std::optional<double> lifetime;
};

PodTimes read_times(CsvTable& table, std::size_t pod) {
  using namespace time_column;
  PodTimes times{.pod = pod, .created = table.number(kCreated, kLatestSecond)};
  if (table.field(kDeleted).empty()) return times;
  const std::int64_t deleted = table.number(kDeleted, kLatestSecond);
  if (deleted < times.created) {
    table.report_problem("deletion_time is " + base::in_quotes(table.field(kDeleted)) +
                         ", before creation_time, which is " +
                         base::in_quotes(table.field(kCreated)));
  }
  times.lifetime = static_cast<double>(deleted - times.created);
  return times;
}

}  // namespace

base::Result<void> read_trace_timestamps(const TraceFile& file, sim::Trace& trace) {
  CsvTable table(file.text, file.source, time_column::kAll);
  std::vector<PodTimes> all_times;
  while (table.next()) all_times.push_back(read_times(table, all_times.size()));
  if (const auto& problem = table.problem()) return std::unexpected(*problem);
  std::ranges::stable_sort(all_times, {}, &PodTimes::created);
  trace.arrivals.clear();
  trace.arrival_seconds.clear();
  for (const PodTimes& times : all_times) {
    trace.arrivals.push_back({.pod = times.pod, .lifetime = times.lifetime});
    trace.arrival_seconds.push_back(static_cast<double>(times.created - all_times.front().created));
  }
  return {};
}

}  // namespace snug::sim_codec

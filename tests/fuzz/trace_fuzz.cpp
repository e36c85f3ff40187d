// The files of a trace: nodes, pods and arrivals, separated by lines `---`. An error has its
// line, and changes nothing.
#include <algorithm>
#include <regex>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/sim_codec/trace_codec.hpp"
#include "target.hpp"

namespace snug::fuzz {
namespace {

std::string_view take_part(std::string_view& rest) {
  constexpr std::string_view kEnd = "\n---\n";
  const std::size_t end = std::min(rest.find(kEnd), rest.size());
  const std::string_view part = rest.substr(0, std::min(end + 1, rest.size()));
  rest.remove_prefix(std::min(end + kEnd.size(), rest.size()));
  return part;
}

void require_line(const base::Error& error) {
  static const std::regex kLine(R"(f:([1-9]\d*:)? [^]+)");
  require(
      std::regex_search(error.message.substr(0, 60), kLine, std::regex_constants::match_continuous),
      "an error has a line: " + error.message);
}

void check_pods(const sim::Trace& trace) {
  for (const sim::TracePod& pod : trace.pods) {
    require(pod.gpus == 0 ? pod.gpu_milli == 0 : pod.gpu_milli >= 1 && pod.gpu_milli <= 1000,
            "milli-GPU of a pod");
  }
}

void check_arrivals(sim::Trace& trace, std::size_t pods, const base::Result<void>& read) {
  if (!read) {
    require_line(read.error());
    return require(trace.arrivals.empty() && trace.pods.size() == pods,
                   "an error leaves the trace unchanged");
  }
  for (const sim::Arrival& arrival : trace.arrivals) {
    require(arrival.pod < trace.pods.size(), "an arrival of a pod");
    require(!arrival.lifetime || *arrival.lifetime >= 0, "a lifetime is not negative");
  }
  require(trace.arrival_seconds.empty() || trace.arrival_seconds.size() == trace.arrivals.size(),
          "a time for each arrival");
  require(std::ranges::is_sorted(trace.arrival_seconds), "arrivals are in the order of time");
  check_pods(trace);
  require(trace.gpu_count() >= 0, "GPUs can be counted");
  (void)sim_codec::trace_warnings(trace);
}

}  // namespace

void take_input(std::string_view input) {
  const base::Limits limits;
  const auto nodes = sim_codec::read_trace_nodes({take_part(input), "f"}, limits);
  if (!nodes) require_line(nodes.error());
  const std::string_view pod_text = take_part(input);
  const auto pods = sim_codec::read_trace_pods({pod_text, "f"}, limits);
  if (!pods) require_line(pods.error());
  sim::Trace trace;
  if (nodes) trace.nodes = *nodes;
  if (pods) trace.pods = *pods;
  sim::Trace timed = trace;
  check_arrivals(trace, trace.pods.size(), sim_codec::read_trace_arrivals({input, "f"}, trace));
  if (!pods) return;
  check_arrivals(timed, timed.pods.size(),
                 sim_codec::read_trace_timestamps({pod_text, "f"}, timed));
}

}  // namespace snug::fuzz

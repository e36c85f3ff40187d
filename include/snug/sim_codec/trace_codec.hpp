// Reads the three files of a trace: a CSV of nodes, a CSV of pods, and a text of arrivals. An error
// is one sentence of the form `FILE:LINE: what is wrong; what is expected`.
//
//   nodes     columns sn, cpu_milli, memory_mib, gpu, model, and optionally mig (1: the node's GPUs
//             are in MIG mode)
//   pods      columns name, cpu_milli, memory_mib, num_gpu, gpu_milli, and optionally gpu_spec
//             (the exact names of the GPU models that the pod accepts, separated by `|`)
//             creation_time and deletion_time: seconds, whole numbers; a pod with an empty
//             deletion_time never leaves (read_trace_timestamps() only)
//   arrivals  `p ROW` or `p ROW LIFETIME`: the pod in data row ROW (0-based) of the pods arrives;
//             `m PROFILE` or `m PROFILE LIFETIME`: a pod that requests a MIG slice arrives;
//             `n NODE RANK`: among equally good nodes, the one with the lowest rank wins
//
// The columns may have any order. Unknown columns and lines that begin with # are ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim_codec {

struct TraceFile {
  std::string_view text;
  std::string_view source;  // the name of the file in messages
};

/// Returns the nodes in the order of their rows. A file without nodes is an error.
[[nodiscard]] base::Result<std::vector<sim::TraceNode>> read_trace_nodes(
    const TraceFile& file, const base::Limits& limits);

/// Returns the pods in the order of their rows. A file without pods is an error.
[[nodiscard]] base::Result<std::vector<sim::TracePod>> read_trace_pods(const TraceFile& file,
                                                                       const base::Limits& limits);

/// Sets trace.arrivals, sorts trace.nodes by the ranks in the file, and adds to trace.pods one pod
/// for each MIG profile that a line with `m` names. trace.nodes and trace.pods must have been read
/// before. An error leaves the trace unchanged.
[[nodiscard]] base::Result<void> read_trace_arrivals(const TraceFile& file, sim::Trace& trace);

/// Sets trace.arrivals and trace.arrival_seconds by the times in a CSV of pods, from which
/// trace.pods was read before. An error leaves the trace unchanged.
[[nodiscard]] base::Result<void> read_trace_timestamps(const TraceFile& file, sim::Trace& trace);

/// Returns sentences about arriving pods that accept only models that no node has, with the number
/// of these pods.
[[nodiscard]] std::vector<std::string> trace_warnings(const sim::Trace& trace);

}  // namespace snug::sim_codec

// Files of a trace → its parts: CSVs of nodes and of pods, and the file of arrivals. Strict: every
// error is one sentence `FILE:LINE: what is wrong; what is expected`.
//
//   nodes     columns sn, cpu_milli, memory_mib, gpu, model, and optionally mig (1: the node's GPUs
//             are in MIG mode)
//   pods      columns name, cpu_milli, memory_mib, num_gpu, gpu_milli, and optionally gpu_spec
//             (the exact names of the GPU models that the pod accepts, separated by `|`)
//   arrivals  `p ROW` or `p ROW LIFETIME`: the pod in this data row, from 0; `m PROFILE` or
//             `m PROFILE LIFETIME`: a pod that asks for a MIG slice; `n NODE RANK`: of equally good
//             nodes the lowest rank wins
//
// Columns stand in any order. Further columns and lines that begin with # are ignored.
#pragma once

#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim_codec {

struct TraceFile {
  std::string_view text;
  std::string_view source;  // names the text in messages
};

/// In the order of their rows. At least one.
[[nodiscard]] base::Result<std::vector<sim::TraceNode>> read_trace_nodes(
    const TraceFile& file, const base::Limits& limits);

[[nodiscard]] base::Result<std::vector<sim::TracePod>> read_trace_pods(const TraceFile& file,
                                                                       const base::Limits& limits);

/// Gives the trace, which has its nodes and pods, its arrivals, and its nodes the order that the
/// file says. After an error the trace is as it was.
[[nodiscard]] base::Result<void> read_trace_arrivals(const TraceFile& file, sim::Trace& trace);

}  // namespace snug::sim_codec

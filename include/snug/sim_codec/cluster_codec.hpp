// Reads a cluster from files as `kubectl get nodes,pods -A -o json|yaml` prints them, for a
// simulation. Also reads how other systems that share GPUs state requests, GPUs and assignments:
// HAMi, Volcano, gpushare, Koordinator, vgpu-manager and KAI Scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/sim/cluster.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug::sim_codec {

struct ReadCluster {
  sim::Cluster cluster;
  std::int64_t other_pods = 0;  // pods that request no GPU and have not ended
  /// Sentences about what the simulation does not consider or treats in its own way. Each states
  /// how many objects it is about.
  std::vector<std::string> warnings;
};

/// Reads and joins files. An error names the file and the place.
class ClusterReader {
 public:
  explicit ClusterReader(const base::Limits& limits);
  ~ClusterReader();
  ClusterReader(const ClusterReader&) = delete;
  ClusterReader& operator=(const ClusterReader&) = delete;

  [[nodiscard]] base::Result<void> add(const TraceFile& file);
  /// Returns the cluster of all files. A cluster without nodes is an error.
  [[nodiscard]] base::Result<ReadCluster> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::sim_codec

// The gauges that are made anew for each scrape: of the cluster, its GPU models and namespaces, and
// of this replica. All names, help texts and labels of these gauges are in the source. Those of
// single GPUs are in gpu_series.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <vector>

#include "snug/adapters/obs/metrics.hpp"

namespace snug::obs {

[[nodiscard]] std::vector<prometheus::MetricFamily> cluster_families(const ClusterGauges& gauges,
                                                                     const MetricsOptions& options,
                                                                     std::int64_t gpus_with_series);

}  // namespace snug::obs

// The gauges that are made anew for each scrape: of the cluster, its GPU models, namespaces and
// GPUs, and of this replica. All names, help texts and labels of these gauges are in the source.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "snug/adapters/obs/metrics.hpp"

namespace snug::obs {

[[nodiscard]] std::vector<prometheus::MetricFamily> cluster_families(const ClusterGauges& gauges,
                                                                     const MetricsOptions& options);

}  // namespace snug::obs

#include <cstddef>
#include <map>
#include <utility>

#include "sim/trace_conversion.hpp"
#include "snug/demand/pod_shape.hpp"
#include "snug/demand/typical_pods.hpp"
#include "snug/sim/replay.hpp"

namespace snug::sim {

std::vector<model::TypicalPod> typical_pods_of(const Trace& trace, const demand::Supply& supply) {
  const std::vector<model::GpuRequest> requests = requests_of(trace);
  std::map<demand::PodShape, std::size_t> shape_positions;
  // The shapes are in the order of the trace. typical_pods() keeps that order for equally frequent
  // shapes.
  std::vector<demand::CountedShape> counted_shapes;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    demand::PodShape shape = demand::shape_of(requests[i], host_resources_of(trace.pods[i]));
    const auto [row, is_new] = shape_positions.try_emplace(shape, counted_shapes.size());
    if (is_new) counted_shapes.emplace_back(std::move(shape), 0);
    counted_shapes[row->second].second += 1;
  }
  return demand::typical_pods(std::move(counted_shapes), supply);
}

}  // namespace snug::sim

#include "snug/demand/typical.hpp"

#include <cstddef>
#include <map>
#include <utility>

#include "sim/trace_objects.hpp"
#include "snug/demand/shape.hpp"
#include "snug/sim/replay.hpp"

namespace snug {

std::vector<TypicalPod> typical_of(const Trace& trace, const Supply& supply) {
  const std::vector<GpuRequest> requests = requests_of(trace);
  std::map<PodShape, std::size_t> known;
  std::vector<CountedShape> counted;  // in the order of the list, by which equally frequent ones go
  for (std::size_t i = 0; i < requests.size(); ++i) {
    PodShape shape = shape_of(requests[i], host_of(trace.pods[i]));
    const auto [row, is_new] = known.try_emplace(shape, counted.size());
    if (is_new) counted.emplace_back(std::move(shape), 0);
    counted[row->second].second += 1;
  }
  return typical_pods(std::move(counted), supply);
}

}  // namespace snug

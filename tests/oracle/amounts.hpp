// What the containers of one pod take together, by the tests' own arithmetic. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "snug/model/pod.hpp"

namespace snug {

inline constexpr std::int64_t kWholeMilli = 1000;  // the compute of one GPU

struct Amounts {
  std::int64_t memory = 0;
  std::int64_t compute = 0;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

inline Amounts larger_of(Amounts a, Amounts b) {
  return {std::max(a.memory, b.memory), std::max(a.compute, b.compute)};
}

/// What one container takes.
struct Part {
  model::ContainerType runs = model::ContainerType::kApp;
  std::size_t position = 0;  // in the pod
  Amounts amounts;
};

/// What these take together: in each dimension the larger of apps and sidecars, and each plain init
/// container with the sidecars before it.
inline Amounts together(const std::vector<Part>& parts) {
  using enum model::ContainerType;
  const auto sum_of = [&](const auto& runs) {
    Amounts sum;
    for (const Part& part : parts) {
      if (!runs(part)) continue;
      sum.memory += part.amounts.memory;
      sum.compute += part.amounts.compute;
    }
    return sum;
  };
  Amounts most = sum_of([](const Part& part) { return part.runs != kInit; });
  for (const Part& init : parts) {
    if (init.runs != kInit) continue;
    most = larger_of(most, sum_of([&](const Part& part) {
                       if (part.runs == kInit) return part.position == init.position;
                       return part.runs == kSidecar && part.position < init.position;
                     }));
  }
  return most;
}

}  // namespace snug

// What a pod asks, in the naive model's own reading of the annotations that the simulation writes.
// Calls nothing of Snug's.
#pragma once

#include <cstdint>
#include <utility>

#include "snug/model/pod.hpp"
#include "snug/model/request.hpp"

namespace snug {

struct PlainAsk {
  bool malformed = false;
  model::GpuRequest request;  // without texts

  [[nodiscard]] bool nothing() const { return !malformed && request.empty(); }
};

/// Parses the request of the pod in `annotations`, or else in the pod's own annotations.
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod, const model::StringMap& annotations);
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod);

/// CPU (thousandths) and memory (bytes) by kube-scheduler's formula, which is the same as for GPUs.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> host_resources_of(const model::PodFacts& pod);

/// Whether pod `a` comes before pod `b` in rank.
[[nodiscard]] bool comes_before(const model::PodFacts& a, const model::PodFacts& b);

}  // namespace snug

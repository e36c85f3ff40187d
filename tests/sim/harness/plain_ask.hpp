// The request of a pod and its cost, in the naive model. It has its own parser for the annotations
// that the simulation writes, and its own arithmetic. Does not use Snug's decision code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/harness/objects.hpp"

namespace snug {

inline constexpr std::int64_t kWholeMilli = 1000;  // the compute of one GPU

struct Amounts {
  std::int64_t memory = 0;   // MiB
  std::int64_t compute = 0;  // thousandths of a GPU
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

struct PlainContainer {
  enum class Kind { kFraction, kMemory, kWhole, kSlice };
  std::string name;
  model::ContainerType runs = model::ContainerType::kApp;
  std::size_t position = 0;  // position in the pod
  Kind kind = Kind::kFraction;
  std::int64_t amount = 0;   // milli-GPU or MiB, depending on `kind`
  std::int64_t count = 1;    // number of GPUs
  std::int64_t percent = 0;  // gpu-compute; 0: not given
  std::string isolation = "any";
  std::string models;
  std::string profile;  // MIG profile, for kSlice

  [[nodiscard]] bool whole() const { return kind == Kind::kWhole; }
  [[nodiscard]] bool share() const { return kind == Kind::kFraction || kind == Kind::kMemory; }
  /// Returns what the container takes of a GPU with `capacity` MiB that is not in MIG mode.
  [[nodiscard]] Amounts cost(std::int64_t capacity) const;
  [[nodiscard]] bool takes(std::string_view model) const;
};

struct PlainAsk {
  bool malformed = false;
  std::int64_t units = 0;                  // number of nvidia.com/gpu units
  std::vector<PlainContainer> containers;  // containers with a request in annotations

  [[nodiscard]] bool nothing() const { return !malformed && units == 0 && containers.empty(); }
  [[nodiscard]] bool shares() const;
  [[nodiscard]] const PlainContainer* find(std::string_view container) const;
};

/// Parses the request of the pod in `annotations`, or else in the pod's own annotations.
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod, const model::StringMap& annotations);
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod);

/// What one container of a pod takes.
struct Part {
  model::ContainerType runs = model::ContainerType::kApp;
  std::size_t position = 0;  // in the pod
  Amounts amounts;
};
/// Returns what these containers take together. In each dimension it is the largest of these sums:
/// all apps and sidecars, and each init container with the sidecars before it.
[[nodiscard]] Amounts together(const std::vector<Part>& parts);

/// Returns the milli-CPU and the bytes of memory that the pod requests. kube-scheduler's formula is
/// that of together().
[[nodiscard]] std::pair<std::int64_t, std::int64_t> host_in_identity(const model::PodFacts& pod);

/// Whether pod `a` comes before pod `b` in rank.
[[nodiscard]] bool comes_before(const model::PodFacts& a, const model::PodFacts& b);

}  // namespace snug

// What a pod asks, in the naive model's own reading of the annotations that the simulation writes,
// and what that costs, in its own arithmetic. Calls nothing of Snug's.
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
  std::size_t position = 0;  // in the pod
  Kind kind = Kind::kFraction;
  std::int64_t amount = 0;   // thousandths, MiB
  std::int64_t count = 1;    // GPUs
  std::int64_t percent = 0;  // gpu-compute; 0: none
  std::string isolation = "any";
  std::string models;
  std::string profile;  // of kSlice

  [[nodiscard]] bool whole() const { return kind == Kind::kWhole; }
  [[nodiscard]] bool share() const { return kind == Kind::kFraction || kind == Kind::kMemory; }
  /// Of a GPU of so many MiB, and not in MIG mode.
  [[nodiscard]] Amounts cost(std::int64_t capacity) const;
  [[nodiscard]] bool takes(std::string_view model) const;
};

struct PlainAsk {
  bool malformed = false;
  std::int64_t units = 0;                  // of nvidia.com/gpu
  std::vector<PlainContainer> containers;  // that ask by annotation

  [[nodiscard]] bool nothing() const { return !malformed && units == 0 && containers.empty(); }
  [[nodiscard]] bool shares() const;
  [[nodiscard]] const PlainContainer* find(std::string_view container) const;
};

/// By these annotations instead of the pod's own.
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod, const model::StringMap& annotations);
[[nodiscard]] PlainAsk plain_ask(const model::PodFacts& pod);

/// What one container takes.
struct Part {
  model::ContainerType runs = model::ContainerType::kApp;
  std::size_t position = 0;  // in the pod
  Amounts amounts;
};
/// What these take together: in each dimension the larger of apps and sidecars, and each plain init
/// container with the sidecars before it.
[[nodiscard]] Amounts together(const std::vector<Part>& parts);

/// CPU (thousandths) and memory (bytes) by kube-scheduler's formula, which is the same.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> host_in_identity(const model::PodFacts& pod);

/// Whether pod `a` comes before pod `b` where only one can have its way.
[[nodiscard]] bool comes_before(const model::PodFacts& a, const model::PodFacts& b);

}  // namespace snug

// The order of pods that compete for the same capacity: higher priority first, then older
// (creationTimestamp, compared as text), then lower uid.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace snug::model {

struct PodRank {
  std::int32_t priority = 0;
  std::string created;  // RFC 3339; an empty text counts as the youngest
  std::string uid;

  [[nodiscard]] bool outranks(const PodRank& other) const {
    if (priority != other.priority) return priority > other.priority;
    if (created != other.created) {
      return other.created.empty() || (!created.empty() && created < other.created);
    }
    return uid < other.uid;
  }
  friend bool operator==(const PodRank&, const PodRank&) = default;
};

}  // namespace snug::model

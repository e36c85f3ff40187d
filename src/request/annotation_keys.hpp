// Parses the annotations of one container's GPU request. The table in annotation_keys.cpp has the
// name of each annotation key, the parser of its value, and the rule for combining it with other
// keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"

namespace snug::request {

enum class KeyScope : std::uint8_t {
  kContainer,      // part of one container's request; may have the suffix `.<container>`
  kMainContainer,  // names the container to which keys without this suffix apply
  kPolicy,         // names the profile of the policy for the pod
};

struct FoundKey {
  std::size_t row = 0;  // row of the key in the table; for an alias, the row of its main name
  KeyScope scope = KeyScope::kContainer;
  std::optional<std::string_view> container;  // the suffix without its dot; nullopt if none
};

/// Looks up an annotation key. Nullopt if it is not part of a GPU request.
[[nodiscard]] std::optional<FoundKey> find_key(std::string_view annotation);

/// A text that lists the keys that request devices, `gpu-fraction, … or …`. A container with a
/// request has exactly one of them.
[[nodiscard]] std::string asking_keys();

/// One annotation of a pod. Both members are views into PodFacts.
struct Annotation {
  std::string_view key;
  std::string_view value;
};

/// The annotations of one container, indexed by FoundKey::row.
struct ContainerAnnotations {
  static constexpr std::size_t kMaxRows = 16;
  std::array<std::optional<Annotation>, kMaxRows> rows;

  [[nodiscard]] bool empty() const {
    return std::ranges::none_of(rows, [](const auto& row) { return row.has_value(); });
  }
};

/// Parses the request of one container. The result has no container name or type. Refuses malformed
/// values and keys that contradict each other.
[[nodiscard]] std::expected<model::ContainerRequest, model::Refusal> read_container_request(
    const ContainerAnnotations& annotations);

}  // namespace snug::request

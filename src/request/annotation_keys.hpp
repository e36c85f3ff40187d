// The annotation keys of a GPU request. Their table is in annotation_keys.cpp: the name of each
// key, how its value is read, and beside which others it may stand.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

enum class KeyScope : std::uint8_t {
  kContainer,      // part of one container's request; `.<container>` may follow
  kMainContainer,  // names the container that keys without `.<container>` apply to
  kPolicy,
};

struct FoundKey {
  std::size_t row = 0;  // of the table; an alias has the row of its key
  KeyScope scope = KeyScope::kContainer;
  std::optional<std::string_view> container;  // what follows the point, if there is one
};

/// Nothing: the annotation is not part of a request.
[[nodiscard]] std::optional<FoundKey> find_key(std::string_view annotation);

/// The keys of which each container with a request has exactly one: `gpu-fraction, … or …`.
[[nodiscard]] std::string asking_keys();

/// As the pod has it: views into PodFacts.
struct Annotation {
  std::string_view key;
  std::string_view value;
};

/// The annotations of one container, by FoundKey::row.
struct ContainerAnnotations {
  static constexpr std::size_t kMaxRows = 16;
  std::array<std::optional<Annotation>, kMaxRows> rows;

  [[nodiscard]] bool empty() const {
    return std::ranges::none_of(rows, [](const auto& row) { return row.has_value(); });
  }
};

/// The request without container and kind. Refuses malformed values and contradictions.
[[nodiscard]] std::expected<ContainerRequest, Refusal> read_container_request(
    const ContainerAnnotations& annotations);

}  // namespace snug

// The annotation keys of a GPU request. The table in annotation_keys.cpp states the name of each
// key, how its value is parsed, and with which other keys it may be combined.
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
  kMainContainer,  // names the container that keys without the suffix apply to
  kPolicy,
};

struct FoundKey {
  std::size_t row = 0;  // in the table; an alias has the row of the key that it stands for
  KeyScope scope = KeyScope::kContainer;
  std::optional<std::string_view> container;  // the suffix, without its dot
};

/// nullopt: the annotation is not part of a request.
[[nodiscard]] std::optional<FoundKey> find_key(std::string_view annotation);

/// Lists the keys of which each container with a request has exactly one: `gpu-fraction, … or …`.
[[nodiscard]] std::string asking_keys();

/// One annotation of a pod; views into PodFacts.
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

/// Parses one container's request, without the container's name and kind. Refuses malformed values
/// and contradictory keys.
[[nodiscard]] std::expected<model::ContainerRequest, model::Refusal> read_container_request(
    const ContainerAnnotations& annotations);

}  // namespace snug::request

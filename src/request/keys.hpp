// The annotation keys that a pod asks with, and what they say of one container.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace snug {

/// Those that speak of one container come first, in the order of ContainerRequest::text.
enum class Key : std::uint8_t {
  kFraction,
  kMemory,
  kMigProfile,
  kCount,
  kCompute,
  kIsolation,
  kModel,
  kContainer,
  kPolicy
};
inline constexpr std::size_t kContainerKeys = 7;

struct FoundKey {
  Key key;
  bool per_container = false;                 // a container may stand behind it
  std::optional<std::string_view> container;  // what stands behind the point, if there is one
};

/// Nothing: the annotation is not a request's. An alias is found as the key that it stands for.
[[nodiscard]] std::optional<FoundKey> find_key(std::string_view annotation);

/// An annotation as the pod wrote it: views into PodFacts.
struct Said {
  std::string_view key;
  std::string_view value;
};

/// What is said of one container.
struct ContainerSays {
  std::array<std::optional<Said>, kContainerKeys> said;

  std::optional<Said>& operator[](Key key) { return said[static_cast<std::size_t>(key)]; }
  const std::optional<Said>& operator[](Key key) const {
    return said[static_cast<std::size_t>(key)];
  }
  [[nodiscard]] bool anything() const {
    for (const std::optional<Said>& one : said) {
      if (one) return true;
    }
    return false;
  }
};

}  // namespace snug

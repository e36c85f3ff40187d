#include "snug/agent/runtime_features.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <optional>

namespace snug::agent {
namespace {

struct Version {
  int major = 0;
  int minor = 0;
  int patch = 0;
  bool released = true;  // false sorts first

  friend auto operator<=>(const Version&, const Version&) = default;
};

/// From `since` on, below `until`, a runtime has the features.
struct Row {
  std::string_view runtime;
  Version since;
  Version until;
  RuntimeFeatures features;
};

constexpr Version kNoEnd{.major = 1'000'000'000};

// Older versions with NRI 0.7 accept CDI devices and drop them silently: containerd before its pull
// request 12650 (in 1.7.30; others for 2.x), and CRI-O before 1.34.1: 1.34.0 has no code for them.
// Validation needs NRI 0.10. CRI-O only logs an error of StartContainer.
constexpr std::array kRows{
    Row{"containerd", {1, 7, 30}, {1, 8, 0}, {.cdi_injection = true, .start_refusal = true}},
    Row{"containerd", {2, 1, 3}, {2, 2, 0}, {.cdi_injection = true, .start_refusal = true}},
    Row{"containerd",
        {2, 2, 0},
        kNoEnd,
        {.cdi_injection = true, .start_refusal = true, .validation = true}},
    Row{"cri-o", {1, 34, 1}, kNoEnd, {.cdi_injection = true, .validation = true}},
};

/// Takes a number of at most 8 digits from the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || number < 0 || digits > 8) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const auto major = take_number(text);
  if (!major || !take_dot(text)) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor || !take_dot(text)) return std::nullopt;
  const auto patch = take_number(text);
  if (!patch) return std::nullopt;
  Version version{*major, *minor, *patch};
  if (text.starts_with('-') || text.starts_with('~')) text.remove_prefix(1);
  version.released =
      std::ranges::none_of(std::array<std::string_view, 3>{"alpha", "beta", "rc"},
                           [text](std::string_view stage) { return text.starts_with(stage); });
  return version;
}

}  // namespace

RuntimeFeatures runtime_features(std::string_view name, std::string_view version) {
  const auto parsed = parse_version(version);
  if (!parsed) return {};
  for (const Row& row : kRows) {
    if (row.runtime == name && row.since <= *parsed && *parsed < row.until) return row.features;
  }
  return {};
}

}  // namespace snug::agent

#include "snug/agent/cdi_spec.hpp"

#include <algorithm>
#include <cstdint>

#include "snug/base/agent_limits.hpp"
#include "snug/base/stable_hash.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Letters, digits and dashes, with a letter or digit at both ends. Without underscores, so that
/// two of them joined by an underscore stay distinct.
bool is_plain_name(std::string_view text) {
  return !text.empty() && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

}  // namespace

std::string cdi_device_name(std::string_view pod_uid, std::string_view container) {
  std::string name = std::string(pod_uid) + "_" + std::string(container);
  const bool fits =
      static_cast<std::int64_t>(name.size()) <= base::agent_limits::max_cdi_device_bytes;
  if (fits && is_plain_name(pod_uid) && is_plain_name(container)) return name;
  // Three underscores: no plain name has them.
  return "hash___" + base::hex_number(base::stable_hash(pod_uid)) + "_" +
         base::hex_number(base::stable_hash(container));
}

}  // namespace snug::agent

#include "snug/mps/mps_files.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "snug/base/agent_limits.hpp"
#include "snug/base/stable_hash.hpp"
#include "snug/base/text.hpp"

namespace snug::mps {
namespace {

namespace limits = base::agent_limits;

constexpr std::string_view kProtocolLine = "protocol 3";
constexpr std::size_t kNamespaceNameBytes = 12;

/// Takes what is before the separator, and the separator, from the text.
std::string_view take_until(std::string_view& text, char separator) {
  const std::string_view taken = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

std::string one_line(std::string_view text, std::int64_t bytes) {
  std::string line = base::clip_text(text, static_cast<std::size_t>(bytes));
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return line;
}

std::optional<NamespaceLimits> read_limits(std::string_view text) {
  const auto memory = base::parse_integer(take_until(text, ' '));
  const auto percent = base::parse_integer(text);
  if (!memory || *memory < 1 || *memory > base::kLargestQuantity) return std::nullopt;
  if (!percent || *percent < 1 || *percent > 100) return std::nullopt;
  return NamespaceLimits{{*memory}, *percent};
}

}  // namespace

bool is_gpu_uuid(std::string_view name) {
  constexpr std::string_view kPrefix = "GPU-";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return name.size() <= kMaxGpuNameBytes &&
         std::ranges::all_of(name.substr(kPrefix.size()), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '-';
         });
}

bool is_namespace_name(std::string_view name) {
  return name.size() == kNamespaceNameBytes && std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Nobody chooses the uid of a pod, so nobody can choose a name.
std::string namespace_of(std::string_view pod_uid, std::string_view container) {
  std::uint64_t hash = base::stable_hash(std::string(pod_uid).append("/").append(container));
  hash ^= hash >> 48U;
  std::string name;
  for (std::size_t i = 0; i < kNamespaceNameBytes; ++i, hash >>= 4U)
    name += "0123456789abcdef"[hash & 0xFU];
  return name;
}

std::string namespace_folder(std::string_view name) {
  return std::string(kServerName).append("/").append(name);
}

std::string write_wanted(const Namespaces& namespaces) {
  std::string text;
  for (const auto& [name, wanted] : namespaces) {
    text += name;
    if (wanted) {
      text +=
          " " + std::to_string(wanted->memory.value) + " " + std::to_string(wanted->thread_percent);
    }
    text += "\n";
  }
  return text;
}

Namespaces read_wanted(std::string_view text) {
  Namespaces namespaces;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const bool is_limited = line.contains(' ');
    const std::string_view name = take_until(line, ' ');
    const auto wanted = read_limits(line);
    if (is_namespace_name(name) && is_limited == wanted.has_value())
      namespaces.emplace(name, wanted);
  }
  return namespaces;
}

std::string write_state(const DaemonState& state) {
  std::string text(kDaemonPhaseNames[state.phase]);
  if (state.phase == DaemonPhase::kFailed) text += " " + state.reason;
  text = one_line(text, limits::max_mps_state_bytes);
  if (!state.namespaces) return text;
  text.append("\n").append(kProtocolLine);
  for (const auto& [name, reason] : *state.namespaces) {
    text += "\n" + name;
    if (!reason.empty()) text += " " + one_line(reason, limits::max_mps_reason_bytes);
  }
  return text;
}

std::optional<DaemonState> read_state(std::string_view text) {
  std::string_view first = take_until(text, '\n');
  const bool has_reason = first.contains(' ');
  const auto phase = kDaemonPhaseNames.find(take_until(first, ' '));
  if (!phase || has_reason != (*phase == DaemonPhase::kFailed)) return std::nullopt;
  DaemonState state{.phase = *phase, .reason = std::string(first)};
  if (text.empty()) return state;
  if (take_until(text, '\n') != kProtocolLine) return std::nullopt;
  state.namespaces.emplace();
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    const std::string_view name = take_until(line, ' ');
    if (!is_namespace_name(name)) return std::nullopt;
    state.namespaces->emplace(name, line);
  }
  return state;
}

}  // namespace snug::mps

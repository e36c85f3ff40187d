#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "request/keys.hpp"
#include "request/values.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

std::optional<ContainerRequest> parse_units_text(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view resource = text.substr(0, equals);
  if (equals == text.size() || !is_kubelet_resource(resource)) return std::nullopt;
  const std::int64_t count = parse_units(text.substr(equals + 1)).value_or(0);
  if (count == 0) return std::nullopt;
  return ContainerRequest{
      .ask = KubeletAsk{std::string(resource)}, .count = count, .text = std::string(text)};
}

/// The parts of `gpu-memory=4G;gpu-count=2` by their keys.
std::optional<ContainerSays> take_apart(std::string_view text) {
  ContainerSays says;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const Said said{.key = part.substr(0, equals), .value = part.substr(equals + 1)};
    const std::optional<FoundKey> found = find_key(said.key);
    if (!found || static_cast<std::size_t>(found->key) >= kContainerKeys) return std::nullopt;
    if (says[found->key]) return std::nullopt;
    says[found->key] = said;
  }
  return says;
}

}  // namespace

std::optional<ContainerRequest> parse_request_text(std::string_view text) {
  if (auto units = parse_units_text(text)) return units;
  const std::optional<ContainerSays> says = take_apart(text);
  if (!says) return std::nullopt;
  auto request = read_container_request(*says);
  // Another order, an alias or a blank is nothing that Snug wrote.
  if (!request || request->text != text) return std::nullopt;
  return *std::move(request);
}

}  // namespace snug

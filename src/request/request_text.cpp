#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

#include "request/annotation_keys.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::request {
namespace {

std::optional<model::ContainerRequest> parse_units_text(std::string_view request_text) {
  const std::size_t equals = std::min(request_text.find('='), request_text.size());
  const std::string_view resource = request_text.substr(0, equals);
  if (equals == request_text.size() || !is_kubelet_gpu_resource(resource)) return std::nullopt;
  const std::int64_t count = parse_unit_count(request_text.substr(equals + 1)).value_or(0);
  if (count == 0) return std::nullopt;
  return model::ContainerRequest{.device = model::KubeletRequest{std::string(resource)},
                                 .count = count,
                                 .text = std::string(request_text)};
}

/// Splits a text like `gpu-memory=4G;gpu-count=2` into annotations. Nullopt if it is malformed.
std::optional<ContainerAnnotations> split(std::string_view request_text) {
  ContainerAnnotations annotations;
  for (const auto annotation_part : std::views::split(request_text, ';')) {
    const std::string_view annotation_text{annotation_part.begin(), annotation_part.end()};
    const std::size_t equals = annotation_text.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const Annotation annotation{.key = annotation_text.substr(0, equals),
                                .value = annotation_text.substr(equals + 1)};
    const std::optional<FoundKey> found_key = find_key(annotation.key);
    if (!found_key || found_key->scope != KeyScope::kContainer) return std::nullopt;
    if (annotations.rows[found_key->row]) return std::nullopt;
    annotations.rows[found_key->row] = annotation;
  }
  return annotations;
}

}  // namespace

std::optional<model::ContainerRequest> parse_request_text(std::string_view request_text) {
  if (auto units = parse_units_text(request_text)) return units;
  const std::optional<ContainerAnnotations> annotations = split(request_text);
  if (!annotations) return std::nullopt;
  auto request = read_container_request(*annotations);
  // If the keys have another order or other names, or the text has blanks, Snug has not written it.
  if (!request || request->text != request_text) return std::nullopt;
  return *std::move(request);
}

}  // namespace snug::request

#include "snug/codec/kube_objects.hpp"

#include <array>
#include <optional>
#include <utility>

#include "codec/kube_dom.hpp"

namespace snug {
namespace {

using simdjson::dom::element;

std::optional<WatchKind> watch_kind(std::string_view type) {
  if (type == "ADDED") return WatchKind::kAdded;
  if (type == "MODIFIED") return WatchKind::kModified;
  if (type == "DELETED") return WatchKind::kDeleted;
  if (type == "BOOKMARK") return WatchKind::kBookmark;
  if (type == "ERROR") return WatchKind::kError;
  return std::nullopt;
}

/// The Status object of an ERROR event.
Result<void> read_status(const element& object, WatchEvent& event) {
  const Where where{nullptr, "object"};
  DomWalk walk;
  std::array<Field, 2> wanted{{{"code"}, {"message"}}};
  walk.fields(object, where, wanted);
  walk.number(wanted[0], where, event.error_code);
  walk.text(wanted[1], where, event.error_message);
  if (!walk.ok()) return walk.take_error();
  return {};
}

/// A bookmark carries a resourceVersion and nothing else.
Result<void> read_bookmark(const element& object, WatchEvent& event) {
  const Where where{nullptr, "object"};
  DomWalk walk;
  std::array<Field, 1> metadata{{{"metadata"}}};
  std::array<Field, 1> version{{{"resourceVersion"}}};
  walk.fields(object, where, metadata);
  const Where here{&where, metadata[0].key};
  if (metadata[0].present) walk.fields(metadata[0].value, here, version);
  walk.text(version[0], here, event.resource_version);
  if (event.resource_version.empty()) walk.fail_at(here, "has no resourceVersion");
  if (!walk.ok()) return walk.take_error();
  return {};
}

/// What every kind of event has; `object` is left for the kinds that carry one of the resource.
Result<WatchEvent> read_frame(const element& root, element& object) {
  const Where where{nullptr, "the watch event"};
  DomWalk walk;
  std::array<Field, 2> wanted{{{"type"}, {"object"}}};
  std::string type;
  walk.fields(root, where, wanted);
  walk.text(wanted[0], where, type);
  const std::optional<WatchKind> kind = watch_kind(type);
  if (!kind) {
    walk.fail_at(Where{&where, "type"}, "must be ADDED, MODIFIED, DELETED, BOOKMARK or ERROR");
  }
  if (!wanted[1].present) walk.fail_at(Where{&where, "object"}, "is missing");
  if (!walk.ok()) return walk.take_error();
  WatchEvent event;
  event.kind = kind.value_or(WatchKind::kError);
  object = wanted[1].value;
  Result<void> rest;
  if (event.kind == WatchKind::kError) rest = read_status(object, event);
  if (event.kind == WatchKind::kBookmark) rest = read_bookmark(object, event);
  if (!rest) return std::unexpected(std::move(rest.error()));
  return event;
}

bool carries_object(const WatchEvent& event) {
  return event.kind != WatchKind::kError && event.kind != WatchKind::kBookmark;
}

}  // namespace

struct KubeObjectReader::State {
  explicit State(const Limits& limits)
      : parser{limits}, max_bytes{static_cast<std::size_t>(limits.max_object_bytes)} {}

  Result<element> parse(std::string_view json) {
    if (json.size() > max_bytes) {
      return fail(ErrorCode::kTooLarge, "the object has " + std::to_string(json.size()) +
                                            " bytes; at most " + std::to_string(max_bytes) +
                                            " are allowed");
    }
    return parser.parse(json);
  }

  DomParser parser;
  std::size_t max_bytes;
};

KubeObjectReader::KubeObjectReader(const Limits& limits)
    : state_{std::make_unique<State>(limits)} {}
KubeObjectReader::~KubeObjectReader() = default;
KubeObjectReader::KubeObjectReader(KubeObjectReader&&) noexcept = default;
KubeObjectReader& KubeObjectReader::operator=(KubeObjectReader&&) noexcept = default;

Result<PodFacts> KubeObjectReader::read_pod(std::string_view json) {
  const Result<element> root = state_->parse(json);
  if (!root) return std::unexpected(root.error());
  return pod_from(*root, Where{nullptr, "pod"});
}

Result<NodeFacts> KubeObjectReader::read_node(std::string_view json) {
  const Result<element> root = state_->parse(json);
  if (!root) return std::unexpected(root.error());
  return node_from(*root, Where{nullptr, "node"});
}

Result<WatchEvent> KubeObjectReader::read_pod_event(std::string_view json) {
  const Result<element> root = state_->parse(json);
  if (!root) return std::unexpected(root.error());
  element object;
  Result<WatchEvent> event = read_frame(*root, object);
  if (!event || !carries_object(*event)) return event;
  Result<PodFacts> pod = pod_from(object, Where{nullptr, "pod"});
  if (!pod) return std::unexpected(std::move(pod.error()));
  event->resource_version = pod->resource_version;
  event->pod = std::move(*pod);
  return event;
}

Result<WatchEvent> KubeObjectReader::read_node_event(std::string_view json) {
  const Result<element> root = state_->parse(json);
  if (!root) return std::unexpected(root.error());
  element object;
  Result<WatchEvent> event = read_frame(*root, object);
  if (!event || !carries_object(*event)) return event;
  Result<NodeFacts> node = node_from(object, Where{nullptr, "node"});
  if (!node) return std::unexpected(std::move(node.error()));
  event->resource_version = node->resource_version;
  event->node = std::move(*node);
  return event;
}

}  // namespace snug

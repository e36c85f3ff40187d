#include "snug/codec/kube_objects.hpp"

#include <utility>

#include "codec/kube_json.hpp"
#include "codec/kube_pod_reader.hpp"

namespace snug::codec {
namespace {

using simdjson::dom::element;

/// Reads the parts of an event that do not depend on the watched resource. Sets `object` to the
/// field `object` of the event.
base::Result<WatchEvent> read_frame(const element& event_element, element& object) {
  DomWalk walk;
  WatchEvent event =
      read_event_head(walk, event_element, FieldPath{nullptr, "the watch event"}, object);
  if (!carries_object(event)) read_event_without_object(walk, object, event);
  if (!walk.ok()) return walk.take_error();
  return event;
}

}  // namespace

struct KubeObjectReader::State {
  explicit State(const base::Limits& limits)
      : parser{limits}, max_bytes{static_cast<std::size_t>(limits.max_object_bytes)} {}

  [[nodiscard]] base::Result<void> check_size(std::string_view bytes) const {
    if (bytes.size() <= max_bytes) return {};
    return base::fail(base::ErrorCode::kTooLarge, "the object has " + std::to_string(bytes.size()) +
                                                      " bytes; at most " +
                                                      std::to_string(max_bytes) + " are allowed");
  }

  base::Result<element> parse(std::string_view json) {
    if (auto allowed = check_size(json); !allowed) return std::unexpected(allowed.error());
    return parser.parse(json);
  }

  DomParser parser;
  std::size_t max_bytes;
};

KubeObjectReader::KubeObjectReader(const base::Limits& limits)
    : state_{std::make_unique<State>(limits)} {}
KubeObjectReader::~KubeObjectReader() = default;
KubeObjectReader::KubeObjectReader(KubeObjectReader&&) noexcept = default;
KubeObjectReader& KubeObjectReader::operator=(KubeObjectReader&&) noexcept = default;

base::Result<model::PodFacts> KubeObjectReader::read_pod(std::string_view json) {
  const base::Result<element> pod_element = state_->parse(json);
  if (!pod_element) return std::unexpected(pod_element.error());
  return pod_from(*pod_element, FieldPath{nullptr, "pod"});
}

base::Result<model::NodeFacts> KubeObjectReader::read_node(std::string_view json) {
  const base::Result<element> node_element = state_->parse(json);
  if (!node_element) return std::unexpected(node_element.error());
  return node_from(*node_element, FieldPath{nullptr, "node"});
}

base::Result<WatchEvent> KubeObjectReader::read_pod_event(std::string_view bytes,
                                                          WireFormat format) {
  if (format == WireFormat::kProtobuf) {
    if (auto allowed = state_->check_size(bytes); !allowed) {
      return std::unexpected(allowed.error());
    }
    return pod_event_from_proto(bytes);
  }
  const base::Result<element> event_element = state_->parse(bytes);
  if (!event_element) return std::unexpected(event_element.error());
  element object;
  base::Result<WatchEvent> event = read_frame(*event_element, object);
  if (!event || !carries_object(*event)) return event;
  base::Result<model::PodFacts> pod = pod_from(object, FieldPath{nullptr, "pod"});
  if (!pod) return std::unexpected(std::move(pod.error()));
  event->resource_version = pod->resource_version;
  event->pod = std::move(*pod);
  return event;
}

base::Result<WatchEvent> KubeObjectReader::read_node_event(std::string_view json) {
  const base::Result<element> event_element = state_->parse(json);
  if (!event_element) return std::unexpected(event_element.error());
  element object;
  base::Result<WatchEvent> event = read_frame(*event_element, object);
  if (!event || !carries_object(*event)) return event;
  base::Result<model::NodeFacts> node = node_from(object, FieldPath{nullptr, "node"});
  if (!node) return std::unexpected(std::move(node.error()));
  event->resource_version = node->resource_version;
  event->node = std::move(*node);
  return event;
}

}  // namespace snug::codec
